/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exported functions, all generated from api.def: each goes straight to its body unless it
 * is watched (a failure is asked for, the trace is on, or CUPTI wants callbacks).
 */
#include "si.h"
#include <generated_cuda_meta.h>
#include <cupti_driver_cbid.h>

#define SI_IS_POINTER(x) \
	_Generic((x), char : 0, unsigned char : 0, unsigned short : 0, int : 0, unsigned : 0, \
		 long : 0, unsigned long : 0, unsigned long long : 0, float : 0, default : 1)
#define SI_ARG(x) \
	{ \
		(uint64_t)(uintptr_t)(x), SI_IS_POINTER(x) \
	}
#define M1(a)                                            SI_ARG(a)
#define M2(a, ...)                                       SI_ARG(a), M1(__VA_ARGS__)
#define M3(a, ...)                                       SI_ARG(a), M2(__VA_ARGS__)
#define M4(a, ...)                                       SI_ARG(a), M3(__VA_ARGS__)
#define M5(a, ...)                                       SI_ARG(a), M4(__VA_ARGS__)
#define M6(a, ...)                                       SI_ARG(a), M5(__VA_ARGS__)
#define M7(a, ...)                                       SI_ARG(a), M6(__VA_ARGS__)
#define M8(a, ...)                                       SI_ARG(a), M7(__VA_ARGS__)
#define M9(a, ...)                                       SI_ARG(a), M8(__VA_ARGS__)
#define M10(a, ...)                                      SI_ARG(a), M9(__VA_ARGS__)
#define M11(a, ...)                                      SI_ARG(a), M10(__VA_ARGS__)
#define SI_PICK(a, b, c, d, e, f, g, h, i, j, k, m, ...) m
#define SI_ARGS(...) \
	SI_PICK(__VA_ARGS__, M11, M10, M9, M8, M7, M6, M5, M4, M3, M2, M1, _)(__VA_ARGS__)

/* What a watched call does around its body. CALL is the body's call expression. */
#define SI_WATCHED(sym, A, CALL) \
	do { \
		sym##_params params_ = {SI_UNPAREN A}; \
		const struct si_arg args_[] = {SI_ARGS A}; \
		struct si_call call_ = {.id = SI_##sym, \
					.params = &params_, \
					.args = args_, \
					.arg_count = (int)(sizeof args_ / sizeof args_[0])}; \
		if (si_call_enter(&call_)) \
			call_.result = CALL; \
		return si_call_leave(&call_); \
	} while (0)
#define SI_UNWATCHED(sym) \
	__builtin_expect(!atomic_load_explicit(&si_watch[SI_##sym], memory_order_relaxed), 1)

#define SI_API_AS(sym, name, since, P, A) \
	SI_EXPORT CUresult sym P \
	{ \
		if (SI_UNWATCHED(sym)) \
			return si_##sym A; \
		SI_WATCHED(sym, A, si_##sym A); \
	}
#define SI_API_VOID(sym, since) \
	SI_EXPORT CUresult sym(void) \
	{ \
		struct si_call call = {.id = SI_##sym}; \
		if (SI_UNWATCHED(sym)) \
			return si_##sym(); \
		if (si_call_enter(&call)) \
			call.result = si_##sym(); \
		return si_call_leave(&call); \
	}
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, P, A) \
	SI_EXPORT CUresult sym P \
	{ \
		if (SI_UNWATCHED(sym)) \
			return si_##sym(false, SI_UNPAREN A); \
		SI_WATCHED(sym, A, si_##sym(false, SI_UNPAREN A)); \
	} \
	SI_EXPORT CUresult ptsym P \
	{ \
		if (SI_UNWATCHED(ptsym)) \
			return si_##sym(true, SI_UNPAREN A); \
		SI_WATCHED(ptsym, A, si_##sym(true, SI_UNPAREN A)); \
	}
#include "api.def"

#define SI_ROW(sym, name, since, pt) \
	[SI_##sym] = {#sym, #name, since, pt, (void *)sym, CUPTI_DRIVER_TRACE_CBID_##sym},
const struct si_row si_rows[SI_COUNT] = {
#define SI_API_AS(sym, name, since, P, A) SI_ROW(sym, name, since, false)
#define SI_API_VOID(sym, since)           SI_ROW(sym, sym, since, false)
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, P, A) \
	SI_ROW(sym, name, since, false) SI_ROW(ptsym, name, ptsince, true)
#include "api.def"
};
