/* SPDX-License-Identifier: Apache-2.0 */
/* A listed kernel's code with what is built from it. What can't be had ends the program with
 * status 2 and a message. */
#ifndef GW_BUILT_H
#define GW_BUILT_H

#include "predictor/code/sass/lower.h"
#include "predictor/code/timing/schedule.h"
#include "tests/unit/sass/listing.h"

struct built {
	struct gw_arena arena; /**< of 64 MiB, for all of it and what else a test makes */
	struct gw_cfg cfg;
	struct gw_schedule schedule; /**< after built_schedule() */
	uint8_t *code;
};

/** The kernel called @p name. */
const struct listing_kernel *built_kernel(const struct listing *listing, const char *name);

/** The graph of @p kernel, of architecture @p sm (90 for 9.0). */
void built_begin(struct built *b, const struct listing_kernel *kernel, unsigned sm);

/** The schedule of the graph, at these latencies; it may be asked for again. */
void built_schedule(struct built *b, const struct gw_waits *waits);

/** Give it all back. */
void built_end(struct built *b);

/** A kernel of a committed cubin, which is read whole: constants and relocations stand beside its
 *  code. */
struct built_file {
	struct gw_arena arena; /**< of 64 MiB, for all of it and what else a test makes */
	struct gw_cfg cfg;
	struct gw_sass_kernel kernel;
	uint8_t *file;
};

/** Kernel @p name of the cubin NAME_sm_SM.cubin in @p folder, NAME being @p file. */
void built_file_begin(struct built_file *b, const char *folder, const char *file, const char *name,
                      unsigned sm);

/** Give it all back. */
void built_file_end(struct built_file *b);

/** Where the parameters of a kernel begin in constant bank 0. */
uint32_t built_param_base(unsigned sm);

#endif
