/* SPDX-License-Identifier: Apache-2.0 */
/* Between file.c and fields.c: reading one launch. */
#ifndef GW_LAUNCH_FIELDS_H
#define GW_LAUNCH_FIELDS_H

#include "cli/launch/file.h"

/** Where a reader is, and where its one error goes. */
struct launch_reader {
	const struct json_file *json;
	const char *name; /**< of the file */
	char *error;
	size_t error_size;
};

/** Write "file:line: ..." for the place of @p at. Returns false. */
bool launch_fail(const struct launch_reader *r, const struct json_node *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/** Whether @p node is of @p kind; an error when it is not. */
bool launch_expect(const struct launch_reader *r, const struct json_node *node,
		   enum json_kind kind);

/** The error for a key that is none of @p known. Returns false. */
bool launch_unknown_key(const struct launch_reader *r, const struct json_node *member,
			const char *where, const char *const *known, size_t count);

/** Read one launch; @p out is zeroed by the caller. */
bool launch_fields_read(const struct launch_reader *r, const struct json_node *node,
			struct launch_case *out);

/** Read "work" and "parameters" of a launch (work.c); @p iterations multiplies the M_*
 * values. */
bool launch_work_read(const struct launch_reader *r, const struct json_node *node,
		      double iterations, struct launch_case *out);
bool launch_parameters_read(const struct launch_reader *r, const struct json_node *node,
			    struct launch_case *out);

/** Read "intervals" of a launch (intervals.c). */
bool launch_intervals_read(const struct launch_reader *r, const struct json_node *list,
			   struct launch_case *out);

/** A number between @p low and @p high; an error that names the key otherwise. */
bool launch_number(const struct launch_reader *r, const struct json_node *node, double low,
		   double high, double *out);

#endif
