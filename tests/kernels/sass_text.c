#include "tests/kernels/code.h"

#include <ctype.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A label, and the instruction after it. */
struct label {
	char name[64];
	size_t at;
};

/* Room for one more element of @p size after @p count. */
static void *grown(void *array, size_t count, size_t size)
{
	void *bigger = realloc(array, (count + 1) * size);

	if (!bigger)
		abort();
	return bigger;
}

static void start_kernel(struct sass_listing *l, const char *name)
{
	l->kernels = grown(l->kernels, l->count, sizeof(*l->kernels));
	l->kernels[l->count] = (struct sass_kernel){.code = NULL};
	snprintf(l->kernels[l->count].name, sizeof(l->kernels[0].name), "%.*s",
		 (int)strcspn(name, ":"), name);
	l->count++;
}

/* The text of an instruction: after its address, which stands as a comment, and before its
 * semicolon; NULL when the line holds none. */
static char *instruction_text(char *line)
{
	char *text = strstr(line, "/*"), *end;

	if (!text || !isxdigit((unsigned char)text[2]) || !(text = strstr(text, "*/")))
		return NULL;
	text += 2;
	if (!(end = strchr(text, ';')))
		return NULL;
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	*end = '\0';
	text += strspn(text, " \t");
	if (*text == '@') {
		text += strcspn(text, " ");
		text += strspn(text, " ");
	}
	return *text ? text : NULL;
}

static void add_instruction(struct sass_kernel *k, const char *text)
{
	size_t length = strcspn(text, " ");
	struct sass_instruction *i;

	k->code = grown(k->code, k->count, sizeof(*k->code));
	i = &k->code[k->count++];
	*i = (struct sass_instruction){.target = SIZE_MAX};
	snprintf(i->opcode, sizeof(i->opcode), "%.*s", (int)length, text);
	snprintf(i->operands, sizeof(i->operands), "%s",
		 text + length + strspn(text + length, " "));
}

static void resolve(struct sass_kernel *k, const struct label *labels, size_t count)
{
	for (size_t i = 0; i < k->count; i++) {
		const char *name = strstr(k->code[i].operands, "`(");

		for (size_t n = 0; name && n < count; n++)
			if (!strncmp(name + 2, labels[n].name, strlen(labels[n].name)) &&
			    name[2 + strlen(labels[n].name)] == ')')
				k->code[i].target = labels[n].at;
	}
}

struct sass_listing sass_read(FILE *in)
{
	static const char section[] = ".text.";
	struct sass_listing l = {NULL, 0};
	struct label *labels = NULL;
	size_t label_count = 0, room = 0;
	char *line = NULL, *text;

	while (getline(&line, &room, in) >= 0) {
		if (!strncmp(line, section, sizeof(section) - 1) && strchr(line, ':')) {
			if (l.count)
				resolve(&l.kernels[l.count - 1], labels, label_count);
			label_count = 0;
			start_kernel(&l, line + sizeof(section) - 1);
		} else if (l.count && line[0] == '.' && strchr(line, ':')) {
			labels = grown(labels, label_count, sizeof(*labels));
			snprintf(labels[label_count].name, sizeof(labels[0].name), "%.*s",
				 (int)strcspn(line, ":"), line);
			labels[label_count++].at = l.kernels[l.count - 1].count;
		} else if (l.count && (text = instruction_text(line))) {
			add_instruction(&l.kernels[l.count - 1], text);
		}
	}
	if (l.count)
		resolve(&l.kernels[l.count - 1], labels, label_count);
	free(labels);
	free(line);
	return l;
}

void sass_free(struct sass_listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->kernels[i].code);
	free(l->kernels);
	*l = (struct sass_listing){NULL, 0};
}

const struct sass_kernel *sass_find(const struct sass_listing *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->kernels[i].name, name))
			return &l->kernels[i];
	return NULL;
}
