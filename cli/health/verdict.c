#include "cli/health/verdict.h"

#include "cli/common/json.h"

static const char *const names[] = {
#define RESOURCE(NAME, name, meaning) name,
#include "cli/health/resource.def"
#undef RESOURCE
};

const char *health_resource_name(enum health_resource r)
{
	return names[r];
}

const char *health_state_name(enum health_state state)
{
	return state == HEALTH_SLOW ? "slow" : state == HEALTH_GOOD ? "healthy" : "unknown";
}

enum health_state health_state(const struct health *h, enum health_resource *worst)
{
	enum health_state state = HEALTH_UNKNOWN;
	double most = 1;

	*worst = HEALTH_MEMORY;
	for (int r = 0; r < HEALTH_RESOURCES; r++) {
		struct health_verdict v;

		health_of(h, (enum health_resource)r, &v);
		if (v.state != HEALTH_UNKNOWN && state == HEALTH_UNKNOWN && r != HEALTH_CLOCK)
			state = HEALTH_GOOD;
		if (v.state == HEALTH_SLOW && v.ratio > most) {
			state = HEALTH_SLOW;
			*worst = (enum health_resource)r;
			most = v.ratio;
		}
	}
	return state;
}

static json_t *evidence(const struct health_verdict *v)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < v->evidence; i++)
		json_array_append_new(
			rows,
			json_pack("{s:o,s:o,s:o,s:o,s:o}", "kernel", gw_json_text(v->row[i].kernel),
				  "launches", gw_json_number(v->row[i].launches), "expected_ns",
				  gw_json_number(v->row[i].expected_ns), "measured_ns",
				  gw_json_number(v->row[i].measured_ns), "weight",
				  gw_json_number(v->row[i].weight)));
	return rows;
}

static json_t *resource(const struct health *h, enum health_resource r)
{
	struct health_verdict v;

	health_of(h, r, &v);
	return json_pack("{s:s,s:s,s:o,s:o,s:o,s:o,s:o,s:o}", "resource", health_resource_name(r),
			 "state", health_state_name(v.state), "ratio", gw_json_number(v.ratio),
			 "score", gw_json_number(v.score), "confidence",
			 v.state == HEALTH_SLOW ? gw_json_number(v.confidence) : json_null(),
			 "since_ns", v.since_ns ? gw_json_count(v.since_ns) : json_null(),
			 "configurations", gw_json_count(v.configs), "evidence", evidence(&v));
}

static json_t *gpu(const struct health_gpu *g)
{
	json_t *resources = json_array();
	enum health_resource worst;
	const enum health_state state = health_state(g->health, &worst);

	for (int r = 0; r < HEALTH_RESOURCES; r++)
		json_array_append_new(resources, resource(g->health, (enum health_resource)r));
	return json_pack("{s:o,s:o,s:o,s:o,s:s,s:o,s:o}", "uuid", gw_json_text(g->uuid), "gpu",
			 gw_json_count(g->ordinal), "model", gw_json_text(g->model), "pci_bus_id",
			 gw_json_text(g->pci), "state", health_state_name(state), "slow_resource",
			 state == HEALTH_SLOW ? gw_json_text(health_resource_name(worst))
					      : json_null(),
			 "resources", resources);
}

json_t *health_json(const struct health_gpu *gpus, size_t count, uint64_t ns)
{
	json_t *all = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, gpu(&gpus[i]));
	return json_pack("{s:s,s:o,s:o}", "schema", "gpuwatch-health-1", "ns", gw_json_count(ns),
			 "gpus", all);
}
