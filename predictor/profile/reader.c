#include "predictor/profile/reader.h"

#include <stdarg.h>
#include <string.h>

int gw_read_fail(struct gw_reader *r, struct gw_profile_place where, const char *format, ...)
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

int gw_read_only(struct gw_reader *r, const json_t *object, const char *section, const char *name,
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
			return gw_read_fail(
				r,
				!section ? gw_profile_at(key, NULL, NULL)
				: !name  ? gw_profile_at(section, key, NULL)
					 : gw_profile_at(section, name, key),
				"unknown key '%s'; docs/internals/profile.md lists the keys", key);
	}
	return 0;
}

int gw_read_copy_text(struct gw_reader *r, const char *s, struct gw_profile_place where, char *to,
		      size_t room)
{
	if (strlen(s) >= room)
		return gw_read_fail(r, where, "is longer than %zu bytes; shorten it", room - 1);
	for (const char *c = s; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return gw_read_fail(r, where, "has a control character; remove it");
	memcpy(to, s, strlen(s) + 1);
	return 0;
}

int gw_read_text(struct gw_reader *r, const json_t *value, struct gw_profile_place where, char *to,
		 size_t room)
{
	const char *s = json_string_value(value);

	if (!value)
		return 0;
	return s ? gw_read_copy_text(r, s, where, to, room)
		 : gw_read_fail(r, where, "must be a string");
}

int gw_read_number(struct gw_reader *r, const json_t *value, struct gw_profile_place where,
		   struct gw_scale scale, double *out)
{
	double v;

	if (!json_is_number(value))
		return gw_read_fail(r, where, "must be a number; leave out what is not known");
	v = json_number_value(value) * scale.factor;
	if (!(v >= scale.low && v <= scale.high))
		return gw_read_fail(r, where,
				    "%g is out of range: %g to %g in the parameter's own unit", v,
				    scale.low, scale.high);
	*out = v;
	return 0;
}

unsigned gw_profile_row(struct gw_field_info (*info)(unsigned), const char *name)
{
	const char *row;
	unsigned i = 0;

	while ((row = info(i).name) && strcmp(row, name))
		i++;
	return i;
}
