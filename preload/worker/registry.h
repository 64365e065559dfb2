/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's own names for things: dense ids, each written to the log when first used.
 * Worker only. Bounded: where a table is full the id is 0, "none".
 */
#ifndef GW_TABLES_H
#define GW_TABLES_H

#include "preload/cupti/activity.h"
#include "preload/maps/state.h"

enum { GW_CONFIGS_MAX = 1 << 18 };
_Static_assert(GW_CONFIGS_MAX <= 1 << 24, "gw_cell_config has 24 bits for an id");

/** A configuration of a kernel. */
struct gw_config_entry {
	uint32_t kernel; /**< id of the kernel */
	uint32_t slot;   /**< slot of the kernel as the hooks know it, 0 = never hooked */
	uint32_t device; /**< it runs on, as gw_slot_device() tells it */
	uint32_t head;   /**< the first configuration that differs in its digest at most */
	uint32_t pair;   /**< the first that differs in its digest and its kernel's image at most */
	uint32_t latest; /**< of a head: the one with a digest that was launched last */
	uint32_t digests; /**< of a head: how many configurations have a digest */
	struct gw_config config;
	const char *name;   /**< the kernel's */
	uint64_t signature; /**< join.c's own: of what a record tells of it; 0: not made yet */
	uint64_t launches, total_ns, measured; /**< for the summary */
	/** Of a pair: launches written without their record, less records written without their
	 * launch; in streams, in graphs. Records don't tell digests and images. Entry 0: launches
	 * of kernels that could not be told. */
	int32_t unpaired[2];
	uint32_t lone_block; /**< of the log, that has the last record of no launch */
	const struct gw_arguments *arguments; /**< of its first launch, NULL when not known */
	uint8_t study, analysis_end; /**< study.c's own; the latter an enum gw_analysis_end */
	bool analysis_said;          /**< the same: the log has a STUDY record of it */
	const char *analysis_why;    /**< the same: that record's text */
};

/** Reserve the tables; false when there is no memory. */
bool gw_registry_start(void);

/** Ask the driver which it is. The worker's first call: a driver may take long to answer. */
void gw_registry_ask_driver(void);

/** Id of the configuration of an event or graph node on a GPU (@p device: as gw_slot_device() tells
 * it); 0 when the kernel isn't known. */
uint32_t gw_intern_config(uint32_t kernel_slot, uint32_t device, const struct gw_config *config);

/** Whether there is no room for more configurations, and never will be. */
bool gw_config_full(void);

/** A launch of configuration @p id was met: what its digests are like is decided by these. */
void gw_config_launched(uint32_t id);

/** Id of the configuration of a kernel known from an activity record alone. */
uint32_t gw_intern_config_of_activity(const struct gw_activity *a);

/** The entry of an id from 1 to gw_config_count(). */
struct gw_config_entry *gw_config_entry(uint32_t id);
uint32_t gw_config_count(void);

/** What a kernel takes in the worker's tables and the predictor. */
size_t gw_kernel_bytes(void);

/** A kernel by its id, as its record says. */
const struct gw_kernel *gw_kernel_of(uint32_t id);

/** Ids in the log of a stream slot, thread, graph node; of a thread 0 when there are none left. */
void gw_stream_ids_start(void);
uint32_t gw_intern_stream(uint32_t stream_slot);
uint32_t gw_intern_stream_of_activity(const struct gw_activity *a);

uint32_t gw_intern_thread(struct gw_thread *t);
uint32_t gw_intern_node(uint32_t exec, uint64_t node);

/** Id in the log of the device numbered @p ordinal by the driver, 0 when there is none. */
uint32_t gw_intern_device(int ordinal);

/** Compute capability (10 * major + minor) of the device numbered @p ordinal; 0: not known yet. */
uint32_t gw_device_capability(int ordinal);

/** The driver's number of the device of stream @p id (of the log), -1 when not known. */
int gw_stream_device(uint32_t id);

/** Write the notes of modules and reasons of degradation that are new. */
void gw_registry_write_news(void);

/** From here on the driver is not asked any more: the process ends, it may be gone. */
void gw_registry_driver_gone(void);

/** Whether the driver in use said at the start that it is the CPU stand-in. */
bool gw_device_stand_in(void);

#endif
