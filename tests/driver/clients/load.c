/* SPDX-License-Identifier: Apache-2.0 */
/* load PERCENT SECONDS: six kernels of 20 to 120 us, one after the other, for so long; each takes
 * PERCENT (100: as usual) of its time. */
#include "client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KERNELS = 6 };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	static const char *const names[KERNELS] = {"embed",    "attention", "project",
	                                           "activate", "norm",      "reduce"};
	char image[1024] = "gpuwatch-stand-in-module\n";
	CUfunction kernel[KERNELS];
	CUmodule module;
	double end;

	if (argc != 3 || atoi(argv[1]) < 1)
		return 2;
	client_start();
	for (int i = 0; i < KERNELS; i++)
		snprintf(image + strlen(image), sizeof(image) - strlen(image), "kernel %s ns=%d\n",
		         names[i], 200 * (i + 1) * atoi(argv[1]));
	CK(cuModuleLoadData(&module, image));
	for (int i = 0; i < KERNELS; i++)
		CK(cuModuleGetFunction(&kernel[i], module, names[i]));
	for (end = now() + atof(argv[2]); now() < end; usleep(2000)) {
		for (int i = 0; i < KERNELS; i++)
			CK(cuLaunchKernel(kernel[i], 8, 1, 1, 128, 1, 1, 0, NULL, NULL, NULL));
		CK(cuCtxSynchronize());
	}
	return 0;
}
