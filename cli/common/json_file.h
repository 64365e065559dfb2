/*
 * JSON that a user wrote: jansson reads it, and every value finds its line again, so that an error
 * about a value's meaning can name its place. Bounded: hostile input gives an error, never a crash
 * or deep recursion.
 */
#ifndef GW_JSON_FILE_H
#define GW_JSON_FILE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum {
	JSON_FILE_BYTES = 16 << 20, /**< longest document read */
	JSON_FILE_DEPTH = 32,       /**< deepest nesting */
};

/** A document, and its text for the lines. */
struct json_file {
	json_t *root; /**< NULL: empty */
	char *text;
	size_t length;
};

enum json_kind { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_ARRAY, NODE_OBJECT };

/** A value and where it stands. Strings are the document's, the parent is the caller's. */
struct json_node {
	const json_t *value; /**< NULL: there is none */
	const struct json_node *parent;
	const char *key; /**< its name in the object that holds it; NULL elsewhere */
	size_t index;    /**< in the array that holds it */
	enum json_kind kind;
	bool boolean;
	double number;      /**< always finite */
	const char *string; /**< UTF-8 without NUL inside */
	size_t count;       /**< elements of an array or members of an object */
};

/**
 * Parse @p length bytes of text. On failure returns false and writes what is wrong into
 * @p error ("3: ...", 3 being the line); the document is then empty. On success the caller ends
 * with json_file_free. A key that stands twice in one object is an error.
 */
bool json_file_parse(struct json_file *file, const char *text, size_t length, char *error,
		     size_t error_size);

/** Read and parse a file; "-" is standard input. The error begins "file:line: ". */
bool json_file_read(struct json_file *file, const char *path, char *error, size_t error_size);

/** Release; an empty document is fine. */
void json_file_free(struct json_file *file);

/** The document as a value. */
struct json_node json_file_root(const struct json_file *file);

/** Line on which @p node begins, from 1. */
unsigned json_file_line(const struct json_file *file, const struct json_node *node);

/**
 * The values in @p parent, in the order of the file; none where it holds none:
 *     for (struct json_node n = json_first(parent); n.value; json_next(&n))
 * @p parent must stay where it is as long as they are used.
 */
struct json_node json_first(const struct json_node *parent);
void json_next(struct json_node *node);

/** Member @p key of @p object; without a value when it has none or is no object. */
struct json_node json_member(const struct json_node *object, const char *key);

/** "an object", "a number" and so on, for messages. */
const char *json_kind_name(enum json_kind kind);

#endif
