// SPDX-License-Identifier: Apache-2.0
// Managed memory: the host writes between launches, so that pages travel; then prefetched; then left alone.
#include <cstdio>
#include <cstdlib>
#include <cmath>

__global__ void smooth(const float *in, float *out, int w, int h)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < 1 || y < 1 || x >= w - 1 || y >= h - 1) return;
	out[y * w + x] = 0.2f * (in[y * w + x] + in[y * w + x - 1] + in[y * w + x + 1] + in[(y - 1) * w + x] + in[(y + 1) * w + x]);
}
__global__ void scaleRows(float *a, const float *factor, int w, int h)
{
	int row = blockIdx.x;
	for (int x = threadIdx.x; x < w; x += blockDim.x) a[row * w + x] *= factor[row];
}
__global__ void checksum(const float *a, int n, double *out)
{
	double s = 0;
	for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) s += a[i];
	atomicAdd(out, s);
}
int main(int argc, char **argv)
{
	int w = argc > 1 ? atoi(argv[1]) : 4096, h = w / 2, steps = argc > 2 ? atoi(argv[2]) : 12, device = 0, n = w * h;
	float *a, *b, *factor;
	double *sum;
	if (cudaMallocManaged(&a, 4l * n) || cudaMallocManaged(&b, 4l * n) || cudaMallocManaged(&factor, 4 * h) || cudaMallocManaged(&sum, 8)) return 2;
	dim3 block(32, 8), grid((w + 31) / 32, (h + 7) / 8);
	double worst = 0;
	for (int phase = 0; phase < 3; phase++) {
		for (int i = 0; i < n; i++) a[i] = b[i] = i % 13;
		for (int y = 0; y < h; y++) factor[y] = 1 + y % 3;
		if (phase > 0) {
			cudaMemLocation where = {};
			where.type = cudaMemLocationTypeDevice;
			where.id = device;
			cudaMemPrefetchAsync(a, 4l * n, where, 0);
			cudaMemPrefetchAsync(b, 4l * n, where, 0);
		}
		for (int s = 0; s < (phase == 2 ? 500 * steps : steps); s++) {
			smooth<<<grid, block>>>(a, b, w, h);
			if (phase == 0 && s % 4 == 3) { // the host takes a look, and touches
				cudaDeviceSynchronize();
				for (int y = 0; y < h; y += 8) b[y * w + w / 2] += 1e-6f;
			}
			smooth<<<grid, block>>>(b, a, w, h);
		}
		scaleRows<<<h, 256>>>(a, factor, w, h);
		cudaDeviceSynchronize();
		*sum = 0;
		checksum<<<132, 256>>>(a, n, sum);
		if (cudaDeviceSynchronize() != cudaSuccess) { printf("%s\n", cudaGetErrorString(cudaGetLastError())); return 2; }
		double want = 0;
		for (int i = 0; i < n; i++) want += a[i];
		worst = fmax(worst, fabs(want - *sum) / want);
		for (int i = 0; i < n; i += 1001) if (!(a[i] >= 0 && a[i] <= 37)) worst = INFINITY;
	}
	printf("sums differ by %g\n", worst);
	return !(worst < 1e-9);
}
