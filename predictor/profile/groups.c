/* The parts of a profile that a calibration writes: its groups, and what it could not measure. */
#include "predictor/profile/reader.h"

#include <math.h>
#include <string.h>

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

int gw_read_group_name(struct gw_reader *r, const json_t *object, const char *section,
		       const char *name, const struct gw_profile *profile, uint8_t *out)
{
	const json_t *group = json_object_get(object, "group");
	const char *s = json_string_value(group);

	if (!group)
		return 0;
	for (unsigned i = 0; s && i < profile->group_count; i++)
		if (!strcmp(profile->groups[i].name, s)) {
			*out = (uint8_t)(i + 1);
			return 0;
		}
	return gw_read_fail(r, gw_profile_at(section, name, "group"),
			    "the group of '%s' must be one of \"groups\"", name);
}

static int read_group(struct gw_reader *r, const json_t *object, struct gw_group_run *run)
{
	static const struct gw_scale any = {1, 0, 1e15};
	const char *keys[16] = {NULL};

	if (!json_is_object(object))
		return gw_read_fail(r, gw_profile_at("groups", run->name, NULL),
				    "a group must be an object");
	for (unsigned i = 0; gw_group_field(i); i++)
		keys[i] = gw_group_field(i)->name;
	if (gw_read_only(r, object, "groups", run->name, keys))
		return -1;
	for (unsigned i = 0; keys[i]; i++) {
		const struct gw_group_field *f = gw_group_field(i);
		const json_t *value = json_object_get(object, f->name);
		struct gw_profile_place where = gw_profile_at("groups", run->name, f->name);
		char *to = (char *)run + f->offset;

		if (f->room ? gw_read_text(r, value, where, to, f->room)
			    : value && gw_read_number(r, value, where, any, (double *)(void *)to))
			return -1;
	}
	return 0;
}

int gw_read_groups(struct gw_reader *r, const json_t *groups, struct gw_profile *out)
{
	const char *key;
	json_t *value;

	if (!groups)
		return 0;
	if (!json_is_object(groups))
		return gw_read_fail(r, gw_profile_at("groups", NULL, NULL),
				    "\"groups\" must be an object");
	json_object_foreach((json_t *)groups, key, value)
	{
		struct gw_profile_place where = gw_profile_at("groups", key, NULL);
		char text[sizeof(out->groups->name)];
		unsigned place;

		if (gw_read_copy_text(r, key, where, text, sizeof(text)))
			return -1;
		place = *text ? gw_profile_group(out, text) : 0;
		if (!place)
			return gw_read_fail(r, where, "more than %d groups, or one without a name",
					    GW_PROFILE_GROUPS);
		if (read_group(r, value, &out->groups[place - 1]))
			return -1;
	}
	return 0;
}

/* Why a parameter or a function is not known. */
int gw_read_unknown(struct gw_reader *r, const json_t *rows, struct gw_profile *out)
{
	static const char *const keys[] = {"why", "group", NULL};
	const char *key;
	json_t *value;

	if (rows && !json_is_object(rows))
		return gw_read_fail(r, gw_profile_at("unknown", NULL, NULL),
				    "\"unknown\" must be an object");
	json_object_foreach((json_t *)rows, key, value)
	{
		unsigned param = gw_profile_row(gw_param_info, key),
			 curve = gw_profile_row(gw_curve_info, key);
		bool is_param = param < GW_PARAMS, is_curve = curve < GW_CURVES;

		if ((!is_param || out->device.param[param].method) &&
		    (!is_curve || out->device.curve[curve].method))
			return gw_read_fail(r, gw_profile_at("unknown", key, NULL),
					    "'%s' is no name that is unknown here; "
					    "docs/internals/profile.md lists "
					    "the names",
					    key);
		if (!json_is_object(value))
			return gw_read_fail(r, gw_profile_at("unknown", key, NULL),
					    "'%s' must be an object", key);
		if (gw_read_only(r, value, "unknown", key, keys) ||
		    gw_read_text(
			    r, json_object_get(value, "why"), gw_profile_at("unknown", key, "why"),
			    is_param ? out->how[param] : out->curve_how[curve], GW_PROFILE_TEXT) ||
		    gw_read_group_name(r, value, "unknown", key, out,
				       is_param ? &out->group[param] : &out->curve_group[curve]))
			return -1;
	}
	return 0;
}
