#include "preload/counters/counter_attribution.h"

#include "preload/counters/gpu_clock.h"
#include "preload/counters/pm.h"
#include "preload/counters/pm_answers.h"
#include "preload/cupti/attach.h"
#include "preload/cupti/record_clock.h"
#include "preload/maps/state.h"
#include "preload/maps/configs.h"
#include "preload/maps/memory.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/options.h"
#include "preload/analysis/known_work.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	DEVICES = 16,    /* whose counters are kept */
	RUNS = 8192,     /* of a window: 6000 empty kernels fit into 12 ms */
	SETTLE_MS = 300, /* of kernels that ended so long before a flush, it brings the records */
	SOLVE_MS = 1000, /* at most between solving for the same set, and between looks at what is
			    missing: sooner once there are twice the windows */
	CLOCK_SLACK = 20000, /* ns by which the clocks of samples and records may differ */
	WALL_SLACK = 5000,   /* … and those of samples and calls (H200: 1 to 2 us) */
	PAIRS = 512,         /* launches of a window of exact event pairs */
	LEAST_NS = 500,      /* of a launch, by its pair, else it is not known when it ran */
	UNSURE_NS = 100000,  /* when they ran: more, and the samples can't show it */
};

static const float LIMIT_SURE = 0.975F; /* by two standard errors, to one side */
/* Share of the GPU's time that other processes have from which samples are theirs as well. */
static const double OTHERS = 0.02;

static const struct {
	enum gw_work_field field; /* GW_WORK_FIELDS: cycles of the cores */
	enum gw_work_field most;  /* says how much that is at most */
	double factor;
} rows[GW_PM_ROWS] = {
#define METRIC(set, name, field, factor, idle) {GW_WORK_##field, GW_WORK_most_##field, factor},
#define CLOCK(set, name)                       {GW_WORK_FIELDS, GW_WORK_FIELDS, 0},
#include "preload/counters/pm_metric.def"
#undef METRIC
#undef CLOCK
};

/* What ran in each window that is under way. */
static struct gw_interval (*ran_in)[RUNS]; /* [GW_PM_WINDOWS] */
static struct {
	size_t count;
	bool lost;         /* there were more */
	uint64_t dropped;  /* records lost before it, by the counter */
	uint64_t unsure;   /* event pairs: they ran so many ns later, at most */
	bool begun, ended; /* ended: its samples have our times and show when it ended */
} windows[GW_PM_WINDOWS];

/* What is known of a set of metrics on a device. */
static struct set {
	struct gw_attribution *attribution;
	uint64_t solved_ns;
	unsigned solved, news; /* windows it was solved with, and since */
} sets[DEVICES][GW_PM_SETS];

/*
 * By how much the samples' clock is ahead of the calls', ns: one window's samples tell it to
 * some microseconds, many to less.
 */
static int64_t ahead[DEVICES];

/* Launches of the window of exact event pairs under way, in the order of their calls. */
static struct {
	uint32_t number; /* 0: there is none */
	uint32_t count;
	bool over;   /* a launch without a pair came */
	bool mixed;  /* several streams */
	bool copied; /* the next launch is after a copy or memset */
	uint16_t stream;
	uint64_t base;            /* ticks; … */
	int64_t earliest, latest; /* … the base ran so many ns later */
	struct pair {
		uint32_t serial, ticket, config;
		uint32_t begin, end; /* ns from the base; end 0: not read yet */
		bool after;          /* a copy or memset */
	} pair[PAIRS];
} exact;

static uint64_t missing_ns; /* when what is missing was last looked at */

void gw_counter_attribution_start(void)
{
	/* A forked child's are the parent's: left alone, as their memory is. */
	memset(sets, 0, sizeof(sets));
	memset(ahead, 0, sizeof(ahead));
	missing_ns = 0;
	exact.number = 0;
	ran_in = gw_memory_table(GW_PM_WINDOWS * sizeof(*ran_in));
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		windows[i].count = windows[i].unsure = windows[i].lost = windows[i].begun =
			windows[i].ended = 0;
}

