#include "preload/worker/slow_episodes.h"

#include "predictor/counters/slow.h"
#include "preload/counters/gpu_clock.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/launch/waits.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/worker/launches.h"
#include "preload/worker/registry.h"
#include "preload/analysis/known_work.h"

#include <math.h>
#include <string.h>

static struct gw_slow *slow;                 /* NULL: no memory, nothing is found */
static struct gw_slow *graphs;               /* likewise, by number of the graph; at the first */
static size_t taken;                         /* bytes of sampled ones, accounted */
static uint8_t open[GW_CONFIGS_MAX / 8 + 1]; /* by bit: configurations in an episode */

void gw_episodes_start(void)
{
	memset(open, 0, sizeof(open));
	taken = 0;
	graphs = NULL;
	slow = gw_slow_new(GW_CONFIGS_MAX - 1);
}

static uint32_t khz(double hertz)
{
	return hertz > 0 ? (uint32_t)(hertz / 1e3 + 0.5) : 0;
}

static uint32_t number(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

static void write(const struct gw_slow_event *e, bool graph)
{
	struct gw_record_slow r = {
		.config = graph ? 0 : e->config,
		.graph = graph ? e->config : 0,
		.cause = e->cause,
		.launches = number(e->launches),
		.slow = number(e->slow),
		.predicted = (float)(e->predicted * 1e9),
		.low = (float)(e->low * 1e9),
		.high = (float)(e->high * 1e9),
		.ratio = (float)e->ratio,
		.sm_khz_before = khz(e->sm_before),
		.sm_khz_during = khz(e->sm_during),
		.reasons = e->reasons,
		.since_ns = e->since_ns,
		.until_ns = e->until_ns,
		.ns = e->last_ns,
	};

	gw_log_write(GW_RECORD_SLOW, &r, sizeof(r), NULL, 0);
}

/* That many were counted of a launch; NaN when none were. */
static double counted(uint32_t config, enum gw_work_field field)
{
	const struct gw_quantity q = gw_work_row(config, field);

	return q.source == GW_SOURCE_COUNTED ? q.value : NAN;
}

/* From and to device memory. */
static double dram_bytes(uint32_t config)
{
	return counted(config, GW_WORK_dram_read_bytes) + counted(config, GW_WORK_dram_write_bytes);
}

/* A few MB at most; what is there already can't be refused. */
static void account(void)
{
	const size_t now =
		gw_slow_sampled_bytes(slow) + (graphs ? gw_slow_sampled_bytes(graphs) : 0);

	if (now > taken)
		gw_memory_take_anyway(GW_MEMORY_configurations, now - taken);
	taken = now;
}

/* Whether it follows the SM clock: what is not known to be bound by memory is taken to. */
static double follows(uint32_t config)
{
	const struct gw_predictor_set *set = gw_launches_predictors();
	struct gw_prediction p;

	gw_predictor_set_predict(set, config, gw_predictor_set_observations(set), &p);
	return p.bound == GW_BOUND_MEMORY ? 0 : 1;
}

static void announce(const struct gw_slow_event *e, bool graph)
{
	if (!e->until_ns)
		gw_bump(&gw_counters[GW_COUNTER_slow_episodes], 1);
	write(e, graph);
}

void gw_episodes_launch(const struct gw_record_launch *r, const struct gw_clock_state *clock,
			bool copies)
{
	struct gw_slow_sample s = {
		.start_ns = r->start_ns ? r->start_ns : r->call_ns,
		.seconds = (double)r->duration_ns * 1e-9,
		.predicted = (double)r->predicted * 1e-9,
		.low = (double)r->low * 1e-9,
		.high = (double)r->high * 1e-9,
		.steady = r->tier == GW_TIER_STEADY,
		.sampled = gw_options_watch(),
		.follows = gw_options_watch() ? follows(r->config) : 1,
		.overlapped = (r->flags & GW_LAUNCH_OVERLAPPED) != 0,
		.copies = gw_options_watch() ? gw_copies_go_on() : copies,
		.clock = *clock,
		.dram_bytes = dram_bytes(r->config),
	};
	struct gw_slow_event e;
	enum gw_slow_cause cause;
	double excess;
	bool changed;

	if (!slow)
		return;
	changed = gw_slow_observe(slow, r->config, &s, &e);
	account();
	excess = gw_slow_excess(slow, r->config, &s, &cause);
	gw_live_lost(r->config, cause, excess * 1e9);
	if (!changed)
		return;
	if (e.until_ns)
		open[e.config / 8] &= (uint8_t) ~(1u << e.config % 8);
	else
		open[e.config / 8] |= (uint8_t)(1u << e.config % 8);
	announce(&e, false);
}

void gw_episodes_graph(const struct gw_graph_time *time)
{
	struct gw_slow_sample s = {
		.start_ns = time->call_ns,
		.seconds = time->seconds,
		.sampled = true,
		.follows = time->follows,
		.copies = gw_copies_go_on(),
		.dram_bytes = NAN,
	};
	struct gw_slow_event e;

	if (!graphs)
		graphs = gw_slow_new(GW_CONFIGS_MAX - 1);
	if (!graphs || !slow)
		return;
	if (time->graph >= GW_CONFIGS_MAX) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d graphs: later ones have no slow episodes",
			   GW_CONFIGS_MAX - 1);
		gw_count(GW_COUNTER_table_full, 1);
		return;
	}
	gw_gpu_clock_at(time->device, time->call_ns,
			time->call_ns + (uint64_t)(time->seconds * 1e9), &s.clock);
	if (gw_slow_observe(graphs, time->graph, &s, &e))
		announce(&e, true);
	account();
}

bool gw_episodes_open(uint32_t config)
{
	return config < GW_CONFIGS_MAX && open[config / 8] >> config % 8 & 1;
}

void gw_episodes_finish(void)
{
	struct gw_slow_event e = {0};

	while (slow && gw_slow_open(slow, e.config, &e))
		write(&e, false);
	e.config = 0;
	while (graphs && gw_slow_open(graphs, e.config, &e))
		write(&e, true);
}
