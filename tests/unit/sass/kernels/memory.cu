// SPDX-License-Identifier: Apache-2.0
// Every space and width of memory access, atomics and textures.
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <stdint.h>

__constant__ int table[256];
__constant__ double2 wide_table[64];

extern "C" __global__ void global_widths(uint8_t *a8, int8_t *s8, uint16_t *a16, int16_t *s16,
                                         uint32_t *a32, uint2 *a64, uint4 *a128, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	a8[i] = a8[i + n] + s8[i];
	s16[i] = a16[i] + s16[i + n];
	a32[i] = a32[i + n];
	uint2 x = a64[i];
	x.x += x.y;
	a64[i + n] = x;
	uint4 y = a128[i];
	y.x += y.w;
	y.z += __ldg(&a32[i + 2 * n]) + __ldcg(&a32[i + 3 * n]) + __ldcs(&a32[i + 4 * n]);
	a128[i + n] = y;
	__stcs(&a32[i + 5 * n], y.z);
	*(volatile uint32_t *)&a32[i + 6 * n] = 1;
}

extern "C" __global__ void shared_widths(uint8_t *a8, uint16_t *a16, uint32_t *a32, uint2 *a64,
                                         uint4 *a128)
{
	__shared__ uint8_t s8[256];
	__shared__ uint16_t s16[256];
	__shared__ uint32_t s32[256];
	__shared__ uint2 s64[256];
	__shared__ uint4 s128[256];
	int i = threadIdx.x, j = (i + 17) & 255;
	s8[i] = a8[i];
	s16[i] = a16[i];
	s32[i] = a32[i];
	s64[i] = a64[i];
	s128[i] = a128[i];
	__syncthreads();
	a8[i] = s8[j] + (int8_t)s8[j ^ 1];
	a16[i] = s16[j] + (int16_t)s16[j ^ 2];
	a32[i] = s32[j];
	a64[i] = s64[j];
	a128[i] = s128[j];
}

extern "C" __global__ void local_array(uint32_t *a, int n)
{
	uint32_t v[40];
	double w[9];
	uint8_t c[20];
	for (int k = 0; k < 40; k++)
		v[k] = a[k * n];
	for (int k = 0; k < 9; k++)
		w[k] = a[k + n];
	for (int k = 0; k < 20; k++)
		c[k] = (uint8_t)a[k];
	for (int k = 0; k < n; k++) {
		v[a[k] % 40] += k;
		w[a[k] % 9] += v[k % 40];
		c[a[k] % 20] ^= 3;
	}
	a[threadIdx.x] = v[n % 40] + (uint32_t)w[n % 9] + c[n % 20];
}

extern "C" __global__ void constant_reads(int *a, double2 *d, int n)
{
	int i = threadIdx.x;
	a[i] = table[i] + table[n] + table[3];
	d[i] = wide_table[i & 63];
	d[i + n] = wide_table[n & 63];
}

struct big {
	int v[64];
};

extern "C" __global__ void parameters(int *a, const __grid_constant__ struct big b, int n)
{
	a[threadIdx.x] = b.v[threadIdx.x & 63] + b.v[n & 63] + b.v[7];
}

extern "C" __global__ void generic_access(int *a, int n)
{
	__shared__ int s[128];
	volatile int *p = n > 5 ? (volatile int *)a : (volatile int *)s;
	p[threadIdx.x] = n;
	__syncthreads();
	a[threadIdx.x] = p[n];
	double2 *q = n > 9 ? (double2 *)a : (double2 *)s;
	q[n + 1] = q[n];
	atomicAdd((int *)p, 1);
}

extern "C" __global__ void atomics(int *a, unsigned *u, unsigned long long *l, float *f, double *d,
                                   __half2 *h, __nv_bfloat162 *b, int n)
{
	__shared__ int s[64];
	__shared__ unsigned long long sl[8];
	__shared__ float sf[8];
	int i = threadIdx.x;
	s[i & 63] = 0;
	sl[i & 7] = 0;
	sf[i & 7] = 0;
	__syncthreads();
	atomicAdd(&s[i & 63], n);
	atomicMax(&s[n & 63], i);
	a[i + 9] = atomicCAS(&s[3], i, n) + atomicExch(&s[4], n) + atomicAdd(&s[5], i);
	atomicAdd(&sl[i & 7], (unsigned long long)n);
	atomicAdd(&sf[i & 7], 1.0f);
	__syncthreads();
	atomicAdd(a, s[n & 63]);
	atomicAdd(f, sf[n & 7]);
	atomicAdd(d, 2.0);
	atomicAdd(h, __half2half2(__float2half(1.0f)));
	atomicAdd(b, __float2bfloat162_rn(1.0f));
	atomicMin(u + 1, i);
	atomicXor(u + 2, i);
	l[i] = atomicAdd(l, 3ull) + atomicCAS(l + 1, 3ull, sl[0]) + atomicMax(l + 2, 9ull);
	u[i] = atomicInc(u + 3, 7) + atomicDec(u + 4, 9) + atomicExch(u + 5, 1);
	f[i] = atomicAdd(f + 1, 2.0f);
	a[i] = atomicAnd(a + 2, i) | atomicOr(a + 3, i);
}

extern "C" __global__ void textures(float *a, cudaTextureObject_t t, cudaSurfaceObject_t s, int n)
{
	int i = threadIdx.x, j = blockIdx.x;
	float r = tex2D<float>(t, i * 0.5f, j * 0.5f);
	r += tex1Dfetch<float>(t, i);
	float4 g = tex2Dgather<float4>(t, i * 0.1f, j * 0.2f, 1);
	r += g.x + g.w + tex3D<float>(t, i, j, n) + tex2DLod<float>(t, i, j, 1.0f);
	r += tex2DGrad<float>(t, i, j, make_float2(1, 0), make_float2(0, 1));
	r += tex2DLayered<float>(t, i, j, n) + texCubemap<float>(t, i, j, n);
	surf2Dwrite(r, s, i * 4, j);
	a[i] = r + surf2Dread<float>(s, i * 4, j + 1);
	surf1Dwrite(make_float4(r, r, r, r), s, i * 16);
}

extern "C" __global__ void fences(int *a, volatile int *flag, int n)
{
	a[threadIdx.x] = n;
	__threadfence();
	if (threadIdx.x == 0)
		*flag = 1;
	__threadfence_block();
	__threadfence_system();
	while (*flag == 0)
		__nanosleep(20);
	asm volatile("prefetch.global.L2 [%0];" ::"l"(a));
#if __CUDA_ARCH__ >= 800
	asm volatile("discard.global.L2 [%0], 128;" ::"l"(a));
#endif
	int r;
	asm volatile("ld.acquire.gpu.global.b32 %0, [%1];" : "=r"(r) : "l"(a));
	asm volatile("st.release.gpu.global.b32 [%0], %1;" ::"l"(a + 1), "r"(r));
}
