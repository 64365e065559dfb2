/*
 * Syntax trees out of a kernel: the backward slice of each global access's address, to thread and
 * block indices, parameters, constants and loop counters (Kim 2023, 3.1.2). A counter that a loop
 * raises by the same amount each time becomes a node "loop.N" of its first value and its step.
 */
#ifndef GW_CODE_EXTRACT_H
#define GW_CODE_EXTRACT_H

#include "predictor/code/memory/access.h"

/** The accesses of a kernel, in the order of its code. */
struct gw_extract {
	struct gw_access *access;
	uint32_t *insn; /**< of each: its index in the program's insns[] */
	uint32_t count;
};

/**
 * Extract every global access of @p program. Where @p ptx, the text that it was read from, is not
 * empty, instructions and registers are called as there. All memory is the arena's. Returns NULL,
 * or a static text of why not (no room).
 */
const char *gw_extract(const struct gw_ir_program *program, struct gw_bytes ptx,
		       struct gw_arena *arena, struct gw_extract *out);

/** Whether @p insn reads or writes memory by an address of each lane's own. */
bool gw_extract_is_lane_access(const struct gw_ir_insn *insn);

#endif
