/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TARGET_starve text|code OUT FOLDER...: refuses each allocation that each input of the last folder
 * makes in turn, alone and with all behind it, and writes to OUT, for each edge that nothing
 * before has reached, in any of the folders, the input with a tail whose hash chooses that
 * allocation. What mutation would have to hit by chance, this goes through once: minutes for a
 * corpus.
 */
#include "starve.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16, TAIL = 32, MODULES = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop);

static struct module {
	uint8_t *counters, *seen;
	size_t count;
} modules[MODULES];
static size_t module_count, edges;

void __sanitizer_cov_8bit_counters_init(uint8_t *start, uint8_t *stop)
{
	if (start == stop || module_count == MODULES ||
	    (module_count && modules[module_count - 1].counters == start))
		return;
	modules[module_count++] =
		(struct module){start, calloc(1, (size_t)(stop - start)), (size_t)(stop - start)};
}

/* How many edges @p data reaches that nothing did before. */
static size_t reached(const uint8_t *data, size_t size)
{
	uint8_t *exact = malloc(size);
	size_t added = 0;

	for (size_t m = 0; m < module_count; m++)
		memset(modules[m].counters, 0, modules[m].count);
	memcpy(exact, data, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	for (size_t m = 0; m < module_count; m++)
		for (size_t i = 0; i < modules[m].count; i++)
			if (modules[m].counters[i] && !modules[m].seen[i])
				added += modules[m].seen[i] = 1;
	edges += added;
	return added;
}

/* Behind a text a comment, of a length at which the target starves; behind code at most two bytes,
 * which are no instruction and no table, or one behind a table; the first says that it starves. */
static size_t with_tail(uint8_t *data, size_t size, bool text, uint32_t number)
{
	size_t rest;

	if (text) {
		size += (size_t)sprintf((char *)data + size, "\n//%08x", number * 2654435761u);
		while (size % 16 != 14)
			data[size++] = '.';
		return size;
	}
	rest = (size - 1) % 16;
	if (rest < 4)
		size -= rest;
	data[0] = (uint8_t)((data[0] & 7) | 0x80 | (number & 15) << 3);
	number >>= 4;
	for (size_t most = rest < 4 ? 2 : 3 - rest % 4; number && most; most--, number >>= 8)
		data[size++] = (uint8_t)number;
	return size;
}

static void keep(const uint8_t *data, size_t size, const char *out)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%zu", out, edges);
	if (!(f = fopen(path, "wb")) || fwrite(data, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(2);
	}
}

/* How many allocations the input makes when none is refused. */
static uint64_t made_by(uint8_t *data, size_t size, bool text)
{
	size_t length = with_tail(data, size, text, 0);

	data[0] = (uint8_t)(text ? data[0] : data[0] & 0x7f);
	LLVMFuzzerTestOneInput(data, text ? length - 1 : length);
	return starve_made();
}

/* Tails one after the other, each that chooses what none before did, until everything was refused
 * or tails choose nothing new for long. */
static void search(uint8_t *data, size_t size, bool text, const char *out)
{
	uint64_t made = made_by(data, size, text), left = 2 * made;
	bool *tried = calloc(2 * made + 1, sizeof(*tried));
	uint32_t idle = 0;

	for (uint32_t number = 0; tried && left && idle < 64 * (made + 1); number++) {
		size_t length = with_tail(data, size, text, number);
		struct starve_choice choice = starve_choice(data, length, made);
		bool *was = &tried[2 * (choice.at - 1) + choice.all];

		idle++;
		if (*was)
			continue;
		*was = true;
		idle = 0;
		left--;
		if (reached(data, length))
			keep(data, length, out);
	}
	free(tried);
}

static void each(const char *folder, bool text, const char *out)
{
	static uint8_t data[LONGEST + TAIL];
	struct dirent *entry;
	DIR *dir = opendir(folder);

	if (!dir) {
		perror(folder);
		exit(2);
	}
	while ((entry = readdir(dir))) {
		char path[4096];
		size_t size;
		FILE *f;

		snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
		if (entry->d_name[0] == '.' || !(f = fopen(path, "rb")))
			continue;
		size = fread(data, 1, LONGEST, f);
		fclose(f);
		if (!size)
			continue;
		if (out)
			search(data, size, text, out);
		else
			reached(data, size);
	}
	closedir(dir);
}

int main(int argc, char **argv)
{
	bool text = argc > 3 && !strcmp(argv[1], "text");
	size_t before;

	if (argc < 4 || (!text && strcmp(argv[1], "code") != 0)) {
		fprintf(stderr, "use: %s text|code OUT FOLDER...\n", argv[0]);
		return 2;
	}
	for (int i = 3; i < argc; i++)
		each(argv[i], text, NULL);
	before = edges;
	fprintf(stderr, "%zu edges before\n", before);
	each(argv[argc - 1], text, argv[2]);
	fprintf(stderr, "%zu more where an allocation is refused\n", edges - before);
	return 0;
}
