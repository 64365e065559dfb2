/* The live segment (predictor/log/live.h), written. */
#ifndef GW_PRELOAD_LIVE_H
#define GW_PRELOAD_LIVE_H

#include "predictor/counters/clocks.h"
#include "preload/maps/state.h"
#include "predictor/log/live.h"

#include <stdbool.h>

/** Make the segment, once, where options and the system allow: before the first ring. Any thread.
 */
void gw_live_start(void);

/** @p size bytes of it for a ring with its thread's words, or these alone, reserved; NULL: there is
 * no room. */
void *gw_live_room(size_t size);

/** Whether @p at lies in it. */
bool gw_live_holds(const void *at);

/** A ring is there, of which words or all lie in room that gw_live_room() gave: sets t->live then.
 */
void gw_live_ring(struct gw_thread *t);

/** @p launches of threads without a ring were made. Any thread. */
void gw_live_ringless(uint32_t launches);

/** A kernel has its slot. Any thread. */
void gw_live_kernel(uint32_t slot);

/** What the graph in this slot runs is known, and until it is launched, or changes. Any thread. */
void gw_live_graph_made(uint32_t slot);

/** One node of it has changed, which was not launched yet. */
void gw_live_graph_changed(uint32_t slot, uint32_t node);

/** The slot's use has ended. */
void gw_live_graph_gone(uint32_t slot);

/** Once the log is begun: what the ring's ticks are. The first call counts. Worker. */
void gw_live_clock(void);

/**
 * The log has this name. By the log's writer before it writes anything into a new one, so that who
 * finds the segment of a killed process finds its log, too; and by the worker in each round.
 */
void gw_live_log(const char *name);

/** The path of the segment, "" where there is none. Worker, as all that follow. */
const char *gw_live_path(void);

/** The worker takes the event at @p position of @p t's ring. */
void gw_live_taking(const struct gw_thread *t, uint32_t position);

/**
 * A launch of that event waits for its time or its place in the log: @p e is it, as a launch of a
 * kernel; @p node: which of a graph launch, from 1. The record remembers its entry.
 */
void gw_live_enter(struct gw_record_launch *r, const struct gw_thread *t, const struct gw_event *e,
		   uint32_t node);

/**
 * A record without a launch is about to be written, whose launch may yet come: its call has not
 * returned. @p pair: the launches that it may belong to. The record remembers its entry.
 */
void gw_live_enter_lone(struct gw_record_launch *r, uint32_t pair);

/**
 * The launch of record @p r is in the log by a record without a launch, one of @p pair (0: of any),
 * in block @p block where no entry says which.
 */
void gw_live_met_lone(const struct gw_record_launch *r, uint32_t pair, uint32_t block);

/** The number of a record's entry, 0 for none; gone once the record is written. */
uint32_t gw_live_entry(const struct gw_record_launch *r);

/** The entry's record went into block @p block of the log. */
void gw_live_logged(uint32_t entry, uint32_t block);

/** Place @p slot of the sums is of configuration @p config from @p start_ns on, and empty. */
void gw_live_sum(uint32_t slot, uint32_t config, uint64_t start_ns);

/** Place @p slot counts launches of a graph from @p start_ns on, and is none's sum. */
void gw_live_sum_counter(uint32_t slot, uint64_t start_ns);

/** Place @p slot is of @p each launches of configuration @p config for each one that @p counter
 * counts. */
void gw_live_sum_part(uint32_t slot, uint32_t config, uint64_t start_ns, uint32_t each,
		      uint32_t counter);

/** The launch of record @p r goes into that sum, or (no such place) into one that is not here. */
void gw_live_summed(uint32_t slot, const struct gw_record_launch *r);

/** The AGGREGATE of the sum went into block @p block of the log. */
void gw_live_sum_logged(uint32_t slot, uint32_t block);

/** The record goes nowhere. */
void gw_live_dropped(uint32_t entry);

