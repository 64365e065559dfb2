#include "cli/agent/part.h"

#include "cli/agent/store/work.h"
#include "cli/common/memory.h"
#include "cli/live/file.h"
#include "cli/top/graphs.h"
#include "predictor/core/hash.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double LIMIT = 1e18;           /* ns, or a count: no interval adds as much */
static const uint64_t LOOK_NS = 5000000000; /* between two looks at a process's control group */

static bool possible(double d)
{
	return d >= 0 && d < LIMIT;
}

/* What came since @p before; all of it where it has begun anew. What can't be is 0, and counted. */
static double since(struct agent_node *n, double now, double *before)
{
	const double d = now >= *before ? now - *before : now;

	*before = now;
	if (possible(d))
		return d;
	n->refused++;
	return 0;
}

static void seen_free(struct agent_seen *s)
{
	free(s->id);
	free(s->past);
	free(s->graph);
	free(s);
}

void agent_seen_free(struct agent_node *n)
{
	for (size_t i = 0; i < n->seens; i++)
		seen_free(n->seen[i]);
	free(n->seen);
}

void agent_seen_begin(struct agent_node *n)
{
	for (size_t i = 0; i < n->seens; i++)
		n->seen[i]->touched = false;
}

void agent_seen_end(struct agent_node *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->seens; i++)
		if (n->seen[i]->touched)
			n->seen[kept++] = n->seen[i];
		else
			seen_free(n->seen[i]);
	n->seens = kept;
}

/* Whose it is, and which build. The process may have ended, and its number be another's by now. */
static void describe(const struct agent_node *n, struct agent_seen *s, const struct top_process *p)
{
	/* A process of another PID namespace has a number that is another's here. */
	const char *proc = s->elsewhere ? "/nonexistent" : n->proc;

	agent_owner_of(proc, p->pid, p->exe, &s->owner);
	agent_build_of(proc, p->pid, s->build);
	if (s->elsewhere || agent_owner_runs(proc, p->pid, s->began))
		return;
	agent_owner_of("/nonexistent", p->pid, p->exe, &s->owner);
	s->build[0] = 0;
}

/* A runtime may move a process into its pod's control group after it began. */
static void look_again(const struct agent_node *n, struct agent_seen *s,
		       const struct top_process *p, uint64_t now_ns)
{
	struct agent_owner owner = s->owner;

	/* The wall clock may have been set. */
	if (s->elsewhere || (now_ns >= s->looked_ns && now_ns - s->looked_ns < LOOK_NS))
		return;
	s->looked_ns = now_ns;
	agent_owner_look(n->proc, p->pid, &owner);
	if (agent_owner_runs(n->proc, p->pid, s->began))
		s->owner = owner;
}

struct agent_seen *agent_seen_of(struct agent_node *n, const struct top_process *p, uint64_t now_ns)
{
	struct agent_seen *s;

	for (size_t i = 0; i < n->seens; i++)
		if (!strcmp(n->seen[i]->id, p->id)) {
			n->seen[i]->touched = true;
			look_again(n, n->seen[i], p, now_ns);
			return n->seen[i];
		}
	s = gw_alloc(sizeof(*s));
	s->id = gw_copy(p->id);
	s->touched = true;
	s->elsewhere = p->state == TOP_ELSEWHERE;
	s->began = gw_live_began(p->id);
	s->looked_ns = now_ns;
	describe(n, s, p);
	GW_GROW(n->seen, &n->seen_room, n->seens + 1);
	n->seen[n->seens++] = s;
	n->processes_begun++;
	return s;
}

/* What a lower SM clock is put down to. */
static enum agent_lost throttled_by(uint64_t reasons)
{
	static const uint64_t bits[AGENT_THROTTLES] = {
#define THROTTLE(NAME, name, bits, meaning) bits,
#include "cli/agent/throttle.def"
#undef THROTTLE
	};

	if (reasons & bits[AGENT_THROTTLE_THERMAL])
		return AGENT_LOST_THERMAL;
	return reasons & bits[AGENT_THROTTLE_POWER] ? AGENT_LOST_POWER : AGENT_LOST_CLOCK;
}

static enum agent_lost lost_to(enum gw_slow_cause cause, uint64_t reasons)
{
	switch (cause) {
	case GW_SLOW_CLOCK:
		return throttled_by(reasons);
	case GW_SLOW_CACHE:
	case GW_SLOW_MEMORY_CLOCK:
		return AGENT_LOST_MEMORY;
	case GW_SLOW_CONTENTION:
	case GW_SLOW_COPIES:
	case GW_SLOW_OTHER_WORK:
		return AGENT_LOST_CONTENTION;
	case GW_SLOW_UNKNOWN:
	default:
		return AGENT_LOST_UNKNOWN;
	}
}

