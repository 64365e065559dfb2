#include "preload/worker/launches.h"

#include "preload/live/aggregate.h"
#include "preload/worker/parts.h"
#include "preload/cupti/attach.h"
#include "preload/live/expected.h"
#include "preload/worker/host_time.h"
#include "preload/launch/arguments.h"
#include "preload/runtime/clock.h"
#include "preload/counters/counter_attribution.h"
#include "preload/worker/slow_episodes.h"
#include "preload/counters/gpu_clock.h"
#include "preload/join/join.h"
#include "preload/join/unpaired.h"
#include "preload/live/graph_sums.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/counters/pm.h"
#include "preload/cupti/window_cost.h"
#include "preload/analysis/analyze.h"
#include "preload/worker/registry.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/process.h"

#include <math.h>
#include <string.h>

static struct gw_predictor_set *fleet;
static struct gw_score score;
static uint32_t paired; /* configuration of the launch that an event pair was joined to */

static void joined(struct gw_record_launch *r, const struct gw_activity *a, double seconds);
static void unmatched(struct gw_record_launch *r);
GW_COLD static void orphan(const struct gw_activity *a);
static void queue_full(void);

bool gw_launches_start(void)
{
	static const struct gw_join_sink sink = {joined, unmatched, orphan, queue_full};

	gw_join_start(&sink);
	memset(&score, 0, sizeof(score));
	gw_beside_start();
	gw_configure_start();
	gw_launch_read_start();
	gw_launch_graph_start();
	gw_unpaired_start();
	gw_graph_sums_start();
	fleet = gw_predictor_set_new(GW_CONFIGS_MAX - 1);
	return fleet != NULL;
}

struct gw_predictor_set *gw_launches_predictors(void)
{
	return fleet;
}

const struct gw_score *gw_launches_score(void)
{
	return &score;
}

/* Times by a clock that was set back since are no times of the log's: they are ahead of it. */
static void forget_times_ahead(struct gw_record_launch *r)
{
	if (gw_clock_ahead(r->call_ns))
		r->call_ns = 0;
	if (gw_clock_ahead(r->start_ns))
		r->start_ns = 0;
}

/* A launch as it goes to the log: in mode watch a sample by itself, the others in sums; else
 * records until the log is full, then sums. */
static void write(struct gw_record_launch *r)
{
	const uint32_t entry = gw_live_entry(r);

	gw_live_untimed(r);
	if (gw_options_sum() && !gw_sample_takes(r) && gw_log_is_open()) {
		gw_aggregate_add(r);
		return;
	}
	if (gw_log_sums()) {
		gw_degrade(GW_DEGRADED_LOG_FULL,
			   "the log has reached GPUWATCH_LOG_MAX (%llu bytes): from there on it "
			   "holds sums",
			   (unsigned long long)gw_options.log_max);
		gw_aggregate_add(r);
		return;
	}
	gw_stream_leave_out(r);
	gw_log_write(GW_RECORD_LAUNCH, r, sizeof(*r), NULL, 0);
	if (gw_log_is_open())
		gw_live_logged(entry, gw_log_block());
	else
		gw_live_dropped(entry);
}

/* An event has 32 bits of the number of observations that were known at its call. */
static uint64_t known_at(uint32_t known)
{
	uint64_t now = gw_predictor_set_observations(fleet);

	return now - (uint32_t)((uint32_t)now - known);
}

/*
 * From what was known at the call, which the predictor still has. For a graph's kernels the launch
 * notes no more than how many observations stood published, whatever their number: what was made
 * with these (gw_publish_predictions() sets gw_hot.known last) was made before the call.
 */
enum gw_bound gw_launch_predict(struct gw_record_launch *r)
{
	struct gw_prediction p;
	bool before;

