/*
 * Waits of the program's threads for a start that another thread is at. Such a start may never end:
 * the thread may be stopped, or hang in the driver. So all waits of a process together have a
 * bound, and once it is reached nobody waits any more.
 */
#ifndef GW_AWAIT_H
#define GW_AWAIT_H

#include <stdbool.h>
#include <stdint.h>

/** Wait until *@p state is not @p value. False: it still is, and there is no more time to wait. */
bool gw_await(_Atomic int *state, int value);

/** As gw_await(), for @p ns at most. */
bool gw_await_for(_Atomic int *state, int value, int64_t ns);

/** *@p state has changed: whoever waits goes on. */
void gw_await_wake(_Atomic int *state);

/** A forked child has its own time to wait. */
void gw_await_anew(void);

#endif
