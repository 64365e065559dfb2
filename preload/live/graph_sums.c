#include "preload/live/graph_sums.h"

#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/devices.h"
#include "preload/maps/idmap.h"
#include "preload/maps/memory.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/options.h"

#include <math.h>
#include <string.h>

enum {
	SUMS = 1024,   /* graphs summed apart in a span; place 0 has all others */
	WAITING = 256, /* launches whose pair has not been read; then the oldest is given up */
};

struct sum {
	struct gw_record_graph record;
	double squares, bound_ns[GW_BOUND_LAUNCH + 1]; /* a float would stop growing */
};

/* A launch that waits for its time. */
struct waiting {
	uint32_t serial, ticket; /* 0: none */
	bool scored;
	double expected_ns;
	struct gw_graph_time time;
};

static struct sum *sums; /* NULL: none yet, or no memory */
static uint32_t count;
static struct gw_idmap map; /* graph -> place */
static struct waiting waiting[WAITING];
static uint32_t next_waiting, are_waiting;
static uint64_t begin_ns; /* of the span, by the wall clock */
static bool timed_any;    /* some graph was timed in this process */

void gw_graph_run_kernel(struct gw_graph_run *run, double ns, enum gw_bound bound)
{
	run->kernels++;
	if (!isfinite(ns))
		return;
	run->known++;
	run->expected_ns += ns;
	run->bound_ns[bound <= GW_BOUND_LAUNCH ? bound : GW_BOUND_UNKNOWN] += ns;
}

void gw_graph_sums_start(void)
{
	/* A forked child begins with the parent's: left behind. */
	sums = NULL;
	count = 0;
	map = (struct gw_idmap){.use = GW_MEMORY_log};
	memset(waiting, 0, sizeof(waiting));
	next_waiting = are_waiting = 0;
	begin_ns = 0;
	timed_any = false;
}

static struct sum *add_sum(uint32_t graph)
{
	sums[count] = (struct sum){.record = {.graph = graph, .min_ns = UINT64_MAX}};
	return &sums[count++];
}

/* NULL: no memory for any. */
static struct sum *sum_of(uint32_t graph)
{
	const uint64_t key = gw_idmap_key(graph, 13);
	uint32_t at = gw_idmap_get(&map, key);

	if (at)
		return &sums[at];
	if (!sums)
		sums = gw_memory_new(GW_MEMORY_log, SUMS, sizeof(*sums));
	if (!sums)
		return NULL;
	if (!count) {
		begin_ns = gw_wall_ns();
		add_sum(0);
	}
	if (count == SUMS || !gw_idmap_put(&map, key, count))
		return sums;
	return add_sum(graph);
}

static double follows(const struct gw_graph_run *run)
{
	return run->expected_ns > 0 ? 1 - run->bound_ns[GW_BOUND_MEMORY] / run->expected_ns : 1;
}

static void wait_for(const struct gw_graph_run *run, uint32_t serial, uint32_t ticket)
{
	struct waiting *w = &waiting[next_waiting++ % WAITING];

	are_waiting += !w->ticket;
	*w = (struct waiting){.serial = serial,
			      .ticket = ticket,
			      .time = {.graph = run->graph,
				       .device = run->device,
				       .call_ns = run->call_ns,
				       .follows = follows(run)},
			      .scored = run->known == run->kernels && !run->unlisted &&
					run->expected_ns > 0,
			      .expected_ns = run->expected_ns};
}

void gw_graph_sums_launched(const struct gw_graph_run *run, uint32_t serial, uint32_t ticket)
{
	struct sum *sum = sum_of(run->graph);
	struct gw_record_graph *r;

	if (ticket)
		wait_for(run, serial, ticket);
	gw_live_graph_launched(run);
	if (!sum)
		return;
	r = &sum->record;
	r->launches++;
	r->expected_ns += (uint64_t)(run->expected_ns + 0.5);
	for (int i = 0; i <= GW_BOUND_LAUNCH; i++)
		sum->bound_ns[i] += run->bound_ns[i];
	r->unlisted |= run->unlisted;
	if (!r->graph)
		return;
	r->kernels = run->kernels;
	r->known_kernels = run->known;
	r->device = gw_device_id(run->device);
}

static void add_time(const struct waiting *w, uint64_t ns)
{
	struct sum *sum = sum_of(w->time.graph);
	struct gw_record_graph *r;

	if (!sum)
		return;
	r = &sum->record;
	r->timed++;
	r->total_ns += ns;
	r->min_ns = ns < r->min_ns ? ns : r->min_ns;
	r->max_ns = ns > r->max_ns ? ns : r->max_ns;
	sum->squares += (double)ns * (double)ns;
	if (!w->scored)
		return;
	r->scored++;
	gw_bump(&gw_counters[GW_COUNTER_sampled_graphs_ns], ns);
	gw_bump(&gw_counters[GW_COUNTER_sampled_graphs_predicted_ns],
		(uint64_t)(w->expected_ns + 0.5));
	r->scored_ns += ns;
	r->predicted_ns += (uint64_t)(w->expected_ns + 0.5);
}

bool gw_graph_sums_timed(uint32_t serial, uint32_t ticket, double seconds,
			 struct gw_graph_time *time)
{
	time->graph = 0;
	for (uint32_t i = 0; are_waiting && i < WAITING; i++) {
		struct waiting *w = &waiting[i];

		if (w->ticket != ticket || w->serial != serial)
			continue;
		if (seconds > 0) {
			const uint64_t ns = (uint64_t)(seconds * 1e9 + 0.5);

			timed_any = true;
			gw_count(GW_COUNTER_graphs_timed, 1);
			add_time(w, ns);
			gw_live_graph_timed(w->time.graph, ns, w->scored ? w->expected_ns : NAN);
			*time = w->time;
			time->seconds = seconds;
		}
		w->ticket = 0;
		are_waiting--;
		return true;
	}
	return false;
}

static void write(struct sum *sum)
{
	struct gw_record_graph *r = &sum->record;

	if (!r->launches && !r->timed)
		return;
	r->start_ns = begin_ns;
	r->end_ns = gw_wall_ns();
	if (!r->timed)
		r->min_ns = 0;
	r->squares = (float)sum->squares;
	r->memory_ns = (float)sum->bound_ns[GW_BOUND_MEMORY];
	r->compute_ns = (float)sum->bound_ns[GW_BOUND_COMPUTE];
	r->latency_ns = (float)sum->bound_ns[GW_BOUND_LATENCY];
	r->launch_ns = (float)sum->bound_ns[GW_BOUND_LAUNCH];
	gw_log_write(GW_RECORD_GRAPH, r, sizeof(*r), NULL, 0);
}

void gw_graph_sums_write(void)
{
	for (uint32_t i = 0; i < count && (timed_any || gw_options_watch()); i++)
		write(&sums[i]);
	count = 0;
	gw_idmap_clear(&map);
}