	gw_predictor_set_predict(fleet, r->config, known_at(r->known), &p);
	r->predicted = (float)(p.seconds * 1e9);
	r->low = (float)(p.low * 1e9);
	r->high = (float)(p.high * 1e9);
	if (!isfinite(p.seconds))
		return p.bound;
	r->known = (uint32_t)p.known;
	r->tier = (uint8_t)p.tier;
	r->work = (uint8_t)p.work;
	before = p.published && r->flags & GW_LAUNCH_GRAPH;
	r->flags |= (before ? 0 : GW_LAUNCH_LATE) | (p.multimodal ? GW_LAUNCH_MULTIMODAL : 0);
	return p.bound;
}

static void predict_from_call(struct gw_record_launch *r)
{
	gw_launch_predict(r);
	if (isfinite(r->predicted))
		gw_bump(&gw_counters[r->flags & GW_LAUNCH_LATE ? GW_COUNTER_predicted_late
							       : GW_COUNTER_predicted],
			1);
}

/* Predicted by other shapes of its kernel, perhaps before its code was analysed: anew, with what is
 * known of its work by now. What stood published before the call stays. */
static void predict_again(struct gw_record_launch *r)
{
	const struct gw_record_launch before = *r;

	if (!(r->flags & GW_LAUNCH_LATE) || r->tier != GW_TIER_WARM)
		return;
	gw_launch_predict(r);
	if (!isfinite(r->predicted))
		*r = before;
}

static struct gw_config_entry *pair_of(uint32_t config)
{
	return gw_config_entry(gw_config_entry(config)->pair);
}

static void write_unpaired(struct gw_record_launch *r)
{
	if (gw_unpaired_launch(r->config, (r->flags & GW_LAUNCH_GRAPH) != 0)) {
		write(r);
		return;
	}
	/* the log has it, as a record without a launch */
	gw_count(GW_COUNTER_launches_by_record, 1);
	gw_live_met_lone(r, r->config ? gw_config_entry(r->config)->pair : 0,
			 pair_of(r->config)->lone_block);
}

uint32_t gw_launch_ticket(const struct gw_thread *t)
{
	return gw_event_ticket(atomic_load_explicit(&t->tail, memory_order_relaxed));
}

void gw_launch_hand_over(struct gw_thread *t, const struct gw_event *e, struct gw_record_launch *r,
			 uint32_t graph, uint32_t number)
{
	const struct gw_stream_slot *s = &gw_hot.shared->stream_slots[e->stream];
	bool correlated = (e->flags & GW_EVENT_CORRELATED) != 0;
	bool multi = gw_event_kind(e) == GW_EVENT_MULTI;
	bool covered = gw_activity_covers(e->ticks, correlated || (multi && gw_injection_active()));
	uint32_t device = gw_config_entry(r->config)->device;

	covered = covered && (device || !gw_activity_by_device()); /* a record to meet */
	/* Without a configuration it fits no record; its own is left out in its place. */
	if (covered && !(e->flags & GW_EVENT_TIMED) &&
	    (!r->config ||
	     gw_unpaired_late(r->config, (r->flags & GW_LAUNCH_GRAPH) != 0, r->call_ns)))
		write_unpaired(r);
	else if (covered && gw_activity_by_device() && !(e->flags & GW_EVENT_TIMED))
		gw_join_wait(GW_JOIN_STREAM, gw_join_multi_key(device - 1), 0, r);
	else if (multi && covered && gw_launch_device(e))
		gw_join_wait(GW_JOIN_STREAM, gw_join_multi_key(gw_launch_device(e) - 1), 0, r);
	else if (correlated && covered)
		gw_join_wait(GW_JOIN_CORRELATION, gw_join_correlation_key(e->config), e->config, r);
	else if (e->flags & GW_EVENT_TIMED)
		gw_join_wait(GW_JOIN_TICKET, t->serial, gw_launch_ticket(t), r);
	else if (graph && covered)
		gw_join_wait(GW_JOIN_GRAPH, graph, number, r);
	else if (gw_event_kind(e) == GW_EVENT_KERNEL && covered && e->stream && s->cupti_stream)
		gw_join_wait(GW_JOIN_STREAM, gw_join_stream_key(s->cupti_context, s->cupti_stream),
			     0, r);
	else if (covered)
		write_unpaired(r);
	else
		write(r);
}

