#include "cli/inspect/access_file.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

struct reader {
	const struct json_file *json;
	const char *name;
	char *error;
	size_t error_size;
};

__attribute__((format(printf, 3, 4))) static bool
fail(const struct reader *r, const struct json_node *at, const char *format, ...)
{
	char what[512], safe[512];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	snprintf(r->error, r->error_size, "%s:%u: %s", r->name, json_file_line(r->json, at),
		 gw_printable(safe, sizeof(safe), what));
	return false;
}

static bool expect(const struct reader *r, const struct json_node *n, enum json_kind kind,
		   const char *what)
{
	return n->kind == kind || fail(r, n, "%s must be %s, not %s", what, json_kind_name(kind),
				       json_kind_name(n->kind));
}

/* A text no longer than GW_ACCESS_TEXT_MAX. */
static bool read_text(const struct reader *r, const struct json_node *n, const char **out)
{
	if (!expect(r, n, NODE_STRING, n->key))
		return false;
	if (strlen(n->string) > GW_ACCESS_TEXT_MAX)
		return fail(r, n, "\"%s\" is longer than %d bytes", n->key, GW_ACCESS_TEXT_MAX);
	*out = n->string;
	return true;
}

static bool read_parent(const struct reader *r, const struct json_node *n, int32_t *out)
{
	if (!expect(r, n, NODE_NUMBER, "\"parent\""))
		return false;
	if (n->number != floor(n->number) || n->number < -1 || n->number >= GW_ACCESS_NODES)
		return fail(r, n, "\"parent\" is the number of a node, from 0, or -1 at the root");
	*out = (int32_t)n->number;
	return true;
}

static bool read_node(const struct reader *r, const struct json_node *json,
		      struct gw_access_node *out)
{
	bool parent = false, ok = true;

	*out = (struct gw_access_node){0};
	if (!expect(r, json, NODE_OBJECT, "a node"))
		return false;
	for (struct json_node m = json_first(json); m.value && ok; json_next(&m)) {
		if (strcmp(m.key, "reg") == 0)
			ok = read_text(r, &m, &out->reg);
		else if (strcmp(m.key, "opcode") == 0)
			ok = read_text(r, &m, &out->opcode);
		else if (strcmp(m.key, "parent") == 0)
			ok = parent = read_parent(r, &m, &out->parent);
		else
			ok = fail(r, &m,
				  "unknown key \"%.80s\"; a node has \"reg\", \"opcode\" and "
				  "\"parent\"",
				  m.key);
	}
	if (ok && (!out->reg || !out->opcode || !parent))
		return fail(r, json, "a node needs \"reg\", \"opcode\" and \"parent\"");
	if (ok)
		gw_access_decode(out);
	return ok;
}

static bool read_access(const struct reader *r, const struct json_node *json, struct gw_access *out)
{
	const char *wrong;
	uint32_t at;

	if (!expect(r, json, NODE_ARRAY, "an access"))
		return false;
	if (strlen(json->key) > GW_ACCESS_TEXT_MAX)
		return fail(r, json, "an instruction is longer than %d bytes", GW_ACCESS_TEXT_MAX);
	if (json->count < 1 || json->count > GW_ACCESS_NODES)
		return fail(r, json, "an access has 1 to %d nodes, not %zu", GW_ACCESS_NODES,
			    json->count);
	out->text = json->key;
	out->bytes = gw_access_width(json->key);
	out->store = strncmp(json->key, "ld", 2) != 0;
	if (!out->bytes)
		return fail(r, json,
			    "\"%.80s\" does not state its width; expected an instruction such "
			    "as \"ld.global.f32 %%f1, [%%rd1];\"",
			    json->key);
	out->nodes = calloc(json->count, sizeof(*out->nodes));
	if (!out->nodes)
		return fail(r, json, "out of memory");
	for (struct json_node n = json_first(json); n.value; json_next(&n))
		if (!read_node(r, &n, &out->nodes[out->count++]))
			return false;
	wrong = gw_access_link(out, &at);
	if (!wrong)
		return true;
	for (struct json_node n = json_first(json); n.value; json_next(&n))
		if (n.index == at)
			return fail(r, &n, "node %u: %s", at, wrong);
	return fail(r, json, "%s", wrong);
}

static bool read_root(const struct reader *r, struct access_file *file)
{
	const struct json_node whole = json_file_root(&file->json), *root = &whole;

	if (!expect(r, root, NODE_OBJECT, "a file of accesses"))
		return false;
	if (root->count < 1 || root->count > ACCESS_FILE_COUNT)
		return fail(r, root, "a file has 1 to %d accesses, not %zu", ACCESS_FILE_COUNT,
			    root->count);
	file->access = calloc(root->count, sizeof(*file->access));
	if (!file->access)
		return fail(r, root, "out of memory");
	for (struct json_node m = json_first(root); m.value; json_next(&m))
		if (!read_access(r, &m, &file->access[file->count++]))
			return false;
	return true;
}

static bool finish(struct access_file *file, bool parsed, const struct reader *r)
{
	if (parsed && read_root(r, file))
		return true;
	access_file_free(file);
	return false;
}

bool access_file_read(struct access_file *file, const char *path, char *error, size_t error_size)
{
	struct reader r = {&file->json, strcmp(path, "-") == 0 ? "standard input" : path, error,
			   error_size};

	*file = (struct access_file){0};
	return finish(file, json_file_read(&file->json, path, error, error_size), &r);
}

bool access_file_parse(struct access_file *file, const char *text, size_t length, const char *name,
		       char *error, size_t error_size)
{
	struct reader r = {&file->json, name, error, error_size};
	char what[512];
	bool parsed;

	*file = (struct access_file){0};
	parsed = json_file_parse(&file->json, text, length, what, sizeof(what));
	if (!parsed)
		snprintf(error, error_size, "%s:%s", name, what);
	return finish(file, parsed, &r);
}

void access_file_free(struct access_file *file)
{
	for (size_t i = 0; i < file->count; i++)
		free(file->access[i].nodes);
	free(file->access);
	json_file_free(&file->json);
	*file = (struct access_file){0};
}

static json_t *access_json(const struct gw_access *access)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < access->count; i++) {
		const struct gw_access_node *n = &access->nodes[i];
		json_t *node = json_object();

		gw_set_text(node, "reg", n->reg);
		gw_set_text(node, "opcode", n->opcode);
		json_object_set_new(node, "parent", json_integer(n->parent));
		json_array_append_new(nodes, node);
	}
	return nodes;
}

json_t *access_file_json(const struct gw_access *access, size_t count)
{
	json_t *root = json_object();

	for (size_t i = 0; i < count; i++) {
		char key[GW_ACCESS_TEXT_MAX + 1], text[GW_ACCESS_TEXT_MAX + 1];
		unsigned again = 1;

		gw_printable(text, sizeof(text), access[i].text);
		snprintf(key, sizeof(key), "%s", text);
		while (json_object_get(root, key))
			snprintf(key, sizeof(key), "%.*s (%u)", GW_ACCESS_TEXT_MAX - 16, text,
				 ++again);
		json_object_set_new(root, key, access_json(&access[i]));
	}
	return root;
}