static uint64_t dropped(void)
{
	return atomic_load(&gw_counters[GW_COUNTER_activity_dropped]) +
	       atomic_load(&gw_counters[GW_COUNTER_activity_invalid]);
}

/* It belongs to every window that is open or was while it ran. */
static void ran(uint32_t device, uint32_t config, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++) {
		const struct gw_pm_window *w = gw_pm_window(i);
		uint64_t begin;

		if (atomic_load(&w->state) == GW_PM_FREE)
			continue;
		begin = atomic_load(&w->begin);
		if (w->device != device || end + CLOCK_SLACK < begin ||
		    (windows[i].ended && start > w->end + CLOCK_SLACK))
			continue;
		if (windows[i].count == RUNS) {
			windows[i].lost = true;
			continue;
		}
		ran_in[i][windows[i].count++] =
			(struct gw_interval){.start = start, .end = end, .config = config};
	}
}

void gw_counter_attribution_clock_set(void)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		windows[i].lost |= atomic_load(&gw_pm_window(i)->state) != GW_PM_FREE;
}

void gw_counter_attribution_kernel(uint32_t device, uint32_t config, uint64_t start_ns,
				   uint64_t end_ns)
{
	if (end_ns <= start_ns)
		return;
	gw_pm_records_ran(start_ns);
	if (!(config & GW_COUNTED_GRAPH)) /* its kernels are shorter */
		gw_pm_ran(device, end_ns - start_ns);
	ran(device, config, start_ns, end_ns);
}

void gw_counter_attribution_copy(uint32_t device, uint64_t start_ns, uint64_t end_ns)
{
	if (end_ns > start_ns)
		ran(device, 0, start_ns, end_ns);
}

/* ---- what runs by event pairs ---- */

void gw_counter_attribution_exact(void)
{
	exact.number = atomic_load(&gw_hot.exact);
	exact.count = exact.stream = 0;
	exact.over = exact.mixed = exact.copied = false;
	exact.earliest = 0;
	exact.latest = INT64_MAX;
}

void gw_counter_attribution_launched(uint32_t serial, uint32_t ticket, const struct gw_event *e)
{
	if (!exact.number)
		return;
	if (gw_event_kind(e) == GW_EVENT_WAIT) {
		exact.copied = true;
		exact.mixed |= e->stream != 0;
	} else if (gw_event_is_launch(e)) {
		exact.over |= exact.count == PAIRS || (exact.count && !(e->flags & GW_EVENT_TIMED));
		if (e->flags & GW_EVENT_TIMED && !exact.over)
			exact.pair[exact.count++] = (struct pair){
				.serial = serial, .ticket = ticket, .after = exact.copied};
		exact.copied = false;
	}
}

/* The base ran so many ns after its call, at least and at most. */
static void bracket(int64_t least, int64_t most)
{
	exact.earliest = least > exact.earliest ? least : exact.earliest;
	exact.latest = most < exact.latest ? most : exact.latest;
}

void gw_counter_attribution_timed(uint32_t serial, uint32_t config, const struct gw_event *e)
{
	const uint64_t base = e->cluster | (uint64_t)e->shared << 32;
	/* The GPU may have waited for the call after the first event: the kernel began later. */
	const int64_t asked = (int64_t)gw_ticks_ns(e->grid[2]), begin = e->grid[1],
		      waited = (int64_t)gw_ticks_ns((uint64_t)e->high),
		      over = begin + (int64_t)e->predicted, end = over - (int64_t)e->low;
	struct pair *p = exact.pair, *last = p + exact.count;

	if (!exact.number || e->grid[0] != exact.number)
		return;
	while (p < last && (p->serial != serial || p->ticket != e->known))
		p++;
	if (p == last || end <= 0)
		return;
	exact.mixed |= exact.stream && e->stream != exact.stream;
	exact.stream = e->stream;
	exact.base = base;
	p->config = end > begin + waited + LEAST_NS ? config : 0;
	p->begin = (uint32_t)(p->config ? begin + waited : begin);
	p->end = (uint32_t)end;
	/* It began after it was asked to, and where the GPU waited for the call before that
	 * returned; it had not ended when it was first asked for its time, and had when that was
	 * read. */
	bracket(asked - begin,
		waited ? asked + (int64_t)gw_ticks_ns(e->config) + waited - begin : INT64_MAX);
	bracket((int64_t)gw_ticks_ns(e->digest) - over,
		(int64_t)gw_ticks_ns(e->ticks - base) - over);
}

