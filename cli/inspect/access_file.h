/*
 * Syntax trees of accesses as JSON, as in fig. 3.3 of Kim 2023: an object with a member for each
 * instruction, called as the instruction is written, that lists the tree's nodes breadth first as
 * {"reg", "opcode", "parent"}.
 */
#ifndef GW_ACCESS_FILE_H
#define GW_ACCESS_FILE_H

#include "cli/common/json.h"
#include "cli/common/json_file.h"
#include "predictor/code/memory/access.h"

enum { ACCESS_FILE_COUNT = 4096 /**< most accesses of a file */ };

/** Accesses read from a file; texts are the document's. */
struct access_file {
	struct json_file json;
	size_t count;
	struct gw_access *access;
};

/**
 * Read a file ("-": standard input), or @p length bytes of @p text called @p name. On failure
 * false and, in @p error, one message with file and line; nothing is then held.
 */
bool access_file_read(struct access_file *file, const char *path, char *error, size_t error_size);
bool access_file_parse(struct access_file *file, const char *text, size_t length, const char *name,
		       char *error, size_t error_size);
void access_file_free(struct access_file *file);

/** The same document made of @p count accesses; a text that comes again gets its number. */
json_t *access_file_json(const struct gw_access *access, size_t count);

#endif