/**
 * Not within the taking of an event: entries whose records are in the file are free again. Blocks
 * before @p written are there.
 */
void gw_live_tick(uint32_t written);

/**
 * Configuration @p id (the log's, each once, in order) is of the kernel in slot @p kernel (0: no
 * hook saw it) on the GPU with the ordinal @p device - 1.
 */
void gw_live_config(uint32_t id, uint32_t kernel, uint32_t device, const struct gw_config *as);

/** What is published of it now. */
void gw_live_published(uint32_t id, const struct gw_prediction *p);

/** So many launches of it were seen. */
void gw_live_launched(uint32_t id, uint64_t launches);

/** One was measured; @p predicted_ns: what was predicted before, NaN: nothing. @p id may be 0. */
void gw_live_measured(uint32_t id, uint64_t duration_ns, double predicted_ns);

/**
 * A kernel ran on the GPU numbered @p ordinal by the driver; they come roughly by their ends.
 * Returns since when none had run when it began, 0: one did run, or it is not known.
 */
uint64_t gw_live_ran(uint32_t ordinal, uint64_t start_ns, uint64_t end_ns);

/** Thread @p thread (the log's id) was in a call that waits for the GPU. */
void gw_live_waited(uint32_t thread, uint64_t from_ns, uint64_t until_ns);

/** Child processes were at work in that time, and the threads that launch on a CPU for @p
 * threads_ns of it (CHILDREN). */
void gw_live_children(uint64_t from_ns, uint64_t until_ns, uint64_t threads_ns);

/** A copy or memset ran on that GPU. */
void gw_live_copied(uint32_t ordinal, uint64_t from_ns, uint64_t until_ns);

/** The launch of record @p r goes into the log: where it has no time, idle time is unexplained. */
void gw_live_untimed(const struct gw_record_launch *r);

/** As gw_live_ran(), by the launch of record @p r; in mode audit idle time has its cause by it. */
void gw_live_ran_for(uint32_t ordinal, uint64_t start_ns, uint64_t end_ns,
		     const struct gw_record_launch *r);

/** The wall clock was set: times before and after do not compare. */
void gw_live_clock_set(void);

/** Clocks of the GPU numbered @p ordinal, and its power (UINT32_MAX: unknown). */
void gw_live_clocks(int ordinal, const struct gw_clock_sample *s, uint32_t power_mw);

/** What GPU @p as is: its model, its UUID (all 0: unknown), and PCI domain, bus and device (all
 * UINT32_MAX: unknown). */
void gw_live_identity(const struct gw_record_device *as, const char *name,
		      const unsigned char uuid[16], const uint32_t pci[3]);

/** A launch of configuration @p id in a slow episode took @p ns longer than predicted before it. */
void gw_live_lost(uint32_t id, enum gw_slow_cause cause, double ns);

/** The counters as they are, about once a second. */
void gw_live_totals(const uint64_t counters[GW_COUNTERS]);

/** A request of gpuwatch ctl that was not answered yet; false: there is none that is whole. */
bool gw_live_asked(struct gw_live_control *out);

/** Whether there is a segment. */
bool gw_live_there(void);

/** What came of request @p a->request, and the mode from now on; @p a->sequence is set here. */
void gw_live_answer(const struct gw_live_answer *a);

/** The log has @p as for the stream in @p slot; NULL: that use of the slot has ended. */
void gw_live_stream(uint32_t slot, const struct gw_record_stream *as);

struct gw_graph_run;

/** A graph was launched, as graph_sums.h has it. */
void gw_live_graph_launched(const struct gw_graph_run *run);

/** A launch of executable graph @p graph took @p ns; @p predicted_ns: predicted before, NaN: not
 * all of its kernels were. */
void gw_live_graph_timed(uint32_t graph, uint64_t ns, double predicted_ns);

/** The log is complete: the file goes. */
void gw_live_end(void);

/** In a forked child: what is mapped is the parent's. */
void gw_live_abandon(void);

#endif
