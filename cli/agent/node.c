#include "cli/agent/node.h"

#include "cli/agent/part.h"
#include "cli/agent/store/work.h"
#include "cli/common/memory.h"
#include "cli/message.h"
#include "cli/spent/spent.h"
#include "predictor/core/hash.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double MOST = 1e12;       /* launches, or seconds, that one interval may add */
static const double HALF_LIFE = 300e9; /* ns, of what counts as recent */
static const uint64_t INTERVAL_MOST_NS = 60000000000; /* of health */
static const double FRESH = 2e9;                      /* ns since clocks and power were sampled */
static const double HOLDS = 10e9; /* ns for which what throttled clocks then still does */
static const uint32_t MOST_MW = 100000000;
static const double CLEARLY = 1.5; /* times more recent GPU time to take another's series */

const double agent_bucket_ns[AGENT_BUCKETS] = {4096, 16384, 65536, 262144, 1048576, 16777216};

struct agent_node *agent_node_new(void)
{
	struct agent_node *n = gw_alloc(sizeof(*n));

	n->proc = "/proc";
	return n;
}

static void gpu_free(struct agent_gpu *g)
{
	health_free(g->health);
	agent_work_free(g->work);
	free(g->kernel);
	free(g);
}

void agent_node_free(struct agent_node *n)
{
	for (size_t i = 0; i < n->gpus; i++)
		gpu_free(n->gpu[i]);
	agent_seen_free(n);
	free(n->pods.row);
	free(n);
}

/* ---- GPUs ---- */

static void name_gpu(const struct gw_live_device *d, uint32_t ordinal, char *uuid, size_t size)
{
	static const unsigned char none[16];
	const unsigned char *u = d->uuid;

	if (d->identity != 1 || !memcmp(u, none, sizeof(none)))
		snprintf(uuid, size, "unknown-%u", ordinal);
	else
		snprintf(uuid, size,
			 "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
			 u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11],
			 u[12], u[13], u[14], u[15]);
}

static void describe_gpu(struct agent_gpu *g, const struct gw_live_device *d, uint32_t ordinal)
{
	g->ordinal = ordinal;
	if (d->identity != 1)
		return;
	snprintf(g->model, sizeof(g->model), "%s", d->name);
	if (d->pci[0] != UINT32_MAX && d->pci[1] != UINT32_MAX && d->pci[2] != UINT32_MAX)
		snprintf(g->pci, sizeof(g->pci), "%08X:%02X:%02X.0", d->pci[0], d->pci[1] & 0xff,
			 d->pci[2] & 0xff);
	g->full_sm_khz = d->full_sm_khz;
}

static struct agent_gpu *gpu_of(struct agent_node *n, const struct gw_live_device *d,
				uint32_t ordinal)
{
	char uuid[sizeof(n->gpu[0]->uuid)];
	struct agent_gpu *g;

	name_gpu(d, ordinal, uuid, sizeof(uuid));
	for (size_t i = 0; i < n->gpus; i++)
		if (!strcmp(n->gpu[i]->uuid, uuid))
			return n->gpu[i];
	if (n->gpus == AGENT_GPUS)
		return NULL;
	g = gw_alloc(sizeof(*g));
	snprintf(g->uuid, sizeof(g->uuid), "%s", uuid);
	g->kernel = gw_alloc(AGENT_KERNELS * sizeof(*g->kernel));
	g->health = health_new();
	g->others = g->power_mw = UINT32_MAX;
	for (int i = 0; i < AGENT_BOUNDS; i++)
		g->ratio[i] = NAN;
	n->gpu[n->gpus++] = g;
	return g;
}

/* ---- kernels ---- */

void agent_kernel_name(char *out, const char *name, uint64_t hash)
{
	enum { KEPT = 120 };
	size_t length = strlen(name);
	char safe[KEPT + 8];

	gw_printable(safe, sizeof(safe), name);
	/* Two that are printed alike stay two, and "other" is the sum of the rest. */
	if (length < KEPT && !strcmp(safe, name) && strcmp(name, "other") != 0) {
		snprintf(out, AGENT_NAME, "%s", safe);
		return;
	}
	length = length < KEPT ? length : KEPT;
	while (length && ((unsigned char)safe[length] & 0xc0) == 0x80)
		length--;
	snprintf(out, AGENT_NAME, "%.*s~%08x", (int)length, safe, (unsigned)hash);
}

/* NULL: none of its places is free. What is forgotten made no series. */
static struct agent_kernel *kernel_of(struct agent_gpu *g, const char *name)
{
	const uint64_t hash = gw_hash(1, name, strlen(name)) | 1;
	struct agent_kernel *least = NULL;

	for (uint64_t i = 0; i < 16; i++) {
		struct agent_kernel *k = &g->kernel[(hash + i) % AGENT_KERNELS];

		if (k->hash == hash)
			return k;
		if (!k->hash) {
			k->hash = hash;
			agent_kernel_name(k->name, name, hash);
			return k;
		}
		if (!k->shown && (!least || k->recent_ns < least->recent_ns))
			least = k;
	}
	if (!least || least->recent_ns > 0)
		return NULL;
	*least = (struct agent_kernel){.hash = hash};
	agent_kernel_name(least->name, name, hash);
	return least;
}

