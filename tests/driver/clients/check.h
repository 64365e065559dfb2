/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_TESTS_CHECK_H
#define GW_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>

/** Says where a driver call failed and ends the program with @p status. */
#define CHECK_CALL(call, status)                                                                   \
	do {                                                                                       \
		CUresult result_ = (call);                                                         \
		if (result_ != CUDA_SUCCESS) {                                                     \
			fprintf(stderr, "%s:%d: %s = %d\n", __FILE__, __LINE__, #call,             \
			        (int)result_);                                                     \
			exit(status);                                                              \
		}                                                                                  \
	} while (0)

#endif
