/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a device profile: JSON to struct gw_profile, every rule of docs/profile.md checked. */
#include "predictor/profile_json.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One reading: what is needed to say where something is wrong. */
struct reader {
	const char *text, *file;
	size_t length;
	struct gw_profile_error *error;
};

/* Where in the file: section, name in it, key of that; NULL where the place is less deep. */
struct place {
	const char *path[GW_JSON_DEPTH + 1];
};

static struct place at(const char *section, const char *name, const char *key)
{
	return (struct place){{section, name, key, NULL}};
}

__attribute__((format(printf, 3, 4))) static int fail(struct reader *r, struct place where,
                                                      const char *format, ...)
{
	char what[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	gw_profile_say(r->error, "%s:%u: %s", r->file, gw_json_line(r->text, r->length, where.path),
	               what);
	return -1;
}

/* Every key of @p object must be in @p allowed: a key nobody reads is most likely a typing error.
 */
static int only(struct reader *r, const json_t *object, const char *section, const char *name,
                const char *const allowed[])
{
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)object, key, value)
	{
		const char *const *a = allowed;

		while (*a && strcmp(*a, key))
			a++;
		if (!*a)
			return fail(r,
			            !section ? at(key, NULL, NULL)
			            : !name  ? at(section, key, NULL)
			                     : at(section, name, key),
			            "unknown key '%s'; docs/profile.md lists the keys", key);
	}
	return 0;
}

/* Text of at most @p room - 1 bytes without control characters; @p value may be NULL: left as it
 * is. */
