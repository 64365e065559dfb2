/*
 * Reading of profile files: shared by its parts, included nowhere else. Every gw_read_* returns 0,
 * or -1 with the reader's error filled: file, line, what is wrong.
 */
#ifndef GW_PROFILE_READER_H
#define GW_PROFILE_READER_H

#include <jansson.h>

#include "predictor/profile/json.h"

/** One reading: what is needed to say where something is wrong. */
struct gw_reader {
	const char *text, *file;
	size_t length;
	struct gw_profile_error *error;
};

/** Where in the file: section, name in it, key of that; NULL where the place is less deep. */
struct gw_profile_place {
	const char *path[GW_JSON_DEPTH + 1];
};

static inline struct gw_profile_place gw_profile_at(const char *section, const char *name,
						    const char *key)
{
	return (struct gw_profile_place){{section, name, key, NULL}};
}

/** The scale of a number's unit, and its range. */
struct gw_scale {
	double factor, low, high;
};

/** Say what is wrong; always -1. */
int gw_read_fail(struct gw_reader *r, struct gw_profile_place where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Every key of @p object must be in @p allowed: an unknown key is most likely a typing error. */
int gw_read_only(struct gw_reader *r, const json_t *object, const char *section, const char *name,
		 const char *const allowed[]);

/** Text of at most @p room - 1 bytes without control characters. */
int gw_read_copy_text(struct gw_reader *r, const char *s, struct gw_profile_place where, char *to,
		      size_t room);

/** The same from a JSON string; @p value may be NULL: the text is left as it is. */
int gw_read_text(struct gw_reader *r, const json_t *value, struct gw_profile_place where, char *to,
		 size_t room);

int gw_read_number(struct gw_reader *r, const json_t *value, struct gw_profile_place where,
		   struct gw_scale scale, double *out);

/** The group that @p object names, which must be one of the profile's: 1 + its index; @p out stays
 * where it names none. */
int gw_read_group_name(struct gw_reader *r, const json_t *object, const char *section,
		       const char *name, const struct gw_profile *profile, uint8_t *out);

/** The sections "groups" and "unknown"; @p rows may be NULL. */
int gw_read_groups(struct gw_reader *r, const json_t *rows, struct gw_profile *out);
int gw_read_unknown(struct gw_reader *r, const json_t *rows, struct gw_profile *out);

/** Index of the row called @p name; past the last when there is none. */
unsigned gw_profile_row(struct gw_field_info (*info)(unsigned), const char *name);

#endif
