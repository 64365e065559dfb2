/*
 * Where launches come from. The first launch of a configuration leaves a copy of the end of its
 * thread's stack, with the registers that unwinding starts from, and the names of the Python frames
 * that the thread is in; the worker unwinds it (preload/stack/). Later launches of the
 * configuration find its published prediction, or their hash in a table, and leave nothing.
 */
#ifndef GW_STACKS_H
#define GW_STACKS_H

#include "preload/launch/call.h"

enum {
	GW_STACK_SLOTS = 64,       /**< copies that can wait for the worker */
	GW_STACKS_MAX = 4096,      /**< copies that are taken in a process, at most */
	GW_STACK_BYTES = 56 << 10, /**< of a stack that are copied */
	GW_STACK_PYTHON = 48,      /**< Python frames that are kept, from the innermost */
	GW_STACK_TEXT = 6 << 10,   /**< bytes of their names */
	GW_STACK_FILE = 200,       /**< bytes of a file's name: its end … */
	GW_STACK_FUNCTION = 120,   /**< … and of a function's: its begin; NUL included */
};

/** A Python frame; names are places in the stack's text. */
struct gw_python_frame {
	uint32_t line; /**< 0: not known */
	uint16_t file, function;
};

/** A copy that waits for the worker. Whole pages, which are given back one copy at a time. */
struct gw_stack {
	_Alignas(4096) uint32_t kernel; /**< slot */
	uint32_t device;                /**< ordinal + 1; 0: not known */
	bool captured;                  /**< the launch was recorded into a graph */
	bool python_cut;                /**< there are more Python frames */
	struct gw_config config;
	uint64_t registers[GW_UNWIND_REGISTERS]; /**< as DWARF numbers them */
	uint32_t bytes;  /**< of the stack, from what registers[GW_UNWIND_SP] says */
	uint32_t python; /**< frames */
	uint32_t text_used;
	struct gw_python_frame frame[GW_STACK_PYTHON];
	char text[GW_STACK_TEXT];
	_Alignas(16) unsigned char copy[GW_STACK_BYTES];
};

_Static_assert(sizeof(struct gw_stack) % (64 << 10) == 0, "whole pages, be they of 64 KiB");

/** What the options and the mode say is taken from here on. Worker, and at the start. */
void gw_stacks_mode(void);

/** Begin anew, in a forked child too. */
void gw_stacks_start(void);

/** Whether stacks are needed since the mode was switched: then launches of configurations that have
 * a prediction lack one, too. Worker. */
bool gw_stacks_behind(void);

/** The launch of @p call succeeded and has no published prediction. Clears GW_EVENT_STACK. */
GW_COLD void gw_stack_take(struct gw_call *call);

/** Worker: the next copy that waits, NULL: none; and the end of its use. */
struct gw_stack *gw_stack_next(void);
void gw_stack_done(struct gw_stack *stack);

/** Worker: give back the pages of copies, where none has come for long. */
void gw_stacks_tend(uint64_t now_ns);

/*
 * The Python frames that a thread is in: CPython 3.9 to 3.12 by the layouts of their releases, 3.13
 * by the offsets that it publishes itself. Nothing of Python's is called but the function that
 * returns a thread's state, and every word is read by gw_self_read() and checked.
 */

/** Look for the interpreter, once, among the objects that stay for the life of the process. */
void gw_python_look(void);

/** Put the calling thread's frames into @p stack, between gw_sandbox_enter() and its leave. */
void gw_python_frames(struct gw_stack *stack);

#endif