static int text_of(struct reader *r, const json_t *value, struct place where, char *to, size_t room)
{
	const char *s = json_string_value(value);

	if (!value)
		return 0;
	if (!s)
		return fail(r, where, "must be a string");
	if (strlen(s) >= room)
		return fail(r, where, "is longer than %zu bytes; shorten it", room - 1);
	for (const char *c = s; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return fail(r, where, "has a control character; remove it");
	memcpy(to, s, strlen(s) + 1);
	return 0;
}

/* The scale of a value's unit, and its range. */
struct scale {
	double factor, low, high;
};

static int scale_of(struct reader *r, const json_t *object, const char *key, const char *unit,
                    const char *section, const char *name, struct scale *out)
{
	const char *written = json_string_value(json_object_get(object, key));

	if (!written)
		return fail(r, at(section, name, key),
		            "'%s' needs \"%s\": a string, \"%s\" for one", name, key, unit);
	out->factor = gw_unit_scale(unit, written, &out->low, &out->high);
	if (isnan(out->factor))
		return fail(r, at(section, name, key),
		            "unit '%s' of '%s' is not known here; write it in %s", written, name,
		            unit);
	return 0;
}

static int number_of(struct reader *r, const json_t *value, struct place where, struct scale scale,
                     double *out)
{
	double v;

	if (!json_is_number(value))
		return fail(r, where, "must be a number; leave out what is not known");
	v = json_number_value(value) * scale.factor;
	if (!(v >= scale.low && v <= scale.high))
		return fail(r, where, "%g is out of range: %g to %g in the parameter's own unit", v,
		            scale.low, scale.high);
	*out = v;
	return 0;
}

static int method_of(struct reader *r, const json_t *object, const char *section, const char *name,
                     enum gw_method *out)
{
	const char *s = json_string_value(json_object_get(object, "method"));

	for (unsigned m = GW_METHOD_VENDOR; s && m <= GW_METHOD_MEASURED; m++)
		if (!strcmp(s, gw_method_name((enum gw_method)m))) {
			*out = (enum gw_method)m;
			return 0;
		}
	return fail(r, at(section, name, "method"),
	            "'%s' needs \"method\": vendor, paper, driver or measured", name);
}

/* What a value and a curve have in common: method, and the source without which two of them are
 * hearsay. */
static int origin_of(struct reader *r, const json_t *object, const char *section, const char *name,
                     enum gw_method *method, char source[GW_PROFILE_TEXT])
{
	if (method_of(r, object, section, name, method))
		return -1;
	if (text_of(r, json_object_get(object, "source"), at(section, name, "source"), source,
	            GW_PROFILE_TEXT))
		return -1;
	if ((*method == GW_METHOD_VENDOR || *method == GW_METHOD_PAPER) && !*source)
		return fail(r, at(section, name, "method"),
		            "'%s' needs \"source\": the document and its table or page", name);
	return 0;
}

static int read_param(struct reader *r, const json_t *object, unsigned param,
                      struct gw_profile *out)
{
	static const char *const keys[] = {"value",  "unit",   "spread", "samples",
	                                   "method", "source", NULL};
	const char *name = gw_param_info(param)->name;
	const json_t *spread = json_object_get(object, "spread");
	const json_t *samples = json_object_get(object, "samples");
	struct gw_value *v = &out->device.param[param];
	struct scale scale;

	if (!json_is_object(object))
		return fail(r, at("params", name, NULL), "'%s' must be an object", name);
	if (only(r, object, "params", name, keys) ||
	    scale_of(r, object, "unit", gw_param_info(param)->unit, "params", name, &scale) ||
	    number_of(r, json_object_get(object, "value"), at("params", name, "value"), scale,
	              &v->value) ||
	    origin_of(r, object, "params", name, &v->method, out->source[param]))
		return -1;
	scale.low = 0;
	if (spread && number_of(r, spread, at("params", name, "spread"), scale, &v->spread))
		return -1;
	if (samples && (!json_is_integer(samples) || json_integer_value(samples) < 0 ||
	                json_integer_value(samples) > UINT32_MAX))
		return fail(r, at("params", name, "samples"), "must be a whole number from 0 to %u",
		            UINT32_MAX);
	v->samples = (uint32_t)json_integer_value(samples);
	return 0;
}

static int read_points(struct reader *r, const json_t *points, const char *name, struct scale x,
                       struct scale y, struct gw_curve *c)
{
	struct place where = at("curves", name, "points");
	size_t n = json_array_size(points);

	if (!n || n > GW_CURVE_POINTS)
		return fail(r, where, "'%s' needs \"points\": 1 to %d pairs [x, y]", name,
		            GW_CURVE_POINTS);
	for (uint32_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(points, i);

		if (json_array_size(pair) != 2)
			return fail(r, where, "point %u of '%s' is not a pair [x, y]", i + 1, name);
		if (number_of(r, json_array_get(pair, 0), where, x, &c->x[i]) ||
		    number_of(r, json_array_get(pair, 1), where, y, &c->y[i]))
			return -1;
		if (i && c->x[i] <= c->x[i - 1])
			return fail(r, where, "point %u of '%s': x must rise from point to point",
			            i + 1, name);
	}
	c->count = (uint32_t)n;
	return 0;
}

static int read_curve(struct reader *r, const json_t *object, unsigned curve,
                      struct gw_profile *out)
{
	static const char *const keys[] = {"points", "unit_x", "unit_y", "method", "source", NULL};
	const char *name = gw_curve_info(curve)->name;
	struct gw_curve *c = &out->device.curve[curve];
	struct scale x, y;

	if (!json_is_object(object))
		return fail(r, at("curves", name, NULL), "'%s' must be an object", name);
	if (only(r, object, "curves", name, keys) ||
	    scale_of(r, object, "unit_x", gw_curve_unit_x(curve), "curves", name, &x) ||
	    scale_of(r, object, "unit_y", gw_curve_info(curve)->unit, "curves", name, &y) ||
	    origin_of(r, object, "curves", name, &c->method, out->curve_source[curve]))
		return -1;
	return read_points(r, json_object_get(object, "points"), name, x, y, c);
}

/* A section whose keys are rows of device.def. */
static int read_rows(struct reader *r, const json_t *rows, const char *section,
                     const struct gw_field_info *(*info)(unsigned),
                     int (*read)(struct reader *, const json_t *, unsigned, struct gw_profile *),
                     struct gw_profile *out)
{
	const char *key;
	json_t *value;

	if (!rows)
		return 0;
	if (!json_is_object(rows))
		return fail(r, at(section, NULL, NULL), "\"%s\" must be an object", section);
	json_object_foreach((json_t *)rows, key, value)
	{
		unsigned i = 0;

		while (info(i) && strcmp(info(i)->name, key))
			i++;
		if (!info(i))
			return fail(r, at(section, key, NULL),
			            "'%s' is not one of the %s; docs/profile.md lists them", key,
			            section);
		if (read(r, value, i, out))
			return -1;
	}
	return 0;
}

static int read_provenance(struct reader *r, const json_t *object, struct gw_provenance *out)
{
	const char *keys[16] = {NULL};

	if (!object)
		return 0;
	if (!json_is_object(object))
		return fail(r, at("provenance", NULL, NULL), "\"provenance\" must be an object");
	for (unsigned i = 0; gw_provenance_name(i); i++)
		keys[i] = gw_provenance_name(i);
	if (only(r, object, "provenance", NULL, keys))
		return -1;
	for (unsigned i = 0; keys[i]; i++)
		if (text_of(r, json_object_get(object, keys[i]), at("provenance", keys[i], NULL),
		            gw_provenance_text(out, i), GW_PROFILE_TEXT))
			return -1;
	return 0;
}

static int read_names(struct reader *r, const json_t *root, struct gw_profile *out)
{
	const json_t *aliases = json_object_get(root, "aliases");
	struct place where = at("aliases", NULL, NULL);

	if (text_of(r, json_object_get(root, "name"), at("name", NULL, NULL), out->device.name,
	            sizeof(out->device.name)))
		return -1;
	if (!*out->device.name)
		return fail(r, at("name", NULL, NULL),
		            "needs \"name\": the GPU as its driver names it");
	if (aliases && (!json_is_array(aliases) || json_array_size(aliases) > GW_PROFILE_ALIASES))
		return fail(r, where, "\"aliases\" must be a list of at most %d names",
		            GW_PROFILE_ALIASES);
	for (size_t i = 0; i < json_array_size(aliases); i++)
		if (text_of(r, json_array_get(aliases, i), where, out->aliases[out->alias_count++],
		            sizeof(*out->aliases)))
			return -1;
	return 0;
}

static int read_root(struct reader *r, const json_t *root, struct gw_profile *out)
{
	static const char *const keys[] = {"gpuwatch_profile", "name",   "aliases", "provenance",
	                                   "params",           "curves", NULL};
	const json_t *version = json_object_get(root, "gpuwatch_profile");

	if (!json_is_integer(version))
		return fail(r, at("gpuwatch_profile", NULL, NULL),
		            "not a device profile: no \"gpuwatch_profile\": %d",
		            GW_PROFILE_VERSION);
	if (json_integer_value(version) != GW_PROFILE_VERSION)
		return fail(
		        r, at("gpuwatch_profile", NULL, NULL),
		        "format %lld; this gpuwatch reads format %d: calibrate again or use the "
		        "gpuwatch that wrote it",
		        (long long)json_integer_value(version), GW_PROFILE_VERSION);
	if (only(r, root, NULL, NULL, keys) || read_names(r, root, out) ||
	    read_provenance(r, json_object_get(root, "provenance"), &out->provenance) ||
	    read_rows(r, json_object_get(root, "params"), "params", gw_param_info, read_param, out))
		return -1;
	return read_rows(r, json_object_get(root, "curves"), "curves", gw_curve_info, read_curve,
	                 out);
}

void gw_profile_clear(struct gw_profile *profile, const char *name)
{
	memset(profile, 0, sizeof(*profile));
	gw_device_clear(&profile->device, name);
}

unsigned gw_profile_group(struct gw_profile *profile, const char *name)
{
	struct gw_group_run *run = profile->groups;
	size_t length = strlen(name);

	for (unsigned i = 0; i < profile->group_count; i++, run++)
		if (!strcmp(run->name, name))
			return i + 1;
	if (profile->group_count == GW_PROFILE_GROUPS || length >= sizeof(run->name))
		return 0;
	*run = (struct gw_group_run){.sm_clock = NAN,
	                             .sm_clock_low = NAN,
	                             .temperature = NAN,
	                             .power = NAN,
	                             .seconds = NAN};
	memcpy(run->name, name, length + 1);
	return ++profile->group_count;
}

int gw_profile_parse(const char *text, size_t length, const char *file, struct gw_profile *out,
                     struct gw_profile_error *error)
{
	struct reader r = {.text = text, .file = file, .length = length, .error = error};
	json_error_t e;
	json_t *root;
	int result = -1;

	error->text[0] = '\0';
	gw_profile_clear(out, "");
	if (length > GW_PROFILE_BYTES) {
		gw_profile_say(error, "%s: longer than %d bytes: not a device profile", file,
		               GW_PROFILE_BYTES);
		return -1;
	}
	root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &e);
	if (!root)
		gw_profile_say(error, "%s:%d: %s; it must be JSON as docs/profile.md says", file,
		               e.line, e.text);
	else
		result = read_root(&r, root, out);
	json_decref(root);
	if (result)
		gw_profile_clear(out, "");
	return result;
}