static bool starved(enum gw_idle_cause cause)
{
	return cause == GW_IDLE_AFTER_WAIT || cause == GW_IDLE_LAUNCH_BOUND ||
	       cause == GW_IDLE_LATENCY || cause == GW_IDLE_HOST || cause == GW_IDLE_INPUT;
}

/* What idle time was lost to; AGENT_LOSSES: it was not. A launch that was called and waits for the
 * GPU, where another process is at work there, waits for that one's turn to end. */
static enum agent_lost idle_lost_to(enum gw_idle_cause cause, const struct gw_live_device *now)
{
	const bool beside = now->clock_ns && now->others >= AGENT_AT_WORK && now->others <= 100;

	if (beside && (cause == GW_IDLE_LATENCY || cause == GW_IDLE_QUEUED))
		return AGENT_LOST_CONTENTION;
	return starved(cause) ? AGENT_LOST_STARVATION : AGENT_LOSSES;
}

/* Where not all kernels are timed, what lies between two of those that are is not idle time. */
void agent_seen_device(struct agent_node *n, struct agent_seen *s, uint32_t ordinal,
		       const struct gw_live_device *now, struct agent_gpu *g, bool timed)
{
	const double busy = since(n, (double)now->busy_ns, &s->device[ordinal].busy_ns);

	g->timed |= timed;
	g->busy_ns += timed ? busy : 0;
	for (int i = 0; i < GW_IDLE_CAUSES; i++) {
		const double idle =
			since(n, (double)now->idle_ns[i], &s->device[ordinal].idle_ns[i]);
		const enum agent_lost to = idle_lost_to((enum gw_idle_cause)i, now);

		g->idle_ns[i] += timed ? idle : 0;
		if (timed && to < AGENT_LOSSES)
			g->lost_ns[to] += idle;
	}
	for (int i = 0; i < AGENT_SLOW; i++)
		g->lost_ns[lost_to((enum gw_slow_cause)i, now->reasons)] +=
			since(n, (double)now->lost_ns[i], &s->device[ordinal].lost_ns[i]);
}

void agent_seen_counters(struct agent_node *n, struct agent_seen *s,
			 const struct gw_live_totals *now, bool runs)
{
	for (uint32_t i = 0; now->ns && i < now->counters && i < GW_COUNTERS; i++) {
		const uint64_t value = now->counter[i];
		const uint64_t d = value >= s->counter[i] ? value - s->counter[i] : value;

		s->counter[i] = value;
		if (possible((double)d))
			n->counter[i] += (double)d;
		else
			n->refused++;
	}
	if (runs && now->ns && now->counters > GW_COUNTER_memory &&
	    possible((double)now->counter[GW_COUNTER_memory]))
		n->memory += (double)now->counter[GW_COUNTER_memory];
}

/* ---- configurations ---- */

/* Values of a sketch up to each end, which no bucket straddles. */
static void buckets_of(const struct gw_sketch *s, double out[AGENT_BUCKETS])
{
	double below = (double)s->zero;
	int at = 0;

	for (int i = 0; i < AGENT_BUCKETS; i++) {
		while (at < GW_SKETCH_BUCKETS &&
		       gw_sketch_bound(s->schema, s->first + at) <= agent_bucket_ns[i] * (1 + 1e-9))
			below += (double)s->bucket[at++];
		out[i] = below;
	}
}

/* Launches in the buckets of a sketch. */
static double in_buckets(const struct gw_sketch *s)
{
	double all = (double)s->zero;

	for (int i = 0; i < GW_SKETCH_BUCKETS; i++)
		all += (double)s->bucket[i];
	return all;
}

static void times_of(struct agent_node *n, const struct gw_sketch *now, struct agent_past *past,
		     struct agent_sum *d)
{
	if (gw_sketch_valid(now))
		gw_sketch_since(now, &past->sum.time, &d->time);
	if (gw_sketch_valid(now) && in_buckets(&d->time) <= d->measured && possible(d->time.sum)) {
		past->sum.time = *now;
		return;
	}
	d->time = past->sum.time = (struct gw_sketch){0};
	n->refused++;
}

