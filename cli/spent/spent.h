/*
 * Where the time of a GPU goes (spent.def): kernels, communication, copies, and idle time by what
 * the host did, of one process and GPU. What ran is given in order of start; copies and waits may
 * come before. The rows add up to the time from the first kernel or copy to the last end.
 */
#ifndef GW_SPENT_H
#define GW_SPENT_H

#include "predictor/log/live.h"
#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>

enum log_spent_row {
#define SPENT(NAME, key, idle, name, meaning) LOG_SPENT_##NAME,
#include "cli/spent/spent.def"
#undef SPENT
	LOG_SPENT_ROWS
};

enum {
	LOG_WAITS_KEPT = 1 << 16, /**< of a thread: of more the older half is forgotten */
};

/** Added up; zero-initialised is nothing. Times in ns. */
struct log_spent {
	bool recorded; /**< by a log that has copies and waits */
	bool copies;   /**< copies have records in all of these logs that count */
	double ns[LOG_SPENT_ROWS];
	double copy_ns[GW_DIRECTIONS]; /**< of all copies, beside kernels, too … */
	double copy_bytes[GW_DIRECTIONS];
	uint64_t copy_count[GW_DIRECTIONS];
	uint64_t waits[GW_WAIT_CALLS]; /**< idle gaps, by the call that the host waited in */
};

/** The waits of a log's threads, and its child processes; zero-initialised is none. */
struct log_waits {
	struct log_thread_waits {
		struct log_wait {
			uint64_t from, until;
			uint32_t call; /**< enum gw_wait_call */
		} * list;
		size_t count, room;
	} * threads;
	size_t thread_room;
	/** Spans in which child processes were at work, in order. */
	struct log_children {
		uint64_t from, until;
		uint64_t threads; /**< CPU time of the threads that launch, ns */
	} * children;
	size_t children_count, children_room;
};

/** A launch that ran. */
struct log_spent_run {
	uint64_t start, end;
	uint64_t call;   /**< 0: not known */
	uint32_t thread; /**< that called: position in the log's; GW_INDEX_NONE: not known */
	bool communication;
};

/** State of one GPU while a log is read; zero-initialised is fresh. */
struct log_spending {
	struct log_filling {
		uint64_t start, end, call;
		uint32_t row, thread;
	} * fill; /* by start: copies and communication that no kernel has passed yet */
	size_t fill_count, fill_room, fill_first;
	uint64_t until;      /* how far time is accounted for; 0: nothing yet */
	uint64_t untimed;    /* latest call of a launch without a time; 0: none since `until` */
	uint64_t *last_call; /* by thread */
	size_t last_room;
};

/** Thread @p thread of a log waited; in order of their beginnings. */
void log_waits_add(struct log_waits *waits, uint32_t thread, const struct gw_record_wait *wait);
/** Child processes were at work; in order. */
void log_children_add(struct log_waits *waits, const struct gw_record_children *children);
void log_waits_free(struct log_waits *waits);

/** A copy ran. */
void log_spent_copy(struct log_spent *spent, struct log_spending *state,
		    const struct gw_record_copy *copy);
/** A launch called at @p call has no time. */
void log_spent_untimed(struct log_spending *state, uint64_t call);
/** A launch ran, none before started later. */
void log_spent_run(struct log_spent *spent, struct log_spending *state,
		   const struct log_waits *waits, const struct log_spent_run *run);
/** The log ends: the rest is added, and @p state is fresh. */
void log_spent_end(struct log_spent *spent, struct log_spending *state,
		   const struct log_waits *waits);

/** Whether a kernel of this (mangled) name belongs to a communication library. */
bool log_communicates(const char *name);

/** Sum of the rows, ns. */
double log_spent_wall(const struct log_spent *spent);

/** What a row is called, in reports and in JSON; what it means; whether the GPU idles in it. */
const char *log_spent_name(enum log_spent_row row);
const char *log_spent_key(enum log_spent_row row);
const char *log_spent_meaning(enum log_spent_row row);
bool log_spent_idle(enum log_spent_row row);

#endif
