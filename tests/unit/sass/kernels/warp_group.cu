// SPDX-License-Identifier: Apache-2.0
// Loops of warp group operations as matrix products have them: awaited each, and one group left under way.
// wgmma.lst has their code (nvcc 13.0, -O3 -arch=sm_90a), beside that of kernels/wgmma.cu's chains.
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#include <cstdint>
__device__ inline void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int n> __device__ inline void waitg() { asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory"); }
__device__ inline void mma64(float (&d)[32], uint64_t a, uint64_t b)
{
	asm volatile("{wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, %32, %33, 1, 1, 1, 0, 0;}"
	: "+f"(d[0]),"+f"(d[1]),"+f"(d[2]),"+f"(d[3]),"+f"(d[4]),"+f"(d[5]),"+f"(d[6]),"+f"(d[7]),"+f"(d[8]),"+f"(d[9]),"+f"(d[10]),"+f"(d[11]),"+f"(d[12]),"+f"(d[13]),"+f"(d[14]),"+f"(d[15]),"+f"(d[16]),"+f"(d[17]),"+f"(d[18]),"+f"(d[19]),"+f"(d[20]),"+f"(d[21]),"+f"(d[22]),"+f"(d[23]),"+f"(d[24]),"+f"(d[25]),"+f"(d[26]),"+f"(d[27]),"+f"(d[28]),"+f"(d[29]),"+f"(d[30]),"+f"(d[31]) : "l"(a), "l"(b));
}
extern "C" __global__ void __launch_bounds__(128) loop_wait0(float *out, uint64_t a, uint64_t b, int n)
{
	float d[32] = {};
	for (int i = 0; i < n; i++) {
		fence();
		mma64(d, a, b); mma64(d, a + 2, b + 2); mma64(d, a + 4, b + 4); mma64(d, a + 6, b + 6);
		commit();
		waitg<0>();
	}
	for (int i = 0; i < 32; i++) out[threadIdx.x * 32 + i] = d[i];
}
extern "C" __global__ void __launch_bounds__(128) loop_wait1(float *out, uint64_t a, uint64_t b, int n)
{
	float d[32] = {}, e[32] = {};
	fence();
	for (int i = 0; i < n; i++) {
		mma64(d, a, b); mma64(d, a + 2, b + 2);
		commit();
		mma64(e, a, b); mma64(e, a + 2, b + 2);
		commit();
		waitg<1>();
	}
	waitg<0>();
	for (int i = 0; i < 32; i++) out[threadIdx.x * 32 + i] = d[i] + e[i];
}
#endif
