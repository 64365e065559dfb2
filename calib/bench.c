/* SPDX-License-Identifier: Apache-2.0 */
#include "calib/bench.h"

bool gw_bench_read(struct gw_bench *b, void *host, CUdeviceptr from, size_t bytes)
{
	return b->cu->cuStreamSynchronize(b->stream) == CUDA_SUCCESS &&
	       b->cu->cuMemcpyDtoH_v2(host, from, bytes) == CUDA_SUCCESS;
}