/* A launch uses a GPU: discovered now if it is new, its clock and its counters are of interest. */
static void use_device(const struct gw_event *e)
{
	int device;

	if (!e->stream)
		return;
	device = gw_hot.shared->stream_slots[e->stream].device;
	gw_device_meet(device);
	gw_gpu_clock_used(device);
	gw_pm_launched(device);
}

struct gw_record_launch gw_launch_record(struct gw_thread *t, const struct gw_event *e)
{
	return (struct gw_record_launch){
		.stream = gw_intern_stream(e->stream),
		.flags = e->flags & GW_EVENT_CALL_OPEN ? GW_LAUNCH_CALL_OPEN : 0,
		.thread = (uint16_t)gw_intern_thread(t),
		.known = e->known,
		.call_ns = gw_clock_ns(e->ticks),
		.predicted = NAN,
		.low = NAN,
		.high = NAN,
	};
}

static void kernel_event(struct gw_thread *t, struct gw_event *e)
{
	const uint32_t likely = gw_launch_likely_config(e);
	struct gw_record_launch r;
	bool read;

	gw_launch_read(e, likely);
	r = gw_launch_record(t, e);
	r.config = gw_launch_config(e, likely, &read);
	gw_configure_new(fleet);
	if (!r.config || (!e->stream && !(e->flags & GW_EVENT_LATE)))
		gw_count(GW_COUNTER_table_full, 1);
	if (e->flags & GW_EVENT_ARGUMENTS)
		gw_arguments_arrived(t, r.config);
	gw_analysis_launched(r.config);
	if (e->flags & GW_EVENT_COOPERATIVE)
		r.flags |= GW_LAUNCH_COOPERATIVE;
	if (read && isfinite(e->predicted)) {
		r.predicted = e->predicted;
		r.low = e->low;
		r.high = e->high;
		r.tier = gw_event_tier(e);
		r.work = gw_event_work(e);
		if (e->flags & GW_EVENT_MULTIMODAL)
			r.flags |= GW_LAUNCH_MULTIMODAL;
		gw_bump(&gw_counters[GW_COUNTER_predicted], 1);
	} else {
		predict_from_call(&r);
	}
	gw_expect(&r);
	if (r.config)
		gw_config_launched(r.config, 1);
	gw_live_launched(r.config, 1);
	gw_window_cost_launch(0);
	gw_live_enter(&r, t, e, 0);
	gw_launch_hand_over(t, e, &r, 0, 0);
}

uint32_t gw_launches_config(uint32_t kernel, uint32_t device, const struct gw_config *config)
{
	uint32_t id;

	gw_device_meet((int)device - 1);
	id = gw_intern_config(kernel, device, config);
	gw_configure_new(fleet);
	return id;
}

static void time_event(const struct gw_thread *t, const struct gw_event *e)
{
	const double seconds = gw_events_seconds(e);
	struct gw_graph_time time;

	paired = 0;
	if (!gw_graph_sums_timed(t->serial, e->known, seconds, &time))
		gw_join_ticket(t->serial, e->known, seconds);
	else if (time.graph) {
		paired = GW_COUNTED_GRAPH | time.graph;
		gw_episodes_graph(&time);
	}
	gw_counter_attribution_timed(t->serial, paired, e);
}

void gw_launches_clock_set(int64_t by)
{
	gw_live_clock_set();
	gw_beside_clock_set(by);
}

/*
 * A launch that was in the driver while its stream or graph ended, and until the slot had gone to
 * another, names what it did not go to.
 */
static struct gw_event checked(const struct gw_event *event)
{
	const struct gw_shared *s = gw_hot.shared;
	struct gw_event e = *event;
	bool late = gw_slot_stale(&s->streams_free, e.stream, e.ticks);

	if (gw_event_kind(&e) == GW_EVENT_TIME || gw_event_kind(&e) >= GW_EVENT_WAIT)
		return e;
	if (late)
		e.stream = 0;
	if (gw_event_kind(&e) == GW_EVENT_GRAPH &&
	    gw_slot_stale(&s->graphs_free, e.kernel, e.ticks)) {
		late = true;
		e.kernel = 0;
	}
	if (late)
		gw_count(GW_COUNTER_slots_late, 1);
	e.flags = (uint8_t)(late ? e.flags | GW_EVENT_LATE : e.flags & ~GW_EVENT_LATE);
	return e;
}