static uint64_t key_of(const struct gw_live_config *c, const char *kernel)
{
	const uint32_t parts[] = {c->grid[0],    c->grid[1],  c->grid[2],    c->block[0],
				  c->block[1],   c->block[2], c->cluster[0], c->cluster[1],
				  c->cluster[2], c->shared,   c->digest};

	return gw_hash(gw_hash(1, kernel, strlen(kernel)), parts, sizeof(parts)) | 1;
}

static void count_judged(struct agent_gpu *g, struct agent_past *past, double launches)
{
	const double before = past->interval == g->interval ? past->judged : 0;

	past->interval = g->interval;
	past->judged = before + launches;
	g->came += before == 0;
	g->enough += before < AGENT_ENOUGH && past->judged >= AGENT_ENOUGH;
}

static void judge(struct agent_gpu *g, const struct gw_live_config *c, const char *kernel,
		  struct agent_past *past, const struct agent_sum *d, uint64_t now_ns)
{
	static const enum health_resource of[AGENT_BOUNDS] = {
		HEALTH_OTHER, HEALTH_MEMORY, HEALTH_COMPUTE, HEALTH_LATENCY, HEALTH_LATENCY};
	struct health_sample s = {.kernel = kernel,
				  .resource = of[c->bound < AGENT_BOUNDS ? c->bound : 0],
				  .launches = d->measured,
				  .sm_khz = g->sm_khz ? (double)g->sm_khz : NAN};

	if (!(d->measured > 0) || !(d->measured_ns > 0))
		return;
	/* What a process launches first finds caches cold and code not loaded. */
	if (!past->first_ns)
		past->first_ns = now_ns;
	if (now_ns - past->first_ns < health_interval_ns())
		return;
	s.key = past->key;
	s.mean_ns = d->measured_ns / d->measured;
	health_add(g->health, &s);
	count_judged(g, past, d->measured);
}

/* For the table of hours. */
static void keep(struct agent_gpu *g, const struct agent_seen *s, const struct gw_live_config *c,
		 const char *kernel, uint64_t key, const struct agent_sum *d)
{
	struct hours_work row = {.shape = key >> 1 ? key >> 1 : 1,
				 .bound = c->bound < AGENT_BOUNDS ? c->bound : 0};

	if (!g->work)
		return;
	snprintf(row.program, sizeof(row.program), "%s", s->owner.program);
	snprintf(row.build, sizeof(row.build), "%s", s->build);
	agent_kernel_name(row.kernel, kernel, gw_hash(1, kernel, strlen(kernel)) | 1);
	agent_work_add(g->work, &row, d, 1e3 * g->sm_khz);
}

/* Of launches with a prediction: time by the mean of all, and what they were predicted to take. */
static void compare(struct agent_sum *d, double compared, double ratio)
{
	if (!(compared > 0) || !(ratio > 0) || !(d->measured > 0))
		return;
	d->compared_ns = d->measured_ns / d->measured * compared;
	d->expected_ns = d->compared_ns / ratio * compared;
}

static void delta_of(struct agent_node *n, const struct gw_live_config *c, struct agent_past *past,
		     bool timed, struct agent_sum *d)
{
	double bucket[AGENT_BUCKETS], all = 0;

	*d = (struct agent_sum){0};
	d->launches = since(n, (double)c->launches, &past->sum.launches);
	d->measured = since(n, (double)c->time.count, &past->sum.measured);
	d->measured_ns = since(n, c->time.sum, &past->sum.measured_ns);
	times_of(n, &c->time, past, d);
	buckets_of(&c->time, bucket);
	for (int i = 0; i < AGENT_BUCKETS; i++) {
		d->bucket[i] = since(n, bucket[i], &past->sum.bucket[i]);
		all = d->bucket[i] = d->bucket[i] < all ? all : d->bucket[i];
		d->bucket[i] = d->bucket[i] > d->measured ? d->measured : d->bucket[i];
	}
	{
		const double compared = since(n, (double)c->ratio.count, &past->compared);

		compare(d, compared, since(n, c->ratio.sum, &past->ratio));
	}
	d->gpu_ns = d->measured_ns;
	if (!timed && d->launches > 0)
		d->gpu_ns = d->launches * (d->measured > 0 ? d->measured_ns / d->measured
					   : c->time.count ? c->time.sum / (double)c->time.count
							   : 0);
}

/* The GPU's pod is that of a process in a pod, or in a container that can't be looked into; a
 * process of the node itself may use a GPU that a pod has. */
