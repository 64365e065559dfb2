/*
 * What the .cu files prepare and check with. Random inputs are a function of (seed, index), the
 * same on host and device: the device fills its buffers in no time, and a reference computes just
 * the inputs that it needs, in double precision.
 */
#ifndef WL_PREPARE_CUH
#define WL_PREPARE_CUH

#include "kernels/workloads/workload.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#include <cuda_fp16.h>
#include <cuda_runtime.h>

/** The heads of a workload's two functions: of the case c; of the case c, with the outcome k. */
#define WL_PREPARE(name) void wl_prepare_##name(struct wl_case *c)
#define WL_CHECK(name)   void wl_check_##name(const struct wl_case *c, struct wl_check *k)

/** 32 random bits for an index: the finalizer of MurmurHash3 over both halves. */
__host__ __device__ inline uint32_t wl_bits(uint32_t seed, uint64_t i)
{
	uint32_t h = (uint32_t)i * 0xcc9e2d51u ^ (uint32_t)(i >> 32) * 0x1b873593u ^ seed;

	h = (h ^ h >> 16) * 0x85ebca6bu;
	h = (h ^ h >> 13) * 0xc2b2ae35u;
	return h ^ h >> 16;
}

/** Value @p i of an input in [low, high). The fma is explicit: both sides round the same. */
template <typename T>
__host__ __device__ inline T wl_value(uint32_t seed, uint64_t i, double low, double high)
{
	uint32_t bits = wl_bits(seed, i);

	if constexpr (std::is_integral_v<T>)
		return (T)((long long)low +
			   (long long)((uint64_t)bits * (uint64_t)(high - low) >> 32));
	else if constexpr (std::is_same_v<T, double>)
		return fma((double)bits * 0x1p-32, high - low, low);
	else if constexpr (std::is_same_v<T, float>)
		return fmaf((float)(bits >> 8) * 0x1p-24f, (float)(high - low), (float)low);
	else
		return __float2half_rn(wl_value<float>(seed, i, low, high));
}

/* extern "C" is for the kernels that are measured; this one only ever runs before them. */
template <typename T>
__global__ void wl_fill(T *x, uint64_t count, uint32_t seed, double low, double high)
{
	for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < count;
	     i += (uint64_t)gridDim.x * blockDim.x)
		x[i] = wl_value<T>(seed, i, low, high);
}

/** A new input of random values in [low, high); returns its device address. */
template <typename T> T *wl_random(struct wl_case *c, uint64_t count, double low, double high)
{
	struct wl_buffer *b = wl_buffer_new(c, count * sizeof(T), WL_INPUT);

	b->low = low;
	b->high = high;
	wl_fill<T><<<1056, 256>>>((T *)b->device, count, b->seed, low, high);
	wl_must(cudaGetLastError(), "filling an input");
	return (T *)b->device;
}

/** A new input with the values of @p host (by malloc), which the case owns from then on. */
template <typename T> T *wl_given(struct wl_case *c, uint64_t count, T *host)
{
	struct wl_buffer *b = wl_buffer_new(c, count * sizeof(T), WL_INPUT);

	b->host = host;
	wl_must(cudaMemcpy(b->device, host, count * sizeof(T), cudaMemcpyHostToDevice),
		"copying an input");
	return (T *)b->device;
}

/** Host memory; ends the program when there is none. */
template <typename T> T *wl_host(uint64_t count)
{
	T *p = (T *)malloc(count * sizeof(T));

	if (!p)
		wl_must(cudaErrorMemoryAllocation, "host memory");
	return p;
}

template <typename T> T *wl_output(struct wl_case *c, uint64_t count)
{
	return (T *)wl_buffer_new(c, count * sizeof(T), WL_OUTPUT)->device;
}

template <typename T> T *wl_zeroed(struct wl_case *c, uint64_t count)
{
	return (T *)wl_buffer_new(c, count * sizeof(T), WL_ZERO)->device;
}

/** An input as the reference sees it: buffer @p index of the case. */
template <typename T> struct wl_in {
	const struct wl_buffer &b;

	wl_in(const struct wl_case *c, unsigned index) : b(c->buffer[index])
	{
	}
	T operator[](uint64_t i) const
	{
		return b.host ? ((const T *)b.host)[i] : wl_value<T>(b.seed, i, b.low, b.high);
	}
};