void gw_launch_event(struct gw_thread *t, const struct gw_event *event)
{
	struct gw_event now = checked(event), *e = &now;

	if (t->timed_serial != t->serial) {
		gw_join_thread_gone(t->timed_serial); /* its events have another owner by now */
		t->timed_serial = t->serial;
	}
	gw_counter_attribution_launched(t->serial, gw_launch_ticket(t), e);
	if (gw_event_kind(e) == GW_EVENT_KERNEL || gw_event_kind(e) == GW_EVENT_MULTI) {
		use_device(e);
		kernel_event(t, e);
	} else if (gw_event_kind(e) == GW_EVENT_GRAPH) {
		use_device(e);
		gw_launch_graph(t, e, fleet);
	} else if (gw_event_kind(e) == GW_EVENT_TIME)
		time_event(t, e);
	else if (gw_event_kind(e) == GW_EVENT_WAIT)
		gw_wait_event(t, e);
	else if (gw_event_kind(e) == GW_EVENT_RANGE)
		gw_range_event(t, e);
	else if (gw_event_kind(e) == GW_EVENT_COLLECTIVE)
		gw_collective_event(t, e);
}

static void kernel_ran(const struct gw_activity *a)
{
	gw_beside_kernel_ran(a);
	gw_join_record(a);
}

static void copy_ran(const struct gw_copy *copy)
{
	gw_beside_copy_ran(copy);
	gw_copy_ran(copy);
}

void gw_launches_take_records(void)
{
	static const struct gw_activity_sink sink = {kernel_ran, copy_ran};

	gw_activity_take(&sink);
}

void gw_launches_measured(bool last)
{
	gw_join_batch(last);
}

/* Called while the rings are drained: learns now, and publishes only once they are empty. */
static void queue_full(void)
{
	gw_launches_take_records();
	gw_join_batch(false);
}

/* What is known of the GPU's clocks while a launch ran. */
static struct gw_clock_state clock_of(const struct gw_record_launch *r)
{
	uint64_t start = r->start_ns ? r->start_ns : r->call_ns;
	struct gw_clock_state s;

	gw_gpu_clock_at(gw_stream_device(r->stream), start, start + r->duration_ns, &s);
	return s;
}

/* Uses only the record and earlier ones, so that a replay of the log is exact to the bit. */
static void learn(struct gw_record_launch *r, bool copies)
{
	const double seconds = (double)r->duration_ns * 1e-9;
	struct gw_clock_state clock = clock_of(r);
	struct gw_observation o = {
		.seconds = seconds,
		.exclusive = !(r->flags & GW_LAUNCH_OVERLAPPED),
		.predicted = (double)r->predicted * 1e-9,
		.low = (double)r->low * 1e-9,
		.high = (double)r->high * 1e-9,
		.tier = r->tier,
		.work = r->work,
		.sm_hz = clock.sm_hz,
	};

	gw_episodes_launch(r, &clock, copies);
	score.measured++;
	gw_expect_measured(r);
	if (isfinite(o.predicted)) {
		double error = fabs(o.predicted - seconds) / seconds;

		score.predicted++;
		score.within_10 += error <= 0.10;
		score.within_25 += error <= 0.25;
		score.covered += seconds >= o.low && seconds <= o.high;
	}
	if (r->config && gw_predictor_set_observe(fleet, r->config, &o)) {
		r->flags |= GW_LAUNCH_LEARNT;
		gw_bump(&gw_counters[GW_COUNTER_observations], 1);
	}
}

