#include "preload/counters/counter_attribution.h"

#include "preload/cupti/cupti.h"
#include "preload/maps/configs.h"
#include "preload/maps/devices.h"

#include <math.h>

static const struct {
	uint32_t capability;
	enum gw_work_field field;
	double per_warp, per_thread;
} rows[] = {
#define ADDED(capability, field, per_warp, per_thread) \
	{capability, GW_WORK_##field, per_warp, per_thread},
#include "preload/counters/cupti_overhead.def"
#undef ADDED
};

enum { CUPTI_KNOWN = 13 /* major version that the rows were measured with */ };

void gw_subtract_cupti_overhead(uint32_t config, struct gw_work *counted)
{
	const struct gw_config_entry *c = gw_config_entry(config);
	const struct gw_config *k = &c->config;
	double blocks = (double)k->grid.x * k->grid.y * k->grid.z;
	uint32_t threads = k->block.x * k->block.y * k->block.z, warps = (threads + 31) / 32;
	uint32_t capability = gw_device_capability((int)c->device - 1);

	if (gw_cupti.version / 10000 != CUPTI_KNOWN)
		return;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct gw_quantity *q = &counted->q[rows[i].field];

		if (rows[i].capability == capability && q->source == GW_SOURCE_COUNTED)
			q->value = fmax(q->value - blocks * (rows[i].per_warp * warps +
							     rows[i].per_thread * threads),
					0);
	}
}