/*
 * One stream's launches run one after the other: what was queued before the first is over, and
 * between them nothing of ours runs but copies. Where one of another stream runs is not known.
 */
void gw_counter_attribution_exact_end(void)
{
	const uint64_t base = gw_clock_ns(exact.base) + (uint64_t)exact.earliest - WALL_SLACK;
	const int64_t unsure = exact.latest - exact.earliest;
	const uint32_t device = gw_slot_device(gw_hot.shared, exact.stream);
	const bool known = device && !exact.mixed && unsure > -WALL_SLACK && unsure < UNSURE_NS;
	const struct pair *p = exact.pair;

	if (!exact.number)
		return;
	for (; known && p < exact.pair + exact.count && p->end; p++) {
		if (p->after && p > exact.pair)
			gw_counter_attribution_copy(device - 1, base + p[-1].end, base + p->begin);
		gw_counter_attribution_kernel(device - 1, p->config, base + p->begin,
					      base + p->end);
	}
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		if (atomic_load(&gw_pm_window(i)->state) != GW_PM_FREE)
			windows[i].unsure = known ? (uint64_t)(unsure + 2 * WALL_SLACK) : 1;
	exact.number = 0;
}

/* ---- results of the windows ---- */

static struct gw_attribution *attribution_of(struct set *s, const struct gw_pm_set *members)
{
	if (s->attribution || !gw_memory_take(GW_MEMORY_counting, gw_attribution_bytes()))
		return s->attribution;
	s->attribution = gw_attribution_new(members->count, gw_pm_idle(members));
	if (!s->attribution)
		gw_memory_give(GW_MEMORY_counting, gw_attribution_bytes());
	return s->attribution;
}

/* Digits that no sample shows would be half of what the log takes for it. */
static struct gw_quantity counted(double value, float confidence)
{
	return (struct gw_quantity){
		.value = (float)value, .source = GW_SOURCE_COUNTED, .confidence = confidence};
}

/* In a word of a configuration: a bit for each set, one for those beyond, and whether any row was
 * counted. */
enum { SET_BITS = 31 };
static const uint32_t COUNTED = UINT32_C(1) << SET_BITS;

static unsigned bit_of(unsigned set)
{
	return set < SET_BITS ? set : SET_BITS - 1;
}

static void offer(uint32_t config, const struct gw_counted *c, unsigned number)
{
	const struct gw_pm_set *members = gw_pm_set(number);
	struct gw_config_entry *entry;
	struct gw_work part;
	bool any = false, limited = false, open = false;

	gw_work_clear(&part);
	for (unsigned m = 0; m < members->count; m++) {
		enum gw_work_field field = rows[members->row[m]].field;
		double factor = rows[members->row[m]].factor;

		if (field == GW_WORK_FIELDS)
			continue;
		if (c->error[m] <= GW_COUNTED_WORST) {
			part.q[field] =
				counted(c->value[m] * factor, gw_counted_confidence(c->error[m]));
			any = true;
		} else if (isfinite(c->most[m])) {
			part.q[rows[members->row[m]].most] =
				counted(c->most[m] * factor, LIMIT_SURE);
			limited = true;
		} else {
			open = true;
		}
	}
	if (any && config & GW_COUNTED_GRAPH)
		gw_work_of_graph(config & ~GW_COUNTED_GRAPH, &part);
	if (!(any || limited) || !config || config > gw_config_count())
		return;
	if (gw_attach_count()) /* else no record was asked for, and nothing was added */
		gw_subtract_cupti_overhead(config, &part);
	gw_work_offer(config, &part);
	entry = gw_config_entry(config);
	gw_count(GW_COUNTER_counted, any && !entry->counted);
	if (any)
		entry->counted |= COUNTED | (uint32_t)!open << bit_of(number);
}

