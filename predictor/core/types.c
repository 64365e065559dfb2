#include "predictor/core/types.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *gw_bound_name(enum gw_bound bound)
{
	static const char *const names[] = {"unknown", "memory", "compute", "latency", "launch"};

	return (unsigned)bound < sizeof(names) / sizeof(*names) ? names[bound] : "unknown";
}

const char *gw_tier_name(enum gw_tier tier)
{
	static const char *const names[] = {
#define TIER(NAME, name, meaning) name,
#include "predictor/core/basis.def"
	};

	return (unsigned)tier < sizeof(names) / sizeof(*names) ? names[tier] : "none";
}

const char *gw_source_name(enum gw_source source)
{
	static const char *const names[] = {
#define SOURCE(NAME, name, meaning) name,
#include "predictor/core/basis.def"
	};

	return (unsigned)source < sizeof(names) / sizeof(*names) ? names[source] : "none";
}

struct gw_field_info gw_field_at(const char *text)
{
	return (struct gw_field_info){text, text ? text + strlen(text) + 1 : NULL};
}

const char *gw_work_unit(unsigned field)
{
	static const struct {
#define WORK(name, unit, meaning) char name[sizeof(unit)];
#include "predictor/core/work.def"
#undef WORK
	} rows = {
#define WORK(name, unit, meaning) unit,
#include "predictor/core/work.def"
#undef WORK
	};
	static const uint16_t place[] = {
#define WORK(name, unit, meaning) offsetof(__typeof__(rows), name),
#include "predictor/core/work.def"
#undef WORK
	};

	return field < GW_WORK_FIELDS ? (const char *)&rows + place[field] : NULL;
}

struct gw_field_info gw_work_info(unsigned field)
{
	static const char *const names[] = {
#define WORK(name, unit, meaning) #name,
#include "predictor/core/work.def"
#undef WORK
	};

	return (struct gw_field_info){field < GW_WORK_FIELDS ? names[field] : NULL,
				      gw_work_unit(field)};
}

const char *gw_work_meaning(unsigned field)
{
	static const char *const meanings[] = {
#define WORK(name, unit, meaning) meaning,
#include "predictor/core/work.def"
#undef WORK
	};

	return field < GW_WORK_FIELDS ? meanings[field] : NULL;
}

void gw_work_clear(struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		work->q[i] = (struct gw_quantity){.value = NAN};
}

double gw_work_spread(const struct gw_work *work)
{
	double spread = work->q[GW_WORK_open_spread].value;

	return work->q[GW_WORK_open_spread].source != GW_SOURCE_NONE && spread > 0 ? spread : 0;
}

double gw_work_least(const struct gw_work *work)
{
	double least = work->q[GW_WORK_least_time].value;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > GW_SOURCE_STATIC)
			return 0;
	return least > 0 ? least : 0;
}

enum gw_work_field gw_work_upper_bound(enum gw_work_field field)
{
	switch (field) {
#define WORK(name, unit, meaning)
#define WORK_MOST(name, unit) \
	case GW_WORK_##name: \
		return GW_WORK_most_##name;
#include "predictor/core/work.def"
#undef WORK
	default:
		return GW_WORK_FIELDS;
	}
}

void gw_work_drop_refuted(struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)i);

		if (at != GW_WORK_FIELDS && work->q[at].source > GW_SOURCE_STATIC &&
		    work->q[i].value > 2 * work->q[at].value)
			work->q[i] = (struct gw_quantity){.value = NAN};
	}
}

bool gw_work_drop_most(struct gw_work *work)
{
	bool left = false;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_upper_bound((enum gw_work_field)i);

		if (at != GW_WORK_FIELDS)
			work->q[at] = (struct gw_quantity){.value = NAN};
	}
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		left |= work->q[i].source != GW_SOURCE_NONE;
	return !left;
}
