/* Shared by the files of library gwprofile; included nowhere else. */
#ifndef GW_PROFILE_JSON_H
#define GW_PROFILE_JSON_H

#include "predictor/profile/profile.h"

/** Longest path of keys to a value: section, name, key. */
enum { GW_JSON_DEPTH = 3 };

/**
 * Line of the last existing key of @p path (NULL-terminated, at most GW_JSON_DEPTH keys) in @p
 * text, which must be valid JSON; 1 when none exists.
 */
unsigned gw_json_line(const char *text, size_t length, const char *const path[]);

/** Write a message; control characters in it become '?', so that no file can drive a terminal. */
void gw_profile_say(struct gw_profile_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/**
 * How many of @p unit one @p written is (GB/s for B/s: 1e9); NaN when @p written is not that
 * unit with a prefix it allows. @p low and @p high receive the range of @p unit.
 */
double gw_unit_scale(const char *unit, const char *written, double *low, double *high);

/** Names of struct gw_provenance's members, and where each is; NULL past the last. */
const char *gw_provenance_name(unsigned i);
char *gw_provenance_text(struct gw_provenance *p, unsigned i);

/** A member of struct gw_group_run: its key, where it is, and the room of a text, 0 for a number.
 */
struct gw_group_field {
	const char *name;
	size_t offset, room;
};

/** Field @p i of a group, in the order they are written; NULL past the last. */
const struct gw_group_field *gw_group_field(unsigned i);

#endif
