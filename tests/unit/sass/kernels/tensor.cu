// SPDX-License-Identifier: Apache-2.0
// Tensor instructions and asynchronous copies, each as far as the architecture has them.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
#include <stdint.h>

/* sm_70's PTX is made for sm_75 and relabelled: GW_SM70 leaves out what sm_70 has not. */
#ifdef GW_SM70
#define ARCH 700
#else
#define ARCH __CUDA_ARCH__
#endif

extern "C" __global__ void wmma_half(float *c, const __half *a, const __half *b)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
	fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
	fragment<accumulator, 16, 16, 16, float> fc;
	fill_fragment(fc, 0.0f);
	for (int k = 0; k < 4; k++) {
		load_matrix_sync(fa, a + k * 16, 64);
		load_matrix_sync(fb, b + k * 16, 64);
		mma_sync(fc, fa, fb, fc);
	}
	store_matrix_sync(c, fc, 16, mem_row_major);
}

#if ARCH == 700
extern "C" __global__ void mma_types(uint32_t *r, float *f)
{
	int i = threadIdx.x;
	uint32_t a0 = r[i], a1 = r[i + 1], b0 = r[i + 2], b1 = r[i + 3];
	float v[8];
	for (int k = 0; k < 8; k++)
		v[k] = f[i + k];
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7}, "
	             "{%8,%9}, {%10,%11}, {%0,%1,%2,%3,%4,%5,%6,%7};"
	             : "+f"(v[0]), "+f"(v[1]), "+f"(v[2]), "+f"(v[3]), "+f"(v[4]), "+f"(v[5]),
	               "+f"(v[6]), "+f"(v[7])
	             : "r"(a0), "r"(a1), "r"(b0), "r"(b1));
	for (int k = 0; k < 8; k++)
		f[i + k] = v[k];
}
#endif

#if ARCH >= 750
extern "C" __global__ void mma_types(uint32_t *r, float *f, double *d)
{
	int i = threadIdx.x;
	uint32_t a0 = r[i], a1 = r[i + 1], a2 = r[i + 2], a3 = r[i + 3], b0 = r[i + 4],
	         b1 = r[i + 5];
	float f0 = f[i], f1 = f[i + 1], f2 = f[i + 2], f3 = f[i + 3];
	int c0 = r[i + 6], c1 = r[i + 7], c2 = r[i + 8], c3 = r[i + 9];
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
	             "{%0,%1,%2,%3};"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(b0));
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3}, {%4}, {%0,%1};"
	             : "+r"(c0), "+r"(c1)
	             : "r"(a0), "r"(a1), "r"(b0));
	asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
	             : "+r"(c0), "+r"(c1)
	             : "r"(a0), "r"(b0));
#if ARCH >= 800
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, "
	             "{%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x0;"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(b0), "r"(b1), "r"(a2));
	double x = d[i], y = d[i + 1], d0 = d[i + 2], d1 = d[i + 3];
	asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
	             : "+d"(d0), "+d"(d1)
	             : "d"(x), "d"(y));
	d[i] = d0 + d1;
#endif
#if ARCH >= 800 && ARCH < 1000
	asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+r"(c0), "+r"(c1), "+r"(c2), "+r"(c3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
#if ARCH >= 890
	asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	             : "+f"(f0), "+f"(f1), "+f"(f2), "+f"(f3)
	             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
	uint16_t e;
	asm volatile("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(e) : "f"(f0), "f"(f1));
	uint32_t h;
	asm volatile("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(h) : "h"(e));
	r[i + 20] = h + e;
#endif
	f[i] = f0 + f1 + f2 + f3;
	r[i] = c0 + c1 + c2 + c3;
}

extern "C" __global__ void matrix_loads(uint32_t *r)
{
	__shared__ uint4 s[256];
	s[threadIdx.x] = ((uint4 *)r)[threadIdx.x];
	__syncthreads();
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x]), x, y, z, w;
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(x), "=r"(y), "=r"(z), "=r"(w)
	             : "r"(at));
	r[threadIdx.x] = x + y + z + w;
	asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0,%1}, [%2];"
	             : "=r"(x), "=r"(y)
	             : "r"(at));
	r[threadIdx.x + 1] = x + y;
#if ARCH >= 900
	asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%4], {%0,%1,%2,%3};" ::"r"(x), "r"(y),
	             "r"(z), "r"(w), "r"(at));
#endif
	asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(x) : "r"(y));
	r[threadIdx.x + 2] = x;
}
#endif

extern "C" __global__ void async_copies(uint4 *r, int n)
{
#if ARCH >= 800
	__shared__ uint4 s[256];
	__shared__ uint64_t bar;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x]);
	uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar);
	asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(b), "r"(n));
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(r + threadIdx.x));
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(at), "l"(r + n));
	asm volatile("cp.async.commit_group;");
	asm volatile("cp.async.wait_group 0;");
	asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(b));
	uint64_t state;
	asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(state) : "r"(b));
	int done;
	asm volatile("{.reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.s32 %0,1,0,p;}"
	             : "=r"(done)
	             : "r"(b), "l"(state));
	__syncthreads();
	r[threadIdx.x + n] = s[(threadIdx.x + done) & 255];
	int v = __reduce_add_sync(~0u, n + threadIdx.x) + __reduce_max_sync(~0u, done);
	r[n].x = v + __reduce_xor_sync(~0u, v);
#endif
}

