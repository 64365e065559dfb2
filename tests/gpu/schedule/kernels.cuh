// SPDX-License-Identifier: Apache-2.0
// Loops of one warp, timed by clock64(): cal_* give the latencies, the others are what the
// schedule is scored on. Each passes `n` times through its loop; the loop is the only one that
// matters and is not unrolled.
#pragma once
#include <cuda_fp16.h>
#include <stdint.h>

struct work {
	int *small;       // 16 KiB of indices: element i holds the next index of a ring of 32 B steps
	int *large;       // 512 MiB, the same in steps of a page and a bit: served by device memory
	float *f;         // 16 KiB
	double *d;        // 16 KiB
	long long *out;   // cycles of lane 0
	float *sink;      // results, so that nothing is optimised away
	int zero;         // 0, unknown to the compiler
	int n;            // trips
};

__constant__ int ring[1024];

#define KERNEL(name) extern "C" __global__ void __launch_bounds__(32) name(struct work w)
// Time the loop: BODY is passed w.n times, in a second round with caches warm.
#define TIMED(BODY)                                                                                \
	_Pragma("unroll 1") for (int round = 0; round < 2; round++)                                    \
	{                                                                                              \
		long long t0 = clock64();                                                                  \
		_Pragma("unroll 1") for (int i = 0; i < w.n; i++)                                          \
		{                                                                                          \
			BODY                                                                                   \
		}                                                                                          \
		long long t1 = clock64();                                                                  \
		if (threadIdx.x == 0)                                                                      \
			w.out[0] = t1 - t0;                                                                    \
	}
#define KEEP(value) w.sink[threadIdx.x] = (float)(value)