static void joined(struct gw_record_launch *r, const struct gw_activity *a, double seconds)
{
	bool valid = !a || (a->start && a->end > a->start);
	struct gw_beside beside = {false, false};

	paired = r->config;
	if (a && gw_activity_overran(a)) {
		gw_count(GW_COUNTER_edge_records, 1);
		write(r);
		return;
	}
	if (!a && !(seconds > 0)) {
		write(r);
		return;
	}
	gw_bump(&gw_counters[a ? GW_COUNTER_joined : GW_COUNTER_events_timed], 1);
	if (!valid) {
		r->flags |= GW_LAUNCH_INVALID;
		gw_count(GW_COUNTER_activity_invalid, 1);
		write(r);
		return;
	}
	/* Its code may have been analysed since the call, from what was known at the call. */
	if (isnan(r->predicted))
		predict_from_call(r);
	else
		predict_again(r);
	r->flags |= GW_LAUNCH_MEASURED;
	if (a) {
		/* A graph's nodes may run on other GPUs than the stream it was launched into. */
		if (r->flags & GW_LAUNCH_GRAPH && gw_stream_device(r->stream) != (int)a->device) {
			gw_device_meet((int)a->device);
			r->stream = gw_intern_stream_of_activity(a);
		}
		r->start_ns = a->start;
		r->duration_ns = a->end - a->start;
		beside = gw_beside_of(a);
		gw_live_ran_for(a->device, a->start, a->end, r);
		r->flags |= beside.kernels ? GW_LAUNCH_OVERLAPPED : 0;
		gw_counter_attribution_kernel(a->device, r->config, a->start, a->end);
	} else {
		r->flags |= GW_LAUNCH_EVENTS;
		r->duration_ns = (uint64_t)(seconds * 1e9 + 0.5);
	}
	forget_times_ahead(r);
	gw_live_measured(r->config, r->duration_ns, (double)r->predicted);
	learn(r, beside.copies);
	if (r->config) {
		struct gw_config_entry *c = gw_config_entry(r->config);

		c->measured++;
		c->total_ns += r->duration_ns;
	}
	write(r);
}

static void unmatched(struct gw_record_launch *r)
{
	gw_count(GW_COUNTER_launches_unmatched, 1);
	if (gw_activity_on())
		write_unpaired(r);
	else
		write(r);
}

/* A kernel that no call of ours launched: by the device, or inside an unlisted graph node. */
static void orphan(const struct gw_activity *a)
{
	struct gw_record_launch r;

	gw_device_meet((int)a->device);
	r = (struct gw_record_launch){
		.flags = GW_LAUNCH_NO_CALL | (a->graph ? GW_LAUNCH_GRAPH : 0),
		.config = gw_intern_config_of_activity(a),
		.stream = gw_intern_stream_of_activity(a),
		.known = (uint32_t)gw_predictor_set_observations(fleet),
		.predicted = NAN,
		.low = NAN,
		.high = NAN,
	};

	gw_configure_new(fleet);
	if (gw_activity_edges(a)) {
		gw_count(GW_COUNTER_edge_records, 1);
		return;
	}
	if (a->start)
		gw_counter_attribution_kernel(a->device, r.config, a->start, a->end);
	if (!a->device_launched && !gw_unpaired_record(r.config, a->graph != 0, a->start))
		return;
	gw_count(GW_COUNTER_activity_unmatched, 1);
	if (a->end > a->start && a->start) {
		r.flags |= GW_LAUNCH_MEASURED;
		r.start_ns = a->start;
		r.duration_ns = a->end - a->start;
		gw_beside_of(a);
		gw_live_ran_for(a->device, a->start, a->end, &r);
		gw_live_measured(r.config, r.duration_ns, NAN);
		forget_times_ahead(&r);
	} else {
		r.flags |= GW_LAUNCH_INVALID;
		gw_count(GW_COUNTER_activity_invalid, 1);
	}
	if (r.config) {
		struct gw_config_entry *c = gw_config_entry(r.config);

		c->launches++;
		if (r.flags & GW_LAUNCH_MEASURED) {
			c->measured++;
			c->total_ns += r.duration_ns;
		}
	}
	if (!a->device_launched)
		gw_live_enter_lone(&r, r.config ? gw_config_entry(r.config)->pair : 0);
	write(&r);
	pair_of(r.config)->lone_block = gw_log_block();
}
