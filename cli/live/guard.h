/* Reading a mapped file that someone may cut short meanwhile. */
#ifndef GW_LIVE_GUARD_H
#define GW_LIVE_GUARD_H

#include <stdbool.h>

/**
 * Call @p read with @p arg. False: part of a mapped file that it read is gone, and it was left
 * where it stood (SIGBUS). It takes no lock and no memory while it reads from the file. One thread
 * only.
 */
bool gw_live_guarded(void (*read)(void *arg), void *arg);

#endif
