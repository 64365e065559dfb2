#include "tests/unit/sass/sass_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *grown(void *old, uint32_t count, size_t size)
{
	/* A power of two each time: the count is one when the room is full. */
	if (count & (count - 1))
		return old;
	old = realloc(old, (count ? 2 * (size_t)count : 1) * size);
	if (!old)
		exit(2);
	return old;
}

static void add_kernel(struct listing *out, const char *name)
{
	struct listing_kernel *k;

	out->kernels = grown(out->kernels, out->count, sizeof(*out->kernels));
	k = &out->kernels[out->count++];
	memset(k, 0, sizeof(*k));
	snprintf(k->name, sizeof(k->name), "%.*s", (int)strcspn(name, "\n"), name);
}

static int add_line(struct listing *out, const char *line)
{
	struct listing_kernel *k = out->count ? &out->kernels[out->count - 1] : NULL;
	uint64_t word[2];
	int at;

	if (!k || sscanf(line, "%*x %" SCNx64 " %" SCNx64 " %n", &word[1], &word[0], &at) != 2)
		return 0;
	k->lines = grown(k->lines, k->count, sizeof(*k->lines));
	for (unsigned i = 0; i < 16; i++)
		k->lines[k->count].bytes[i] = (uint8_t)(word[i / 8] >> 8 * (i % 8));
	snprintf(k->lines[k->count].text, sizeof(k->lines->text), "%.*s",
		 (int)strcspn(line + at, "\n"), line + at);
	k->count++;
	return 1;
}

void listing_read(struct listing *out, const char *path)
{
	FILE *f = fopen(path, "r");
	char line[512];
	unsigned number = 0;

	memset(out, 0, sizeof(*out));
	if (!f) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), f)) {
		number++;
		if (line[0] == '=' && line[1] == ' ')
			add_kernel(out, line + 2);
		else if (line[0] != '#' && !add_line(out, line)) {
			fprintf(stderr, "%s:%u: not a line of a listing\n", path, number);
			exit(2);
		}
	}
	fclose(f);
}

void listing_free(struct listing *listing)
{
	for (uint32_t k = 0; k < listing->count; k++)
		free(listing->kernels[k].lines);
	free(listing->kernels);
}

const struct listing_kernel *listing_named(const struct listing *listing, const char *name)
{
	for (uint32_t k = 0; k < listing->count; k++)
		if (!strcmp(listing->kernels[k].name, name))
			return &listing->kernels[k];
	return NULL;
}

uint8_t *listing_code(const struct listing_kernel *kernel)
{
	uint8_t *code = malloc(16 * (size_t)kernel->count + !kernel->count);

	if (!code)
		exit(2);
	for (uint32_t i = 0; i < kernel->count; i++)
		memcpy(code + 16 * (size_t)i, kernel->lines[i].bytes, 16);
	return code;
}

static struct listing schedule;

int schedule_begin(void **state)
{
	(void)state;
	listing_read(&schedule, GW_SCHEDULE_CODE);
	return 0;
}

int schedule_end(void **state)
{
	(void)state;
	listing_free(&schedule);
	return 0;
}

const struct listing *schedule_code(void)
{
	return &schedule;
}
