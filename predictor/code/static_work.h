/*
 * The work of a launch as far as its code and arguments determine it: rows of struct gw_work with
 * source GW_SOURCE_STATIC, for the models wave, interval, mwp-cwp and bounds before anything was
 * counted.
 *
 * A row's confidence is meant to be the share of such rows that lie within 25% of what is counted,
 * and is the product of what it rests on, as found on the development set
 * (docs/internals/code-analysis.md): counts      1 where control depends on arguments and indices
 * alone and the grid was covered; 0.9 at most where it was sampled, less the fewer blocks stand for
 * the rest and the more these differ; 0.4 where a branch is not known and a range was given shapes
 * 0.9 where a loop's requests are taken to be as its first one is addresses   the share of the
 * requests that could be counted; below 0.95 the row is unknown passes      0.75: the data stage
 * takes more than its banks ask for where data comes late caches      what a cache model says:
 * reads 0.8, hits in L1 0.4, writes back 0.3, hits in L2 0.1; 0.1 for device memory where all fits
 * L2 and may be there before order       0.3 for times from PTX, which the assembler reorders
 * schedule    0.7 for cycles of a warp, which are those of a warp alone
 *
 * Counted or stated rows are never replaced, nor static ones that are more sure.
 */
#ifndef GW_CODE_STATIC_WORK_H
#define GW_CODE_STATIC_WORK_H

#include "predictor/code/sass/cfg.h"
#include "predictor/code/memory/gather.h"
#include "predictor/code/timing/schedule.h"
#include "predictor/code/timing/timing.h"
#include "predictor/models/model.h"

/** Memory that an argument of the launch points into: an allocation. */
struct gw_static_memory {
	uint64_t begin, end; /**< end: the first address behind it */
	/** Not the GPU's own: of the host, or managed. Accesses cross the bus, or move pages: no
	 * rate of the profile holds. */
	bool elsewhere;
};

/** What the rows come from. */
struct gw_static_in {
	const struct gw_ir_program *program;
	const struct gw_gather *gather;
	const struct gw_timing *timing; /**< NULL: no times */
	const struct gw_device *device; /**< NULL: no rows that need cache sizes or latencies */
	const struct gw_launch *launch;
	const struct gw_static_memory *memory; /**< NULL: none is known */
	uint32_t memory_count;
};

/**
 * Bytes of the allocations that loads (@p loads) of known addresses touch, as far as the blocks
 * looked at show; or of those that no known address lies in, which is where addresses that data
 * decide lead. 0: not known.
 */
double gw_static_extent(const struct gw_static_in *in, bool loads);

/** Set row l2_kept where L2 keeps @p bytes, all that is loaded; else unset it. */
void gw_static_keep(const struct gw_static_in *in, double bytes, struct gw_work *work);

/** Whether the code and the arguments alone decide how often everything runs, and where: no count
 * is a range, no address is unknown, and no limit was reached before a warp's end. */
bool gw_static_is_decided(const struct gw_static_in *in);

/** Places in the range of what data leave open: its ends, what is likely, and how far below and
 * above that it may well lie. */
enum gw_static_end {
	GW_STATIC_LEAST,
	GW_STATIC_LOW,
	GW_STATIC_LIKELY,
	GW_STATIC_HIGH,
	GW_STATIC_MOST,
	GW_STATIC_MIDDLE, /**< none of them: ranges stay ranges */
};

/**
 * What @p in has gathered, with every range of counts at its end @p end, and lanes of unknown
 * addresses next to each other (LOW), as far apart as they can be (HIGH, MOST) or in between
 * (LIKELY), into @p out; of the rare cases of divisions and roots it is the least. @p cfg: of the
 * machine code; NULL: PTX. False where there is no such end, as the count of a loop that data end
 * has no most; where it is not known what is likely; and when @p arena has no room.
 */
bool gw_static_at(const struct gw_static_in *in, const struct gw_cfg *cfg, enum gw_static_end end,
		  struct gw_arena *arena, struct gw_gather *out);

/**
 * Where data decide addresses of global memory that @p in has gathered: the rows of @p work that
 * say where loads are served, all by L1 (LEAST), all by device memory (MOST), or in between.
 */
void gw_static_open_traffic(const struct gw_static_in *in, enum gw_static_end end,
			    struct gw_work *work);

/**
 * Set the rows share_* of @p work: the most that each pipe can have of the warp instructions of a
 * kernel with the machine code @p cfg, whatever way it takes. Not where a function elsewhere is
 * called, an opcode is not known, or the kernel is very large. False when @p arena has no room.
 */
bool gw_static_shares(const struct gw_cfg *cfg, struct gw_arena *arena, struct gw_work *work);

/** Set row @p f to a static @p value, unless it is unknown, or the row holds a better one. */
void gw_static_set(struct gw_work *work, enum gw_work_field f, double value, double confidence);

/**
 * How often a block, or an instruction, runs for each start of the kernel where that is unknown:
 * each loop eight times, whatever branches do. A convention, good for what runs often beside what
 * doesn't, as compilers guess it.
 */
double gw_static_nominal_block(const struct gw_ir_program *program, uint32_t block);
double gw_static_nominal_insn(const struct gw_ir_program *program, uint32_t insn);

/** Requests, sectors, shared-memory passes, atomics, barriers, divergence, coalesced and
 * uncoalesced instructions; with a device also hits in L1 and L2 and traffic below them. */
void gw_static_memory(const struct gw_static_in *in, struct gw_work *work);

/** Add what copies past L1 move (memory/copies.h) to the rows of traffic, behind
 * gw_static_memory(); rows that this makes unknown become so. */
void gw_static_copies(const struct gw_static_in *in, struct gw_work *work);

/** Cycles of a global load that hits the caches as often as the rows say; of device memory where
 * they don't. NaN: a latency that counts is unknown. */
double gw_static_load_latency(const struct gw_device *device, const struct gw_work *work);

/** One warp's critical path by the dependences of the code: cycles, of the longest warp too, loads
 * it waits for one after the other, loads in flight, ILP. Needs a timing and a device. */
void gw_static_warp(const struct gw_static_in *in, struct gw_work *work);

/**
 * Instructions by class and pipe, and a warp's cycles by the compiler's own schedule: for a program
 * that was lowered from the machine code of @p cfg, whose blocks' tags are those of the graph.
 * @p schedule may be NULL: no cycles. False when @p arena has no room.
 *
 * Thread instructions are warp instructions times the threads of a warp, which divergence makes
 * fewer: where branches diverge their rows have 0.65 of the confidence.
 */
bool gw_static_machine(const struct gw_static_in *in, const struct gw_cfg *cfg,
		       const struct gw_schedule *schedule, struct gw_arena *arena,
		       struct gw_work *work);

/**
 * The critical path of a warp where the counts of instructions are not settled, at nominal counts:
 * its rows hold in their ratio to warp_insts. False when @p arena has no room.
 */
bool gw_static_nominal(const struct gw_static_in *in, const struct gw_cfg *cfg,
		       const struct gw_schedule *schedule, struct gw_arena *arena,
		       struct gw_work *work);

/**
 * How far an estimate of @p model on @p work may be trusted: about the share of such estimates that
 * are within 25%, as `bounds` did on the development set. It is that of the model itself on work
 * that is known; less where counts, addresses or collisions of atomics are unknown; and no more
 * than the confidence of any row, as far as the estimate would be another without it. NaN when
 * there is no estimate.
 */
double gw_static_confidence(const struct gw_model *model, const struct gw_device *device,
			    const struct gw_launch *launch, const struct gw_work *work);

#endif
