// SPDX-License-Identifier: Apache-2.0
// n bodies under gravity, four kernels for the same sum: naive, tiled, unrolled tile, double precision.
#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <functional>
const float EPS2 = 0.01f;

__device__ __forceinline__ float3 pull(float3 a, float4 p, float4 q)
{
	float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
	float r2 = dx * dx + dy * dy + dz * dz + EPS2, ir = rsqrtf(r2), s = q.w * ir * ir * ir;
	return make_float3(a.x + s * dx, a.y + s * dy, a.z + s * dz);
}

__global__ void naive(const float4 *p, float4 *acc, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	float3 a = make_float3(0, 0, 0);
	for (int j = 0; j < n; j++) a = pull(a, p[i], p[j]);
	acc[i] = make_float4(a.x, a.y, a.z, 0);
}

template <int UNROLL> __global__ void tiled(const float4 *p, float4 *acc, int n)
{
	extern __shared__ float4 tile[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 me = i < n ? p[i] : make_float4(0, 0, 0, 0);
	float3 a = make_float3(0, 0, 0);
	for (int base = 0; base < n; base += blockDim.x) {
		int j = base + threadIdx.x;
		tile[threadIdx.x] = j < n ? p[j] : make_float4(0, 0, 0, 0);
		__syncthreads();
#pragma unroll UNROLL
		for (int k = 0; k < blockDim.x; k++) a = pull(a, me, tile[k]);
		__syncthreads();
	}
	if (i < n) acc[i] = make_float4(a.x, a.y, a.z, 0);
}

__global__ void precise(const float4 *p, double3 *acc, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	double x = 0, y = 0, z = 0;
	for (int j = 0; j < n; j++) {
		double dx = (double)p[j].x - p[i].x, dy = (double)p[j].y - p[i].y, dz = (double)p[j].z - p[i].z;
		double r2 = dx * dx + dy * dy + dz * dz + EPS2, s = p[j].w / (r2 * sqrt(r2));
		x += s * dx; y += s * dy; z += s * dz;
	}
	acc[i] = make_double3(x, y, z);
}

__global__ void advance(float4 *p, float4 *v, const float4 *a, float dt, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n) return;
	v[i].x += dt * a[i].x; v[i].y += dt * a[i].y; v[i].z += dt * a[i].z;
	p[i].x += dt * v[i].x; p[i].y += dt * v[i].y; p[i].z += dt * v[i].z;
}

int main(int argc, char **argv)
{
	int largest = argc > 1 ? atoi(argv[1]) : 32768, bad = 0;
	for (int n = 1024; n <= largest; n *= 2) {
		std::vector<float4> h(n), got(n);
		std::vector<double3> ref(n);
		srand(n);
		for (auto &b : h) b = make_float4(rand() / 1e9f, rand() / 1e9f, rand() / 1e9f, 1.f / n);
		float4 *p, *v, *a;
		double3 *d;
		if (cudaMalloc(&p, n * 16) || cudaMalloc(&v, n * 16) || cudaMalloc(&a, n * 16) || cudaMalloc(&d, n * 24)) return 4;
		cudaMemcpy(p, h.data(), n * 16, cudaMemcpyHostToDevice);
		cudaMemset(v, 0, n * 16);
		for (int s = 0; s < 120; s++) {
			if (s % 4 == 0) tiled<1><<<(n + 127) / 128, 128, 128 * 16>>>(p, a, n);
			else if (s % 4 == 1) tiled<8><<<(n + 255) / 256, 256, 256 * 16>>>(p, a, n);
			else if (s % 4 == 2) naive<<<(n + 127) / 128, 128>>>(p, a, n);
			else tiled<4><<<(n + 63) / 64, 64, 64 * 16>>>(p, a, n);
			advance<<<(n + 255) / 256, 256>>>(p, v, a, 0.01f, n);
		}
		precise<<<(n + 127) / 128, 128>>>(p, d, n);
		cudaMemcpy(ref.data(), d, n * 24, cudaMemcpyDeviceToHost);
		std::function<void()> ways[3] = {[&] { naive<<<(n + 127) / 128, 128>>>(p, a, n); },
			[&] { tiled<1><<<(n + 127) / 128, 128, 128 * 16>>>(p, a, n); }, [&] { tiled<8><<<(n + 255) / 256, 256, 256 * 16>>>(p, a, n); }};
		for (auto &way : ways) {
			cudaMemset(a, 0xff, n * 16);
			way();
			cudaMemcpy(got.data(), a, n * 16, cudaMemcpyDeviceToHost);
			for (int i = 0; i < n; i++) {
				double e = hypot(hypot(got[i].x - ref[i].x, got[i].y - ref[i].y), got[i].z - ref[i].z);
				bad += !(e < 1e-3 * (1 + hypot(hypot(ref[i].x, ref[i].y), ref[i].z)));
			}
		}
		cudaFree(p); cudaFree(v); cudaFree(a); cudaFree(d);
	}
	printf("%d accelerations wrong\n", bad);
	return bad > 0;
}
