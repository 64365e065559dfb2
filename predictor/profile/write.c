/* Writes a device profile: one value a line, so that two profiles compare with diff. */
#include "predictor/profile/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of the well-formed UTF-8 character at @p s; 0 when it is none. */
static size_t character(const unsigned char *s)
{
	static const unsigned char first[] = {0xc2, 0xe0, 0xf0, 0xf5};
	size_t size = 2;

	if (*s < 0x80)
		return 1;
	while (size < 4 && *s >= first[size - 1])
		size++;
	if (*s < first[0] || *s >= first[3])
		return 0;
	for (size_t i = 1; i < size; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f) ||
	    (*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f))
		return 0;
	return size;
}

static bool well_formed(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	for (size_t size; *s; s += size) {
		size = character(s);
		if (!size)
			return false;
	}
	return true;
}

/* A text as jansson writes it, whose writer would be 6 KB of the library; empty where it is no
 * UTF-8. */
static void string(FILE *out, const char *s)
{
	static const char escaped[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";

	putc('"', out);
	for (s = well_formed(s) ? s : ""; *s; s++) {
		const char *found = strchr(escaped, *s);

		if (found)
			fprintf(out, "\\%c", letters[found - escaped]);
		else if ((unsigned char)*s < 0x20)
			fprintf(out, "\\u%04X", (unsigned)*s);
		else
			putc(*s, out);
	}
	putc('"', out);
}

/* The fewest digits, from 15, that read back to the same bits; with a point, whatever the locale
 * has there. */
static void number(FILE *out, double v)
{
	char digits[40], *point, *exponent;

	if (!isfinite(v)) {
		string(out, "");
		return;
	}
	if (fabs(v) < 0x1p53 && nearbyint(v) == v && !signbit(v)) {
		fprintf(out, "%lld", (long long)v);
		return;
	}
	for (int n = 15; n <= 17; n++) {
		snprintf(digits, sizeof(digits), "%.*g", n, v);
		if (n == 17 || strtod(digits, NULL) == v)
			break;
	}
	point = strchr(digits, *localeconv()->decimal_point);
	if (point)
		*point = '.';
	exponent = strchr(digits, 'e');
	if (!exponent) {
		fprintf(out, "%s%s", digits, point ? "" : ".0");
		return;
	}
	/* Without a plus sign and zeros in front. */
	*exponent = 0;
	fprintf(out, "%se%ld", digits, strtol(exponent + 1, NULL, 10));
}

/* A key and its text, unless that is empty. */
static void text(FILE *out, const char *key, const char *s)
{
	if (!*s)
		return;
	fprintf(out, ", \"%s\": ", key);
	string(out, s);
}

static void key_number(FILE *out, const char *separator, const char *key, double v)
{
	fprintf(out, "%s\"%s\": ", separator, key);
	number(out, v);
}

static const char *group_name(const struct gw_profile *p, unsigned group)
{
	return group ? p->groups[group - 1].name : "";
}

/* How a value came about. */
static void write_origin(enum gw_method method, const char *source, const char *how,
			 const char *group, FILE *out)
{
	text(out, "method", gw_method_name(method));
	text(out, "source", source);
	text(out, "how", how);
	text(out, "group", group);
}

static void write_params(const struct gw_profile *p, FILE *out)
{
	const char *separator = "\n";

	fputs("  \"params\": {", out);
	for (unsigned i = 0; i < GW_PARAMS; i++) {
		const struct gw_profile_value *v = &p->device.param[i];

		if (v->method == GW_METHOD_NONE || !isfinite(v->value))
			continue;
		fprintf(out, "%s    \"%s\": {\"value\": ", separator, gw_param_info(i).name);
		number(out, v->value);
		fprintf(out, ", \"unit\": \"%s\"", gw_param_info(i).unit);
		if (isfinite(v->spread))
			key_number(out, ", ", "spread", v->spread);
		if (v->samples)
			fprintf(out, ", \"samples\": %u", v->samples);
		write_origin(v->method, p->source[i], p->how[i], group_name(p, p->group[i]), out);
		fputc('}', out);
		separator = ",\n";
	}
	fputs("\n  }", out);
}

static void write_points(const struct gw_curve *c, FILE *out)
{
	for (uint32_t k = 0; k < c->count; k++) {
		fputs(k ? ", [" : "[", out);
		number(out, c->x[k]);
		fputs(", ", out);
		number(out, c->y[k]);
		if (isfinite(c->spread[k])) {
			fputs(", ", out);
			number(out, c->spread[k]);
		}
		fputc(']', out);
	}
}

static void write_fit(const struct gw_fit *fit, FILE *out)
{
	if (!isfinite(fit->slope))
		return;
	fputs(", \"fit\": {", out);
	key_number(out, "", "slope", fit->slope);
	key_number(out, ", ", "intercept", fit->intercept);
	key_number(out, ", ", "r2", fit->r2);
	key_number(out, ", ", "low", fit->low);
	key_number(out, ", ", "high", fit->high);
	fputc('}', out);
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
			separator, gw_curve_info(i).name, gw_curve_unit_x(i),
			gw_curve_info(i).unit);
		write_points(c, out);
		fputc(']', out);
		write_fit(&c->fit, out);
		write_origin(c->method, p->curve_source[i], p->curve_how[i],
			     group_name(p, p->curve_group[i]), out);
		fputc('}', out);
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

static void write_group(const struct gw_group_run *run, FILE *out)
{
	const char *separator = "{";

	for (unsigned i = 0; gw_group_field(i); i++) {
		const struct gw_group_field *f = gw_group_field(i);
		const char *at = (const char *)run + f->offset;
		double v = f->room ? NAN : *(const double *)(const void *)at;

		if (f->room ? !*at : !isfinite(v))
			continue;
		fprintf(out, "%s\"%s\": ", separator, f->name);
		if (f->room)
			string(out, at);
		else
			number(out, v);
		separator = ", ";
	}
	fputs(*separator == '{' ? "{}" : "}", out);
}

/* Absent where there is none: profiles that no calibration wrote stay as they are. */
static void write_groups(const struct gw_profile *p, FILE *out)
{
	for (unsigned i = 0; i < p->group_count; i++) {
		fputs(i ? ",\n    " : ",\n  \"groups\": {\n    ", out);
		string(out, p->groups[i].name);
		fputs(": ", out);
		write_group(&p->groups[i], out);
	}
	if (p->group_count)
		fputs("\n  }", out);
}

static void write_why(const char *separator, const char *name, const char *why, const char *group,
		      FILE *out)
{
	fprintf(out, "%s    \"%s\": {\"why\": ", separator, name);
	string(out, why);
	text(out, "group", group);
	fputc('}', out);
}

/* Why a value or a curve is not known, where that was said. */
static void write_unknown(const struct gw_profile *p, FILE *out)
{
	static const char first[] = ",\n  \"unknown\": {\n";
	const char *separator = first;

	for (unsigned i = 0; i < GW_PARAMS; i++)
		if (p->device.param[i].method == GW_METHOD_NONE && *p->how[i]) {
			write_why(separator, gw_param_info(i).name, p->how[i],
				  group_name(p, p->group[i]), out);
			separator = ",\n";
		}
	for (unsigned i = 0; i < GW_CURVES; i++)
		if (p->device.curve[i].method == GW_METHOD_NONE && *p->curve_how[i]) {
			write_why(separator, gw_curve_info(i).name, p->curve_how[i],
				  group_name(p, p->curve_group[i]), out);
			separator = ",\n";
		}
	if (separator != first)
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
	write_groups(profile, out);
	fputs(",\n", out);
	write_params(profile, out);
	fputs(",\n", out);
	write_curves(profile, out);
	write_unknown(profile, out);
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

/* Make every folder of @p path above its last part; the user's own, so for the user only (as the
 * XDG base directory specification has it). */
static void make_folders(const char *path)
{
	char folder[4096];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		int length = (int)(slash - path);

		if (snprintf(folder, sizeof(folder), "%.*s", length, path) == length)
			mkdir(folder, 0700);
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
