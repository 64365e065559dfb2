#include "cli/log/order.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Time at which the last of the first @p known learnt kernels had ended; 0 when none is known. */
static uint64_t latest_end(const struct gw_order *o, uint64_t known)
{
	uint64_t oldest = o->learnt > GW_ORDER_WINDOW ? o->learnt - GW_ORDER_WINDOW : 0;

	if (!known)
		return 0;
	/* Ends only rise, so the oldest one kept is an upper bound for those before it. */
	return o->ends[(known - 1 < oldest ? oldest : known - 1) % GW_ORDER_WINDOW];
}

static enum gw_order_result judge(const struct gw_order *o, const struct gw_record_launch *l,
				  bool lost)
{
	uint64_t end;

	if (!(l->flags & GW_LAUNCH_MEASURED) || isnan(l->predicted))
		return GW_ORDER_NONE;
	if (lost || o->summed)
		return GW_ORDER_UNPROVEN;
	if (l->known > o->learnt)
		return GW_ORDER_SELF;
	end = latest_end(o, l->known);
	if (!end)
		return GW_ORDER_PROVEN;
	if (!l->call_ns)
		return GW_ORDER_UNPROVEN;
	if (end <= l->call_ns || end - l->call_ns <= GW_ORDER_TOLERANCE_NS)
		return GW_ORDER_PROVEN;
	if (l->known <= o->clock_set)
		return GW_ORDER_UNPROVEN;
	/* Beyond the window the bound may belong to a record that was not known. */
	return l->known + GW_ORDER_WINDOW <= o->learnt ? GW_ORDER_UNPROVEN : GW_ORDER_LATER;
}

enum gw_order_result gw_order_check(struct gw_order *order, const struct gw_record_launch *l,
				    uint32_t gaps)
{
	enum gw_order_result result = judge(order, l, gaps > 0);
	uint64_t end;

	if (!(l->flags & GW_LAUNCH_LEARNT))
		return result;
	if (l->start_ns) {
		end = l->duration_ns > UINT64_MAX - l->start_ns ? UINT64_MAX
								: l->start_ns + l->duration_ns;
		if (end > order->latest)
			order->latest = end;
	} else {
		order->untimed++;
	}
	if (order->room < GW_ORDER_WINDOW)
		GW_GROW(order->ends, &order->room, order->learnt + 1);
	order->ends[order->learnt++ % GW_ORDER_WINDOW] = order->latest;
	return result;
}

void gw_order_clock_set(struct gw_order *order)
{
	order->clock_set = order->learnt;
	order->latest = 0;
}

void gw_order_free(struct gw_order *order)
{
	free(order->ends);
	order->ends = NULL;
}