static void add_sum(struct agent_sum *to, const struct agent_sum *from)
{
	to->launches += from->launches;
	to->gpu_ns += from->gpu_ns;
	to->measured += from->measured;
	to->measured_ns += from->measured_ns;
	to->compared_ns += from->compared_ns;
	to->expected_ns += from->expected_ns;
	for (int i = 0; i < AGENT_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
	gw_sketch_merge(&to->time, &from->time);
}

/*
 * A kernel gets series of its own while there are any left, or when it clearly had more time lately
 * than one that has. What it did before stays in the sum of all others, and what the other one did
 * leaves with its series: no sum goes backwards.
 */
static void show(struct agent_gpu *g, struct agent_kernel *k)
{
	struct agent_kernel *least = NULL;
	size_t shown = 0;

	for (size_t i = 0; i < AGENT_KERNELS; i++)
		if (g->kernel[i].shown) {
			shown++;
			if (!least || g->kernel[i].recent_ns < least->recent_ns)
				least = &g->kernel[i];
		}
	if (shown == AGENT_SHOWN) {
		if (k->recent_ns <= CLEARLY * least->recent_ns)
			return;
		least->shown = false;
		least->sum = (struct agent_sum){0};
	}
	k->shown = true;
}

void agent_gpu_launched(struct agent_gpu *g, const char *kernel, unsigned bound,
			const struct agent_sum *d)
{
	struct agent_kernel *k = kernel_of(g, kernel);

	add_sum(&g->bound[bound < AGENT_BOUNDS ? bound : 0], d);
	if (log_communicates(kernel))
		g->communication_ns += d->gpu_ns;
	if (k) {
		k->recent_ns += d->gpu_ns;
		if (!k->shown && d->launches > 0)
			show(g, k);
	}
	add_sum(k && k->shown ? &k->sum : &g->other, d);
}

void agent_gpu_worked_for(struct agent_gpu *g, const struct agent_owner *owner, double gpu_ns,
			  uint64_t now_ns)
{
	struct agent_share *oldest = &g->share[0];

	for (int i = 0; i < AGENT_OWNERS; i++) {
		struct agent_share *s = &g->share[i];

		if (s->used_ns && !memcmp(&s->owner, owner, sizeof(*owner))) {
			s->gpu_ns += gpu_ns;
			s->used_ns = now_ns;
			return;
		}
		if (s->used_ns < oldest->used_ns)
			oldest = s;
	}
	/* One that works now is not pushed out: its series would come and go. */
	if (oldest->used_ns && now_ns - oldest->used_ns < (uint64_t)HALF_LIFE) {
		g->other_owners_ns += gpu_ns;
		return;
	}
	*oldest = (struct agent_share){*owner, now_ns, gpu_ns};
}

bool agent_sum_plausible(const struct agent_sum *d)
{
	const double all[] = {d->launches,          d->gpu_ns / 1e9,      d->measured,
			      d->measured_ns / 1e9, d->compared_ns / 1e9, d->expected_ns / 1e9};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!(all[i] >= 0 && all[i] < MOST))
			return false;
	for (int i = 0; i < AGENT_BUCKETS; i++)
		if (!(d->bucket[i] >= 0 && d->bucket[i] <= d->measured))
			return false;
	return true;
}

/* ---- an interval ---- */

static void take_device(struct agent_node *n, struct agent_seen *s, uint32_t ordinal,
			const struct top_device *d, bool timed, uint64_t now_ns)
{
	/* The wall clock may have been set back: what was sampled before is not the latest. */
	const uint64_t latest = now_ns + (uint64_t)FRESH;

	struct agent_gpu *g = gpu_of(n, &d->now, ordinal);

	s->gpu[ordinal] = g;
	if (g && n->works && !g->work)
		g->work = agent_work_new();
	if (!g) {
		n->refused++;
		return;
	}
	describe_gpu(g, &d->now, ordinal);
	agent_seen_device(n, s, ordinal, &d->now, g, timed);
	if (d->now.clock_ns && (d->now.clock_ns >= g->clock_ns || g->clock_ns > latest) &&
	    (d->now.clock_ns <= latest || !g->clock_ns)) {
		g->clock_ns = d->now.clock_ns;
		g->sm_khz = d->now.sm_khz;
		g->mem_khz = d->now.mem_khz;
		g->reasons = d->now.reasons;
		g->others = d->now.others <= 100 ? d->now.others : UINT32_MAX;
		g->power_mw = d->now.power_mw;
	}
}

static void take_process(struct agent_node *n, const struct top_process *p, uint64_t now_ns)
{
	struct agent_seen *s = agent_seen_of(n, p, now_ns);
	bool runs = p->state != TOP_ENDED;

	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (p->device[i].known)
			take_device(n, s, i, &p->device[i], top_process_timed(p), now_ns);
	for (uint32_t i = 0; runs && i < GW_LIVE_DEVICES; i++)
		if (s->gpu[i])
			s->gpu[i]->processes++;
	agent_seen_counters(n, s, &p->totals, runs);
	agent_seen_configs(n, s, p, now_ns);
	agent_seen_graphs(n, s, p);
	n->processes += runs;
}

