/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/types.h"

#include <math.h>

const char *gw_bound_name(enum gw_bound bound)
{
	static const char *const names[] = {"unknown", "memory", "compute", "latency", "launch"};

	return (unsigned)bound < sizeof(names) / sizeof(*names) ? names[bound] : "unknown";
}

const char *gw_tier_name(enum gw_tier tier)
{
	static const char *const names[] = {
#define TIER(NAME, name, meaning) name,
#include "predictor/value.def"
	};

	return (unsigned)tier < sizeof(names) / sizeof(*names) ? names[tier] : "none";
}

const char *gw_source_name(enum gw_source source)
{
	static const char *const names[] = {
#define SOURCE(NAME, name, meaning) name,
#include "predictor/value.def"
	};

	return (unsigned)source < sizeof(names) / sizeof(*names) ? names[source] : "none";
}

const struct gw_field_info *gw_work_info(unsigned field)
{
	static const struct gw_field_info rows[] = {
#define WORK(name, unit, meaning) {#name, unit, meaning},
#include "predictor/work.def"
#undef WORK
	};

	return field < GW_WORK_FIELDS ? &rows[field] : NULL;
}

void gw_work_clear(struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		work->q[i] = (struct gw_quantity){.value = NAN};
}
