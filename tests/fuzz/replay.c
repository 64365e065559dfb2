/*
 * Runs a fuzz target without a fuzzer: every file of the folders named, then mutations of
 * each by a fixed pseudo-random sequence, so that a run is the same everywhere.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1 << 16, MUTATIONS = 400, ALL_MUTATIONS = 30000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t state = 1;

static uint64_t random_bits(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Flip, overwrite, cut, repeat: one to eight times. */
static size_t mutate(uint8_t *data, size_t size)
{
	static const char tokens[] = "{}[]\":,0-9.eE\\\n\0\xff"
				     "1e308null";

	for (unsigned n = 1 + random_bits() % 8; n && size; n--) {
		size_t at = random_bits() % size, length = 1 + random_bits() % 16;

		if (length > size - at)
			length = size - at;
		switch (random_bits() % 5) {
		case 0:
			data[at] ^= (uint8_t)(1u << random_bits() % 8);
			break;
		case 1:
			data[at] = (uint8_t)tokens[random_bits() % (sizeof(tokens) - 1)];
			break;
		case 2:
			memmove(data + at, data + at + length, size - at - length);
			size -= length;
			break;
		case 3:
			if (size + length <= LONGEST) {
				memmove(data + at + length, data + at, size - at);
				size += length;
			}
			break;
		default:
			if (random_bits() % 8 == 0)
				size = at;
		}
	}
	return size;
}

static void replay(const char *path, unsigned mutations)
{
	static uint8_t original[LONGEST], copy[LONGEST];
	FILE *f = fopen(path, "rb");
	size_t size;

	if (!f) {
		perror(path);
		exit(2);
	}
	size = fread(original, 1, sizeof(original), f);
	fclose(f);
	LLVMFuzzerTestOneInput(original, size);
	for (unsigned n = 0; n < mutations; n++) {
		/* Exactly as long as the input, so that a sanitizer sees a read past its end. */
		uint8_t *exact;
		size_t length;

		memcpy(copy, original, size);
		length = mutate(copy, size);
		exact = malloc(length + !length);
		if (!exact)
			exit(2);
		memcpy(exact, copy, length);
		LLVMFuzzerTestOneInput(exact, length);
		free(exact);
	}
}

/* Files of the folders; each is replayed, unless @p mutations is 0. */
static unsigned each_file(int folders, char **folder, unsigned mutations)
{
	unsigned files = 0;

	for (int i = 0; i < folders; i++) {
		struct dirent **entries;
		int n = scandir(folder[i], &entries, NULL, alphasort);

		for (int k = 0; k < n; k++) {
			char path[4096];

			snprintf(path, sizeof(path), "%s/%s", folder[i], entries[k]->d_name);
			if (entries[k]->d_name[0] != '.') {
				if (mutations)
					replay(path, mutations);
				files++;
			}
			free(entries[k]);
		}
		if (n >= 0)
			free(entries);
	}
	return files;
}

int main(int argc, char **argv)
{
	unsigned files = each_file(argc - 1, argv + 1, 0), mutations;

	if (!files) {
		fprintf(stderr, "no corpus: name folders of inputs\n");
		return 2;
	}
	mutations = ALL_MUTATIONS / files;
	if (mutations > MUTATIONS)
		mutations = MUTATIONS;
	each_file(argc - 1, argv + 1, mutations ? mutations : 1);
	printf("%u files, %u mutations each\n", files, mutations);
	return 0;
}