/* Clocks are sampled while kernels are launched: what throttled the last of them is no more. */
static void throttled(struct agent_gpu *g, double span_ns, uint64_t now_ns)
{
	static const uint64_t bits[] = {
#define THROTTLE(NAME, name, bits, meaning) bits,
#include "cli/agent/throttle.def"
#undef THROTTLE
	};

	if (now_ns > g->clock_ns && (double)(now_ns - g->clock_ns) > HOLDS)
		return;
	for (int i = 0; i < AGENT_THROTTLES; i++)
		if (g->processes && g->reasons & bits[i])
			g->throttled_ns[i] += span_ns;
}

/*
 * The power of a moment stands for the interval: NVML's own is a mean over as long. Kernels without
 * a prediction count as those that have one.
 */
static void take_energy(struct agent_gpu *g, double span_ns, uint64_t now_ns)
{
	struct agent_sum all = {0}, last = {0};
	double compared, expected;

	if (g->power_mw > MOST_MW || now_ns < g->clock_ns || (double)(now_ns - g->clock_ns) > FRESH)
		return;
	for (int i = 0; i < AGENT_BOUNDS; i++) {
		add_sum(&all, &g->bound[i]);
		add_sum(&last, &g->last[i]);
	}
	compared = all.compared_ns - last.compared_ns;
	expected = all.expected_ns - last.expected_ns;
	if (!(compared > 0) || !(expected > 0)) {
		compared = all.compared_ns;
		expected = all.expected_ns;
	}
	if (!(compared > 0))
		return;
	g->energy_j += g->power_mw / 1e3 * span_ns / 1e9;
	g->energy_expected_ns += (all.gpu_ns - last.gpu_ns) * expected / compared;
}

/*
 * Times of single launches vary by more than a change that health looks for. Where few of them are
 * timed, its intervals are longer, until half of the configurations have enough.
 */
static void end_interval(struct agent_gpu *g, uint64_t now_ns)
{
	const bool waits = now_ns >= g->interval_ns && now_ns - g->interval_ns < INTERVAL_MOST_NS;

	if (g->sampled && 2 * g->enough < g->came && waits)
		return;
	health_tick(g->health, now_ns);
	g->interval++;
	g->interval_ns = now_ns;
	g->sampled = false;
	g->came = g->enough = 0;
}

static void finish_gpu(struct agent_node *n, struct agent_gpu *g, double span_ns, bool tick,
		       uint64_t now_ns)
{
	const double keep = span_ns > 0 ? exp2(-span_ns / HALF_LIFE) : 1;

	if (span_ns > 0 && span_ns < 60e9)
		take_energy(g, span_ns, now_ns);
	for (int i = 0; i < AGENT_BOUNDS; i++) {
		const double measured = g->bound[i].compared_ns - g->last[i].compared_ns;
		const double expected = g->bound[i].expected_ns - g->last[i].expected_ns;

		if (expected > 0)
			g->ratio[i] = measured / expected;
		g->last[i] = g->bound[i];
	}
	for (size_t i = 0; i < AGENT_KERNELS; i++) {
		g->kernel[i].recent_ns *= keep;
		if (g->kernel[i].recent_ns < 1)
			g->kernel[i].recent_ns = 0;
	}
	if (span_ns > 0 && span_ns < 60e9)
		throttled(g, span_ns, now_ns);
	if (tick)
		end_interval(g, now_ns);
	(void)n;
}

/* Of all threads but those with counters of their own, which run ahead of the sum of all: it would
 * go backwards. */
static void take_own_rest(struct agent_node *n)
{
	const double *c = n->counter;

	n->own_rest = fmax(n->own_rest, c[GW_COUNTER_own_cpu_ns] - c[GW_COUNTER_worker_cpu_ns] -
						c[GW_COUNTER_clock_ns] - c[GW_COUNTER_pm_cpu_ns] -
						c[GW_COUNTER_analysis_threads_ns]);
}

void agent_node_add(struct agent_node *n, const struct top_model *m, uint64_t now_ns)
{
	const double span =
		n->decayed_ns && now_ns > n->decayed_ns ? (double)(now_ns - n->decayed_ns) : 0;
	/* The wall clock may have been set. */
	const bool tick = now_ns < n->ticked_ns || now_ns - n->ticked_ns >= health_interval_ns();

	n->processes = 0;
	n->memory = 0;
	for (size_t i = 0; i < n->gpus; i++)
		n->gpu[i]->processes = 0;
	agent_seen_begin(n);
	for (size_t i = 0; i < m->processes; i++)
		take_process(n, m->process[i], now_ns);
	agent_seen_end(n);
	take_own_rest(n);
	for (size_t i = 0; i < n->gpus; i++)
		finish_gpu(n, n->gpu[i], span, tick, now_ns);
	n->decayed_ns = now_ns;
	if (tick)
		n->ticked_ns = now_ns;
}
