/*
 * paced SECONDS LAUNCHES: that many launches over that time, and beside them a file of its own,
 * "own", which it writes a line to for each hundredth launch and reads in the end. Prints what it
 * did, ends with 7.
 */
#include "tests/campaign/clients/common.h"

#include <string.h>
#include <unistd.h>

enum { EACH = 100, STATUS = 7 };

/* Whether the file holds lines 0 to @p lines - 1, and nothing else. */
static int is_whole(FILE *own, unsigned lines)
{
	char line[64], expected[64];
	unsigned i = 0;

	rewind(own);
	for (; fgets(line, sizeof(line), own); i++) {
		snprintf(expected, sizeof(expected), "line %u\n", i);
		if (strcmp(line, expected) != 0)
			return 0;
	}
	return i == lines;
}

int main(int argc, char **argv)
{
	double seconds = argc == 3 ? atof(argv[1]) : 0, began;
	unsigned launches = argc == 3 ? (unsigned)atoi(argv[2]) : 0, lines = 0;
	FILE *own = fopen("own", "w+");
	CUfunction f;

	if (!launches || !own)
		return 2;
	client_start();
	f = kernel_named("empty");
	began = seconds_now();
	for (unsigned i = 0; i < launches; i++) {
		CK(cuLaunchKernel(f, 1 + i % 5, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		if (i % EACH == 0) {
			fprintf(own, "line %u\n", lines++);
			fflush(own);
		}
		while (seconds_now() - began < seconds * i / launches)
			usleep(500);
	}
	CK(cuCtxSynchronize());
	printf("launched %u, own file %s\n", launches, is_whole(own, lines) ? "whole" : "spoilt");
	return STATUS;
}
