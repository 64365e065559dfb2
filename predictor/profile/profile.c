/* Reads a device profile: JSON to struct gw_profile, every rule of docs/internals/profile.md
 * checked. */
#include "predictor/profile/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int scale_of(struct gw_reader *r, const json_t *object, const char *key, const char *unit,
		    const char *section, const char *name, struct gw_scale *out)
{
	const char *written = json_string_value(json_object_get(object, key));

	if (!written)
		return gw_read_fail(r, gw_profile_at(section, name, key),
				    "'%s' needs \"%s\": a string, \"%s\" for one", name, key, unit);
	out->factor = gw_unit_scale(unit, written, &out->low, &out->high);
	if (isnan(out->factor))
		return gw_read_fail(r, gw_profile_at(section, name, key),
				    "unit '%s' of '%s' is not known here; write it in %s", written,
				    name, unit);
	return 0;
}

static int method_of(struct gw_reader *r, const json_t *object, const char *section,
		     const char *name, enum gw_method *out)
{
	const char *s = json_string_value(json_object_get(object, "method"));

	for (unsigned m = GW_METHOD_VENDOR; s && m <= GW_METHOD_MEASURED; m++)
		if (!strcmp(s, gw_method_name((enum gw_method)m))) {
			*out = (enum gw_method)m;
			return 0;
		}
	return gw_read_fail(r, gw_profile_at(section, name, "method"),
			    "'%s' needs \"method\": vendor, paper, driver or measured", name);
}

/* Where a value or a curve has its texts. */
struct origin {
	enum gw_method *method;
	char *source, *how; /* each GW_PROFILE_TEXT bytes */
	uint8_t *group;
};

/* What both have in common: method, and the source without which two of them are hearsay. */
static int origin_of(struct gw_reader *r, const json_t *object, const char *section,
		     const char *name, const struct gw_profile *profile, struct origin to)
{
	enum gw_method *method = to.method;
	const char *source = to.source;

	if (method_of(r, object, section, name, method) ||
	    gw_read_text(r, json_object_get(object, "source"),
			 gw_profile_at(section, name, "source"), to.source, GW_PROFILE_TEXT) ||
	    gw_read_text(r, json_object_get(object, "how"), gw_profile_at(section, name, "how"),
			 to.how, GW_PROFILE_TEXT) ||
	    gw_read_group_name(r, object, section, name, profile, to.group))
		return -1;
	if ((*method == GW_METHOD_VENDOR || *method == GW_METHOD_PAPER) && !*source)
		return gw_read_fail(r, gw_profile_at(section, name, "method"),
				    "'%s' needs \"source\": the document and its table or page",
				    name);
	return 0;
}

static int read_param(struct gw_reader *r, const json_t *object, unsigned param,
		      struct gw_profile *out)
{
	static const char *const keys[] = {"value",  "unit", "spread", "samples", "method",
					   "source", "how",  "group",  NULL};
	const char *name = gw_param_info(param).name;
	const json_t *spread = json_object_get(object, "spread");
	const json_t *samples = json_object_get(object, "samples");
	struct gw_profile_value *v = &out->device.param[param];
	struct gw_scale scale;

	if (!json_is_object(object))
		return gw_read_fail(r, gw_profile_at("params", name, NULL),
				    "'%s' must be an object", name);
	if (gw_read_only(r, object, "params", name, keys) ||
	    scale_of(r, object, "unit", gw_param_info(param).unit, "params", name, &scale) ||
	    gw_read_number(r, json_object_get(object, "value"),
			   gw_profile_at("params", name, "value"), scale, &v->value) ||
	    origin_of(r, object, "params", name, out,
		      (struct origin){&v->method, out->source[param], out->how[param],
				      &out->group[param]}))
		return -1;
	scale.low = 0;
	if (spread &&
	    gw_read_number(r, spread, gw_profile_at("params", name, "spread"), scale, &v->spread))
		return -1;
	if (samples && (!json_is_integer(samples) || json_integer_value(samples) < 0 ||
			json_integer_value(samples) > UINT32_MAX))
		return gw_read_fail(r, gw_profile_at("params", name, "samples"),
				    "must be a whole number from 0 to %u", UINT32_MAX);
	v->samples = (uint32_t)json_integer_value(samples);
	return 0;
}

static int read_points(struct gw_reader *r, const json_t *points, const char *name,
		       struct gw_scale x, struct gw_scale y, struct gw_curve *c)
{
	struct gw_profile_place where = gw_profile_at("curves", name, "points");
	struct gw_scale spread = {y.factor, 0, y.high};
	size_t n = json_array_size(points);