static bool due(const struct set *s, uint64_t now, bool last)
{
	return s->news &&
	       (last || s->news >= s->solved || now - s->solved_ns > SOLVE_MS * UINT64_C(1000000));
}

static void solve(struct set *s, unsigned number, uint64_t now)
{
	struct gw_counted c;
	uint32_t config;

	gw_attribution_solve(s->attribution);
	for (unsigned i = 0; (config = gw_attribution_get(s->attribution, i, &c)) != 0; i++)
		offer(config, &c, number);
	s->solved_ns = now;
	s->solved += s->news;
	s->news = 0;
	missing_ns = 0;
}

/*
 * Mode watch has records of some of the launches, one after the other: what ran before the first
 * and after the last of them is not known. Neither are samples beyond.
 */
static void keep_recorded(struct gw_pm_window *w, const struct gw_interval *run, size_t runs)
{
	uint64_t first = UINT64_MAX, last = 0;
	size_t begin = 0, end = w->count;

	for (size_t i = 0; i < runs; i++) {
		first = run[i].start < first ? run[i].start : first;
		last = run[i].end > last ? run[i].end : last;
	}
	while (begin < end && w->sample[begin].begin < first)
		begin++;
	while (end > begin && w->sample[end - 1].end > last)
		end--;
	memmove(w->sample, w->sample + begin, (end - begin) * sizeof(*w->sample));
	w->count = end - begin;
}

/* What event pairs say of when it ran, the samples say better. False: they can't. */
static bool place_runs(struct gw_pm_window *w, unsigned index)
{
	const uint32_t idle = gw_pm_idle(gw_pm_set(w->set));
	struct gw_interval *run = ran_in[index];
	const int64_t middle = (int64_t)windows[index].unsure / 2;
	int64_t *known = &ahead[w->device];
	uint64_t by;

	if (!windows[index].unsure || !idle)
		return !windows[index].unsure;
	by = gw_attribution_shift(w->sample, w->count, (unsigned)__builtin_ctz(idle), run,
				  windows[index].count, windows[index].unsure, middle + *known);
	if (by != UINT64_MAX)
		*known += ((int64_t)by - middle - *known) / 2;
	for (size_t i = 0; i < windows[index].count && by != UINT64_MAX; i++) {
		run[i].start += by;
		run[i].end += by;
	}
	return by != UINT64_MAX;
}

/* A window all of whose kernels are known. */
static void take(unsigned index)
{
	struct gw_pm_window *w = gw_pm_window(index);
	struct gw_clock_state clock;
	struct gw_attribution *a;
	struct set *s;

	if (!w->count || w->device >= DEVICES)
		return;
	/* The first sample reaches back to before the window, by seconds where a set begins. */
	gw_gpu_clock_at((int)w->device, w->sample[0].end, w->end, &clock);
	if (clock.others > OTHERS) {
		gw_count(GW_COUNTER_pm_other_profiler, 1);
		return;
	}
	if (windows[index].lost || dropped() != windows[index].dropped || !place_runs(w, index)) {
		gw_count(GW_COUNTER_pm_incomplete, 1);
		return;
	}
	if (gw_options_watch())
		keep_recorded(w, ran_in[index], windows[index].count);
	s = &sets[w->device][w->set];
	a = attribution_of(s, gw_pm_set(w->set));
	if (!a)
		return;
	if (windows[index].unsure)
		gw_attribution_placed(a);
	switch (gw_attribution_window(a, w->sample, w->count, ran_in[index],
				      windows[index].count)) {
	case GW_WINDOW_USED:
		s->news++;
		break;
	case GW_WINDOW_FOREIGN:
		gw_count(GW_COUNTER_pm_other_profiler, 1);
		break;
	case GW_WINDOW_EMPTY:
		break;
	}
}

/*
 * From the clock that another tool may have put into libcupti to ours. False where that is
 * unknown.
 */
