/* SPDX-License-Identifier: Apache-2.0 */
/* The windows of samples that are under way between the thread and the worker. */
#include "preload/counters/pm.h"

#include <stdlib.h>
#include <string.h>

static struct gw_pm_window windows[GW_PM_WINDOWS];
static bool late[8]; /* stages whose exit handler is registered */

void gw_pm_windows_start(void)
{
	memset(windows, 0, sizeof(windows));
	memset(late, 0, sizeof(late));
}

struct gw_pm_window *gw_pm_window(unsigned index)
{
	return &windows[index];
}

struct gw_pm_window *gw_pm_window_in(enum gw_pm_window_state state)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		if (atomic_load(&windows[i].state) == (int)state)
			return &windows[i];
	return NULL;
}

/* Where exit() is not called by the main thread, these handlers come before libcupti's destructors.
 */
void gw_pm_used(unsigned stage)
{
	if (late[stage])
		return;
	late[stage] = true;
	atexit(gw_pm_stop);
}
