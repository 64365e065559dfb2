/* The plain case: linked against libcuda, a vector addition, its result checked. */
#include "client.h"

int main(void)
{
	enum { N = 1000 };
	float a[N], b[N], c[N];
	CUdeviceptr da, db, dc;
	int n = N, wrong = 0;
	CUmodule module;
	CUfunction add;
	char device[128];
	void *params[] = {&dc, &da, &db, &n};
	client_start();
	CK(cuDeviceGetName(device, sizeof device, 0));
	printf("device: %s\n", device);
	for (int i = 0; i < N; i++) {
		a[i] = (float)i;
		b[i] = 2.0f * (float)i;
	}
	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&add, module, "vector_add"));
	CK(cuMemAlloc(&da, sizeof a));
	CK(cuMemAlloc(&db, sizeof b));
	CK(cuMemAlloc(&dc, sizeof c));
	CK(cuMemcpyHtoD(da, a, sizeof a));
	CK(cuMemcpyHtoD(db, b, sizeof b));
	CK(cuLaunchKernel(add, 4, 1, 1, 256, 1, 1, 0, NULL, params, NULL));
	CK(cuMemcpyDtoH(c, dc, sizeof c));
	for (int i = 0; i < N; i++)
		wrong += c[i] != a[i] + b[i];
	CK(cuMemFree(da));
	CK(cuMemFree(db));
	CK(cuMemFree(dc));
	CK(cuModuleUnload(module));
	CK(cuDevicePrimaryCtxRelease(0));
	printf("wrong sums: %d\n", wrong);
	return wrong != 0;
}
