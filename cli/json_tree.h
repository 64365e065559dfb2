/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON document as a tree that remembers the line of every value, so that an error
 * about a value's meaning can name its place. Bounded: hostile input gives an error,
 * never a crash, deep recursion or more than a few times its own size of memory.
 */
#ifndef GW_JSON_TREE_H
#define GW_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>

enum {
	JSON_TREE_BYTES = 16 << 20, /**< longest document read */
	JSON_TREE_DEPTH = 32,       /**< deepest nesting */
};

enum json_kind { NODE_NULL, NODE_BOOL, NODE_NUMBER, NODE_STRING, NODE_ARRAY, NODE_OBJECT };

/** A value. Owned by its document. */
struct json_node {
	enum json_kind kind;
	unsigned line;   /**< where it begins, from 1 */
	const char *key; /**< its name in the object that holds it; NULL elsewhere */
	union {
		bool boolean;
		double number;      /**< always finite */
		const char *string; /**< UTF-8 without NUL inside */
	};
	size_t count;            /**< elements of an array or members of an object */
	struct json_node *first; /**< first of them */
	struct json_node *next;  /**< next in the array or object that holds this */
};

/** A document: its root and the memory behind it. */
struct json_tree {
	struct json_node *root;
	struct json_chunk *chunks;
};

/**
 * Parse @p length bytes of text. On failure returns false and writes what is wrong into
 * @p error ("3: ...", 3 being the line); the tree is then empty. On success the caller ends with
 * json_tree_free. A key that stands twice in one object is an error.
 */
bool json_tree_parse(struct json_tree *tree, const char *text, size_t length, char *error,
                     size_t error_size);

/** Read and parse a file; "-" is standard input. The error begins "file:line: ". */
bool json_tree_read(struct json_tree *tree, const char *path, char *error, size_t error_size);

/** Release; an empty tree is fine. */
void json_tree_free(struct json_tree *tree);

/** Member @p key of @p object, NULL when it has none or is no object. */
const struct json_node *json_member(const struct json_node *object, const char *key);

/** "an object", "a number" and so on, for messages. */
const char *json_kind_name(enum json_kind kind);

#endif
