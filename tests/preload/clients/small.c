/* A program that knows nothing of CUDA; built linked, and static. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	printf("hello from a small program, %d arguments, effective user %s\n", argc,
	       geteuid() == getuid() ? "the same" : "another");
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "fail") == 0)
			return 19;
	return 0;
}
