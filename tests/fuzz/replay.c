/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a fuzz target over files, and over each of them cut off and with bits flipped in a fixed
 * pattern: what CI does where there is no libFuzzer.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

enum { VARIANTS = 400 };

static int replay(const char *path)
{
	FILE *f = fopen(path, "rb");
	unsigned char *data;
	size_t size;
	long end;

	if (!f || fseek(f, 0, SEEK_END) || (end = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		fprintf(stderr, "%s can't be read\n", path);
		return 1;
	}
	data = malloc((size_t)end + 1);
	size = fread(data, 1, (size_t)end, f);
	fclose(f);
	LLVMFuzzerTestOneInput(data, size);
	for (size_t i = 0; size && i < VARIANTS; i++) {
		size_t at = i * 2654435761u % size, length = i % 4 ? size : at;
		unsigned char *copy = malloc(length ? length : 1); /* exact: an overrun is seen */

		memcpy(copy, data, length);
		if (at < length)
			copy[at] ^= (unsigned char)(1u << (i % 8));
		LLVMFuzzerTestOneInput(copy, length);
		free(copy);
	}
	free(data);
	return 0;
}

int main(int argc, char **argv)
{
	int bad = 0, files = 0;
	struct dirent *e;
	DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;

	if (!dir) {
		fprintf(stderr, "usage: replay FOLDER\n");
		return 2;
	}
	while ((e = readdir(dir))) {
		char path[4096];

		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/%s", argv[1], e->d_name);
		bad += replay(path);
		files++;
	}
	closedir(dir);
	printf("%d files, %d variants each\n", files, VARIANTS);
	return bad || !files;
}
