// SPDX-License-Identifier: Apache-2.0
// warp_group: cycles a trip of loops of warp group operations (wgmma, sm_90a), which `gpuwatch
// inspect --sass` reports from the same program's code: warp_group.py holds the two together.
//   warp_group      prints "name warp_groups cycles" a line: the least of several passes, each the
//   difference
//                   of a long and a short loop, so that what stands around the loop is not in it.
// Both factors lie in shared memory (all zero, swizzled by 128 bytes), or A in registers.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call) \
	do { \
		cudaError_t e_ = (call); \
		if (e_ != cudaSuccess) { \
			fprintf(stderr, "warp_group: %s: %s\n", #call, cudaGetErrorString(e_)); \
			exit(1); \
		} \
	} while (0)

enum { SHORT = 64, LONG = 1088, GROUP = 128, PASSES = 7 };

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define D8(x, i) \
	"+f"(x[i]), "+f"(x[i + 1]), "+f"(x[i + 2]), "+f"(x[i + 3]), "+f"(x[i + 4]), \
		"+f"(x[i + 5]), "+f"(x[i + 6]), "+f"(x[i + 7])
#define D32(x, i) D8(x, i), D8(x, i + 8), D8(x, i + 16), D8(x, i + 24)
#define R32 \
	"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%" \
	"24,%25,%26,%27,%28,%29,%30,%31"
#define R64 \
	R32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%" \
	    "52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"
#define R128 \
	R64 ",%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,%80,%81,%82,%83,%" \
	    "84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95," \
	    "%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,%112,%" \
	    "113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"

// A step for 64, 128 and 256 columns of the result, of 32, 64 and 128 registers.
__device__ inline void step(float (&x)[32], uint64_t a, uint64_t b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" R32
		     "}, %32, %33, 1, 1, 1, 0, 0;"
		     : D32(x, 0)
		     : "l"(a), "l"(b));
}
__device__ inline void step(float (&x)[64], uint64_t a, uint64_t b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" R64
		     "}, %64, %65, 1, 1, 1, 0, 0;"
		     : D32(x, 0), D32(x, 32)
		     : "l"(a), "l"(b));
}
__device__ inline void step(float (&x)[128], uint64_t a, uint64_t b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" R128
		     "}, %128, %129, 1, 1, 1, 0, 0;"
		     : D32(x, 0), D32(x, 32), D32(x, 64), D32(x, 96)
		     : "l"(a), "l"(b));
}
// The same with A in registers.
__device__ inline void step(float (&x)[32], const uint32_t (&a)[4], uint64_t b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {" R32
		     "}, {%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
		     : D32(x, 0)
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
__device__ inline void step(float (&x)[64], const uint32_t (&a)[4], uint64_t b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {" R64
		     "}, {%64,%65,%66,%67}, %68, 1, 1, 1, 0;"
		     : D32(x, 0), D32(x, 32)
		     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

__device__ inline void fence()
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void commit()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int n> __device__ inline void wait()
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");
}

// Descriptor of factors at a place in shared memory: 1024 bytes from eight rows to the next,
// 128-byte swizzle.
__device__ inline uint64_t descriptor(unsigned at)
{
	return (uint64_t)((at & 0x3ffff) >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 |
	       1ull << 62;
}

extern __shared__ __align__(1024) uint32_t tile[];

__device__ inline uint64_t factors(unsigned bytes)
{
	for (unsigned i = threadIdx.x; i < bytes / 4; i += blockDim.x)
		tile[i] = 0;
	asm volatile("fence.proxy.async;" ::: "memory");
	__syncthreads();
	return descriptor((unsigned)__cvta_generic_to_shared(tile));
}

// A kernel: what stands before its loop, and a trip. The sums are kept.
#define LOOP(name, columns, before, trip) \
	extern "C" __global__ void __launch_bounds__(2 * GROUP) \
		name(float *out, long long *cycles, int n) \
	{ \
		const uint64_t a = factors(40 << 10), b = a + (8192 >> 4); \
		float d[columns / 2] = {}; \
		before; \
		__syncthreads(); \
		long long begin = clock64(); \
		_Pragma("unroll 1") for (int i = 0; i < n; i++){trip} wait<0>(); \
		long long end = clock64(); \
		if (threadIdx.x == 0) \
			*cycles = end - begin; \
		for (int i = 0; i < columns / 2; i++) \
			out[threadIdx.x * 128 + i] = d[i]; \
		keep; \
	}
#define keep
#else
#define LOOP(name, columns, before, trip) \
	extern "C" __global__ void name(float *, long long *, int) \
	{ \
	}
#endif

// Awaited one by one, in groups of four, and of results of 64, 128 and 256 columns.
LOOP(each_64, 64, , fence(); step(d, a, b); commit(); wait<0>();)
LOOP(four_64, 64, , fence(); step(d, a, b); step(d, a + 2, b + 2); step(d, a + 4, b + 4);
     step(d, a + 6, b + 6); commit(); wait<0>();)
LOOP(each_128, 128, , fence(); step(d, a, b); commit(); wait<0>();)
LOOP(four_128, 128, , fence(); step(d, a, b); step(d, a + 2, b + 2); step(d, a + 4, b + 4);
     step(d, a + 6, b + 6); commit(); wait<0>();)
LOOP(each_256, 256, , fence(); step(d, a, b); commit(); wait<0>();)
LOOP(four_256, 256, , fence(); step(d, a, b); step(d, a + 2, b + 2); step(d, a + 4, b + 4);
     step(d, a + 6, b + 6); commit(); wait<0>();)
// A in registers.
LOOP(registers_64, 64, uint32_t r[4] = {};, fence(); step(d, r, b); step(d, r, b + 2); commit();
     wait<0>();)
LOOP(registers_128, 128, uint32_t r[4] = {};, fence(); step(d, r, b); step(d, r, b + 2); commit();
     wait<0>();)
// One group left under way: the wait is for the one before.
#undef keep
#define keep \
	for (int i = 0; i < 32; i++) \
	out[threadIdx.x * 128 + 64 + i] = e[i]
LOOP(behind_64, 64, float e[32] = {}; fence();, step(d, a, b); step(d, a + 2, b + 2); commit();
     step(e, a, b); step(e, a + 2, b + 2); commit(); wait<1>();)
// Other work between issue and wait: shorter than the tensor cores' and longer.
#undef keep
#define keep out[threadIdx.x * 128 + 127] = f
LOOP(beside_128, 128, float f = (float)n;, fence(); step(d, a, b); step(d, a + 2, b + 2); commit();
     for (int j = 0; j < 8; j++) f = f * 1.5f + 0.5f; wait<0>();)
LOOP(longer_64, 64, float f = (float)n;, fence(); step(d, a, b); commit();
     _Pragma("unroll") for (int j = 0; j < 64; j++) f = f * 1.5f + 0.5f; wait<0>();)

typedef void loop(float *, long long *, int);
static const struct {
	const char *name;
	loop *kernel;
} loops[] = {{"each_64", each_64},           {"four_64", four_64},
	     {"each_128", each_128},         {"four_128", four_128},
	     {"each_256", each_256},         {"four_256", four_256},
	     {"registers_64", registers_64}, {"registers_128", registers_128},
	     {"behind_64", behind_64},       {"beside_128", beside_128},
	     {"longer_64", longer_64}};

static long long timed(loop *kernel, int groups, int trips, float *out, long long *cycles)
{
	long long cycle_count = 0;

	kernel<<<1, groups * GROUP, 48 << 10>>>(out, cycles, trips);
	CHECK(cudaGetLastError());
	CHECK(cudaMemcpy(&cycle_count, cycles, sizeof cycle_count, cudaMemcpyDeviceToHost));
	return cycle_count;
}

int main(void)
{
	float *out;
	long long *cycles;

	CHECK(cudaMalloc(&out, 2 * GROUP * 128 * sizeof *out));
	CHECK(cudaMalloc(&cycles, sizeof *cycles));
	for (const auto &l : loops)
		for (int groups = 1; groups <= 2; groups++) {
			long long least = 0;

			for (int pass = 0; pass < PASSES; pass++) {
				long long few = timed(l.kernel, groups, SHORT, out, cycles);
				long long took = timed(l.kernel, groups, LONG, out, cycles) - few;

				least = pass == 0 || took < least ? took : least;
			}
			printf("%s %d %.2f\n", l.name, groups, (double)least / (LONG - SHORT));
		}
	return 0;
}
