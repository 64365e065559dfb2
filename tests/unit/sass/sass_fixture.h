/*
 * What the tests of machine code share: listings of a disassembler, graphs and schedules built of
 * them, the decoder beside the disassembler, and what the threads of a launch access.
 */
#ifndef GW_SASS_FIXTURE_H
#define GW_SASS_FIXTURE_H

#include "predictor/code/eval/eval.h"
#include "predictor/code/sass/lower.h"
#include "predictor/code/timing/schedule.h"

#include <stdint.h>

/* Machine code as a disassembler lists it (listing.awk): address, words and text of each.
 * compiled.tar.xz has no addresses, and texts where a test reads them: `nvdisasm --binary` shows
 * the others. */

struct listing_line {
	uint8_t bytes[16];
	char text[120];
};

struct listing_kernel {
	char name[96];
	struct listing_line *lines;
	uint32_t count;
};

struct listing {
	struct listing_kernel *kernels;
	uint32_t count;
};

/** Read @p path; ends the program with status 2 and a message when it can't be read. */
void listing_read(struct listing *out, const char *path);
void listing_free(struct listing *listing);

/** The kernel called @p name, NULL when there is none. */
const struct listing_kernel *listing_named(const struct listing *listing, const char *name);

/** The kernel's code in one piece; the caller frees it. */
uint8_t *listing_code(const struct listing_kernel *kernel);

/* The loops that tests/gpu/schedule (at 848f82fc) timed on an H200, as machine code: what several
 * tests read. */

/** Set-up and tear-down of a group of tests; the listing between them. */
int schedule_begin(void **state);
int schedule_end(void **state);
const struct listing *schedule_code(void);

/* A listed kernel's code with what is built from it. What can't be had ends the program with
 * status 2 and a message. */

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

/** Kernel @p name of the cubin NAME_sm_SM.cubin in @p folder, NAME being @p file; its sections
 * .debug_frame and .nv.merc are zeroes, as nothing here reads them. */
void built_file_begin(struct built_file *b, const char *folder, const char *file, const char *name,
		      unsigned sm);

/** Give it all back. */
void built_file_end(struct built_file *b);

/** Where the parameters of a kernel begin in constant bank 0. */
uint32_t built_param_base(unsigned sm);

/* The decoder beside the disassembler, instruction by instruction. */

struct agreement {
	unsigned insns;
	unsigned known;   /* opcodes that the list has */
	unsigned cls;     /* class and space agree */
	unsigned details; /* width, guard, tensor type and size agree as well */
	unsigned regs;    /* the general registers named in the text are those decoded */
	unsigned compute; /* instructions whose registers are compared: arithmetic, moves, loads,
			     stores */
};

/** Compare all of @p listing as code of @p sm; what disagrees goes to stderr, 10 lines at most. */
struct agreement agree(const struct listing *listing, unsigned sm);

/* What the threads of a launch access in global memory: by the evaluator, or listed one by one. */

/** How often, and the sum of the addresses, so that none may be off. */
struct tally {
	uint64_t loads, stores, load_sum, store_sum;
	bool exact;   /**< every address is known */
	bool control; /**< every branch and guard is */
	bool awaits;  /**< waits were met */
};

void tally_load(struct tally *t, uint64_t address);
void tally_store(struct tally *t, uint64_t address);

/** Add what every warp of the launch does by @p p; the test fails where it can't be evaluated. */
void tally_launch(struct tally *t, const struct gw_ir_program *p, const struct gw_config *config,
		  const uint8_t *arguments, uint32_t bytes);

#endif
