/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One launch read off its code: the kernel decoded once and kept while there is room, its launch
 * evaluated on the arguments. Worker only. Nothing here is asked of the driver.
 */
#ifndef GW_ANALYSIS_CODE_H
#define GW_ANALYSIS_CODE_H

#include "predictor/core/device.h"
#include "preload/maps/state.h"

enum {
	GW_ANALYSIS_KERNELS = 256,             /**< decoded kernels kept at a time … */
	GW_ANALYSIS_KERNELS_MEMORY = 12 << 20, /**< … and the bytes they may take */
	GW_ANALYSIS_MEMORY = 64 << 20,  /**< bytes of code, decoded kernels and the evaluation under
	                                way, which gets what the others leave */
	GW_ANALYSIS_CODE_MAX = 1 << 20, /**< longest machine code of a kernel that is read */
	GW_ANALYSIS_PTX_MAX = 2 << 20,  /**< longest PTX text that is read */
};

/** A launch to be studied. */
struct gw_analysis_launch {
	uint32_t slot; /**< of the kernel (state.h), not 0 */
	struct gw_config config;
	const struct gw_arguments *arguments; /**< NULL: none is known */
	const struct gw_device *device; /**< never NULL; what is unknown of it limits the rows */
	bool brief;                     /**< as far as a quarter of the steps goes */
	/** Asked all the time, so that who has other things to do can do them; false: come to an
	 * end. */
	bool (*go_on)(void *arg);
	void *go_on_arg;
};

/** Decode the kernel in @p slot, unless it is: what gw_analysis_code() otherwise begins with. */
void gw_analysis_code_decode(uint32_t slot);

/**
 * Study a launch: the rows of @p work that its code tells, all with GW_SOURCE_STATIC.
 * GW_ANALYSIS_DONE, NO_CODE, UNTOLD, or ABANDONED where `go_on` said no: @p work then has what was
 * told until then.
 * @p why gets a static text: why nothing is told, or of what is told what is not settled; else
 * NULL. @p limited gets whether more steps could tell more; it may be NULL.
 */
enum gw_analysis_end gw_analysis_code(const struct gw_analysis_launch *launch, struct gw_work *work,
                                      const char **why, bool *limited);

/** Bytes that an evaluation may take: what is left of GW_ANALYSIS_MEMORY, 16 MiB at least. */
size_t gw_analysis_code_room(void);

/** Bytes held by decoded kernels, at most GW_ANALYSIS_KERNELS_MEMORY. */
size_t gw_analysis_code_held(void);

/** Start with nothing decoded. */
void gw_analysis_code_start(void);

#endif
