#include "kernels.h"

#include <libgen.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

const char *beside_program(const char *file)
{
	static char path[PATH_MAX + 64];
	char exe[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);

	if (n < 0) {
		perror("/proc/self/exe");
		exit(1);
	}
	exe[n] = '\0';
	snprintf(path, sizeof path, "%s/%s", dirname(exe), file);
	return path;
}

char *read_beside_program(const char *file)
{
	const char *path = beside_program(file);
	FILE *in = fopen(path, "rb");
	char *data = NULL;
	long size = -1;

	if (in && fseek(in, 0, SEEK_END) == 0)
		size = ftell(in);
	if (size >= 0)
		data = (char *)calloc(1, (size_t)size + 1);
	if (!data || fseek(in, 0, SEEK_SET) || fread(data, 1, (size_t)size, in) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(in);
	return data;
}

int run_case(int argc, char **argv, const struct test_case *cases, size_t count)
{
	for (size_t i = 0; argc == 2 && i < count; i++) {
		struct tally t = {NULL, 0, 0};

		if (strcmp(argv[1], cases[i].name))
			continue;
		tally_open(&t);
		cases[i].run(&t);
		if (t.sum)
			tally_close(&t);
		printf("%s: kernels %llu counted %llu last error %s\n", argv[1], t.ran, t.counted,
		       cudaGetErrorName(cudaGetLastError()));
		return t.ran == t.counted ? 0 : 1;
	}
	fprintf(stderr, "usage: %s CASE; cases:", argv[0]);
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, " %s", cases[i].name);
	fprintf(stderr, "\n");
	return 2;
}
