/*
 * The machine code behind a kernel that was launched: found when it is asked for, in the copies
 * that modules.c keeps or in the files that modules lie in, and kept while there is room. One
 * thread at a time (analysis_code.c sees to that), but for gw_code_module(), which is the worker's:
 * nothing of this happens in a launch.
 */
#ifndef GW_PRELOAD_CODE_H
#define GW_PRELOAD_CODE_H

#include "predictor/code/binary/kernel.h"
#include "preload/launch/modules.h"

/** MiB of the largest container or file that is read; in messages, too. */
#define GW_CODE_FILE_MIB 16

enum {
	GW_CODE_MEMORY = 36 << 20, /**< bytes that all code held at a time may take */
	GW_CODE_FILE_MAX = GW_CODE_FILE_MIB << 20,
};

/** The code of a kernel. Valid until the next gw_code_of(). */
struct gw_code {
	bool machine;                 /**< `kernel` is filled in, from machine code */
	struct gw_code_kernel kernel; /**< only where `machine` */
	struct gw_bytes ptx;          /**< the PTX that the driver compiled instead; else none */
	const char *why;              /**< when neither is known: why; a static text */
};

/** The code of the kernel in slot @p slot (state.h), for the processor that the driver chose it
 *  for. False, with `why`, when there is none. */
bool gw_code_of(uint32_t slot, struct gw_code *out);

/** A module was loaded; @p note stays as long as the process. */
void gw_code_module(const struct gw_module_note *note);

/** Start with nothing known. */
void gw_code_start(void);

/** The note of module @p number; NULL: none was given. */
const struct gw_module_note *gw_code_note(uint32_t number);

/** Let go of all code: what gw_code_of() gave is not valid any more. */
void gw_code_tidy(void);

/** Bytes held now, at most GW_CODE_MEMORY. */
size_t gw_code_held(void);

#endif
