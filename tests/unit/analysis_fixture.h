/* Launches to be analysed, with kernels of the corpus, and what becomes of their analysis. */
#ifndef GW_TESTS_UNIT_ANALYSIS_FIXTURE_H
#define GW_TESTS_UNIT_ANALYSIS_FIXTURE_H

#include "preload/analysis/analysis_jobs.h"
#include "preload/analysis/analyze.h"

/** Slots of kernels: of tests/code/kernels.cu, one in a damaged module, one in none, one to fill
 * in; one whose addresses data decide. */
enum { SAXPY = 1, POWERS, REDUCE, BROKEN, LOST, CROOKED, GATHER };

/** What lives as long as a test. */
extern struct gw_arena arena;
/** What was offered instead of known_work.c's: the configurations in turn, how often, the last. */
extern uint32_t offered[64], offers;
extern struct gw_work work;
/** How often the rings were looked after. */
extern unsigned looks;
/** What was last said in the log of each configuration, and how often. */
extern struct analysis_end {
	uint32_t said, end, bare;
	char why[128];
} ends[64];
/** Whether the log takes nothing more. */
extern bool log_full;
/** What CLOCK_MONOTONIC shows, ns; 0: it runs. */
extern uint64_t stopped;
/* While set, threads of ours stay at the job that they begin with. */
extern _Atomic bool threads_held;

/** Setup and teardown; analyses run on the worker. */
int analysis_start(void **state);
int analysis_end(void **state);

/** A module of the corpus, of @p most bytes at most. */
void module_of(uint32_t number, const char *file, size_t most);
/** A kernel in a slot. */
void kernel(uint32_t slot, const char *name, uint32_t module);
/** For gw_analysis_run(): counts, and goes on or not. */
bool look(void);
bool program_ends(void);
/** A configuration. */
uint32_t config_of(uint32_t slot, uint32_t blocks, uint32_t threads);
/** Its arguments: saxpy(n, 2, x, y). */
void arguments_of(uint32_t config, int32_t n);
/** The layout of saxpy's parameters is known, from which its argument hash's is derived. */
void know_parameters(void);
/** A configuration of saxpy(n, factor, x, y) of before the code was read: by all its numbers. */
uint32_t config_by_factor(uint32_t factor, int32_t n);
/** A counter of the library's. */
uint64_t counted(enum gw_counter c);
/** A row of what was offered last. */
double row(enum gw_work_field f);

#endif
