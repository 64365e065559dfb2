/*
 * The development set's contract: what a workload is, what it must state about itself, and how the
 * runner (C) and the kernels (CUDA C++, through prepare.cuh) connect.
 *
 * A workload is a row of workloads.def and two functions, wl_prepare_<name> and wl_check_<name>, in
 * the .cu file of its family. Preparing allocates and fills buffers and records launches; nothing
 * of the workload runs before the runner launches it. One round is all recorded launches in order.
 * A round may be repeated: it reads no buffer that it has written, except that WL_ZERO buffers go
 * on counting.
 */
#ifndef GW_WORKLOAD_H
#define GW_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	WL_SIZES = 6,   /**< sizes of every workload, from some microseconds to some milliseconds */
	WL_BUFFERS = 8, /**< most buffers of a case */
	WL_LAUNCHES = 4,    /**< most launches of a round */
	WL_ARGS = 12,       /**< most arguments of a kernel */
	WL_ARG_BYTES = 128, /**< most bytes of a launch's arguments, padding included */
};

/** A row of workloads.def. */
struct wl_info {
	const char *name;
	const char *family;       /**< its .cu file; cross-validation groups by it */
	uint64_t sizes[WL_SIZES]; /**< values of n, rising */
	const char *measure;      /**< what n counts */
	const char *meaning;      /**< what the workload stresses */
};

extern const struct wl_info wl_infos[];
extern const unsigned wl_count;

/** Whether @p text matches @p glob, in which * is any text and ? any character. */
bool wl_glob(const char *glob, const char *text);

enum wl_truth {
#define TRUTH(name, unit, meaning) WL_##name,
#include "kernels/workloads/truth.def"
#undef TRUTH
	WL_TRUTHS
};

extern const char *const wl_truth_names[WL_TRUTHS];

enum wl_role {
	WL_INPUT,  /**< filled once, never written by the workload */
	WL_OUTPUT, /**< poisoned (all bits set) before the launch that is checked */
	WL_ZERO,   /**< cleared before the launch that is checked: counters and sums */
};

/** Device memory of a case. */
struct wl_buffer {
	void *device; /**< by cudaMalloc; the runner frees it */
	size_t bytes;
	enum wl_role role;
	uint32_t seed;    /**< an input of random values is a function of seed, index and range; */
	double low, high; /**< values are in [low, high) */
	void *host;       /**< an input that was made on the host, else NULL; the runner frees it */
};

/** A launch of a round. */
struct wl_launch {
	const char *kernel;   /**< its symbol */
	const void *function; /**< for cudaLaunchKernel */
	unsigned grid[3], block[3];
	size_t dynamic_shared; /**< bytes per block */
	unsigned arg_count;
	size_t arg_offset[WL_ARGS], arg_size[WL_ARGS];
	unsigned char args[WL_ARG_BYTES];
	double truth[WL_TRUTHS]; /**< NaN where not known */
};

/** A workload at one size. */
struct wl_case {
	const struct wl_info *info;
	unsigned size; /**< 0 to WL_SIZES - 1 */
	uint64_t n;    /**< info->sizes[size] */
	uint32_t seed; /**< of the run */
	unsigned buffer_count, launch_count;
	struct wl_buffer buffer[WL_BUFFERS];
	struct wl_launch launch[WL_LAUNCHES];
};

/** Outcome of comparing outputs with the reference. Zero-initialised is nothing compared. */
struct wl_check {
	uint64_t compared, wrong;
	double worst;    /**< largest error as a multiple of what is tolerated, of finite values */
	char first[160]; /**< the first wrong value, in words; "" when there is none */
};

typedef void wl_prepare_fn(struct wl_case *c);
typedef void wl_check_fn(const struct wl_case *c, struct wl_check *k);

#define WORKLOAD(name, family, n0, n1, n2, n3, n4, n5, measure, meaning) \
	wl_prepare_fn wl_prepare_##name; \
	wl_check_fn wl_check_##name;
#include "kernels/workloads/workloads.def"
#undef WORKLOAD

/** Compare a value with the reference's; right within @p tolerance, never when not a number. */
void wl_expect(struct wl_check *k, uint64_t index, double got, double want, double tolerance);

/** End the program with status 3 and one message when @p error (a cudaError_t) is not 0. */
void wl_must(unsigned error, const char *what);

/** A new buffer of @p c; ends the program when the limit on memory would be passed. */
struct wl_buffer *wl_buffer_new(struct wl_case *c, size_t bytes, enum wl_role role);

#ifdef __cplusplus
}
#endif

#endif
