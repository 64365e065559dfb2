/*
 * The launch of `gpuwatch inspect --launch`: "grid=4 block=128,2 shared=1024 args=100,2.5,pointer".
 */
#ifndef GW_INSPECT_LAUNCH_H
#define GW_INSPECT_LAUNCH_H

#include "predictor/code/ir/ir.h"
#include "predictor/core/types.h"

enum { INSPECT_ARGUMENTS_MAX = 256 };

/** A launch as it was described. */
struct inspect_launch {
	struct gw_config config;
	char *text; /**< what the arguments point into; owned */
	const char *argument[INSPECT_ARGUMENTS_MAX];
	uint32_t count;
	bool given; /**< "args=" was there; without it no argument is known */
};

/** The arguments as a kernel finds them; owned, freed by inspect_arguments_free(). */
struct inspect_arguments {
	uint8_t *bytes, *known; /**< known: 1 for each byte whose value is */
	uint32_t size;
	char fault[192]; /**< why they don't fit the kernel; empty: they do */
};

/** Read a description. False after one message on stderr. Free it in any case. */
bool inspect_launch_read(struct inspect_launch *launch, const char *text);
void inspect_launch_free(struct inspect_launch *launch);

/**
 * Lay the arguments out for a kernel with @p count parameters. False with out->fault: a wrong
 * number of them, or one that its parameter can't hold.
 */
bool inspect_arguments_make(struct inspect_arguments *out, const struct inspect_launch *launch,
			    const struct gw_ir_param *param, uint32_t count);
void inspect_arguments_free(struct inspect_arguments *arguments);

#endif
