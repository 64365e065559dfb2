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

/** How the value of a member is read, and of which type it is in C. */
enum launch_kind {
	LAUNCH_WHOLE,  /**< a whole number from low to high: uint32_t */
	LAUNCH_NUMBER, /**< a number from low to high: double */
	LAUNCH_BOOL,   /**< bool */
	LAUNCH_TEXT,   /**< const char *, the document's */
	LAUNCH_OTHER,  /**< by `read` */
	LAUNCH_LATER,  /**< not here */
};

/** A member that an object of a launch file may have. */
struct launch_member {
	const char *key;
	enum launch_kind kind;
	double low, high;
	size_t offset; /**< in the struct that the object becomes */
	bool (*read)(const struct launch_reader *r, const struct json_node *m, void *at);
};

/** Read the object @p node into @p out by its @p count rows, at most 32; an error, which calls
 * the object @p where, for a member that has none. */
bool launch_members_read(const struct launch_reader *r, const struct json_node *node,
			 const char *where, const struct launch_member *rows, size_t count,
			 void *out);

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
