/* Kernels of a library, launched by their CUkernel and by the CUfunction it gives; with the
 * extended launch, a cluster and the cooperative form. */
#include "client.h"

int main(void)
{
	CUlaunchAttribute attributes[2] = {{.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION},
					   {.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE}};
	CUlaunchConfig config = {.gridDimX = 4,
				 .gridDimY = 1,
				 .gridDimZ = 1,
				 .blockDimX = 32,
				 .blockDimY = 1,
				 .blockDimZ = 1,
				 .attrs = attributes,
				 .numAttrs = 1};
	CUlibrary library;
	CUkernel kernel, all[16];
	CUfunction function;
	CUdeviceptr counter;
	unsigned count;
	const char *name;
	int total;
	void *params[] = {&counter};
	client_start();
	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernelCount(&count, library));
	CK(cuLibraryEnumerateKernels(all, 16, library));
	for (unsigned i = 0; i < count && i < 16; i++) {
		CK(cuKernelGetName(&name, all[i]));
		printf("kernel %s\n", name);
	}
	CK(cuLibraryGetKernel(&kernel, library, "increment"));
	CK(cuKernelGetFunction(&function, kernel));
	CK(cuMemAlloc(&counter, sizeof(int)));
	CK(cuMemsetD32(counter, 0, 1));
	CK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	CK(cuLaunchKernel(function, 2, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
	attributes[0].value.clusterDim.x = 2;
	attributes[0].value.clusterDim.y = 1;
	attributes[0].value.clusterDim.z = 1;
	CK(cuLaunchKernelEx(&config, (CUfunction)kernel, params, NULL));
	attributes[1].value.cooperative = 1;
	config.numAttrs = 2;
	CK(cuLaunchKernelEx(&config, function, params, NULL));
	CK(cuLaunchCooperativeKernel((CUfunction)kernel, 3, 1, 1, 64, 1, 1, 256, NULL, params));
	CK(cuCtxSynchronize());
	CK(cuMemcpyDtoH(&total, counter, sizeof total));
	CK(cuMemFree(counter));
	CK(cuLibraryUnload(library));
	CK(cuDevicePrimaryCtxRelease(0));
	printf("launches %d\n", total);
	return total == 5 ? 0 : 1;
}
