/* SPDX-License-Identifier: Apache-2.0
 *
 * What all examples do with a CUDA error: say it and end.
 */
#ifndef GW_CHECK_H
#define GW_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(call) \
	do { \
		cudaError_t check_ = (call); \
		if (check_ != cudaSuccess) { \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(check_)); \
			exit(1); \
		} \
	} while (0)

#endif
