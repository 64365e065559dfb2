/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Python frames that a thread is in: CPython 3.9 to 3.12 by the layouts of their releases, 3.13
 * by the offsets that it publishes itself. Nothing of Python's is called but the function that
 * returns a thread's state, and every word is read by gw_self_read() and checked.
 */
#ifndef GW_PYTHON_H
#define GW_PYTHON_H

#include "preload/launch/stacks.h"

/** Look for the interpreter, once, among the objects that stay for the life of the process. */
void gw_python_look(void);

/** Put the calling thread's frames into @p stack, between gw_sandbox_enter() and its leave. */
void gw_python_frames(struct gw_stack *stack);

#endif
