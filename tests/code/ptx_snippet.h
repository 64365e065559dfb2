/* Pieces of PTX, evaluated: a body is put into a kernel with registers and three parameters. */
#ifndef GW_PTX_SNIPPET_H
#define GW_PTX_SNIPPET_H

#include "predictor/code/ptx/report.h"

/** Evaluate @p body for grid @p blocks x 1 x 1 of @p threads. It has registers %p<16>, %rs<16>,
 *  %r<64>, %rd<64>, %f<16>, shared `buffer` (4096 bytes) and parameters n (32 bits), m (32 bits), x
 *  (64 bits; 0x10000). The answer stands until the next call; a refusal fails the test. */
const struct gw_ptx_report *snippet(const char *body, uint32_t blocks, uint32_t threads, int32_t n,
				    int32_t m);

/** As above, but the refusal's fault is the answer; a test fails when it is taken. */
const struct gw_ptx_fault *snippet_refused(const char *body);

/** The sum of global stores' counts. */
struct gw_eval_count snippet_stores(const struct gw_ptx_report *report);

/** An arena for what else is read, empty: the last answer, and what was in it, are gone. */
struct gw_arena *snippet_arena(void);

/** Give everything back: tear-down of a group of tests. */
int snippet_end(void **state);

#endif