/** An output, copied from the device. */
template <typename T> struct wl_out {
	T *values;
	uint64_t count;

	wl_out(const struct wl_case *c, unsigned index)
	    : values(wl_host<T>(c->buffer[index].bytes / sizeof(T))),
	      count(c->buffer[index].bytes / sizeof(T))
	{
		wl_must(cudaMemcpy(values, c->buffer[index].device, c->buffer[index].bytes,
				   cudaMemcpyDeviceToHost),
			"copying an output");
	}
	wl_out(const wl_out &) = delete;
	~wl_out()
	{
		free(values);
	}
	T operator[](uint64_t i) const
	{
		return values[i];
	}
};

/**
 * Call @p f for indices below @p count: for all when the reference can afford it, @p cost being its
 * operations per index, else for both ends and a random choice between them.
 */
template <typename F> void wl_each(const struct wl_case *c, uint64_t count, uint64_t cost, F f)
{
	uint64_t budget = ((uint64_t)1 << 23) / cost + 64;

	if (count <= budget) {
		for (uint64_t i = 0; i < count; i++)
			f(i);
		return;
	}
	f((uint64_t)0);
	f(count - 1);
	for (uint64_t k = 0; k < budget; k++)
		f(((uint64_t)wl_bits(c->seed, 2 * k) << 32 | wl_bits(c->seed, 2 * k + 1)) % count);
}

/** Record a launch; its arguments are converted to the kernel's parameter types. */
template <typename... P, typename... A>
double *wl_record(struct wl_case *c, const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
		  size_t shared, A... args)
{
	static_assert(sizeof...(P) == sizeof...(A) && sizeof...(P) <= WL_ARGS,
		      "arguments do not fit the kernel");
	struct wl_launch *l = &c->launch[c->launch_count++];
	size_t at = 0;

	if (c->launch_count > WL_LAUNCHES)
		wl_must(cudaErrorInvalidValue, "more launches than WL_LAUNCHES");
	*l = wl_launch{};
	l->kernel = name;
	l->function = (const void *)kernel;
	l->grid[0] = grid.x, l->grid[1] = grid.y, l->grid[2] = grid.z;
	l->block[0] = block.x, l->block[1] = block.y, l->block[2] = block.z;
	l->dynamic_shared = shared;
	auto put = [&](auto value) {
		at = (at + alignof(decltype(value)) - 1) / alignof(decltype(value)) *
		     alignof(decltype(value));
		l->arg_offset[l->arg_count] = at;
		l->arg_size[l->arg_count++] = sizeof value;
		memcpy(l->args + at, &value, sizeof value);
		at += sizeof value;
	};
	static_assert((((sizeof(P) + 7) / 8 * 8) + ...) <= WL_ARG_BYTES,
		      "too many bytes of arguments");
	(put((P)args), ...);
	for (double &t : l->truth)
		t = NAN;
	if (shared > 48 * 1024)
		wl_must(cudaFuncSetAttribute(l->function,
					     cudaFuncAttributeMaxDynamicSharedMemorySize,
					     (int)shared),
			name);
	return l->truth;
}

/** Record a launch of @p kernel; gives its truth[] to fill in. */
#define WL_LAUNCH(c, kernel, grid, block, shared, ...) \
	wl_record(c, #kernel, kernel, grid, block, shared, __VA_ARGS__)

/** Blocks of @p block that cover @p n. */
static inline unsigned wl_blocks(uint64_t n, uint64_t block)
{
	return (unsigned)((n + block - 1) / block);
}

/** State what is read and written. */
static inline double *wl_moves(double *truth, double read, double written)
{
	truth[WL_touched_read_bytes] = read;
	truth[WL_touched_write_bytes] = written;
	return truth;
}

/** State warp-wide accesses: @p loads and @p stores requests of this many sectors each. */
static inline void wl_accesses(double *truth, double loads, double load_sectors, double stores,
			       double store_sectors)
{
	truth[WL_global_load_requests] = loads;
	truth[WL_global_load_sectors] = loads * load_sectors;
	truth[WL_global_store_requests] = stores;
	truth[WL_global_store_sectors] = stores * store_sectors;
}

/** Index of a thread of a one-dimensional launch. */
__device__ inline unsigned wl_thread()
{
	return blockIdx.x * blockDim.x + threadIdx.x;
}

/** Sum over a warp, in every lane. */
template <typename T> __device__ inline T wl_warp_sum(T v)
{
	for (int step = 16; step; step /= 2)
		v += __shfl_xor_sync(~0u, v, step);
	return v;
}

#endif