	if (!n || n > GW_CURVE_POINTS)
		return gw_read_fail(r, where,
				    "'%s' needs \"points\": 1 to %d of [x, y] or [x, y, spread]",
				    name, GW_CURVE_POINTS);
	for (uint32_t i = 0; i < n; i++) {
		const json_t *point = json_array_get(points, i);
		size_t size = json_array_size(point);

		if (size != 2 && size != 3)
			return gw_read_fail(r, where,
					    "point %u of '%s' is not [x, y] or [x, y, spread]",
					    i + 1, name);
		c->spread[i] = NAN;
		if (gw_read_number(r, json_array_get(point, 0), where, x, &c->x[i]) ||
		    gw_read_number(r, json_array_get(point, 1), where, y, &c->y[i]) ||
		    (size == 3 &&
		     gw_read_number(r, json_array_get(point, 2), where, spread, &c->spread[i])))
			return -1;
		if (i && c->x[i] <= c->x[i - 1])
			return gw_read_fail(r, where,
					    "point %u of '%s': x must rise from point to point",
					    i + 1, name);
	}
	c->count = (uint32_t)n;
	return 0;
}

/* The line of a curve; its numbers are in the units the curve is written in. */
static int read_fit(struct gw_reader *r, const json_t *object, const char *name, struct gw_scale x,
		    struct gw_scale y, struct gw_fit *fit)
{
	static const char *const keys[] = {"slope", "intercept", "r2", "low", "high", NULL};
	const double slope = y.factor / x.factor;
	struct gw_profile_place where = gw_profile_at("curves", name, "fit");

	if (!object)
		return 0;
	if (!json_is_object(object))
		return gw_read_fail(r, where, "\"fit\" of '%s' must be an object", name);
	for (unsigned i = 0; keys[i]; i++)
		if (json_object_size(object) != 5 || !json_object_get(object, keys[i]))
			return gw_read_fail(
				r, where, "\"fit\" of '%s' has slope, intercept, r2, low and high",
				name);
	if (gw_read_number(r, json_object_get(object, "slope"), where,
			   (struct gw_scale){slope, -HUGE_VAL, HUGE_VAL}, &fit->slope) ||
	    gw_read_number(r, json_object_get(object, "intercept"), where,
			   (struct gw_scale){y.factor, -y.high, y.high}, &fit->intercept) ||
	    gw_read_number(r, json_object_get(object, "r2"), where,
			   (struct gw_scale){1, -HUGE_VAL, 1}, &fit->r2) ||
	    gw_read_number(r, json_object_get(object, "low"), where, x, &fit->low))
		return -1;
	x.low = fit->low;
	return gw_read_number(r, json_object_get(object, "high"), where, x, &fit->high);
}

static int read_curve(struct gw_reader *r, const json_t *object, unsigned curve,
		      struct gw_profile *out)
{
	static const char *const keys[] = {"points", "unit_x", "unit_y", "method", "source",
					   "how",    "group",  "fit",    NULL};
	const char *name = gw_curve_info(curve).name;
	struct gw_curve *c = &out->device.curve[curve];
	struct gw_scale x, y;

	if (!json_is_object(object))
		return gw_read_fail(r, gw_profile_at("curves", name, NULL),
				    "'%s' must be an object", name);
	if (gw_read_only(r, object, "curves", name, keys) ||
	    scale_of(r, object, "unit_x", gw_curve_unit_x(curve), "curves", name, &x) ||
	    scale_of(r, object, "unit_y", gw_curve_info(curve).unit, "curves", name, &y) ||
	    origin_of(r, object, "curves", name, out,
		      (struct origin){&c->method, out->curve_source[curve], out->curve_how[curve],
				      &out->curve_group[curve]}) ||
	    read_points(r, json_object_get(object, "points"), name, x, y, c))
		return -1;
	return read_fit(r, json_object_get(object, "fit"), name, x, y, &c->fit);
}

/* A section whose keys are rows of device.def. */
static int read_rows(struct gw_reader *r, const json_t *rows, const char *section,
		     struct gw_field_info (*info)(unsigned),
		     int (*read)(struct gw_reader *, const json_t *, unsigned, struct gw_profile *),
		     struct gw_profile *out)
{
	const char *key;
	json_t *value;

