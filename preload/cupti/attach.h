/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcupti, taken up and given back. Attached, it has a subscriber and hands out activity
 * records; detached by cuptiFinalize, it leaves launches as fast as if it had never been there.
 */
#ifndef GW_ATTACH_H
#define GW_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

/** What came of attaching. */
enum gw_attached {
	GW_ATTACHED,
	GW_ATTACH_LATER, /**< it may work later: another tool holds libcupti, or it is busy */
	GW_ATTACH_NEVER, /**< it can't work in this process */
};

/**
 * Begin to collect records; says why where that can't be. @p correlate: launches learn their
 * correlation ids from callbacks, so that records join them exactly, whenever this begins.
 * One thread at a time: the worker, or before it ever attached the first that needs it.
 */
enum gw_attached gw_attach(bool correlate);

/** Launches learn no more correlation ids; calls under way are given a moment before … */
void gw_attach_settle(void);

/**
 * … no more is collected. What has been launched is still recorded until gw_detach. False when
 * libcupti goes on recording what is launched: then it must not be detached.
 */
bool gw_attach_stop(void);

/**
 * Give libcupti back, after gw_attach_stop and when every record has come: a kernel that is
 * recorded and still runs would write its times into memory that is no more. Records that are out,
 * and their names, are gone afterwards. Worker only; blocks for milliseconds, which are counted.
 * False when it is not possible now: then nothing has changed, and it can be tried again.
 */
bool gw_detach(void);

/** A driver-API callback of ours came, @p info as libcupti gives it (CUpti_CallbackData). On the
 * launching thread. */
void gw_attach_called(const void *info);

/** Whether a launch has learnt its correlation id since the last gw_attach. */
bool gw_attach_met(void);

/** How often this process has attached. */
unsigned gw_attach_count(void);

/** In a forked child: the parent's libcupti must not be called. */
void gw_attach_abandon(void);

/** Whether the calling thread is inside gw_attach or gw_detach: calls of libcupti are ours. */
bool gw_attach_here(void);

/**
 * Before and after any other call of libcupti's, on any thread: false when it is detached or about
 * to be, and must not be called. Never waits; keep the time between them short, gw_detach waits for
 * it.
 */
bool gw_cupti_enter(void);
void gw_cupti_leave(void);

#endif
