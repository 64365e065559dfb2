/*
 * What `hold modules` opens and closes: a shared library with code and a CUDA runtime of its own.
 */
static __global__ void plugged(unsigned long long *sum)
{
	atomicAdd(sum, 1ull);
}

/** Launch one kernel that adds 1 to *sum, and wait for it; not 0 where CUDA reports an error. */
extern "C" int plug_in_launch(unsigned long long *sum)
{
	cudaStream_t stream;
	cudaError_t error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);

	if (error != cudaSuccess)
		return 1;
	plugged<<<1, 1, 0, stream>>>(sum);
	error = cudaStreamSynchronize(stream);
	return error != cudaSuccess || cudaStreamDestroy(stream) != cudaSuccess;
}
