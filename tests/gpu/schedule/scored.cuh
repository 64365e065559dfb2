// SPDX-License-Identifier: Apache-2.0
// Kernels the schedule is scored on: ordinary code, no chain of a single instruction.
#pragma once
#include "kernels.cuh"

KERNEL(fma_chain) { float a = w.f[0], k = w.f[1]; TIMED(_Pragma("unroll") for (int j = 0; j < 16; j++) a = a * k + k;) KEEP(a); }
KERNEL(fma_mixed) { float a = w.f[0], b = w.f[2], k = w.f[1]; TIMED(_Pragma("unroll") for (int j = 0; j < 8; j++) { a = a * k + b; b = b * k - a; }) KEEP(a + b); }
KERNEL(horner) { float x = w.f[0], s = 0; TIMED(float p = w.zero; _Pragma("unroll") for (int j = 0; j < 12; j++) p = p * x + j; s += p; x = x * 0.999f + 0.001f;) KEEP(s); }
KERNEL(integer_hash) { unsigned h = threadIdx.x; TIMED(h ^= h << 13; h ^= h >> 17; h ^= h << 5; h = h * 2654435761u + i;) KEEP(h); }
KERNEL(integer_divide) { int a = w.n, b = w.zero + 7, s = 0; TIMED(s += (a + i) / b; s ^= s >> 3;) KEEP(s); }
KERNEL(integer_wide) { unsigned long long h = threadIdx.x, k = w.n; TIMED(h = h * 6364136223846793005ull + k; h ^= h >> 29;) KEEP(h); }
KERNEL(divide) { float a = w.f[0], b = w.f[1]; TIMED(a = b / (a + 1.5f); ) KEEP(a); }
KERNEL(square_root) { float a = w.f[0]; TIMED(a = sqrtf(a + 2.0f);) KEEP(a); }
KERNEL(exponential) { float a = w.f[0]; TIMED(a = __expf(a) * 0.1f; a = __logf(a + 2.0f);) KEEP(a); }
KERNEL(sine_mix) { float a = w.f[0], b = w.f[1]; TIMED(a = __sinf(a) + b; b = __cosf(b) * a; b = rsqrtf(b * b + 1.0f);) KEEP(a + b); }
KERNEL(double_mix) { double a = w.d[0], b = w.d[1], c = w.d[2]; TIMED(a = a * b + c; c = c * b - a; b = b + 1e-9; a = a * 0.5 + c;) KEEP(a + b + c); }
KERNEL(half_mix) { __half2 a = __float2half2_rn(w.f[0]), b = __float2half2_rn(w.f[1]); TIMED(_Pragma("unroll") for (int j = 0; j < 6; j++) { a = __hfma2(a, b, a); b = __hmul2(b, a); }) KEEP(__low2float(a) + __high2float(b)); }
KERNEL(conversions) { int k = w.zero; float f = 0; TIMED(f += (float)(k + i); k = (int)(f * 0.25f); f += floorf(f * 0.3f);) KEEP(f + k); }
KERNEL(bit_counts) { unsigned a = threadIdx.x; TIMED(a = a * 5 + __popc(a); a += __clz(a ^ i); a ^= __brev(a);) KEEP(a); }
KERNEL(shared_sum)
{
	__shared__ float s[1024];
	for (int i = threadIdx.x; i < 1024; i += 32)
		s[i] = i;
	__syncthreads();
	float a = 0;
	TIMED(int at = (i * 4 + threadIdx.x) & 1023; a = a * 0.5f + s[at]; a += s[at ^ 64] * s[at ^ 128] + s[at ^ 256];)
	KEEP(a);
}
KERNEL(shared_chase)
{
	__shared__ int s[1024];
	for (int i = threadIdx.x; i < 1024; i += 32)
		s[i] = (i * 5 + 32) & 1023;
	__syncthreads();
	int a = threadIdx.x, b = 0;
	TIMED(a = s[a]; b += a * 3; b ^= b >> 2;)
	KEEP(a + b);
}
KERNEL(shared_stencil)
{
	__shared__ volatile float s[64];
	s[threadIdx.x] = threadIdx.x;
	s[threadIdx.x + 32] = 0;
	__syncwarp();
	TIMED(float l = s[threadIdx.x]; float c = s[threadIdx.x + 1]; float r = s[threadIdx.x + 2]; __syncwarp(); s[threadIdx.x + 1] = 0.25f * l + 0.5f * c + 0.25f * r; __syncwarp();)
	KEEP(s[threadIdx.x]);
}
KERNEL(shared_tile)
{
	__shared__ float4 s[256];
	for (int i = threadIdx.x; i < 256; i += 32)
		s[i] = make_float4(i, 1, 2, 3);
	__syncthreads();
	float c[16];
	for (int k = 0; k < 16; k++)
		c[k] = w.f[k];
	TIMED(float4 x = s[(i + threadIdx.x) & 255]; float4 y = s[(i * 3) & 255];
	      c[0] += x.x * y.x; c[1] += x.x * y.y; c[2] += x.x * y.z; c[3] += x.x * y.w;
	      c[4] += x.y * y.x; c[5] += x.y * y.y; c[6] += x.y * y.z; c[7] += x.y * y.w;
	      c[8] += x.z * y.x; c[9] += x.z * y.y; c[10] += x.z * y.z; c[11] += x.z * y.w;
	      c[12] += x.w * y.x; c[13] += x.w * y.y; c[14] += x.w * y.z; c[15] += x.w * y.w;)
	float r = 0;
	for (int k = 0; k < 16; k++)
		r += c[k];
	KEEP(r);
}
KERNEL(l1_sum) { float a = 0; TIMED(int at = (i * 8 + threadIdx.x) & 2047; a += w.f[at]; a = a * 0.5f + w.f[at ^ 512];) KEEP(a); }
KERNEL(l1_chase) { int a = w.zero, b = 1; TIMED(a = w.small[a]; b = b * 3 + a; b ^= b >> 1; a += b & w.zero;) KEEP(a + b); }
KERNEL(l1_gather) { int a = 0; TIMED(int at = w.small[(i * 8) & 2040]; int x = w.small[at]; int y = w.small[at ^ 8]; int z = w.small[at ^ 16]; a += x * y + z;) KEEP(a); }
KERNEL(l2_sum) { float a = 0; TIMED(int at = (i * 32 + threadIdx.x) & 2047; a += __ldcg(w.f + at); a += __ldcg(w.f + (at ^ 512)); a += __ldcg(w.f + (at ^ 1024)); a = a * 0.5f + __ldcg(w.f + (at ^ 1536));) KEEP(a); }
KERNEL(l2_chase) { int a = w.zero, b = 1; TIMED(a = __ldcg(w.small + a); b = b * 7 + a; b ^= b >> 3;) KEEP(a + b); }
KERNEL(dram_chase) { int a = w.zero, b = 1; TIMED(a = __ldcg(w.large + a); b = b * 7 + a; b ^= b >> 3;) KEEP(a + b); }
KERNEL(dram_pair) { int a = w.zero, b = 1; TIMED(const int *p = w.large + a; a = __ldcg(p); int x = __ldcg(p + 8192); b = b * 7 + x;) KEEP(a + b); }
KERNEL(constant_walk) { int a = w.zero, b = 0; TIMED(a = ring[a]; b += ring[(a + 5) & 1023] * 3;) KEEP(a + b); }
KERNEL(local_table)
{
	int l[64];
	for (int k = 0; k < 64; k++)
		l[k] = (k * 3 + w.zero) & 63;
	int a = w.zero, b = 0;
	TIMED(a = l[a & 63] + 1; b += l[(a + i) & 63];)
	KEEP(a + b);
}
KERNEL(warp_reduce) { float a = threadIdx.x; TIMED(_Pragma("unroll") for (int o = 16; o; o >>= 1) a += __shfl_xor_sync(~0u, a, o); a *= 0.03f;) KEEP(a); }
KERNEL(warp_votes) { int a = threadIdx.x, s = 0; TIMED(unsigned m = __ballot_sync(~0u, (a + i) & 1); s += __popc(m); a = a * 3 + s; s += __any_sync(~0u, a > 9);) KEEP(a + s); }
KERNEL(warp_sums) { int a = threadIdx.x; TIMED(a = a * 3 + __reduce_max_sync(~0u, a & 1023); a ^= i;) KEEP(a); }
KERNEL(tensor_chain)
{
	float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
	uint32_t a = w.small[1], b = w.small[2];
#define HMMA16 asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4,%5,%5}, {%4,%5}, {%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(a), "r"(b));
	TIMED(HMMA16 HMMA16 HMMA16)
	KEEP(c0 + c1 + c2 + c3);
}
KERNEL(tensor_tile)
{
	__shared__ uint4 s[64];
	s[threadIdx.x] = s[threadIdx.x + 32] = make_uint4(0, 1, 2, 3);
	__syncthreads();
	float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x]), x, y, z, u;
	TIMED(asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x), "=r"(y), "=r"(z), "=r"(u) : "r"(at + (i & 1) * 512));
	      asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%4,%5}, {%0,%1,%2,%3};" : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3) : "r"(x), "r"(y), "r"(z), "r"(u));)
	KEEP(c0 + c1 + c2 + c3);
}
KERNEL(atomic_histogram)
{
	__shared__ int s[256];
	for (int i = threadIdx.x; i < 256; i += 32)
		s[i] = 0;
	__syncthreads();
	int a = threadIdx.x;
	TIMED(a = atomicAdd(&s[(a + threadIdx.x * 8) & 255 & ~7 | (threadIdx.x & 7)], 1) & 0;)
	KEEP(s[threadIdx.x]);
}
KERNEL(atomic_ticket) { int a = 0; TIMED(a += atomicAdd((int *)w.sink + 128 + threadIdx.x + (a & w.zero), 1) & 1;) KEEP(a); }
KERNEL(barrier_loop)
{
	__shared__ float s[32];
	float a = threadIdx.x;
	TIMED(s[threadIdx.x] = a; __syncthreads(); a = s[threadIdx.x ^ 1] * 0.5f + 1; __syncthreads();)
	KEEP(a);
}
KERNEL(branchy) { int a = threadIdx.x & w.zero, b = 1; TIMED(if ((a & 3) == 0) { b = b * 5 + a; b ^= b >> 7; } else { b += a; } a = a + b * 4 + i;) KEEP(a + b); }
KERNEL(nested) { float a = w.f[0]; TIMED(_Pragma("unroll 1") for (int j = 0; j < 8; j++) a = a * 0.5f + 1.0f; a = a + 2.0f;) KEEP(a); }
KERNEL(store_stream) { float a = w.f[0]; TIMED(w.sink[256 + ((i * 32 + threadIdx.x) & 1023)] = a; a = a * 0.9f + 1.0f;) KEEP(a); }
KERNEL(shared_copy)
{
	__shared__ float4 s[256];
	for (int i = threadIdx.x; i < 256; i += 32)
		s[i] = make_float4(i, 1, 2, 3);
	__syncthreads();
	TIMED(int at = (i * 32 + threadIdx.x) & 255; float4 x = s[at]; x.x += x.y; x.z *= x.w; s[at ^ 32] = x;)
	KEEP(s[threadIdx.x].x);
}
KERNEL(reduce_tile)
{
	__shared__ float s[64];
	float a = threadIdx.x;
	TIMED(s[threadIdx.x] = a; __syncthreads(); if (threadIdx.x < 16) s[threadIdx.x] += s[threadIdx.x + 16]; __syncthreads(); a = s[threadIdx.x & 15] * 0.5f; __syncthreads();)
	KEEP(a);
}
KERNEL(saxpy_l1) { float a = w.f[1]; TIMED(int at = (i * 32 + threadIdx.x) & 1023; w.sink[1024 + at] = a * w.f[at] + w.f[at + 1024];) KEEP(a); }
KERNEL(gather_wide) { int a = threadIdx.x; TIMED(int4 x = ((int4 *)w.sink)[(a & 127) + 512]; a += x.x + x.y * 3 + x.z + x.w + 1;) KEEP(a); }
KERNEL(poly_double) { double x = w.d[0], s = 0; TIMED(double p = s; _Pragma("unroll") for (int j = 0; j < 6; j++) p = p * x + 0.5; s = p * 1e-3;) KEEP(s); }
KERNEL(scan_step) { int a = threadIdx.x; TIMED(_Pragma("unroll") for (int o = 1; o < 32; o <<= 1) { int y = __shfl_up_sync(~0u, a, o); if ((int)threadIdx.x >= o) a += y; } a &= 255;) KEEP(a); }
