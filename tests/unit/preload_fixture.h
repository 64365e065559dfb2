/*
 * Stands in for what the preload's parts stand on (lifecycle, hooks, activity), so that each
 * is tested alone: no driver, no worker, no log unless a test brings one.
 */
#ifndef GW_TESTS_UNIT_PRELOAD_FIXTURE_H
#define GW_TESTS_UNIT_PRELOAD_FIXTURE_H

#include "preload/cupti/activity.h"
#include "preload/launch/call.h"

/** Tables as after cuInit, all empty; what an earlier test left is gone. */
void fixture_start(void);

/** A thread's record with a ring of @p slots (a power of two), in the table of threads. */
struct gw_thread *fixture_thread(uint32_t slots);

/** A launch of kernel slot @p kernel, grid 2, block 32, that read no prediction; in no stream. */
struct gw_event fixture_launch(uint16_t kernel);

/** The record of such a launch of the kernel named "kernel": 1.5 us from the 5th second on. */
struct gw_activity fixture_record(uint32_t correlation);

/** What gw_activity_on answers. */
void fixture_activity(bool on);

/** What gw_activity_by_device answers. */
void fixture_by_device(bool on);

/** Run @p body on @p threads threads at once, each with its number. */
void fixture_threads(unsigned threads, void (*body)(unsigned number));

/** Length of an array. */
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

#endif
