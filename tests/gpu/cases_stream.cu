/*
 * Launches into streams through the runtime.
 */
#include "cases.h"

#include <pthread.h>

namespace shapes
{
template <typename T, int N> __global__ void bump_template(ull *sum)
{
	if (blockIdx.x + threadIdx.x + threadIdx.y == 0)
		atomicAdd(sum, (ull)(T)1);
}
} // namespace shapes

enum { BIG_SHARED = 100 * 1024 };

void case_launch(struct tally *t)
{
	cudaStream_t streams[] = {0, cudaStreamPerThread, cudaStreamLegacy, 0, 0, 0};
	const int count = sizeof streams / sizeof streams[0];
	void *args[] = {&t->sum};

	CHECK(cudaStreamCreate(&streams[3]));
	CHECK(cudaStreamCreateWithFlags(&streams[4], cudaStreamNonBlocking));
	CHECK(cudaStreamCreateWithPriority(&streams[5], cudaStreamNonBlocking, -1));
	CHECK(cudaFuncSetAttribute(bump_shared, cudaFuncAttributeMaxDynamicSharedMemorySize,
				   BIG_SHARED));
	for (int round = 0; round < 4; round++)
		for (int s = 0; s < count; s++) {
			bump<<<1, 32, 0, streams[s]>>>(t->sum);
			bump<<<dim3(3, 2, 1), dim3(8, 8, 2), 0, streams[s]>>>(t->sum);
			shapes::bump_template<int, 3><<<7, dim3(16, 2), 0, streams[s]>>>(t->sum);
			shapes::bump_template<ull, 3><<<7, dim3(16, 2), 0, streams[s]>>>(t->sum);
			bump_shared<<<2, 64, 1024 << s, streams[s]>>>(t->sum);
			bump_shared<<<2, 64, BIG_SHARED, streams[s]>>>(t->sum);
			CHECK(cudaLaunchKernel((void *)bump, dim3(5), dim3(96), args, 0,
					       streams[s]));
			t->ran += 7;
		}
	CHECK(cudaDeviceSynchronize());
	for (int s = 3; s < count; s++)
		CHECK(cudaStreamDestroy(streams[s]));
}

static void launch_with(struct tally *t, cudaStream_t stream, void *kernel, unsigned grid,
			cudaLaunchAttribute *attributes, unsigned count)
{
	cudaLaunchConfig_t config = {};
	void *args[] = {&t->sum};

	config.gridDim = dim3(grid);
	config.blockDim = dim3(64);
	config.stream = stream;
	config.attrs = attributes;
	config.numAttrs = count;
	CHECK(cudaLaunchKernelExC(&config, kernel, args));
	t->ran++;
}

void case_ex(struct tally *t)
{
	cudaLaunchAttribute cluster = {}, serial = {}, both[2] = {};
	cudaStream_t stream;

	CHECK(cudaStreamCreate(&stream));
	cluster.id = cudaLaunchAttributeClusterDimension;
	cluster.val.clusterDim = {4, 1, 1};
	serial.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	serial.val.programmaticStreamSerializationAllowed = 1;
	both[0] = cluster;
	both[1] = serial;
	for (int round = 0; round < 5; round++) {
		launch_with(t, stream, (void *)bump, 8, NULL, 0);
		launch_with(t, stream, (void *)bump, 8, &cluster, 1);
		launch_with(t, stream, (void *)bump_programmatic, 8, &serial, 1);
		launch_with(t, stream, (void *)bump_programmatic, 8, both, 2);
		launch_with(t, 0, (void *)bump_programmatic, 16, NULL, 0);
		bump_cluster<<<6, 64, 0, stream>>>(t->sum); /* clusters without an attribute */
		t->ran++;
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaStreamDestroy(stream));
}

void case_cooperative(struct tally *t)
{
	cudaLaunchAttribute attribute = {};
	void *args[] = {&t->sum};

	attribute.id = cudaLaunchAttributeCooperative;
	attribute.val.cooperative = 1;
	for (int round = 0; round < 6; round++) {
		CHECK(cudaLaunchCooperativeKernel((void *)bump_cooperative, dim3(4), dim3(64), args,
						  0, 0));
		t->ran++;
		launch_with(t, 0, (void *)bump_cooperative, 6, &attribute, 1);
	}
}

enum { THREADS = 16, STREAMS = 8, ROUNDS = 25 };

static void *launch_many(void *arg)
{
	ull *sum = (ull *)arg;
	cudaStream_t streams[STREAMS];

	for (int s = 0; s < STREAMS; s++)
		CHECK(cudaStreamCreateWithFlags(&streams[s], cudaStreamNonBlocking));
	for (int round = 0; round < ROUNDS; round++)
		for (int s = 0; s < STREAMS; s++) {
			bump<<<s + 1, 32, 0, streams[s]>>>(sum);
			bump_shared<<<1, 64, 256, streams[s]>>>(sum);
		}
	for (int round = 0; round < ROUNDS; round++) /* a stream that ends with its thread */
		bump<<<9, 32, 0, cudaStreamPerThread>>>(sum);
	CHECK(cudaStreamSynchronize(cudaStreamPerThread));
	for (int s = 0; s < STREAMS; s++) {
		CHECK(cudaStreamSynchronize(streams[s]));
		CHECK(cudaStreamDestroy(streams[s]));
	}
	return NULL;
}

void case_threads(struct tally *t)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, launch_many, t->sum)) {
			fprintf(stderr, "pthread_create failed\n");
			exit(1);
		}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	t->ran += (ull)THREADS * ROUNDS * (2 * STREAMS + 1);
}

void case_errors(struct tally *t)
{
	for (int round = 0; round < 3; round++) {
		bump<<<1, 32>>>(t->sum);
		t->ran++;
		bump<<<1, 2048>>>(t->sum); /* too many threads: never runs */
		printf("too many threads: %s,", cudaGetErrorName(cudaPeekAtLastError()));
		printf(" then %s,", cudaGetErrorName(cudaGetLastError()));
		printf(" then %s\n", cudaGetErrorName(cudaGetLastError()));
		bump_shared<<<1, 32, 64 << 20>>>(t->sum); /* more shared memory than there is */
		printf("too much shared memory: %s\n", cudaGetErrorName(cudaGetLastError()));
		bump<<<0, 32>>>(t->sum); /* an empty grid */
		printf("empty grid: %s\n", cudaGetErrorName(cudaGetLastError()));
	}
	bump<<<1, 2048>>>(t->sum); /* main finds this one as the last error */
	CHECK(cudaDeviceSynchronize());
}

void case_fault(struct tally *t)
{
	bump<<<1, 32>>>(t->sum);
	printf("before: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	bump<<<1, 32>>>((ull *)16); /* nothing is mapped there */
	printf("fault: %s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	printf("after: %s\n", cudaGetErrorName(cudaPeekAtLastError()));
	bump<<<1, 32>>>(t->sum);
	printf("refused: %s\n", cudaGetErrorName(cudaGetLastError()));
	fflush(stdout);
	exit(3);
}