/* The file's bytes, one more than GW_PROFILE_BYTES at most; the caller frees. NULL: errno says why.
 */
static char *slurp(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text = fd < 0 ? NULL : malloc(GW_PROFILE_BYTES + 1);
	ssize_t got = 0;
	struct stat st;

	*length = 0;
	if (text && !fstat(fd, &st) && !S_ISREG(st.st_mode)) {
		errno = EINVAL; /* a pipe or a device could hold us for ever */
		got = -1;
	}
	while (text && got >= 0 && *length <= GW_PROFILE_BYTES) {
		got = read(fd, text + *length, GW_PROFILE_BYTES + 1 - *length);
		if (!got)
			break;
		if (got > 0)
			*length += (size_t)got;
		else if (errno == EINTR)
			got = 0;
	}
	if (got < 0) {
		free(text);
		text = NULL;
	}
	if (fd >= 0) {
		int why = errno;

		close(fd);
		errno = why;
	}
	return text;
}

int gw_profile_read(const char *path, struct gw_profile *out, struct gw_profile_error *error)
{
	size_t length;
	char *text = slurp(path, &length);
	int result;

	if (!text) {
		gw_profile_clear(out, "");
		gw_profile_say(error, "%s: can't read the device profile: %s", path,
		               errno == EINVAL ? "not a regular file" : strerror(errno));
		return -1;
	}
	result = gw_profile_parse(text, length, path, out, error);
	free(text);
	if (!result)
		snprintf(out->path, sizeof(out->path), "%s", path);
	return result;
}
