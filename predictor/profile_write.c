/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a device profile: one value a line, so that two profiles compare with diff. */
#include "predictor/profile_json.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* jansson writes the scalars: it knows escapes, and points where the locale has commas. */
static void scalar(FILE *out, json_t *value, size_t flags)
{
	if (value)
		json_dumpf(value, out, JSON_ENCODE_ANY | flags);
	else
		fputs("\"\"", out);
	json_decref(value);
}

static void string(FILE *out, const char *s)
{
	scalar(out, json_string(s), 0);
}

/* The fewest digits, from 15, that read back to the same bits. */
static void number(FILE *out, double v)
{
	char digits[40];

	if (fabs(v) < 0x1p53 && nearbyint(v) == v && !signbit(v)) {
		scalar(out, json_integer((json_int_t)v), 0);
		return;
	}
	for (int n = 15; n <= 17; n++) {
		snprintf(digits, sizeof(digits), "%.*g", n, v);
		if (n == 17 || strtod(digits, NULL) == v) {
			scalar(out, json_real(v), JSON_REAL_PRECISION((size_t)n));
			return;
		}
	}
}

static void origin(FILE *out, enum gw_method method, const char *source)
{
	fprintf(out, ", \"method\": \"%s\"", gw_method_name(method));
	if (*source) {
		fputs(", \"source\": ", out);
		string(out, source);
	}
	fputc('}', out);
}

static void write_params(const struct gw_profile *p, FILE *out)
{
	const char *separator = "\n";

	fputs("  \"params\": {", out);
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		const struct gw_value *v = &p->device.param[i];

		if (v->method == GW_METHOD_NONE || !isfinite(v->value))
			continue;
		fprintf(out, "%s    \"%s\": {\"value\": ", separator, gw_param_info(i)->name);
		number(out, v->value);
		fprintf(out, ", \"unit\": \"%s\"", gw_param_info(i)->unit);
		if (isfinite(v->spread)) {
			fputs(", \"spread\": ", out);
			number(out, v->spread);
		}
		if (v->samples)
			fprintf(out, ", \"samples\": %u", v->samples);
		origin(out, v->method, p->source[i]);
		separator = ",\n";
	}
	fputs("\n  }", out);
}

static void write_curves(const struct gw_profile *p, FILE *out)
{
	const char *separator = "\n";

	fputs("  \"curves\": {", out);
	for (unsigned i = 0; i < GW_CURVES; i++) {
		const struct gw_curve *c = &p->device.curve[i];

		if (!c->count)
			continue;
		fprintf(out, "%s    \"%s\": {\"unit_x\": \"%s\", \"unit_y\": \"%s\", \"points\": [",
		        separator, gw_curve_info(i)->name, gw_curve_unit_x(i),
		        gw_curve_info(i)->unit);
		for (uint32_t k = 0; k < c->count; k++) {
			fputs(k ? ", [" : "[", out);
			number(out, c->x[k]);
			fputs(", ", out);
			number(out, c->y[k]);
			fputc(']', out);
		}
		fputc(']', out);
		origin(out, c->method, p->curve_source[i]);
		separator = ",\n";
	}
	fputs("\n  }", out);
}

static void write_provenance(const struct gw_profile *p, FILE *out)
{
	struct gw_provenance copy = p->provenance;
	const char *separator = "\n";

	fputs("  \"provenance\": {", out);
	for (unsigned i = 0; gw_provenance_name(i); i++) {
		if (!*gw_provenance_text(&copy, i))
			continue;
		fprintf(out, "%s    \"%s\": ", separator, gw_provenance_name(i));
		string(out, gw_provenance_text(&copy, i));
		separator = ",\n";
	}
	fputs("\n  }", out);
}

int gw_profile_write(const struct gw_profile *profile, FILE *out)
{
	fprintf(out, "{\n  \"gpuwatch_profile\": %d,\n  \"name\": ", GW_PROFILE_VERSION);
	string(out, profile->device.name);
	fputs(",\n  \"aliases\": [", out);
	for (unsigned i = 0; i < profile->alias_count; i++) {
		fputs(i ? ", " : "", out);
		string(out, profile->aliases[i]);
	}
	fputs("],\n", out);
	write_provenance(profile, out);
	fputs(",\n", out);
	write_params(profile, out);
	fputs(",\n", out);
	write_curves(profile, out);
	fputs("\n}\n", out);
	return fflush(out) || ferror(out) ? -1 : 0;
}

/* An open file beside @p path under a name of its own; the name is put into @p name. */
static FILE *temporary(const char *path, char *name, size_t room)
{
	int length = snprintf(name, room, "%s.XXXXXX", path), fd;
	FILE *out;

	if (length < 0 || (size_t)length >= room) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkstemp(name);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !out) {
		close(fd);
		unlink(name);
	}
	return out;
}

int gw_profile_save(const struct gw_profile *profile, const char *path,
                    struct gw_profile_error *error)
{
	char name[4200];
	FILE *out = temporary(path, name, sizeof(name));
	bool good = out && !gw_profile_write(profile, out) && !fchmod(fileno(out), 0644) &&
	            !fsync(fileno(out));

	error->text[0] = '\0';
	if (out && fclose(out))
		good = false;
	if (good && !rename(name, path))
		return 0;
	gw_profile_say(error, "%s: can't write the device profile: %s", path, strerror(errno));
	if (out)
		unlink(name);
	return -1;
}

/* Make every folder of @p path above its last part; the user's own, so for the user only. */
static void make_folders(const char *path)
{
	char folder[4096];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int length = (int)(slash - path);

		if (snprintf(folder, sizeof(folder), "%.*s", length, path) == length)
			mkdir(folder, 0755);
	}
}

int gw_profile_writable(const char *path, bool make, struct gw_profile_error *error)
{
	char name[4200];
	FILE *out;

	error->text[0] = '\0';
	if (make)
		make_folders(path);
	out = temporary(path, name, sizeof(name));
	if (!out) {
		gw_profile_say(error, "%s: can't write the device profile: %s", path,
		               strerror(errno));
		return -1;
	}
	fclose(out);
	unlink(name);
	return 0;
}
