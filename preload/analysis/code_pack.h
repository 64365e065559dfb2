/*
 * Copies of code images are packed once they are many: libraries that unpack their own code, as
 * cuBLASLt does, load tens of megabytes of it, of which a program launches a few kernels. Worker
 * only.
 */
#ifndef GW_CODE_PACK_H
#define GW_CODE_PACK_H

#include "preload/launch/modules.h"

enum {
	GW_CODE_PACK_FROM = 16 << 20,  /**< bytes of all copies from which they are packed, … */
	GW_CODE_PACK_WATCH = 4 << 20,  /**< … and in mode watch, which is to be small */
	GW_CODE_PACK_LEAST = 32 << 10, /**< smallest image that is */
	GW_CODE_PACK_STEP = 2 << 20,   /**< bytes that are read at a time: some 10 ms */
};

/** Start with no image. */
void gw_code_pack_start(void);

/** Module @p note was loaded; it stays as long as the process, and its `next` is used here. */
void gw_code_pack_add(struct gw_module_note *note);

/** Pack the next piece, where there are many. */
void gw_code_pack_some(void);

#endif
