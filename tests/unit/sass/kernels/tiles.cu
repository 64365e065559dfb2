// SPDX-License-Identifier: Apache-2.0
//
// Copies by the tensor memory accelerator: tiles of tensors and bulk copies. For test_sass_tiles,
// which counts their bytes in plain loops. Compiled code: compiled.tar.xz,
//   nvcc -arch=sm_90a -cubin -o tiles_sm_90.cubin tiles.cu
#include <cuda.h>

#include <cstdint>

#define GLOBAL extern "C" __global__ void
#define MAP    const __grid_constant__ CUtensorMap

__device__ static uint32_t shared_address(const void *p)
{
	return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ static void expect(uint32_t barrier, uint32_t bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes));
}

__device__ static void begin(uint32_t barrier)
{
	asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
	asm volatile("fence.proxy.async.shared::cta;");
}

__device__ static void await(uint32_t barrier, uint32_t phase)
{
	asm volatile("{ .reg .pred P; W: mbarrier.try_wait.parity.shared.b64 P, [%0], %1;\n"
	             "@P bra D; bra W; D: }" ::"r"(barrier),
	             "r"(phase)
	             : "memory");
}

__device__ static void load_2d(uint32_t to, const CUtensorMap *map, int x, int y, uint32_t barrier)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes "
	             "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
	             "l"(map), "r"(x), "r"(y), "r"(barrier)
	             : "memory");
}

__device__ static void store_2d(const CUtensorMap *map, int x, int y, uint32_t from)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(
	                     map),
	             "r"(x), "r"(y), "r"(from)
	             : "memory");
}

__device__ static void stored()
{
	asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
}

// Tiles of 64 x 64 halves, one after the other, as blocks take them by the grid's stride.
GLOBAL tile_copy(MAP in, MAP out, int tiles, int across)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar), at = shared_address(tile), phase = 0;

	if (threadIdx.x)
		return;
	begin(barrier);
	for (int t = blockIdx.x; t < tiles; t += gridDim.x, phase ^= 1) {
		int x = t % across * 64, y = t / across * 64;

		expect(barrier, 64 * 64 * 2);
		load_2d(at, &in, x, y, barrier);
		await(barrier, phase);
		store_2d(&out, x, y, at);
		stored();
	}
}

// A panel of 64 rows, along dimension 0: the loop of a matrix product.
GLOBAL tile_panel(MAP in, int steps)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar);

	if (threadIdx.x)
		return;
	begin(barrier);
	for (int k = 0; k < steps; k++) {
		expect(barrier, 64 * 64 * 2);
		load_2d(shared_address(tile), &in, 64 * k, 64 * blockIdx.x, barrier);
		await(barrier, k & 1);
	}
}

// A halo: boxes that begin outside of the tensor.
GLOBAL tile_halo(MAP in)
{
	__shared__ __align__(1024) unsigned char tile[4 * 18 * 64];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar);

	if (threadIdx.x)
		return;
	begin(barrier);
	expect(barrier, 4 * 18 * 64);
	asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes "
	             "[%0], [%1, {%2, %3, %4}], [%5];" ::"r"(shared_address(tile)),
	             "l"(&in), "r"((int)blockIdx.x * 16), "r"((int)blockIdx.y * 16 - 1),
	             "r"((int)blockIdx.z * 4), "r"(barrier)
	             : "memory");
	await(barrier, 0);
}

// Memory says which tile.
GLOBAL tile_listed(MAP in, const int *list)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar);

	if (threadIdx.x)
		return;
	begin(barrier);
	expect(barrier, 64 * 64 * 2);
	load_2d(shared_address(tile), &in, 64 * list[blockIdx.x], 0, barrier);
	await(barrier, 0);
}

GLOBAL tile_add(MAP out)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];

	if (threadIdx.x)
		return;
	asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group "
	             "[%0, {%1, %2}], [%3];" ::"l"(&out),
	             "r"((int)blockIdx.x * 64), "r"((int)blockIdx.y * 64), "r"(shared_address(tile))
	             : "memory");
	stored();
}

GLOBAL tile_prefetch(MAP in)
{
	if (!threadIdx.x)
		asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {%1, %2}];" ::"l"(&in),
		             "r"((int)blockIdx.x * 64), "r"((int)blockIdx.y * 64)
		             : "memory");
}

// Pieces of 2048 floats, without a tensor.
GLOBAL bulk_copy(const float *in, float *out, int pieces)
{
	__shared__ __align__(128) float piece[2048];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar), at = shared_address(piece), phase = 0;

	if (threadIdx.x)
		return;
	begin(barrier);
	for (int t = blockIdx.x; t < pieces; t += gridDim.x, phase ^= 1) {
		expect(barrier, 8192);
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		             "[%0], [%1], %2, [%3];" ::"r"(at),
		             "l"(in + t * 2048), "r"(8192), "r"(barrier)
		             : "memory");
		await(barrier, phase);
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
		                     out + t * 2048),
		             "r"(at), "r"(8192)
		             : "memory");
		stored();
	}
}

// The same 4 KiB for every block.
GLOBAL bulk_shared(const float *in)
{
	__shared__ __align__(128) float piece[1024];
	__shared__ __align__(8) uint64_t bar;
	uint32_t barrier = shared_address(&bar);

	if (threadIdx.x)
		return;
	begin(barrier);
	expect(barrier, 4096);
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
	             "[%0], [%1], %2, [%3];" ::"r"(shared_address(piece)),
	             "l"(in), "r"(4096), "r"(barrier)
	             : "memory");
	await(barrier, 0);
}

__device__ static void load_tile(const CUtensorMap *in, unsigned char *tile, uint32_t barrier, int t, int across,
                                 uint32_t phase)
{
	expect(barrier, 64 * 64 * 2);
	load_2d(shared_address(tile), in, t % across * 64, t / across * 64, barrier);
	await(barrier, phase);
}

// A kernel that stays: its first tile is the block's number, the next come from a counter.
GLOBAL queue_next(MAP in, int *counter, int tiles, int across)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];
	__shared__ __align__(8) uint64_t bar;
	__shared__ int next;
	uint32_t barrier = shared_address(&bar), phase = 0;
	int t = blockIdx.x;

	if (!threadIdx.x)
		begin(barrier);
	__syncthreads();
	do {
		if (!threadIdx.x) {
			next = gridDim.x + atomicAdd(counter, 1);
			load_tile(&in, tile, barrier, t, across, phase);
		}
		phase ^= 1;
		__syncthreads();
		t = *(volatile int *)&next;
		__syncthreads();
	} while (t < tiles);
}

// The same, its first tile from the counter too.
GLOBAL queue_first(MAP in, int *counter, int tiles, int across)
{
	__shared__ __align__(1024) unsigned char tile[64 * 64 * 2];
	__shared__ __align__(8) uint64_t bar;
	__shared__ int next;
	uint32_t barrier = shared_address(&bar), phase = 0;

	if (!threadIdx.x)
		begin(barrier);
	for (;; phase ^= 1) {
		int t;

		if (!threadIdx.x)
			next = atomicAdd(counter, 1);
		__syncthreads();
		t = *(volatile int *)&next;
		if (t >= tiles)
			return;
		if (!threadIdx.x)
			load_tile(&in, tile, barrier, t, across, phase);
		__syncthreads();
	}
}