// ---- latencies ----
KERNEL(cal_loop) { int a = threadIdx.x; TIMED(asm volatile("add.s32 %0, %0, 1;" : "+r"(a));) KEEP(a); }
KERNEL(cal_l1) { int a = w.zero; TIMED(a = w.small[a]; a = w.small[a]; a = w.small[a]; a = w.small[a];) KEEP(a); }
KERNEL(cal_l2) { int a = w.zero; TIMED(a = __ldcg(w.small + a); a = __ldcg(w.small + a); a = __ldcg(w.small + a); a = __ldcg(w.small + a);) KEEP(a); }
KERNEL(cal_dram) { int a = w.zero; TIMED(a = __ldcg(w.large + a); a = __ldcg(w.large + a);) KEEP(a); }
KERNEL(cal_shared)
{
	__shared__ int s[1024];
	for (int i = threadIdx.x; i < 1024; i += 32)
		s[i] = (i + 32) & 1023;
	__syncthreads();
	int a = threadIdx.x;
	TIMED(a = s[a]; a = s[a]; a = s[a]; a = s[a];)
	KEEP(a);
}
KERNEL(cal_constant) { int a = threadIdx.x & w.zero; TIMED(a = ring[a]; a = ring[a]; a = ring[a]; a = ring[a];) KEEP(a); }
KERNEL(cal_local)
{
	int l[64];
	for (int i = 0; i < 64; i++)
		l[i] = (i + 1 + w.zero) & 63;
	int a = w.zero;
	TIMED(a = l[a]; a = l[a]; a = l[a]; a = l[a];)
	KEEP(a);
}
KERNEL(cal_sfu) { float a = w.f[0]; TIMED(asm volatile("ex2.approx.ftz.f32 %0, %0; ex2.approx.ftz.f32 %0, %0; ex2.approx.ftz.f32 %0, %0; ex2.approx.ftz.f32 %0, %0;" : "+f"(a));) KEEP(a); }
KERNEL(cal_sfu_rate)
{
	float a = w.f[0], b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
#define EX2(x) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x))
	TIMED(EX2(a); EX2(b); EX2(c); EX2(d); EX2(e); EX2(f); EX2(g); EX2(h);)
	KEEP(a + b + c + d + e + f + g + h);
}
KERNEL(cal_convert) { int a = threadIdx.x; TIMED(asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(a) : "f"(__int_as_float(a))); asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(a) : "f"(__int_as_float(a))); asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"(a) : "f"(__int_as_float(a)));) KEEP(a); }
KERNEL(cal_bits) { int a = threadIdx.x; TIMED(asm volatile("popc.b32 %0, %0; popc.b32 %0, %0; popc.b32 %0, %0; popc.b32 %0, %0;" : "+r"(a));) KEEP(a); }
KERNEL(cal_shuffle) { int a = threadIdx.x; TIMED(a = __shfl_xor_sync(~0u, a, 1); a = __shfl_xor_sync(~0u, a, 2); a = __shfl_xor_sync(~0u, a, 4); a = __shfl_xor_sync(~0u, a, 8);) KEEP(a); }
KERNEL(cal_reduce) { int a = threadIdx.x; TIMED(a = __reduce_add_sync(~0u, a); a = __reduce_add_sync(~0u, a + (int)threadIdx.x);) KEEP(a); }
KERNEL(cal_match) { int a = threadIdx.x; TIMED(a = __match_any_sync(~0u, a); a = __match_any_sync(~0u, a);) KEEP(a); }
KERNEL(cal_special) { int a = 0, b; TIMED(asm volatile("mov.u32 %0, %%smid;" : "=r"(b)); a += b; asm volatile("mov.u32 %0, %%warpid;" : "=r"(b)); a += b;) KEEP(a); }
KERNEL(cal_fp64) { double a = w.d[0], b = w.d[1]; TIMED(a = fma(a, b, b); a = fma(a, b, b); a = fma(a, b, b); a = fma(a, b, b);) KEEP(a); }
KERNEL(cal_fp64_rate)
{
	double b = w.d[1], a[8];
	for (int k = 0; k < 8; k++)
		a[k] = w.d[k + 2];
	TIMED(_Pragma("unroll") for (int k = 0; k < 8; k++) a[k] = fma(a[k], b, b);)
	KEEP(a[0] + a[1] + a[2] + a[3] + a[4] + a[5] + a[6] + a[7]);
}
KERNEL(cal_atomic_shared)
{
	__shared__ int s[32];
	s[threadIdx.x] = 0;
	int a = w.zero;
	TIMED(a = atomicExch(&s[threadIdx.x], a); a = atomicExch(&s[threadIdx.x], a);)
	KEEP(a);
}
KERNEL(cal_atomic) { int a = w.zero; TIMED(a = atomicExch((int *)w.sink + 128 + a + threadIdx.x, 0); a = atomicExch((int *)w.sink + 128 + a + threadIdx.x, 0);) KEEP(a); }
KERNEL(cal_barrier) { int a = w.zero; TIMED(__syncthreads(); a++; __syncthreads(); a++; __syncthreads(); a++; __syncthreads();) KEEP(a); }
KERNEL(cal_fence) { int a = w.zero; TIMED(w.sink[32 + threadIdx.x] = a; __threadfence(); a++;) KEEP(a); }
KERNEL(cal_shared_rate)
{
	__shared__ int s[1024];
	for (int i = threadIdx.x; i < 1024; i += 32)
		s[i] = i;
	__syncthreads();
	volatile int *v = s + threadIdx.x;
	int a = 0;
	TIMED(a += v[0] + v[32] + v[64] + v[96] + v[128] + v[160] + v[192] + v[224];)
	KEEP(a);
}
KERNEL(cal_l1_rate) { int a = 0; volatile int *v = w.small + threadIdx.x; TIMED(asm volatile("{.reg .b32 a,b,c,d,e,f,g,h; ld.global.ca.b32 a,[%1]; ld.global.ca.b32 b,[%1+128]; ld.global.ca.b32 c,[%1+256]; ld.global.ca.b32 d,[%1+384]; ld.global.ca.b32 e,[%1+512]; ld.global.ca.b32 f,[%1+640]; ld.global.ca.b32 g,[%1+768]; ld.global.ca.b32 h,[%1+896]; add.s32 a,a,b; add.s32 c,c,d; add.s32 e,e,f; add.s32 g,g,h; add.s32 a,a,c; add.s32 e,e,g; add.s32 a,a,e; add.s32 %0,%0,a;}" : "+r"(a) : "l"(v));) KEEP(a); }
KERNEL(cal_store_rate) { int a = w.zero; TIMED(((volatile float *)w.sink)[threadIdx.x] = a; ((volatile float *)w.sink)[threadIdx.x + 32] = a; ((volatile float *)w.sink)[threadIdx.x + 64] = a; ((volatile float *)w.sink)[threadIdx.x + 96] = a;) KEEP(a); }
KERNEL(cal_alu_rate)
{
	int a = w.zero, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
#define LOP(x) asm volatile("lop3.b32 %0, %0, %1, %0, 0x6a;" : "+r"(x) : "r"(w.zero))
	TIMED(LOP(a); LOP(b); LOP(c); LOP(d); LOP(e); LOP(f); LOP(g); LOP(h);)
	KEEP(a + b + c + d + e + f + g + h);
}
KERNEL(cal_imad_rate)
{
	int a = w.zero, b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7;
#define MAD(x) asm volatile("mad.lo.s32 %0, %0, %1, %1;" : "+r"(x) : "r"(w.zero))
	TIMED(MAD(a); MAD(b); MAD(c); MAD(d); MAD(e); MAD(f); MAD(g); MAD(h);)
	KEEP(a + b + c + d + e + f + g + h);
}
KERNEL(cal_fma_rate)
{
	float a = w.f[0], b = a + 1, c = a + 2, d = a + 3, e = a + 4, f = a + 5, g = a + 6, h = a + 7, k = w.f[9];
	TIMED(a = a * k + k; b = b * k + k; c = c * k + k; d = d * k + k; e = e * k + k; f = f * k + k; g = g * k + k; h = h * k + k;)
	KEEP(a + b + c + d + e + f + g + h);
}
KERNEL(cal_operand) { float a = threadIdx.x; TIMED(asm volatile("st.global.f32 [%0], %1;" :: "l"(w.sink + 64 + threadIdx.x), "f"(a)); a = a * a + a;) KEEP(a); }
KERNEL(cal_operand_shared)
{
	__shared__ float s[32];
	float a = threadIdx.x;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x]);
	TIMED(asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(a)); a = a * a + a;)
	KEEP(a + s[0]);
}
KERNEL(cal_shared_wide)
{
	__shared__ int4 s[256];
	for (int i = threadIdx.x; i < 256; i += 32)
		s[i] = make_int4((i + 32) & 255, 0, 0, 0);
	__syncthreads();
	int a = threadIdx.x;
	TIMED(int4 x = s[a]; a = x.x + x.y + x.z + x.w; x = s[a]; a = x.x + x.y + x.z + x.w;)
	KEEP(a);
}
KERNEL(cal_l1_wide) { int a = threadIdx.x; TIMED(int4 x = ((int4 *)w.sink)[a + 512]; a += x.x + x.y + x.z + x.w; x = ((int4 *)w.sink)[a + 512]; a += x.x + x.y + x.z + x.w;) KEEP(a); }
KERNEL(cal_store_barrier)
{
	__shared__ float s[32];
	float a = threadIdx.x;
	TIMED(((volatile float *)s)[threadIdx.x] = a; __syncthreads(); __syncthreads(); ((volatile float *)s)[threadIdx.x] = a; __syncthreads(); __syncthreads();)
	KEEP(a + s[0]);
}
