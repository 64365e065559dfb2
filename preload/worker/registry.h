/*
 * The worker's own names for things: dense ids, each written to the log when first used.
 * Worker only. Bounded: where a table is full the id is 0, "none".
 */
#ifndef GW_REGISTRY_H
#define GW_REGISTRY_H

#include "preload/cupti/activity.h"
#include "preload/maps/configs.h"
#include "preload/maps/devices.h"

/** Reserve the tables; false when there is no memory. */
bool gw_registry_start(void);

/** Id of the configuration of an event or graph node on a GPU (@p device: from
 * gw_slot_device()); 0 when the kernel isn't known. */
uint32_t gw_intern_config(uint32_t kernel_slot, uint32_t device, const struct gw_config *config);

/** Whether there is no room for more configurations, and never will be. */
bool gw_config_full(void);

/** Count launches of configuration @p id; gw_digests_admit() decides by these counts. */
void gw_config_launched(uint32_t id, uint64_t launches);

/** Id of the configuration of a kernel known from an activity record alone. */
uint32_t gw_intern_config_of_activity(const struct gw_activity *a);

/** A kernel by its id, as its record says. */
const struct gw_kernel *gw_kernel_of(uint32_t id);

/** Ids in the log of a stream slot, thread, graph node; of a thread 0 when there are none left. */
void gw_stream_ids_start(void);
uint32_t gw_intern_stream(uint32_t stream_slot);
uint32_t gw_intern_stream_of_activity(const struct gw_activity *a);

/** @p r goes to the log by itself: a stream that has no record in its file becomes 0. */
void gw_stream_leave_out(struct gw_record_launch *r);

uint32_t gw_intern_thread(struct gw_thread *t);
uint32_t gw_intern_node(uint32_t exec, uint64_t node);

/** The driver's number of the device of stream @p id (of the log), -1 when not known. */
int gw_stream_device(uint32_t id);

/**
 * Launches use the device numbered @p ordinal by the driver: at the first time ask the driver about
 * it, write its record, and take its profile into use. Before a stream or configuration of it is
 * given an id.
 */
void gw_device_meet(int ordinal);
void gw_device_ids_start(void);

/** Ask the driver which it is. The worker's first call: a driver may take long to answer. */
void gw_registry_ask_driver(void);

/** From here on the driver is not asked any more: the process ends, it may be gone. */
void gw_registry_driver_gone(void);

/** Write the notes of modules and reasons of degradation that are new. */
void gw_registry_write_news(void);

#endif
