/*
 * The cycles that a warp needs when it runs alone, read off the compiler's own schedule: the stall
 * counts in the control bits, which cover everything of fixed latency, and the scoreboards, which
 * an instruction of variable latency takes and a later one waits for (interval analysis of one
 * warp: Huang et al. 2014, exact instead of by a dependence model).
 *
 * A time is kept as a linear form in the latencies, so that an answer also says on which of them
 * it depends and how often: exact as long as no other path becomes the longest.
 */
#ifndef GW_CODE_SCHEDULE_H
#define GW_CODE_SCHEDULE_H

#include "predictor/core/arena.h"
#include "predictor/code/sass/cfg.h"
#include "predictor/core/types.h"

/** Latencies that a schedule depends on (schedule.def). */
enum gw_wait {
#define WAIT(name, meaning) GW_WAIT_##name,
#include "predictor/code/timing/schedule.def"
	GW_WAITS
};

/** Cycles, all from an instruction's issue; NaN: unknown. */
struct gw_waits {
	double cycles[GW_WAITS];
	/** Of each instruction of the code, its own latency instead of its kind's where not NaN: a
	 *  load whose level of memory is known. NULL: none. Not owned. */
	const double *insn;
};

/** A time: `fixed` + sum of count[k] * cycles of wait k. */
struct gw_cycles {
	double value; /**< at the latencies given; NaN: one that counts is unknown */
	double fixed; /**< with what instructions' own latencies (gw_waits.insn) amount to */
	float count[GW_WAITS];
};

/** One block, entered as it is in the long run: from its loop's end if it heads one. */
struct gw_schedule_block {
	struct gw_cycles cycles; /**< from its first instruction's issue slot to the next block's */
	double taken;            /**< what a taken branch at its end adds; 0 when it has none */
	double issue;            /**< stall counts alone: cycles without any wait */
	uint32_t waits;          /**< instructions at which the warp waited for a load */
	double in_flight; /**< loads outstanding at such a wait, mean over them; NaN: no wait */
	uint32_t loads;   /**< loads of global, generic and local memory, and textures */
	uint32_t chain;   /**< instructions of the longest chain of register dependences */
	bool unknown;     /**< `cycles` lacks a latency: `missing` */
	uint8_t missing;  /**< enum gw_wait, the first one found */
};

/** A loop, its inner loops' iterations not included. */
struct gw_schedule_loop {
	double cycles; /**< of an iteration that runs each of its own blocks once, branch included;
			    NaN: unknown, or it has more than one path */
	bool straight; /**< it has one path only, without inner loops: `cycles` is exact */
};

/** The schedule of a kernel; arrays belong to the arena. */
struct gw_schedule {
	struct gw_schedule_block *blocks; /**< as in the graph */
	struct gw_schedule_loop *loops;   /**< as in the graph */
	double global;                    /**< latency of global loads that it was built for */
};

/** What a warp's critical path takes, cycles. */
struct gw_critical_path {
	double cycles; /**< in all; NaN when a block that runs has unknown cycles */
	double fixed;  /**< of these, no wait for a load of global memory */
	double chain;  /**< loads of global memory that it waits for one after the other */
};

/** No latency known. */
void gw_waits_clear(struct gw_waits *waits);

/**
 * The latencies of @p device; loads of global memory take @p global cycles (NaN: unknown), which
 * depend on where their data is: lat_l1, lat_l2, lat_dram or a mean of them.
 */
struct gw_device;
void gw_waits_from_device(struct gw_waits *waits, const struct gw_device *device, double global);

/** Short name ("global") and meaning of a wait; never NULL. */
const char *gw_wait_name(unsigned wait);
const char *gw_wait_meaning(unsigned wait);

/** The schedule of @p cfg; false when the arena is full. */
bool gw_schedule_build(struct gw_schedule *out, const struct gw_cfg *cfg,
		       const struct gw_waits *waits, struct gw_arena *arena);

/**
 * Cycles of a warp that executes block b @p runs[b] times: each block's cycles and the taken
 * branches, whose number follows from the runs of the blocks they lead to. NaN when a block that
 * runs has unknown cycles.
 */
double gw_schedule_warp(const struct gw_schedule *schedule, const struct gw_cfg *cfg,
			const double *runs);

/** The same, with its waits for loads of global memory apart, as their latency depends on where the
 *  data is. */
struct gw_critical_path gw_schedule_critical_path(const struct gw_schedule *schedule,
						  const struct gw_cfg *cfg, const double *runs);

#endif
