// SPDX-License-Identifier: Apache-2.0
// Edges: Gaussian (separable, weights in constant memory), gradient, thinning, hysteresis until nothing changes.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define RADIUS 5
__constant__ float gauss[2 * RADIUS + 1];

__global__ void gaussRow(const float *in, float *out, int w, int h)
{
	extern __shared__ float line[];
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
	for (int i = threadIdx.x; i < blockDim.x + 2 * RADIUS; i += blockDim.x) {
		int sx = (int)(blockIdx.x * blockDim.x) + i - RADIUS;
		line[i] = in[y * w + min(max(sx, 0), w - 1)];
	}
	__syncthreads();
	if (x >= w) return;
	float sum = 0;
#pragma unroll
	for (int k = 0; k <= 2 * RADIUS; k++) sum += gauss[k] * line[threadIdx.x + k];
	out[y * w + x] = sum;
}

__global__ void gaussColumn(const float *in, float *out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	float sum = 0;
	for (int k = -RADIUS; k <= RADIUS; k++) sum += gauss[k + RADIUS] * in[min(max(y + k, 0), h - 1) * w + x];
	out[y * w + x] = sum;
}

__global__ void gradient(const float *in, float *mag, uint8_t *dir, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	float gx = 0, gy = 0;
	if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
		gx = in[y * w + x + 1] - in[y * w + x - 1];
		gy = in[(y + 1) * w + x] - in[(y - 1) * w + x];
	}
	mag[y * w + x] = hypotf(gx, gy);
	float a = atan2f(gy, gx) * 1.27323954f; // in eighths of a turn
	dir[y * w + x] = ((int)rintf(a) + 8) & 3;
}

__global__ void thin(const float *mag, const uint8_t *dir, uint8_t *edge, int w, int h, float low, float high)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h) return;
	uint8_t e = 0;
	if (x > 0 && x < w - 1 && y > 0 && y < h - 1) {
		const int dx[4] = {1, 1, 0, -1}, dy[4] = {0, 1, 1, 1};
		int d = dir[y * w + x];
		float m = mag[y * w + x];
		if (m >= mag[(y + dy[d]) * w + x + dx[d]] && m >= mag[(y - dy[d]) * w + x - dx[d]]) e = m > high ? 2 : m > low ? 1 : 0;
	}
	edge[y * w + x] = e;
}

__global__ void follow(uint8_t *edge, int w, int h, int *changed)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1 || edge[y * w + x] != 1) return;
	for (int dy = -1; dy <= 1; dy++)
		for (int dx = -1; dx <= 1; dx++)
			if (edge[(y + dy) * w + x + dx] == 2) {
				edge[y * w + x] = 2;
				*changed = 1;
				return;
			}
}

__global__ void countEdges(const uint8_t *edge, int n, int *counts)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	int strong = __syncthreads_count(i < n && edge[i] == 2);
	if (threadIdx.x == 0 && strong) atomicAdd(counts, strong);
}

int main(int argc, char **argv)
{
	int w = argc > 1 ? atoi(argv[1]) : 1600, h = w * 9 / 16, frames = argc > 2 ? atoi(argv[2]) : 500;
	std::vector<float> img(w * h);
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) img[y * w + x] = (x / 97 + y / 61) % 2 ? 0.2f + 0.5f * x / w : 0.4f - 0.3f * y / h;
	float g[2 * RADIUS + 1], total = 0;
	for (int k = -RADIUS; k <= RADIUS; k++) total += g[k + RADIUS] = expf(-k * k / 8.f);
	for (float &v : g) v /= total;
	cudaMemcpyToSymbol(gauss, g, sizeof g);
	float *a, *b, *c;
	uint8_t *dir, *edge;
	int *flag, again, passes = 0;
	cudaMalloc(&a, w * h * 4); cudaMalloc(&b, w * h * 4); cudaMalloc(&c, w * h * 4); cudaMalloc(&dir, w * h); cudaMalloc(&edge, w * h); cudaMalloc(&flag, 8);
	cudaMemcpy(a, img.data(), w * h * 4, cudaMemcpyHostToDevice);
	dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
	for (int f = 0; f < frames; f++) {
		gaussRow<<<dim3((w + 127) / 128, h), 128, (128 + 2 * RADIUS) * 4>>>(a, b, w, h);
		gaussColumn<<<grid, block>>>(b, c, w, h);
		gradient<<<grid, block>>>(c, b, dir, w, h);
		thin<<<grid, block>>>(b, dir, edge, w, h, 0.01f, 0.03f);
		do {
			cudaMemset(flag, 0, 4);
			follow<<<grid, block>>>(edge, w, h, flag);
			cudaMemcpy(&again, flag, 4, cudaMemcpyDeviceToHost);
			passes++;
		} while (again);
	}
	int strong;
	cudaMemset(flag + 1, 0, 4);
	countEdges<<<(w * h + 255) / 256, 256>>>(edge, w * h, flag + 1);
	cudaMemcpy(&strong, flag + 1, 4, cudaMemcpyDeviceToHost);
	// the same on the host
	std::vector<float> t(w * h), s(w * h), m(w * h), dc(w * h);
	std::vector<uint8_t> e(w * h), ge(w * h);
	cudaMemcpy(ge.data(), edge, w * h, cudaMemcpyDeviceToHost);
	cudaMemcpy(dc.data(), c, w * h * 4, cudaMemcpyDeviceToHost);
	double worst = 0;
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			float v = 0;
			for (int k = -RADIUS; k <= RADIUS; k++) v += g[k + RADIUS] * img[y * w + std::min(std::max(x + k, 0), w - 1)];
			t[y * w + x] = v;
		}
	for (int y = 0; y < h; y++)
		for (int x = 0; x < w; x++) {
			float v = 0;
			for (int k = -RADIUS; k <= RADIUS; k++) v += g[k + RADIUS] * t[std::min(std::max(y + k, 0), h - 1) * w + x];
			worst = std::max(worst, (double)std::fabs(v - dc[y * w + x]));
		}
	int stray = 0, hostStrong = 0; // no weak pixel may touch a strong one
	for (int y = 1; y < h - 1; y++)
		for (int x = 1; x < w - 1; x++) {
			hostStrong += ge[y * w + x] == 2;
			if (ge[y * w + x] == 1)
				for (int k = 0; k < 9; k++) stray += ge[(y + k / 3 - 1) * w + x + k % 3 - 1] == 2;
		}
	printf("blur off by %g, %d strong pixels (%d), %d stray, %d passes\n", worst, strong, hostStrong, stray, passes);
	return worst > 1e-5 || stray || strong != hostStrong || strong < w;
}
