/*
 * A program as it was written for CUDA 11: streams, events, a captured graph, a cooperative launch, a
 * constant table. Compiled by that toolkit in several ways (build.sh): its runtime loads the kernels
 * by private tables of the driver.
 *
 *   legacy [--seconds=S]
 *
 * Prints checksums that do not depend on the GPU; ends by 0, 1 when one is wrong, 77 without a GPU.
 */
#include <cooperative_groups.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK(call) \
	do { \
		cudaError_t e = (call); \
		if (e == cudaErrorNoDevice || e == cudaErrorInsufficientDriver) { \
			fprintf(stderr, "SKIP: %s\n", cudaGetErrorString(e)); \
			exit(77); \
		} \
		if (e != cudaSuccess) { \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, \
				cudaGetErrorString(e)); \
			exit(1); \
		} \
	} while (0)

enum { N = 1 << 22, TILE = 16, SIDE = 512, BINS = 256, ROUNDS = 20 };

__constant__ float weight[5];

__global__ void fill(float *x, int n, float step)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		x[i] = (float)(i % 1000) * step;
}

__global__ void saxpy(float *y, const float *x, float a, int n)
{
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		y[i] += a * x[i];
}

__global__ void stencil(float *to, const float *from, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;

	if (i < 2 || i >= n - 2)
		return;
	for (int k = -2; k <= 2; k++)
		sum += weight[k + 2] * from[i + k];
	to[i] = sum;
}

/* A template: its instances are kernels of their own. */
template <typename T, int BLOCK> __global__ void block_sums(T *sums, const T *x, int n)
{
	__shared__ T part[BLOCK];
	T sum = 0;

	for (int i = blockIdx.x * BLOCK + threadIdx.x; i < n; i += gridDim.x * BLOCK)
		sum += x[i];
	part[threadIdx.x] = sum;
	__syncthreads();
	for (int half = BLOCK / 2; half; half /= 2) {
		if (threadIdx.x < half)
			part[threadIdx.x] += part[threadIdx.x + half];
		__syncthreads();
	}
	if (!threadIdx.x)
		sums[blockIdx.x] = part[0];
}

__global__ void multiply(float *c, const float *a, const float *b, int side)
{
	__shared__ float as[TILE][TILE], bs[TILE][TILE];
	int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
	float sum = 0;

	for (int t = 0; t < side; t += TILE) {
		as[threadIdx.y][threadIdx.x] = a[row * side + t + threadIdx.x];
		bs[threadIdx.y][threadIdx.x] = b[(t + threadIdx.y) * side + column];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += as[threadIdx.y][k] * bs[k][threadIdx.x];
		__syncthreads();
	}
	c[row * side + column] = sum;
}

__global__ void histogram(unsigned *bins, const float *x, int n)
{
	__shared__ unsigned mine[BINS];

	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		mine[i] = 0;
	__syncthreads();
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		atomicAdd(&mine[(unsigned)x[i] % BINS], 1u);
	__syncthreads();
	for (int i = threadIdx.x; i < BINS; i += blockDim.x)
		atomicAdd(&bins[i], mine[i]);
}

/* All blocks meet between two steps. */
__global__ void relax(float *a, float *b, int n, int steps)
{
	cooperative_groups::grid_group grid = cooperative_groups::this_grid();
	float *from = a, *to = b;

	for (int s = 0; s < steps; s++) {
		for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
		     i += gridDim.x * blockDim.x)
			to[i] = i && i < n - 1 ? 0.5f * (from[i - 1] + from[i + 1]) : from[i];
		grid.sync();
		float *other = from;
		from = to;
		to = other;
	}
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

struct data {
	float *x, *y, *z, *sums;
	double *dx, *dsums;
	unsigned *bins;
	cudaStream_t stream[2];
	cudaEvent_t done;
};

static unsigned blocks(int n)
{
	return (unsigned)(n + 255) / 256;
}

static void streams(struct data *d)
{
	fill<<<blocks(N), 256, 0, d->stream[0]>>>(d->x, N, 0.001f);
	fill<<<blocks(N), 256, 0, d->stream[1]>>>(d->y, N, 0.002f);
	CHECK(cudaEventRecord(d->done, d->stream[1]));
	CHECK(cudaStreamWaitEvent(d->stream[0], d->done, 0));
	saxpy<<<1024, 256, 0, d->stream[0]>>>(d->y, d->x, 2, N);
	stencil<<<blocks(N), 256, 0, d->stream[0]>>>(d->z, d->y, N);
	block_sums<float, 256><<<512, 256, 0, d->stream[0]>>>(d->sums, d->z, N);
	block_sums<double, 128><<<512, 128, 0, d->stream[1]>>>(d->dsums, d->dx, N / 4);
	CHECK(cudaMemsetAsync(d->bins, 0, BINS * sizeof(*d->bins), d->stream[0]));
	histogram<<<256, 256, 0, d->stream[0]>>>(d->bins, d->y, N);
	CHECK(cudaStreamSynchronize(d->stream[0]));
	CHECK(cudaStreamSynchronize(d->stream[1]));
}