static struct agent_owner owner_of(const struct agent_node *n, const struct agent_seen *s,
				   const struct agent_gpu *g)
{
	struct agent_owner o = s->owner;
	const struct agent_pod *pod =
		*o.pod_uid || s->elsewhere ? agent_pod_of(&n->pods, g->uuid) : NULL;

	if (!pod || (*o.pod && strcmp(o.pod, pod->pod) != 0))
		return o;
	memcpy(o.namespace, pod->namespace, sizeof(o.namespace));
	memcpy(o.pod, pod->pod, sizeof(o.pod));
	memcpy(o.container, pod->container, sizeof(o.container));
	return o;
}

void agent_seen_configs(struct agent_node *n, struct agent_seen *s, const struct top_process *p,
			uint64_t now_ns)
{
	double worked[GW_LIVE_DEVICES] = {0};

	GW_GROW(s->past, &s->past_room, p->configs + 1);
	for (size_t i = 0; i < p->configs; i++) {
		const struct gw_live_config *c = &p->config[i];
		struct agent_past *past = &s->past[i];
		struct agent_gpu *g;
		struct agent_sum d;
		const char *name;

		if (!c->id || c->device - 1 >= GW_LIVE_DEVICES || !(g = s->gpu[c->device - 1]))
			continue;
		if ((double)c->launches == past->sum.launches &&
		    (double)c->time.count == past->sum.measured)
			continue;
		name = p->row[p->brief[i].row]->plain;
		delta_of(n, c, past, top_process_timed(p), &d);
		if (!agent_sum_plausible(&d)) {
			n->refused++;
			continue;
		}
		if (!past->key)
			past->key = key_of(c, name);
		agent_gpu_launched(g, name, c->bound, &d);
		keep(g, s, c, name, past->key, &d);
		worked[c->device - 1] += d.gpu_ns;
		g->sampled |= !top_process_timed(p);
		judge(g, c, name, past, &d, now_ns);
	}
	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (worked[i] > 0) {
			const struct agent_owner o = owner_of(n, s, s->gpu[i]);

			agent_gpu_worked_for(s->gpu[i], &o, worked[i], now_ns);
		}
}

/* ---- graphs that are timed whole ---- */

static struct agent_graph *graph_of(struct agent_gpu *g, const char *program, uint32_t graph)
{
	for (int i = 0; i < AGENT_GRAPHS; i++) {
		struct agent_graph *to = &g->graph[i];

		if (to->graph == graph && !strcmp(to->program, program))
			return to;
		if (to->graph)
			continue;
		to->graph = graph;
		snprintf(to->program, sizeof(to->program), "%s", program);
		return to;
	}
	return &g->graph[AGENT_GRAPHS];
}

/* What came since the snapshot before; false where no process can have done it. */
static bool graph_since(const struct gw_live_graph_time *now, struct gw_live_graph_time *before,
			struct agent_graph *d)
{
	const struct top_graph both = {.now = *now, .before = *before};
	const double ns = top_graph_time(&both);
	const bool rises = now->launches >= before->launches && now->timed >= before->timed &&
			   now->total_ns >= before->total_ns &&
			   now->scored_ns >= before->scored_ns &&
			   now->predicted_ns >= before->predicted_ns;

	*d = (struct agent_graph){.launches = (double)(now->launches - before->launches),
				  .gpu_ns = isnan(ns) ? 0 : ns,
				  .compared_ns = (double)(now->scored_ns - before->scored_ns),
				  .expected_ns =
					  (double)(now->predicted_ns - before->predicted_ns)};
	*before = *now;
	return rises && d->launches < LIMIT && d->gpu_ns < LIMIT && d->compared_ns < LIMIT &&
	       d->expected_ns < LIMIT;
}

void agent_seen_graphs(struct agent_node *n, struct agent_seen *s, const struct top_process *p)
{
	if (p->graphs)
		GW_GROW(s->graph, &s->graph_room, p->graphs);
	for (size_t i = 0; i < p->graphs; i++) {
		const struct gw_live_graph_time *now = &p->graph[i].now;
		struct agent_graph *to, d;
		struct agent_gpu *g;

		if (!now->graph || now->device - 1 >= GW_LIVE_DEVICES ||
		    !(g = s->gpu[now->device - 1]) || now->sequence == s->graph[i].sequence)
			continue;
		if (!graph_since(now, &s->graph[i], &d)) {
			n->refused++;
			continue;
		}
		to = graph_of(g, s->owner.program, now->graph);
		to->launches += d.launches;
		to->gpu_ns += d.gpu_ns;
		to->compared_ns += d.compared_ns;
		to->expected_ns += d.expected_ns;
	}
}