	if (!rows)
		return 0;
	if (!json_is_object(rows))
		return gw_read_fail(r, gw_profile_at(section, NULL, NULL),
				    "\"%s\" must be an object", section);
	json_object_foreach((json_t *)rows, key, value)
	{
		unsigned i = gw_profile_row(info, key);

		if (!info(i).name)
			return gw_read_fail(
				r, gw_profile_at(section, key, NULL),
				"'%s' is not one of the %s; docs/internals/profile.md lists them",
				key, section);
		if (read(r, value, i, out))
			return -1;
	}
	return 0;
}

static int read_provenance(struct gw_reader *r, const json_t *object, struct gw_provenance *out)
{
	const char *keys[16] = {NULL};

	if (!object)
		return 0;
	if (!json_is_object(object))
		return gw_read_fail(r, gw_profile_at("provenance", NULL, NULL),
				    "\"provenance\" must be an object");
	for (unsigned i = 0; gw_provenance_name(i); i++)
		keys[i] = gw_provenance_name(i);
	if (gw_read_only(r, object, "provenance", NULL, keys))
		return -1;
	for (unsigned i = 0; keys[i]; i++)
		if (gw_read_text(r, json_object_get(object, keys[i]),
				 gw_profile_at("provenance", keys[i], NULL),
				 gw_provenance_text(out, i), GW_PROFILE_TEXT))
			return -1;
	return 0;
}

static int read_names(struct gw_reader *r, const json_t *root, struct gw_profile *out)
{
	const json_t *aliases = json_object_get(root, "aliases");
	struct gw_profile_place where = gw_profile_at("aliases", NULL, NULL);

	if (gw_read_text(r, json_object_get(root, "name"), gw_profile_at("name", NULL, NULL),
			 out->device.name, sizeof(out->device.name)))
		return -1;
	if (!*out->device.name)
		return gw_read_fail(r, gw_profile_at("name", NULL, NULL),
				    "needs \"name\": the GPU as its driver names it");
	if (aliases && (!json_is_array(aliases) || json_array_size(aliases) > GW_PROFILE_ALIASES))
		return gw_read_fail(r, where, "\"aliases\" must be a list of at most %d names",
				    GW_PROFILE_ALIASES);
	for (size_t i = 0; i < json_array_size(aliases); i++)
		if (gw_read_text(r, json_array_get(aliases, i), where,
				 out->aliases[out->alias_count++], sizeof(*out->aliases)))
			return -1;
	return 0;
}

static int read_root(struct gw_reader *r, const json_t *root, struct gw_profile *out)
{
	static const char *const keys[] = {"gpuwatch_profile", "name",    "aliases",
					   "provenance",       "groups",  "params",
					   "curves",           "unknown", NULL};
	const json_t *version = json_object_get(root, "gpuwatch_profile");

	if (!json_is_integer(version))
		return gw_read_fail(r, gw_profile_at("gpuwatch_profile", NULL, NULL),
				    "not a device profile: no \"gpuwatch_profile\": %d",
				    GW_PROFILE_VERSION);
	if (json_integer_value(version) != GW_PROFILE_VERSION)
		return gw_read_fail(
			r, gw_profile_at("gpuwatch_profile", NULL, NULL),
			"format %lld; this gpuwatch reads format %d: calibrate again or use the "
			"gpuwatch that wrote it",
			(long long)json_integer_value(version), GW_PROFILE_VERSION);
	if (gw_read_only(r, root, NULL, NULL, keys) || read_names(r, root, out) ||
	    read_provenance(r, json_object_get(root, "provenance"), &out->provenance) ||
	    gw_read_groups(r, json_object_get(root, "groups"), out) ||
	    read_rows(r, json_object_get(root, "params"), "params", gw_param_info, read_param,
		      out) ||
	    read_rows(r, json_object_get(root, "curves"), "curves", gw_curve_info, read_curve, out))
		return -1;
	return gw_read_unknown(r, json_object_get(root, "unknown"), out);
}

void gw_profile_clear(struct gw_profile *profile, const char *name)
{
	memset(profile, 0, sizeof(*profile));
	gw_device_clear(&profile->device, name);
}

int gw_profile_parse(const char *text, size_t length, const char *file, struct gw_profile *out,
		     struct gw_profile_error *error)
{
	struct gw_reader r = {.text = text, .file = file, .length = length, .error = error};
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
		gw_profile_say(error,
			       "%s:%d: %s; it must be JSON as docs/internals/profile.md says", file,
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
