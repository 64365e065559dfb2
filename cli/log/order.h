/*
 * The proof of order: from one file alone, that every prediction was made from measurements
 * that existed when its launch was called.
 *
 * A launch says that its prediction could use the first `known` learnt records of the file.
 * That is checked twice: those records stand before it, and the last of those kernels had
 * ended when the launch was called.
 */
#ifndef GW_LOG_ORDER_H
#define GW_LOG_ORDER_H

#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GW_ORDER_TOLERANCE_NS = 1000000, /**< the clocks of GPU and host are converted that well */
	GW_ORDER_WINDOW = 1 << 22,       /**< how many learnt records back `known` can be checked */
};

enum gw_order_result {
	GW_ORDER_NONE, /**< nothing to prove: no prediction, or not measured */
	GW_ORDER_PROVEN,
	GW_ORDER_UNPROVEN, /**< records before it are lost or in sums, its time of call is unknown,
			      or the clock was set */
	GW_ORDER_SELF,     /**< violation: knows its own measurement or a later one */
	GW_ORDER_LATER,    /**< violation: knows a kernel that ended after the call */
};

/** State of one file; zero-initialised at its begin. Free with gw_order_free. */
struct gw_order {
	uint64_t *ends; /* ends[i % WINDOW]: latest end among the first i + 1 learnt records */
	size_t room;
	uint64_t learnt, latest;
	bool summed;        /* launches are in sums only: `known` counts more than the file has */
	uint64_t clock_set; /* learnt when the wall clock was last set; 0: it never was */
	uint64_t
		untimed; /**< learnt records with no start (event pairs): not in the second check */
};

/** Check @p launch and count it; @p gaps is the reader's count of losses before it. */
enum gw_order_result gw_order_check(struct gw_order *order, const struct gw_record_launch *launch,
				    uint32_t gaps);

/** The wall clock was set: the ends so far say nothing of what is called from here on. */
void gw_order_clock_set(struct gw_order *order);

void gw_order_free(struct gw_order *order);

#endif
