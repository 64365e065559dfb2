#include "cli/replay/replay.h"

#include "cli/common/memory.h"
#include "cli/message.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names of families, numbered in the order of their first kernels. */
struct names {
	char **name;
	size_t count, room;
};

static uint32_t number_of(struct names *n, const char *name)
{
	for (size_t i = 0; i < n->count; i++)
		if (!strcmp(n->name[i], name))
			return (uint32_t)i;
	GW_GROW(n->name, &n->room, n->count + 1);
	n->name[n->count] = gw_copy(name);
	return (uint32_t)n->count++;
}

static void free_names(struct names *n)
{
	for (size_t i = 0; i < n->count; i++)
		free(n->name[i]);
	free(n->name);
}

/* A kernel that no family claims is its own: its name can't be that of a family, which has no
 * blank before it. */
static uint32_t alone(struct names *n, const struct trace *trace, size_t kernel)
{
	const char *name = trace->log.names[kernel].mangled;
	size_t size = strlen(name) + 2;
	char *own = gw_alloc(size);
	uint32_t number;

	snprintf(own, size, " %s", name);
	number = number_of(n, own);
	free(own);
	return number;
}

static bool by_pattern(const struct trace *trace, const char *pattern, struct names *names,
		       uint32_t *family)
{
	regex_t regex;
	regmatch_t match[2];
	char why[160];
	int code = regcomp(&regex, pattern, REG_EXTENDED);

	if (code) {
		regerror(code, &regex, why, sizeof(why));
		gw_error("replay: --family=%s is not a regular expression: %s", pattern, why);
		return false;
	}
	for (size_t i = 0; i < trace->log.kernel_count; i++) {
		const char *plain = trace->log.names[i].plain;
		const regmatch_t *m = &match[1];
		char *part;

		if (regexec(&regex, plain, 2, match, 0)) {
			family[i] = alone(names, trace, i);
			continue;
		}
		if (m->rm_so < 0)
			m = &match[0];
		part = gw_copy(plain + m->rm_so);
		part[m->rm_eo - m->rm_so] = '\0';
		family[i] = number_of(names, part);
		free(part);
	}
	regfree(&regex);
	return true;
}

/* Whether @p name is that of the kernel: as the compiler wrote it, or demangled without arguments.
 */
static bool is_called(const struct gw_name *kernel, const char *name)
{
	size_t length = strlen(name);

	return !strcmp(kernel->mangled, name) ||
	       (!strncmp(kernel->plain, name, length) && strchr("(<", kernel->plain[length]));
}

static bool by_file(const struct trace *trace, const char *path, struct names *names,
		    uint32_t *family)
{
	FILE *file = fopen(path, "re");
	char line[1024], name[512], kernel[512];
	unsigned number = 0, named = 0;

	for (size_t i = 0; i < trace->log.kernel_count; i++)
		family[i] = alone(names, trace, i);
	if (!file) {
		gw_error("%s: %s%s", path, strerror(errno), gw_open_remedy(errno));
		return false;
	}
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (*line == '#' || !line[strspn(line, " \t\r\n")])
			continue;
		if (sscanf(line, "%511s %511s", name, kernel) != 2) {
			gw_error("%s:%u: a line is \"family kernel\"", path, number);
			fclose(file);
			return false;
		}
		named++;
		for (size_t i = 0; i < trace->log.kernel_count; i++)
			if (is_called(&trace->log.names[i], kernel))
				family[i] = number_of(names, name);
	}
	/* A folder opens like a file and fails when it is read. */
	if (ferror(file))
		gw_error("%s: %s; name a file of lines \"family kernel\"", path, strerror(errno));
	else if (!named)
		gw_error("%s: no line of it is \"family kernel\"; leave out --families where "
			 "there are no families",
			 path);
	named = ferror(file) ? 0 : named;
	fclose(file);
	return named > 0;
}

uint32_t *replay_families(const struct trace *trace, const char *pattern, const char *path)
{
	uint32_t *family = gw_alloc(trace->log.kernel_count * sizeof(*family));
	struct names names = {0};
	bool good = pattern ? by_pattern(trace, pattern, &names, family)
			    : by_file(trace, path, &names, family);

	free_names(&names);
	if (good)
		return family;
	free(family);
	return NULL;
}
