/*
 * The times between a process's kernels on a GPU: why none of them ran, as far as the log shows. A
 * gap is put down to the launch that ends it. What copies take is a gap, too; spent.h has the time
 * of a GPU by all that it went to.
 */
#ifndef GW_LOG_GAPS_H
#define GW_LOG_GAPS_H

#include "cli/common/sorter.h"
#include "cli/spent/spent.h"
#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>

/** Gaps longer than this are no matter of launching: the program did something else. ns */
#define GW_GAP_PAUSE 1000000

/** Why a gap was. */
enum gw_gap {
	GW_GAP_LATE,       /**< the launch was called when nothing ran any more */
	GW_GAP_LATE_GRAPH, /**< the same of a graph's first kernel */
	GW_GAP_QUEUED,     /**< it was called before: what the GPU takes from one to the next */
	GW_GAP_PAUSED,     /**< longer than GW_GAP_PAUSE */
	GW_GAPS
};

/** What @p gap is called in JSON and in tables. */
const char *log_gap_name(enum gw_gap gap);

/** What came between kernels, added up; zero-initialised is nothing. Times in ns. */
struct log_gaps {
	double busy; /**< in which a kernel ran */
	double time[GW_GAPS];
	uint64_t count[GW_GAPS];
	struct log_spent spent; /**< where the time went, of logs that have copies and waits */
};

/**
 * Takes one piece of a GPU's time, from @p from to @p until ns: why no kernel ran, or GW_GAPS where
 * one did. The pieces of a process do not overlap, and add up to its struct log_gaps.
 */
typedef void log_span_fn(void *arg, uint32_t gpu, enum gw_gap what, uint64_t from, uint64_t until);

/** A receiver of the pieces; zero-initialised: there is none. */
struct log_span_sink {
	log_span_fn *take;
	void *arg;
	uint32_t gpu; /**< passed on */
};

/** State of one GPU while a log is read; zero-initialised is fresh. */
struct log_timeline {
	struct log_span_sink sink;
	struct gw_sorter order;  /* of those waiting: launches stand in the log as they ended */
	struct log_run *waiting; /* by slot */
	uint64_t until;          /* when the last kernel so far had ended; 0: there was none */
	const struct log_waits *waits; /**< of the log; NULL: it has neither copies nor waits */
	struct log_spending spending;
};

/** Who launched what, beside what the record says. */
struct log_caller {
	uint32_t thread;    /**< position in the log's threads; GW_INDEX_NONE: not known */
	bool communication; /**< the kernel is one of a communication library */
};

/**
 * Why no kernel ran from @p until to @p start, when one started that was called at @p call (0:
 * unknown), as a node of a @p graph.
 */
enum gw_gap log_gap_kind(uint64_t start, uint64_t call, bool graph, uint64_t until);

/** Take a launch; those without a time of their start leave the gap that they ran in unexplained.
 */
void log_gaps_add(struct log_gaps *gaps, struct log_timeline *timeline,
		  const struct gw_record_launch *launch, struct log_caller caller);

/** Take a copy. */
void log_gaps_copy(struct log_gaps *gaps, struct log_timeline *timeline,
		   const struct gw_record_copy *copy);

/** The log ends: all that was held back to be put in order is taken, and @p timeline is fresh but
 * for its sink and the waits. */
void log_gaps_end(struct log_gaps *gaps, struct log_timeline *timeline);

/** Time in which a kernel ran or the next was on its way: all but pauses, ns. */
double log_gaps_span(const struct log_gaps *gaps);

#endif
