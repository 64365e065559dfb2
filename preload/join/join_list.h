/* Launches that wait, in lists: what join.c and join_graph.c share. Worker only. */
#ifndef GW_JOIN_LIST_H
#define GW_JOIN_LIST_H

#include "preload/cupti/activity.h"
#include "predictor/log/record.h"

#include <stdbool.h>

/** A launch that waits. */
struct gw_waiting {
	struct gw_waiting *next;
	uint64_t overtaken_ns; /**< TICKET: when a later launch got its time; 0 = never */
	uint32_t number;       /**< as passed to gw_join_wait(); STREAM: in its stream, by call */
	struct gw_record_launch record;
};

/** Launches in the order they were added. */
struct gw_waiting_list {
	struct gw_waiting *head, **end;
};

/** Start with none; what waited before a fork stays where it is. */
void gw_waiting_start(void);

/** Launches that wait, in all lists. */
uint32_t gw_waiting_count(void);

/** Whether there are as many as may be. */
bool gw_waiting_full(void);

/** Add a launch at the end of @p list; false when there are too many, or no memory. */
bool gw_waiting_add(struct gw_waiting_list *list, uint32_t number,
		    const struct gw_record_launch *record);

/** Take out the one that @p at points to, and give its record. */
struct gw_record_launch gw_waiting_take(struct gw_waiting_list *list, struct gw_waiting **at);

/** Name and configuration agree, and in a window the order of call and start. The cluster is left
 * out: libcupti reports none as 0. */
bool gw_join_fits(const struct gw_record_launch *record, const struct gw_activity *a);

/** The first of @p most launches from @p at on that @p a fits; NULL: none. */
struct gw_waiting **gw_waiting_fitting(struct gw_waiting **at, uint32_t most,
				       const struct gw_activity *a);

/** What a launch and its record both have, as one number: kernel (gw_kernel_name_hash()), grid,
 * block, dynamic shared memory; and that of a configuration. */
uint64_t gw_join_signature(uint64_t name, const uint32_t grid[3], const uint32_t block[3],
			   uint32_t shared);
uint64_t gw_join_signature_of(uint32_t config);

/** A launch that others have overtaken waits no longer than so. */
#define GW_JOIN_GIVE_UP_NS UINT64_C(2000000000)

#endif