/* On the default stream, the legacy or the thread's own. */
static void defaults(struct data *d)
{
	multiply<<<dim3(SIDE / TILE, SIDE / TILE), dim3(TILE, TILE)>>>(d->z, d->x, d->y, SIDE);
	CHECK(cudaGetLastError());
	CHECK(cudaDeviceSynchronize());
}

static cudaGraphExec_t captured(struct data *d)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;

	CHECK(cudaStreamBeginCapture(d->stream[0], cudaStreamCaptureModeGlobal));
	fill<<<blocks(N / 4), 256, 0, d->stream[0]>>>(d->x, N / 4, 0.003f);
	saxpy<<<256, 256, 0, d->stream[0]>>>(d->y, d->x, 3, N / 4);
	block_sums<float, 128><<<128, 128, 0, d->stream[0]>>>(d->sums, d->y, N / 4);
	CHECK(cudaStreamEndCapture(d->stream[0], &graph));
	CHECK(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
	CHECK(cudaGraphDestroy(graph));
	return exec;
}

static void cooperative(struct data *d)
{
	int device, per_sm = 0, sms = 0, can = 0, n = N / 16, steps = 4;
	void *arguments[] = {&d->x, &d->z, &n, &steps};

	CHECK(cudaGetDevice(&device));
	CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeLaunch, device));
	CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device));
	CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, relax, 256, 0));
	if (!can || !per_sm)
		return;
	CHECK(cudaLaunchCooperativeKernel((void *)relax, dim3((unsigned)sms), dim3(256), arguments,
					  0, d->stream[0]));
	CHECK(cudaStreamSynchronize(d->stream[0]));
}

static bool right(struct data *d)
{
	float sums[512], sum = 0;
	unsigned bins[BINS], all = 0;

	streams(d);
	CHECK(cudaMemcpy(sums, d->sums, sizeof(sums), cudaMemcpyDeviceToHost));
	CHECK(cudaMemcpy(bins, d->bins, sizeof(bins), cudaMemcpyDeviceToHost));
	for (int i = 0; i < 512; i++)
		sum += sums[i];
	for (int i = 0; i < BINS; i++)
		all += bins[i];
	printf("sum %.2g, binned %u\n", (double)sum, all);
	return all == N;
}

int main(int argc, char **argv)
{
	const float weights[5] = {0.1f, 0.2f, 0.4f, 0.2f, 0.1f};
	double seconds = argc == 2 && !strncmp(argv[1], "--seconds=", 10) ? atof(argv[1] + 10) : 0;
	double end = seconds_now() + seconds;
	cudaGraphExec_t graph;
	struct data d;
	bool good;

	CHECK(cudaMalloc(&d.x, N * sizeof(*d.x)));
	CHECK(cudaMalloc(&d.y, N * sizeof(*d.y)));
	CHECK(cudaMalloc(&d.z, N * sizeof(*d.z)));
	CHECK(cudaMalloc(&d.sums, 512 * sizeof(*d.sums)));
	CHECK(cudaMalloc(&d.dx, N / 4 * sizeof(*d.dx)));
	CHECK(cudaMalloc(&d.dsums, 512 * sizeof(*d.dsums)));
	CHECK(cudaMalloc(&d.bins, BINS * sizeof(*d.bins)));
	CHECK(cudaMemset(d.dx, 0, N / 4 * sizeof(*d.dx)));
	CHECK(cudaMemcpyToSymbol(weight, weights, sizeof(weights)));
	CHECK(cudaStreamCreate(&d.stream[0]));
	CHECK(cudaStreamCreateWithFlags(&d.stream[1], cudaStreamNonBlocking));
	CHECK(cudaEventCreateWithFlags(&d.done, cudaEventDisableTiming));
	graph = captured(&d);
	for (int i = 0; i < ROUNDS || seconds_now() < end; i++) {
		streams(&d);
		defaults(&d);
		CHECK(cudaGraphLaunch(graph, d.stream[0]));
		CHECK(cudaStreamSynchronize(d.stream[0]));
		cooperative(&d);
	}
	good = right(&d);
	CHECK(cudaDeviceReset());
	return good ? 0 : 1;
}
