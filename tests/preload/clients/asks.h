/*
 * Look-ups of every name we stand in for, in each way, from whatever object asks.c is built into;
 * reports what was found: nothing, the driver's or libcupti's function (ours in its place is the
 * same to a program), or whose else.
 */
#ifndef GW_ASKS_H
#define GW_ASKS_H

typedef void *look_fn(void *handle, const char *name);

/** Ask by @p look, NULL for the asking object's own dlsym; @p whose: tell libgpuwatch apart. */
typedef void ask_fn(const char *who, look_fn *look, int whose);

#endif
