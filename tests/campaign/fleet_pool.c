#include "fleet_pool.h"

#include "cli/common/memory.h"
#include "tests/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 64, LINE = 1 << 20, POOL_LEAST = 4 };

struct config *configs;
unsigned count, first[FILES + 1];

/* ---- recordings ---- */

/* The next field of a line of CSV, in place. */
static char *field(char **at)
{
	char *from = *at, *to, *out;

	if (!from)
		return NULL;
	if (*from != '"') {
		to = strchr(from, ',');
		*at = to ? to + 1 : NULL;
		if (to)
			*to = 0;
		return from;
	}
	for (out = to = ++from; *to && !(*to == '"' && to[1] != '"'); to++)
		*out++ = *to == '"' ? *to++ : *to;
	*at = *to && to[1] == ',' ? to + 2 : NULL;
	*out = 0;
	return from;
}

static enum health_resource resource_of(const char *bound)
{
	if (!strcmp(bound, "memory"))
		return HEALTH_MEMORY;
	if (!strcmp(bound, "compute"))
		return HEALTH_COMPUTE;
	return !strcmp(bound, "latency") || !strcmp(bound, "launch") ? HEALTH_LATENCY
								     : HEALTH_OTHER;
}

static struct config *config_of(unsigned file, const char *kernel, const char *plain,
				const char *shape, enum health_resource resource)
{
	for (unsigned i = first[file]; i < count; i++)
		if (!strncmp(configs[i].kernel, kernel, sizeof(configs[i].kernel) - 1) &&
		    !strcmp(configs[i].shape, shape) && configs[i].resource == resource)
			return &configs[i];
	if (count == CONFIGS)
		exit(2);
	snprintf(configs[count].plain, sizeof(configs[count].plain), "%s", plain);
	snprintf(configs[count].kernel, sizeof(configs[count].kernel), "%s", kernel);
	snprintf(configs[count].shape, sizeof(configs[count].shape), "%s", shape);
	configs[count].resource = resource;
	configs[count].file = file;
	return &configs[count++];
}

static void take_row(unsigned file, char *const *name, unsigned columns, char *line)
{
	const char *kernel = "", *plain = "", *bound = "";
	char shape[64] = "";
	double ns = 0;
	struct config *c;

	for (unsigned i = 0; i < columns; i++) {
		const char *value = field(&line);

		if (!value)
			return;
		if (!strcmp(name[i], "duration_ns"))
			ns = strtod(value, NULL);
		else if (!strcmp(name[i], "mangled"))
			kernel = value;
		else if (!strcmp(name[i], "kernel"))
			plain = value;
		else if (!strcmp(name[i], "bound"))
			bound = value;
		else if (!strncmp(name[i], "grid", 4) || !strncmp(name[i], "block", 5) ||
			 !strcmp(name[i], "dynamic_shared"))
			snprintf(shape + strlen(shape), sizeof(shape) - strlen(shape), "%s,",
				 value);
	}
	if (!(ns > 0))
		return;
	c = config_of(file, kernel, plain, shape, resource_of(bound));
	/* The first one warms up what the others find. */
	if (c->seen++ && c->count < PER_CONFIG)
		c->ns[c->count++] = ns;
}

void pool_read(unsigned file, const char *path)
{
	static char line[LINE], header[LINE];
	char *name[COLUMNS], *at = header;
	unsigned columns = 0, kept;
	FILE *in = fopen(path, "r");

	if (!in || !fgets(header, sizeof(header), in)) {
		fprintf(stderr, "%s can't be read\n", path);
		exit(2);
	}
	header[strcspn(header, "\r\n")] = 0;
	while (at && columns < COLUMNS)
		name[columns++] = field(&at);
	first[file] = count;
	while (fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\r\n")] = 0;
		take_row(file, name, columns, line);
	}
	fclose(in);
	kept = first[file];
	for (unsigned i = first[file]; i < count; i++)
		if (configs[i].count >= POOL_LEAST) {
			if (kept != i)
				configs[kept] = configs[i];
			kept++;
		}
	memset(&configs[kept], 0, (count - kept) * sizeof(*configs));
	count = kept;
}

/* ---- chance ---- */

uint64_t pool_seed;

double uniform(void)
{
	return next_uniform(&pool_seed);
}

unsigned below(unsigned n)
{
	return (unsigned)(uniform() * n);
}

double normal(void)
{
	return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform());
}
