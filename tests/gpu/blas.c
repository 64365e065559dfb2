/*
 * cuBLAS, whose kernels are launched by the static runtime inside the library.
 */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 512, BATCH = 4 };

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	fprintf(stderr, "%s failed with %d\n", what, failed);
	exit(1);
}

int main(void)
{
	static float host[N * N];
	const float one = 1.0f, zero = 0.0f;
	float *a, *b, *c, dot = 0.0f;
	size_t bytes = sizeof host;
	cublasHandle_t blas;

	for (int i = 0; i < N * N; i++)
		host[i] = (float)(i % 7) - 3.0f;
	check(cudaMalloc((void **)&a, bytes * BATCH), "cudaMalloc");
	check(cudaMalloc((void **)&b, bytes * BATCH), "cudaMalloc");
	check(cudaMalloc((void **)&c, bytes * BATCH), "cudaMalloc");
	for (int i = 0; i < BATCH; i++) {
		check(cudaMemcpy(a + i * N * N, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
		check(cudaMemcpy(b + i * N * N, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
	}
	check(cublasCreate(&blas), "cublasCreate");
	for (int mode = 0; mode < 2; mode++) {
		check(cublasSetMathMode(blas,
					mode ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH),
		      "cublasSetMathMode");
		for (int n = 64; n <= N; n *= 2)
			check(cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, a, N, b, N,
					  &zero, c, N),
			      "cublasSgemm");
		check(cublasSgemmStridedBatched(blas, CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, &one, a, N,
						N * N, b, N, N * N, &zero, c, N, N * N, BATCH),
		      "cublasSgemmStridedBatched");
		check(cublasSgemv(blas, CUBLAS_OP_N, N, N, &one, a, N, b, 1, &zero, c, 1),
		      "cublasSgemv");
		check(cublasSdot(blas, N, a, 1, b, 1, &dot), "cublasSdot");
		check(cublasSaxpy(blas, N * N, &one, a, 1, b, 1), "cublasSaxpy");
	}
	check(cudaMemcpy(host, b, bytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
	printf("dot %.0f b[5] %.0f last error %s\n", dot, host[5],
	       cudaGetErrorName(cudaGetLastError()));
	check(cublasDestroy(blas), "cublasDestroy");
	return 0;
}