static bool on_our_clock(struct gw_pm_window *w)
{
	for (size_t i = 0; i < w->count; i++) {
		w->sample[i].begin = gw_record_time(w->sample[i].begin);
		w->sample[i].end = gw_record_time(w->sample[i].end);
		if (!w->sample[i].begin || !w->sample[i].end)
			return false;
	}
	return true;
}

/* Cycles over time, in the sets that count them: the first sample reaches back before the window.
 */
static double sm_hz(const struct gw_pm_window *w)
{
	const struct gw_pm_set *set = gw_pm_set(w->set);
	double cycles = 0, ns = 0;
	unsigned m = 0;

	while (m < set->count && rows[set->row[m]].field != GW_WORK_FIELDS)
		m++;
	for (size_t i = 1; m < set->count && i < w->count; i++) {
		cycles += w->sample[i].value[m];
		ns += (double)(w->sample[i].end - w->sample[i].begin);
	}
	return cycles > 0 && ns > 0 ? cycles / ns * 1e9 : NAN;
}

/* What was left over from the window before goes; the sample that reaches back to it stays first.
 */
static void drop_leftovers(struct gw_pm_window *w)
{
	size_t own = gw_samples_own(w->sample, w->count), left = own ? own - 1 : 0;

	memmove(w->sample, w->sample + left, (w->count - left) * sizeof(*w->sample));
	w->count -= left;
	gw_count(GW_COUNTER_pm_leftovers, left);
}

/* At once, for the clock is to be known before the launches are that ran meanwhile. */
static void end_window(unsigned index)
{
	struct gw_pm_window *w = gw_pm_window(index);

	windows[index].ended = true;
	drop_leftovers(w);
	gw_record_clock_look();
	if (!on_our_clock(w)) {
		gw_count(GW_COUNTER_pm_incomplete, 1);
		w->count = 0;
	}
	w->end = w->count ? w->sample[w->count - 1].end : 0;
	gw_gpu_clock_counted((int)w->device, w->end, sm_hz(w));
}

bool gw_counter_attribution_waits(void)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		if (atomic_load(&gw_pm_window(i)->state) == GW_PM_READY)
			return true;
	return false;
}

/* Of how much GPU time each set's counts are missing: that decides which is sampled next. */
static void look_what_is_missing(void)
{
	double all = 0, known[SET_BITS] = {0};

	for (uint32_t i = 1; i <= gw_config_count(); i++) {
		const struct gw_config_entry *c = gw_config_entry(i);

		all += (double)c->total_ns;
		for (uint32_t left = c->counted & ~COUNTED; left; left &= left - 1)
			known[__builtin_ctz(left)] += (double)c->total_ns;
	}
	for (unsigned n = 0; all > 0 && n < GW_PM_SETS; n++)
		gw_pm_answers_missing(n, 1 - known[bit_of(n)] / all);
}

void gw_counter_attribution_tick(uint64_t now_ns, uint64_t asked_ns, bool last)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++) {
		struct gw_pm_window *w = gw_pm_window(i);
		int state = atomic_load(&w->state);

		if (state != GW_PM_FREE && !windows[i].begun) {
			windows[i].begun = true;
			windows[i].dropped = dropped();
		}
		if (state == GW_PM_READY && !windows[i].ended)
			end_window(i);
		/* Not by the time alone: code analysis delays records, and a busy machine this
		 * thread. */
		if (state != GW_PM_READY || exact.number ||
		    (!last && w->end && !windows[i].unsure &&
		     asked_ns < w->ready_ns + SETTLE_MS * UINT64_C(1000000)))
			continue;
		take(i);
		windows[i].count = 0;
		windows[i].unsure = 0;
		windows[i].lost = windows[i].begun = windows[i].ended = false;
		atomic_store(&w->state, GW_PM_FREE);
	}
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned n = 0; n < GW_PM_SETS; n++)
			if (due(&sets[d][n], now_ns, last))
				solve(&sets[d][n], n, now_ns);
	if (gw_pm_sampling() && now_ns - missing_ns > SOLVE_MS * UINT64_C(1000000)) {
		look_what_is_missing();
		missing_ns = now_ns;
	}
}
