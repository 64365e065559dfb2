/*
 * Code of modules, opened for one processor when it is asked for and held while there is room.
 * Worker only.
 */
#ifndef GW_CODE_OPEN_H
#define GW_CODE_OPEN_H

#include "predictor/code/binary/kernel.h"
#include "preload/launch/modules.h"

enum { GW_CODE_KERNEL_MEMORY = 4 << 20 }; /**< bytes that a found kernel may take beside these */

/** The image of one container that runs on the processor: machine code, or PTX. */
struct gw_code_part {
	struct gw_cubin cubin; /**< count 0 for PTX */
	struct gw_bytes ptx;
};

/** The code of a module, for one processor. */
struct gw_open_code {
	const struct gw_module_note *note; /**< NULL: a free place */
	uint32_t processor;                /**< compute capability, 10 * major + minor */
	uint64_t used;                     /**< when it was last asked for */
	const char *why;                   /**< why nothing of it is known; a static text */
	struct gw_arena arena;
	struct gw_code_part *part;
	uint32_t parts;
};

/**
 * The code of @p note, which stays as long as the process, for @p processor. Never NULL; valid
 * until the next call.
 */
const struct gw_open_code *gw_code_open(const struct gw_module_note *note, uint32_t processor);

/** Let go of all. */
void gw_code_open_tidy(void);

/** Let go of the code of @p note, whose image goes. */
void gw_code_open_forget(const struct gw_module_note *note);

/** Bytes held, and start with none. */
size_t gw_code_open_held(void);
void gw_code_open_start(void);

#endif
