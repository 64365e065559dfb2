/*
 * Unwinds a copy of a stack by the tables that compilers emit (.eh_frame), which are read from the
 * objects in memory by gw_self_read(): an object may be unloaded meanwhile. Bounded in frames,
 * tables and instructions. Worker only.
 */
#ifndef GW_UNWIND_H
#define GW_UNWIND_H

#include "predictor/log/record.h"
#include "preload/runtime/arch/arch.h"

#include <stddef.h>
#include <stdint.h>

/** The stack and the registers to begin with. */
struct gw_unwind {
	uint64_t registers[GW_UNWIND_REGISTERS]; /**< as DWARF numbers them; changed */
	const unsigned char *stack; /**< what is copied of it, from `registers[GW_UNWIND_SP]` on */
	size_t bytes;
};

/** Put the addresses of at most @p room frames, from the innermost, at @p out; how many there are
 * is in @p count. Between gw_sandbox_enter() and its leave. */
enum gw_stack_end gw_unwind(struct gw_unwind *u, uint64_t *out, uint32_t room, uint32_t *count);

/** The objects have changed: what was read of their tables is forgotten. */
void gw_unwind_forget(void);

#endif
