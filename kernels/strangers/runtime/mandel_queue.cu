// SPDX-License-Identifier: Apache-2.0
// Mandelbrot: a thread to a pixel; persistent blocks that draw tiles from a queue; adaptive subdivision with a
// queue on the device that grows while it is worked off.
#include <cstdio>
#include <cstdlib>
#include <vector>

struct View { double x, y, step; int w, h, limit; };
__device__ __host__ inline int escape(double cx, double cy, int limit)
{
	double x = 0, y = 0;
	int i = 0;
	while (i < limit && x * x + y * y < 4) { double t = x * x - y * y + cx; y = 2 * x * y + cy; x = t; i++; }
	return i;
}
__global__ void perPixel(View v, int *out)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < v.w && y < v.h) out[y * v.w + x] = escape(v.x + x * v.step, v.y + y * v.step, v.limit);
}
__global__ void persistent(View v, int *out, int *next)
{
	__shared__ int tile;
	int tx = (v.w + 15) / 16, tiles = tx * ((v.h + 15) / 16);
	for (;;) {
		if (threadIdx.x == 0) tile = atomicAdd(next, 1);
		__syncthreads();
		int t = tile;
		__syncthreads();
		if (t >= tiles) return;
		int x = t % tx * 16 + threadIdx.x % 16, y = t / tx * 16 + threadIdx.x / 16;
		if (x < v.w && y < v.h) out[y * v.w + x] = escape(v.x + x * v.step, v.y + y * v.step, v.limit);
	}
}
// queue: size of the square, place; `open` counts what is not finished
__global__ void adaptive(View v, int *out, int4 *queue, int room, int *head, int *tail, int *open)
{
	__shared__ int4 job;
	__shared__ int differ, ref;
	for (;;) {
		if (threadIdx.x == 0) {
			job.z = 0;
			int h = atomicAdd(head, 1);
			while (job.z == 0 && *(volatile int *)open > 0) // wait until that entry is there, or all is done
				if (h < *(volatile int *)tail && h < room && ((volatile int4 *)queue)[h].w == 1) { __threadfence(); job.x = ((volatile int4 *)queue)[h].x; job.y = ((volatile int4 *)queue)[h].y; job.z = ((volatile int4 *)queue)[h].z; }
			differ = 0;
		}
		__syncthreads();
		int4 j = job;
		if (j.z == 0) return;
		int edge = 4 * j.z;
		if (threadIdx.x == 0) ref = escape(v.x + j.x * v.step, v.y + j.y * v.step, v.limit);
		__syncthreads();
		for (int e = threadIdx.x; e < edge; e += blockDim.x) {
			int s = e / j.z, k = e % j.z, x = j.x + (s == 0 ? k : s == 1 ? j.z - 1 : s == 2 ? k : 0), y = j.y + (s == 0 ? 0 : s == 1 ? k : s == 2 ? j.z - 1 : k);
			int it = escape(v.x + x * v.step, v.y + y * v.step, v.limit);
			if (it != ref) differ = 1;
		}
		__syncthreads();
		bool split = differ && j.z > 16;
		if (split && threadIdx.x == 0) {
			atomicAdd(open, 4);
			int at = atomicAdd(tail, 4), half = j.z / 2;
			for (int k = 0; k < 4; k++) {
				queue[at + k].x = j.x + k % 2 * half; queue[at + k].y = j.y + k / 2 * half; queue[at + k].z = half;
				__threadfence();
				atomicExch(&queue[at + k].w, 1);
			}
		} else if (!split)
			for (int p = threadIdx.x; p < j.z * j.z; p += blockDim.x) {
				int x = j.x + p % j.z, y = j.y + p / j.z;
				out[y * v.w + x] = differ ? escape(v.x + x * v.step, v.y + y * v.step, v.limit) : ref;
			}
		__syncthreads();
		if (threadIdx.x == 0) atomicSub(open, 1);
	}
}
int main(int argc, char **argv)
{
	int side = argc > 1 ? atoi(argv[1]) : 2048, frames = argc > 2 ? atoi(argv[2]) : 48, n = side * side, wrong = 0;
	int *out, *q, room = side * side / 64;
	int4 *queue;
	if (cudaMalloc(&out, 4 * n) || cudaMalloc(&q, 12) || cudaMalloc(&queue, sizeof(int4) * (room + 8))) return 2;
	std::vector<int> a(n), b(n), c(n);
	for (int f = 0; f < frames; f++) {
		View v = {-0.75 - 1.25 / (1 + f), -1.25 / (1 + f) + 0.02 * f, 2.5 / (1 + f) / side, side, side, 1024 << f % 3};
		perPixel<<<dim3((side + 15) / 16, (side + 15) / 16), dim3(16, 16)>>>(v, out);
		cudaMemcpy(a.data(), out, 4 * n, cudaMemcpyDeviceToHost);
		cudaMemset(q, 0, 12);
		persistent<<<264, 256>>>(v, out, q);
		cudaMemcpy(b.data(), out, 4 * n, cudaMemcpyDeviceToHost);
		int start[3] = {0, 1, 1};
		int4 first = make_int4(0, 0, side, 1);
		cudaMemset(queue, 0, sizeof(int4) * (room + 8));
		cudaMemcpy(queue, &first, sizeof first, cudaMemcpyHostToDevice);
		cudaMemcpy(q, start, 12, cudaMemcpyHostToDevice);
		adaptive<<<132, 128>>>(v, out, queue, room, q, q + 1, q + 2);
		if (cudaMemcpy(c.data(), out, 4 * n, cudaMemcpyDeviceToHost)) { puts(cudaGetErrorString(cudaGetLastError())); return 2; }
		int off = 0;
		for (int i = 0; i < n; i++) wrong += a[i] != b[i], off += a[i] != c[i]; // islands may be missed
		wrong += off > n / 50;
		for (int i = 0; i < n; i += 40007) wrong += abs(a[i] - escape(v.x + i % side * v.step, v.y + i / side * v.step, v.limit)) > v.limit / 8;
	}
	printf("%d wrong\n", wrong);
	return wrong > 0;
}
