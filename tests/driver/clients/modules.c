/* Modules loaded and unloaded in turn. Function and stream handles come back with the same
 * value and another meaning: whoever caches by handle alone gets the names wrong. */
#include "client.h"

static const char *const images[] = {
	"gpuwatch-stand-in-module\nkernel alpha regs=20 params=8 body=increment\n",
	"gpuwatch-stand-in-module\nkernel beta regs=40 static=128 params=8 body=increment\n",
	"gpuwatch-stand-in-module\nkernel gamma regs=60 params=8 body=increment\n",
};
static const char *const names[] = {"alpha", "beta", "gamma"};

int main(void)
{
	CUfunction first = NULL, function;
	CUstream first_stream = NULL, stream;
	CUdeviceptr counter;
	int same = 0, same_stream = 0, total;
	client_start();
	CK(cuMemAlloc(&counter, sizeof(int)));
	CK(cuMemsetD32(counter, 0, 1));
	for (unsigned i = 0; i < 9; i++) {
		void *params[] = {&counter};
		CUmodule module;
		CK(cuModuleLoadDataEx(&module, images[i % 3], 0, NULL, NULL));
		CK(cuModuleGetFunction(&function, module, names[i % 3]));
		CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		first = first ? first : function;
		first_stream = first_stream ? first_stream : stream;
		same += function == first;
		same_stream += stream == first_stream;
		for (unsigned k = 0; k <= i; k++)
			CK(cuLaunchKernel(function, 1 + i % 3, 1, 1, 32, 1, 1, 0, stream, params,
					  NULL));
		CK(cuStreamSynchronize(stream));
		CK(cuStreamDestroy(stream));
		CK(cuModuleUnload(module));
	}
	CK(cuMemcpyDtoH(&total, counter, sizeof total));
	CK(cuMemFree(counter));
	CK(cuDevicePrimaryCtxRelease(0));
	printf("launches %d, function handle reused %d of 8, stream handle %d of 8\n", total,
	       same - 1, same_stream - 1);
	return total == 45 ? 0 : 1;
}
