/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of which memory contents decide how much they do, by kinds, and some of which they decide nothing that
 * matters. For test_sass_undecided:
 *     nvcc -arch=sm_90 -cubin -o undecided_sm_90.cubin undecided.cu
 */
#define AT (blockIdx.x * blockDim.x + threadIdx.x)
#define KERNEL extern "C" __global__ void

KERNEL depth_first(const int *first, const int *next, int *out, int n)
{
	int stack[64], top = 0, sum = 0;

	if (AT >= n)
		return;
	stack[top++] = AT;
	while (top) {
		int v = stack[--top];

		sum += v;
		for (int e = first[v]; e < first[v + 1]; e++)
			if (top < 64)
				stack[top++] = next[e];
	}
	out[AT] = sum;
}

KERNEL work_list(const int *queue, int *head, const int *tail, float *out)
{
	for (;;) {
		int at = atomicAdd(head, 1);

		if (at >= *tail)
			break;
		out[queue[at]] += 1;
	}
}

KERNEL awaits_flag(volatile int *flag, float *out)
{
	if (threadIdx.x == 0)
		while (!*flag) {
		}
	__syncthreads();
	out[AT] = 1;
}

KERNEL awaits_acquire(int *flag, float *out)
{
	int v;

	do {
		asm volatile("ld.acquire.gpu.s32 %0, [%1];" : "=r"(v) : "l"(flag));
	} while (!v);
	out[AT] = 1;
}

KERNEL awaits_lock(int *lock, float *sum)
{
	while (atomicCAS(lock, 0, 1)) {
	}
	sum[0] += 1;
	atomicExch(lock, 0);
}

KERNEL awaits_clock(long long cycles, float *out)
{
	long long begin = clock64();

	while (clock64() - begin < cycles) {
	}
	out[0] = 1;
}

KERNEL one_block(const int *count, float *data)
{
	for (int i = threadIdx.x; i < *count; i += blockDim.x)
		data[i] *= 2;
}

KERNEL sparse_rows(const int *first, const float *value, float *out, int n)
{
	float sum = 0;

	if (AT >= n)
		return;
	for (int e = first[AT]; e < first[AT + 1]; e++)
		sum += value[e];
	out[AT] = sum;
}

KERNEL a_branch(const float *in, float *out, int n, int rounds)
{
	if (AT >= n)
		return;
	float x = in[AT];

	if (x > 0.5f)
		for (int i = 0; i < rounds; i++)
			x = x * x + 1;
	out[AT] = x;
}

static __device__ __noinline__ int count_below(const int *left, const int *right, int v)
{
	return v < 0 ? 0 : 1 + count_below(left, right, left[v]) + count_below(left, right, right[v]);
}

KERNEL recursion(const int *left, const int *right, int *out)
{
	out[threadIdx.x] = count_below(left, right, threadIdx.x);
}

KERNEL local_array(const int *in, int *out, int n)
{
	int t[64], sum = 0;

	if (AT >= n)
		return;
	for (int j = 0; j < 64; j++)
		t[j] = in[AT * 64 + j];
	for (int j = 0; j < 64; j++)
		sum += t[in[AT] + j & 63];
	out[AT] = sum;
}

KERNEL local_sort(int *data, int n)
{
	int t[32];

	if (AT >= n)
		return;
	for (int j = 0; j < 32; j++)
		t[j] = data[AT * 32 + j];
	for (int j = 1; j < 32; j++) {
		int x = t[j], k = j;

		for (; k > 0 && t[k - 1] > x; k--)
			t[k] = t[k - 1];
		t[k] = x;
	}
	for (int j = 0; j < 32; j++)
		data[AT * 32 + j] = t[j];
}

KERNEL histogram(const int *in, int *bins, int n)
{
	if (AT < n)
		atomicAdd(bins + in[AT], 1);
}

KERNEL gather(const int *index, const float *in, float *out, int n)
{
	if (AT < n)
		out[AT] = in[index[AT]];
}

/* From here on data decide nothing, or nothing that matters. */

KERNEL rare_store(const float *in, float *out, int n)
{
	if (AT >= n)
		return;
	float x = in[AT] + in[AT + n] + in[AT + 2 * n] + in[AT + 3 * n];

	if (x > 0.5f)
		out[AT] = x;
}

KERNEL roots(const float *in, float *out, int n)
{
	if (AT < n)
		out[AT] = sqrtf(in[AT]) / in[AT + n];
}

KERNEL few_gathers(const int *index, const float *in, float *out, int n, int rounds)
{
	if (AT >= n)
		return;
	float x = in[index[AT]];

	for (int i = 0; i < rounds; i++)
		x = x * x + 1;
	out[AT] = x;
}

KERNEL own_copy(const float *in, float *out, int n)
{
	if (AT < n)
		out[AT] = in[AT];
}

KERNEL spread_atomics(int *bins, int n, int among)
{
	if (AT < n)
		atomicAdd(bins + AT % among, (int)AT);
}
