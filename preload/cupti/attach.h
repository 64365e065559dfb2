/*
 * libcupti, switched on and off. On, it has a subscriber and hands out activity records. It is
 * never detached: cuptiFinalize of CUDA 13.0 crashed programs that launched meanwhile.
 */
#ifndef GW_ATTACH_H
#define GW_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What came of attaching. */
enum gw_attached {
	GW_ATTACHED,
	GW_ATTACH_LATER, /**< it may work later: another tool holds libcupti, or it is busy */
	GW_ATTACH_NEVER, /**< it can't work in this process */
};

/** How records will meet their launches. */
enum gw_attach_as {
	GW_ATTACH_IDS,   /**< launches learn their correlation ids from callbacks: exactly, whenever
			    this begins */
	GW_ATTACH_ORDER, /**< by order in their streams: from the first context on */
	GW_ATTACH_WINDOW, /**< by order on their GPU: of a while only. Neither a subscriber nor
			     callbacks: switching these beside launches crashed programs */
};

/**
 * Begin to collect records; says why where that can't be. One thread at a time: the worker, or
 * before it ever attached the first that needs it.
 */
enum gw_attached gw_attach(enum gw_attach_as as);

/**
 * @p correlate is to put a correlation id into the launch that the calling thread has in flight;
 * false where there is none, or it has one. Set before anything is attached.
 */
void gw_attach_start(bool (*correlate)(uint32_t id));

/**
 * @p loaded gets the machine code of each module that the driver loads while we are attached, on
 * the thread that has it loaded and in libcupti's callback: it must not wait, allocate or call
 * libcupti. The bytes are valid for the call. @p wanted is asked when attaching: whether that is
 * worth a subscriber. Set before anything is attached; NULL: nobody wants them.
 */
void gw_attach_reports(bool (*wanted)(void), void (*loaded)(const void *cubin, size_t size));

/** A callback of the resource domain came, @p info as libcupti gives it (CUpti_ResourceData). */
void gw_attach_resource(uint32_t id, const void *info);

/** Whether launches are to learn their correlation ids: none does that has no record. */
bool gw_attach_correlates(void);

/** Launches learn no more correlation ids; calls under way are given a moment before … */
void gw_attach_settle(void);

/** … no more is collected. Records of what has been launched still come. */
void gw_attach_stop(void);

/** Whether what a window registered with libcupti stays for the next, whichever thread attaches. */
bool gw_attach_stays(void);

/** It stays no longer: another tool comes. What libcupti holds of ours comes back. */
void gw_attach_leave(void);

/** A driver-API callback of ours came, @p info as libcupti gives it (CUpti_CallbackData). On the
 * launching thread. */
void gw_attach_called(const void *info);

/** Whether a launch has learnt its correlation id since the last gw_attach. */
bool gw_attach_met(void);

/** How often this process has attached. */
unsigned gw_attach_count(void);

/** In a forked child: the parent's libcupti must not be called. */
void gw_attach_abandon(void);

/** Whether the calling thread is inside gw_attach or gw_attach_stop: calls of libcupti are ours. */
bool gw_attach_here(void);

/** Whether libcupti may be called, on any thread: this process has attached it. */
bool gw_attach_open(void);

#endif
