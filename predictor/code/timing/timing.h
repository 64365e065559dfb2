/*
 * The time of one thread as an expression in the latencies (Kleimenov and Popova 2021, section 3 and fig. 3): issue in
 * order, each instruction after its predecessor's delay and its sources' latencies. The time of a
 * stretch of code is then a maximum of sums of latencies and delays, and is kept as such: so a
 * device's numbers, or a memory latency that rises under load, can be put in afterwards.
 */
#ifndef GW_CODE_TIMING_H
#define GW_CODE_TIMING_H

#include "predictor/core/arena.h"
#include "predictor/code/ir/ir.h"
#include "predictor/core/device.h"

#include <stddef.h>

enum gw_time_class {
#define TIME_CLASS(name, parameter) GW_TIME_##name,
#include "predictor/code/timing/timing.def"
#undef TIME_CLASS
	GW_TIME_CLASSES
};

enum {
	GW_TIME_SUMS = 8,     /**< most sums a maximum keeps */
	GW_TIME_INSNS = 4096, /**< longest stretch taken as a whole; longer ones are cut */
};

/** Latency and delay of each class, cycles. */
struct gw_time_costs {
	double lat[GW_TIME_CLASSES], del[GW_TIME_CLASSES];
};

/** A sum: how often each latency and each delay stands in it. */
struct gw_time_sum {
	uint32_t lat[GW_TIME_CLASSES], del[GW_TIME_CLASSES];
};

/** A maximum of sums, none of which is never the greatest as far as lat >= del shows. */
struct gw_time {
	uint32_t count;  /**< 0: no time at all */
	bool incomplete; /**< there were more sums; those largest at `typical` costs are kept */
	struct gw_time_sum sum[GW_TIME_SUMS];
};

/** An instruction as the timing sees it; values are numbered from 1, 0 is none. */
struct gw_time_insn {
	uint8_t cls;        /**< enum gw_time_class */
	uint32_t result[4]; /**< values it makes */
	uint32_t source[8]; /**< values it needs */
};

/**
 * Time from the first issue of @p code to the end of the last one's delay (and to @p results: every
 * result's arrival too). @p values is above every number of a value. False without memory.
 * Values that no instruction of the code makes are there from the start.
 */
bool gw_time_of(const struct gw_time_insn *code, size_t count, uint32_t values, bool results,
		struct gw_arena *arena, struct gw_time *out);

/** Value of a sum at @p costs. */
double gw_time_sum_value(const struct gw_time_sum *sum, const struct gw_time_costs *costs);

/** Value of @p time at @p costs; the sum that is greatest goes to @p which (may be NULL). */
double gw_time_value(const struct gw_time *time, const struct gw_time_costs *costs,
		     unsigned *which);

/** "max(2 lat_fp64 + del_br, lat_int + 3 del_int)" into @p out, which is returned. */
char *gw_time_text(const struct gw_time *time, char *out, size_t size);

/** The costs that sums are dropped by: 4 cycles an operation, 400 a load, and so on. */
extern const struct gw_time_costs gw_time_typical;

/**
 * Costs of @p device: its latencies, and delay = max(warp size / lanes of a scheduler, 1) (Kleimenov
 * and Popova 2021), from throughputs. NaN where unknown.
 */
void gw_time_costs_of(const struct gw_device *device, struct gw_time_costs *out);

/** One stretch of a kernel: a loop's body, or a block outside of innermost loops. */
struct gw_time_part {
	uint32_t block; /**< of a loop its header */
	bool loop;      /**< time is of two iterations, as in Kleimenov and Popova's fig. 3 */
	uint32_t insns; /**< instructions that do something, in one iteration */
	uint32_t loads; /**< from global memory, in one iteration */
	struct gw_time time;
	struct gw_time_sum all; /**< every instruction of `time`, as if each waited for the last */
};

/** A thread's time: sum over parts of runs(block) x time, a loop's halved. */
struct gw_timing {
	struct gw_time_part *part;
	uint32_t count;
};

/** Take @p program apart. NULL, or a static text of why not (no room). */
const char *gw_timing_of(const struct gw_ir_program *program, struct gw_arena *arena,
			 struct gw_timing *out);

#endif
