#include "cli/common/json_file.h"
#include "cli/message.h"
#include "predictor/profile/json_text.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the text nests too deep for us, which is far less than jansson's own bound; else NULL. */
static const char *too_deep(const char *text, const char *end)
{
	unsigned depth = 0;

	for (const char *p = text; p < end;) {
		if (*p == '"') {
			p = gw_json_skip_string(p, end);
			continue;
		}
		if ((*p == '[' || *p == '{') && ++depth > JSON_FILE_DEPTH)
			return p;
		if ((*p == ']' || *p == '}') && depth)
			depth--;
		p++;
	}
	return NULL;
}

/* jansson's texts quote what stands near: any character may. */
static bool refuse(char *error, size_t error_size, unsigned line, const char *why)
{
	char safe[JSON_ERROR_TEXT_LENGTH];

	snprintf(error, error_size, "%u: %s", line, gw_printable(safe, sizeof(safe), why));
	return false;
}

/* Takes @p text, which malloc() gave and a NUL ends. */
static bool parse(struct json_file *file, char *text, size_t length, char *error, size_t error_size)
{
	/* Numbers of any size are taken as what they are about. */
	const size_t flags = JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL;
	const char *deep;
	json_error_t wrong;
	char why[64];

	*file = (struct json_file){.text = text, .length = length};
	if (length > JSON_FILE_BYTES) {
		snprintf(why, sizeof(why), "longer than %d bytes", JSON_FILE_BYTES);
		return refuse(error, error_size, 1, why);
	}
	deep = too_deep(text, text + length);
	if (deep) {
		snprintf(why, sizeof(why), "nested more than %d deep", JSON_FILE_DEPTH);
		return refuse(error, error_size, gw_json_line_at(text, deep), why);
	}
	file->root = json_loadb(text, length, flags, &wrong);
	return file->root ||
	       refuse(error, error_size, wrong.line > 0 ? (unsigned)wrong.line : 1, wrong.text);
}

bool json_file_parse(struct json_file *file, const char *text, size_t length, char *error,
		     size_t error_size)
{
	char *copy = malloc(length + 1);
	bool ok;

	*file = (struct json_file){0};
	if (!copy)
		return refuse(error, error_size, 1, "out of memory");
	memcpy(copy, text, length);
	copy[length] = '\0';
	ok = parse(file, copy, length, error, error_size);
	if (!ok)
		json_file_free(file);
	return ok;
}

static char *read_all(FILE *file, size_t *length)
{
	size_t room = 65536, used = 0, got;
	char *text = malloc(room);

	while (text && (got = fread(text + used, 1, room - used, file)) > 0) {
		used += got;
		if (used > JSON_FILE_BYTES)
			break;
		if (used == room) {
			char *bigger = realloc(text, room *= 2);

			if (!bigger)
				free(text);
			text = bigger;
		}
	}
	if (text)
		text[used < room ? used : room - 1] = '\0'; /* what is too long is not read */
	*length = used;
	return text;
}

bool json_file_read(struct json_file *file, const char *path, char *error, size_t error_size)
{
	bool standard = strcmp(path, "-") == 0, ok = false;
	FILE *stream = standard ? stdin : fopen(path, "re");
	char what[512], *text = NULL;
	size_t length = 0;

	*file = (struct json_file){0};
	if (stream) {
		errno = 0;
		text = read_all(stream, &length);
	}
	if (!stream || !text || ferror(stream)) {
		snprintf(error, error_size, "%s: cannot be read: %s%s", path,
			 strerror(errno ? errno : EIO), gw_open_remedy(errno));
		free(text);
	} else {
		ok = parse(file, text, length, what, sizeof(what));
		if (!ok) {
			snprintf(error, error_size, "%s:%s", standard ? "standard input" : path,
				 what);
			json_file_free(file);
		}
	}
	if (stream && !standard)
		fclose(stream);
	return ok;
}

void json_file_free(struct json_file *file)
{
	json_decref(file->root);
	free(file->text);
	*file = (struct json_file){0};
}

static struct json_node node_of(const json_t *value, const struct json_node *parent,
				const char *key, size_t index)
{
	struct json_node n = {.value = value, .parent = parent, .key = key, .index = index};

	if (!value)
		return n;
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		n.kind = NODE_OBJECT;
		n.count = json_object_size(value);
		break;
	case JSON_ARRAY:
		n.kind = NODE_ARRAY;
		n.count = json_array_size(value);
		break;
	case JSON_STRING:
		n.kind = NODE_STRING;
		n.string = json_string_value(value);
		break;
	case JSON_INTEGER:
	case JSON_REAL:
		n.kind = NODE_NUMBER;
		n.number = json_number_value(value);
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		n.kind = NODE_BOOL;
		n.boolean = json_is_true(value);
		break;
	case JSON_NULL:
		n.kind = NODE_NULL;
		break;
	}
	return n;
}

struct json_node json_file_root(const struct json_file *file)
{
	return node_of(file->root, NULL, NULL, 0);
}

/* jansson's iterator changes nothing, but is asked for by an object that may be changed. */
static json_t *object_of(const struct json_node *object)
{
	return (json_t *)(uintptr_t)object->value;
}

static struct json_node member_at(const struct json_node *object, void *at)
{
	const char *key = at ? json_object_iter_key(at) : NULL;

	return node_of(at ? json_object_iter_value(at) : NULL, object, key, 0);
}

struct json_node json_first(const struct json_node *parent)
{
	if (parent->kind == NODE_OBJECT)
		return member_at(parent, json_object_iter(object_of(parent)));
	return node_of(parent->kind == NODE_ARRAY ? json_array_get(parent->value, 0) : NULL, parent,
		       NULL, 0);
}

void json_next(struct json_node *node)
{
	const struct json_node *parent = node->parent;

	if (node->key)
		*node = member_at(parent,
				  json_object_iter_next(object_of(parent),
							json_object_key_to_iter(node->key)));
	else
		*node = node_of(json_array_get(parent->value, node->index + 1), parent, NULL,
				node->index + 1);
}

struct json_node json_member(const struct json_node *object, const char *key)
{
	void *at = object->kind == NODE_OBJECT ? json_object_iter_at(object_of(object), key) : NULL;

	return member_at(object, at);
}

/* How many values stand before @p node in what holds it: jansson keeps members in their order. */
static size_t place_of(const struct json_node *node)
{
	size_t place = 0;

	if (!node->key)
		return node->index;
	for (void *at = json_object_iter(object_of(node->parent));
	     at && json_object_iter_key(at) != node->key;
	     at = json_object_iter_next(object_of(node->parent), at))
		place++;
	return place;
}

static const char *begin_of(const struct json_file *file, const struct json_node *node)
{
	const char *end = file->text + file->length, *p;

	if (!node->parent)
		return gw_json_skip_space(file->text, end);
	p = gw_json_skip_space(begin_of(file, node->parent) + 1, end);
	for (size_t before = place_of(node); before > 0; before--) {
		if (node->key)
			p = gw_json_skip_space(gw_json_skip_string(p, end), end);
		p = gw_json_skip_space(gw_json_skip_value(p, end), end);
	}
	return node->key ? gw_json_skip_space(gw_json_skip_string(p, end), end) : p;
}

unsigned json_file_line(const struct json_file *file, const struct json_node *node)
{
	return gw_json_line_at(file->text, begin_of(file, node));
}

const char *json_kind_name(enum json_kind kind)
{
	static const char *const names[] = {"null",     "true or false", "a number",
					    "a string", "an array",      "an object"};

	return names[kind];
}
