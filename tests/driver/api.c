/*
 * The exported functions, all generated from api.def: each goes straight to its body unless it
 * is watched (a failure is asked for, the trace is on, or CUPTI wants callbacks).
 */
#include "si.h"
#include <cupti_driver_cbid.h>

#define SI_IS_POINTER(x) \
	_Generic((x), char : 0, unsigned char : 0, unsigned short : 0, int : 0, unsigned : 0, \
		 long : 0, unsigned long : 0, unsigned long long : 0, float : 0, default : 1)
#define SI_ARG(sym, x) \
	{ \
		(uint64_t)(uintptr_t)(x), SI_IS_POINTER(x) \
	}

/* What a watched call does around its body. CALL is the body's call expression; the arguments follow. */
#define SI_WATCHED(sym, CALL, ...) \
	do { \
		sym##_params params_ = {__VA_ARGS__}; \
		const struct si_arg args_[] = {SI_EACH(SI_ARG, sym, __VA_ARGS__)}; \
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

#define SI_API_AS(sym, name, since, ...) \
	SI_EXPORT CUresult sym(SI_PARAMETERS(sym, __VA_ARGS__)) \
	{ \
		if (SI_UNWATCHED(sym)) \
			return si_##sym(__VA_ARGS__); \
		SI_WATCHED(sym, si_##sym(__VA_ARGS__), __VA_ARGS__); \
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
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, ...) \
	SI_EXPORT CUresult sym(SI_PARAMETERS(sym, __VA_ARGS__)) \
	{ \
		if (SI_UNWATCHED(sym)) \
			return si_##sym(false, __VA_ARGS__); \
		SI_WATCHED(sym, si_##sym(false, __VA_ARGS__), __VA_ARGS__); \
	} \
	SI_EXPORT CUresult ptsym(SI_PARAMETERS(sym, __VA_ARGS__)) \
	{ \
		if (SI_UNWATCHED(ptsym)) \
			return si_##sym(true, __VA_ARGS__); \
		SI_WATCHED(ptsym, si_##sym(true, __VA_ARGS__), __VA_ARGS__); \
	}
#include "api.def"

#define SI_ROW(sym, name, since, pt) \
	[SI_##sym] = {#sym, #name, since, pt, (void *)sym, CUPTI_DRIVER_TRACE_CBID_##sym},
const struct si_row si_rows[SI_COUNT] = {
#define SI_API_AS(sym, name, since, ...) SI_ROW(sym, name, since, false)
#define SI_API_VOID(sym, since)          SI_ROW(sym, sym, since, false)
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, ...) \
	SI_ROW(sym, name, since, false) SI_ROW(ptsym, name, ptsince, true)
#include "api.def"
};
