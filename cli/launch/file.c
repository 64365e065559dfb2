/* The file as a whole and its errors; what stands inside one launch is fields.c. */
#include "cli/launch/file.h"
#include "cli/launch/fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/nearest.h"
#include "cli/message.h"

bool launch_fail(const struct launch_reader *r, const struct json_node *at, const char *format, ...)
{
	va_list args;
	int n = snprintf(r->error, r->error_size, "%s:%u: ", r->name, json_file_line(r->json, at));

	if (n < 0 || (size_t)n >= r->error_size)
		return false;
	va_start(args, format);
	vsnprintf(r->error + n, r->error_size - (size_t)n, format, args);
	va_end(args);
	return false;
}

bool launch_expect(const struct launch_reader *r, const struct json_node *node, enum json_kind kind)
{
	if (node->kind == kind)
		return true;
	return launch_fail(r, node, "%s%s%s must be %s, not %s", node->key ? "\"" : "",
			   node->key ? node->key : "this", node->key ? "\"" : "",
			   json_kind_name(kind), json_kind_name(node->kind));
}

bool launch_unknown_key(const struct launch_reader *r, const struct json_node *member,
			const char *where, const char *const *known, size_t count)
{
	char near[256];

	gw_nearest(near, sizeof(near), member->key, known, count, 16);
	return launch_fail(r, member, "unknown key \"%.80s\" in %s%s%s%s", member->key, where,
			   *near ? "; did you mean " : "; docs/user/launch.md lists the keys", near,
			   *near ? "?" : "");
}

static bool make_room(const struct launch_reader *r, const struct json_node *at, size_t count,
		      struct launch_file *file)
{
	file->launches = calloc(count, sizeof(*file->launches));
	return file->launches || launch_fail(r, at, "out of memory");
}

static bool read_launches(const struct launch_reader *r, const struct json_node *list, void *at)
{
	struct launch_file *file = at;

	if (!launch_expect(r, list, NODE_ARRAY))
		return false;
	if (list->count == 0)
		return launch_fail(r, list, "no launch is described");
	if (list->count > LAUNCH_FILE_LAUNCHES)
		return launch_fail(r, list, "%zu launches; the limit is %d", list->count,
				   LAUNCH_FILE_LAUNCHES);
	if (!make_room(r, list, list->count, file))
		return false;
	for (struct json_node n = json_first(list); n.value; json_next(&n))
		if (!launch_fields_read(r, &n, &file->launches[file->count++]))
			return false;
	return true;
}

static const struct launch_member document_rows[] = {
	{"title", LAUNCH_TEXT, 0, 0, offsetof(struct launch_file, title), NULL},
	{"source", LAUNCH_TEXT, 0, 0, offsetof(struct launch_file, source), NULL},
	{"launches", LAUNCH_OTHER, 0, 0, 0, read_launches},
};

static bool read_root(struct launch_reader *r, struct launch_file *file)
{
	const struct json_node whole = json_file_root(&file->json), *root = &whole;

	if (root->kind == NODE_ARRAY)
		return read_launches(r, root, file);
	if (root->kind == NODE_OBJECT && json_member(root, "launches").value)
		return launch_members_read(r, root, "the document", document_rows,
					   sizeof(document_rows) / sizeof(*document_rows), file);
	if (root->kind != NODE_OBJECT)
		return launch_fail(r, root,
				   "a launch is an object, or an array of objects; this is %s",
				   json_kind_name(root->kind));
	return make_room(r, root, 1, file) &&
	       launch_fields_read(r, root, &file->launches[file->count++]);
}

/* A key may hold any character, also such as drive a terminal. */
static void make_printable(char *text, size_t size)
{
	char *copy = strdup(text);

	if (copy)
		gw_printable(text, size, copy);
	else
		*text = '\0';
	free(copy);
}

static bool finish(struct launch_file *file, bool parsed, const char *name, char *error,
		   size_t error_size)
{
	struct launch_reader r = {
		.json = &file->json, .name = name, .error = error, .error_size = error_size};

	if (parsed && read_root(&r, file))
		return true;
	launch_file_free(file);
	make_printable(error, error_size);
	return false;
}

bool launch_file_read(struct launch_file *file, const char *path, char *error, size_t error_size)
{
	*file = (struct launch_file){0};
	return finish(file, json_file_read(&file->json, path, error, error_size),
		      strcmp(path, "-") == 0 ? "standard input" : path, error, error_size);
}

bool launch_file_parse(struct launch_file *file, const char *text, size_t length, const char *name,
		       char *error, size_t error_size)
{
	char what[512];
	bool parsed;

	*file = (struct launch_file){0};
	parsed = json_file_parse(&file->json, text, length, what, sizeof(what));
	if (!parsed)
		snprintf(error, error_size, "%s:%s", name, what);
	return finish(file, parsed, name, error, error_size);
}

void launch_file_free(struct launch_file *file)
{
	for (size_t i = 0; i < file->count; i++) {
		free(file->launches[i].measured);
		free(file->launches[i].intervals);
	}
	free(file->launches);
	json_file_free(&file->json);
	*file = (struct launch_file){0};
}

struct gw_launch launch_case_launch(const struct launch_case *item)
{
	return (struct gw_launch){
		.kernel = &item->kernel, .config = item->config, .from_graph = item->from_graph};
}
