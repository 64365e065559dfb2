/* A statically linked program: LD_PRELOAD can't reach it. */
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");

	printf("%s\n", path ? path : "none");
	return 0;
}
