/*
 * Analysis of one launch: the kernel is decoded once and kept while there is room, and evaluated on
 * the arguments of the launch. Any thread of ours: decoding is one thread's at a time, evaluation
 * is not. Never calls the driver.
 */
#ifndef GW_ANALYSIS_CODE_H
#define GW_ANALYSIS_CODE_H

#include "predictor/code/static_code.h"
#include "predictor/core/device.h"
#include "preload/launch/modules.h"
#include "preload/maps/state.h"

/** MiB of the longest machine code of a kernel, and of the longest PTX text, that are read; in
 * messages, too. */
#define GW_ANALYSIS_CODE_MIB 1
#define GW_ANALYSIS_PTX_MIB  2

enum {
	GW_ANALYSIS_KERNELS = 256,             /**< decoded kernels kept at a time … */
	GW_ANALYSIS_KERNELS_MEMORY = 12 << 20, /**< … and the bytes they may take */
	GW_ANALYSIS_MEMORY = 64 << 20, /**< bytes of code, decoded kernels and the evaluations under
				       way, which share what the others leave … */
	GW_ANALYSIS_ROOM = 16 << 20,   /**< … and get this much each at least, … */
	GW_ANALYSIS_ROOM_ALONE = 48 << 20, /**< … this much where there is one at a time */
	GW_ANALYSIS_CODE_MAX = GW_ANALYSIS_CODE_MIB << 20,
	GW_ANALYSIS_PTX_MAX = GW_ANALYSIS_PTX_MIB << 20,
	GW_ANALYSIS_MEMORIES = 16, /**< most allocations that are known of a launch */
};

/** A launch to be analysed. */
struct gw_analysis_launch {
	uint32_t slot; /**< of the kernel (state.h), not 0 */
	struct gw_config config;
	const struct gw_arguments *arguments; /**< NULL: none is known */
	const struct gw_device *device; /**< never NULL; what is unknown of it limits the rows */
	struct gw_static_memory memory[GW_ANALYSIS_MEMORIES]; /**< that arguments point into */
	uint32_t memory_count;
	bool brief; /**< as far as a quarter of the steps goes */
	/** Called every few steps, so that the caller can do other work; false: stop. */
	bool (*go_on)(void *arg);
	void *go_on_arg;
};

/** Which machine code a kernel has. */
struct gw_analysis_identity {
	uint64_t digest; /**< of its bytes; 0: not known, as of PTX, whose code the driver makes */
	uint32_t bytes;
};

/** Decode the kernel in @p slot unless that is done; gw_analysis_code() does the same first. */
void gw_analysis_code_decode(uint32_t slot);

/**
 * Analyse a launch: set the rows of @p work that its code determines, all with GW_SOURCE_STATIC.
 * Returns GW_ANALYSIS_DONE, NO_CODE, UNSUPPORTED, or ABANDONED where `go_on` returned false: @p
 * work then has the results until then.
 * @p why gets a static text: why there is no result, or what remains undetermined; else NULL.
 * @p limited gets whether more steps could determine more, @p code which code it was; either may be
 * NULL.
 */
enum gw_analysis_end gw_analysis_code(const struct gw_analysis_launch *launch, struct gw_work *work,
				      const char **why, bool *limited,
				      struct gw_analysis_identity *code);

/** Bytes that an evaluation may take: its share of what is left of GW_ANALYSIS_MEMORY,
 * GW_ANALYSIS_ROOM at least, or GW_ANALYSIS_ROOM_ALONE; in mode watch no more. */
size_t gw_analysis_code_room(void);

/** The image of @p note is now the @p size bytes at @p packed, and nothing reads the other one any
 *  more. False where a thread is reading code: to be tried again. Worker only. */
bool gw_analysis_code_replace(struct gw_module_note *note, void *packed, size_t size);

/** Give back decoded kernels and code that nothing is at: read anew where they are needed again.
 * Worker only, while no thread analyses. */
void gw_analysis_code_tidy(void);

/** Bytes held by decoded kernels, at most GW_ANALYSIS_KERNELS_MEMORY. */
size_t gw_analysis_code_held(void);

/** Start with nothing decoded; at most @p at_a_time (1 or more) evaluations run at the same time.
 */
void gw_analysis_code_start(unsigned at_a_time);

/** Whether @p work has what is counted but not the bytes that a verdict needs beside it. */
bool gw_analysis_lacks_bytes(const struct gw_work *work);

#endif
