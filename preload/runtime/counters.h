/* What the process counts of itself. What each thread counts besides is in struct gw_thread. */
#ifndef GW_COUNTERS_H
#define GW_COUNTERS_H

#include "predictor/log/record.h"
#include "preload/runtime/arch/arch.h"

#include <stdatomic.h>
#include <stdint.h>

/** Counters kept for the whole process, by index of counter.def; add from any thread. */
extern _Atomic uint64_t gw_counters[GW_COUNTERS];

static inline void gw_count(enum gw_counter c, uint64_t n)
{
	atomic_fetch_add_explicit(&gw_counters[c], n, memory_order_relaxed);
}

#endif