#if ARCH >= 900
extern "C" __global__ void clusters(uint32_t *r, int n)
{
	__shared__ uint32_t s[128];
	__shared__ uint64_t bar;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&s[threadIdx.x]), remote, v;
	uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar);
	s[threadIdx.x] = n;
	asm volatile("barrier.cluster.arrive.release.aligned;");
	asm volatile("barrier.cluster.wait.acquire.aligned;");
	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(at), "r"(n));
	asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(remote));
	asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(remote), "r"(v + 1));
	asm volatile("red.shared::cluster.add.u32 [%0], %1;" ::"r"(remote), "r"(v));
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(n));
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
	             "%2, [%3];" ::"r"(at),
	             "l"(r), "r"(n), "r"(b));
	int done;
	asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 "
	             "%0,1,0,p;}"
	             : "=r"(done)
	             : "r"(b), "r"(0));
	asm volatile("fence.proxy.async;");
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(r), "r"(at),
	             "r"(n));
	asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], %2;" ::"l"(r),
	             "r"(at), "r"(n));
	asm volatile("cp.async.bulk.commit_group;");
	asm volatile("cp.async.bulk.wait_group.read 0;");
	asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(r), "r"(n));
	r[threadIdx.x] = v + done;
	asm volatile("griddepcontrol.wait;");
	asm volatile("griddepcontrol.launch_dependents;");
}

extern "C" __global__ void tensor_maps(const void *map, uint32_t *r, int n)
{
	__shared__ __align__(128) uint32_t s[1024];
	__shared__ uint64_t bar;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(s);
	uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar);
	asm volatile("prefetch.tensormap [%0];" ::"l"(map));
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
	             "[%0], [%1, {%2, %3}], [%4];" ::"r"(at),
	             "l"(map), "r"(n), "r"(n), "r"(b));
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(
	                     map),
	             "r"(at), "r"(n), "r"(n));
	asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%0, {%2, "
	             "%3}], [%1];" ::"l"(map),
	             "r"(at), "r"(n), "r"(n));
	r[threadIdx.x] = s[n];
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
extern "C" __global__ void warpgroup_mma(float *f, uint64_t da, uint64_t db, uint32_t *r)
{
	float d[8];
	int k[8];
	for (int i = 0; i < 8; i++) {
		d[i] = f[i];
		k[i] = (int)f[i + 8];
	}
	asm volatile("wgmma.fence.sync.aligned;");
#define WGMMA(shape, types, tail)                                                                  \
	asm volatile("wgmma.mma_async.sync.aligned." shape "." types                                  \
	             " {%0,%1,%2,%3}, %4, %5, 1, 1, 1" tail ";"                                       \
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                 \
	             : "l"(da), "l"(db))
	WGMMA("m64n8k16", "f32.f16.f16", ", 0, 0");
	WGMMA("m64n8k16", "f32.bf16.bf16", ", 0, 0");
	WGMMA("m64n8k8", "f32.tf32.tf32", "");
	WGMMA("m64n8k32", "f32.e4m3.e4m3", "");
	asm volatile("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {%0,%1,%2,%3}, %4, %5, 1;"
	             : "+r"(k[0]), "+r"(k[1]), "+r"(k[2]), "+r"(k[3])
	             : "l"(da), "l"(db));
	asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0,%1,%2,%3}, "
	             "{%4,%5,%6,%7}, %8, 1, 1, 1, 0;"
	             : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	             : "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]), "l"(db));
	asm volatile("wgmma.commit_group.sync.aligned;");
	asm volatile("wgmma.wait_group.sync.aligned 0;");
	asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
	for (int i = 0; i < 8; i++)
		f[i] = d[i] + k[i];
	asm volatile("{.reg .pred p; elect.sync _|p, 0xffffffff; @p st.global.u32 [%0], 1;}" ::"l"(r));
}
#endif

#ifdef __CUDA_ARCH_FEAT_SM100_ALL
extern "C" __global__ void tensor_memory(uint32_t *r, uint64_t da, uint64_t db, uint32_t idesc)
{
	__shared__ uint32_t base;
	__shared__ uint64_t bar;
	uint32_t at = (uint32_t)__cvta_generic_to_shared(&base);
	uint32_t b = (uint32_t)__cvta_generic_to_shared(&bar), x, y;
	asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 64;" ::"r"(at));
	asm volatile("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;");
	uint32_t t = base;
	asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f16 [%0], %1, "
	             "%2, %3, p;}" ::"r"(t),
	             "l"(da), "l"(db), "r"(idesc), "r"(idesc));
	asm volatile("{.reg .pred p; setp.ne.u32 p, %4, 0; tcgen05.mma.cta_group::1.kind::f8f6f4 [%0], "
	             "%1, %2, %3, p;}" ::"r"(t),
	             "l"(da), "l"(db), "r"(idesc), "r"(idesc));
	asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"l"(
	        (uint64_t)b));
	asm volatile("tcgen05.cp.cta_group::1.128x256b [%0], %1;" ::"r"(t), "l"(da));
	asm volatile("tcgen05.fence::after_thread_sync;");
	asm volatile("tcgen05.ld.sync.aligned.32x32b.x2.b32 {%0,%1}, [%2];" : "=r"(x), "=r"(y) : "r"(t));
	asm volatile("tcgen05.wait::ld.sync.aligned;");
	asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(t), "r"(x));
	asm volatile("tcgen05.wait::st.sync.aligned;");
	asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 64;" ::"r"(t));
	r[threadIdx.x] = x + y;
}
#endif
