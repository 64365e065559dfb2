#include "cli/top/model.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"
#include "cli/top/graphs.h"
#include "predictor/log/record.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct top_model *top_model_new(void)
{
	struct top_model *m = gw_alloc(sizeof(*m));

	m->span_ns = m->time_ns = NAN;
	return m;
}

static void row_free(struct top_row *r)
{
	free(r->mangled);
	free(r->plain);
	free(r->name);
	free(r);
}

static void process_free(struct top_process *p)
{
	for (size_t i = 0; i < p->rows; i++)
		row_free(p->row[i]);
	free(p->row);
	free(p->config);
	free(p->brief);
	free(p->change);
	gw_index_free(&p->row_index);
	free(p->graph);
	free(p->sums);
	free(p->id);
	free(p->exe);
	free(p);
}

void top_model_free(struct top_model *m)
{
	for (size_t i = 0; i < m->processes; i++)
		process_free(m->process[i]);
	free(m->process);
	free(m);
}

static struct top_counts counts_of(const struct gw_live_config *c)
{
	return (struct top_counts){c->launches, c->time.count, c->ratio.count, c->time.sum,
				   c->ratio.sum};
}

/* ---- a snapshot ---- */

void top_begin(struct top_model *m, uint64_t now_ns)
{
	m->span_ns = m->now_ns && now_ns > m->now_ns ? (double)(now_ns - m->now_ns) : NAN;
	m->now_ns = now_ns;
	for (size_t i = 0; i < m->processes; i++) {
		struct top_process *p = m->process[i];

		p->touched = p->fresh = p->finished = false;
		p->changes = 0;
		for (size_t k = 0; k < p->graphs; k++)
			p->graph[k].before = p->graph[k].now;
	}
}

struct top_process *top_process_of(struct top_model *m, const char *id, uint32_t pid,
				   const char *exe)
{
	struct top_process *p;
	size_t at = m->processes;

	for (size_t i = 0; i < m->processes; i++)
		if (!strcmp(m->process[i]->id, id)) {
			m->process[i]->touched = true;
			return m->process[i];
		}
	p = gw_alloc(sizeof(*p));
	p->id = gw_copy(id);
	p->exe = gw_copy(exe);
	p->pid = pid;
	p->fresh = p->touched = true;
	p->runs = NAN;
	m->process = gw_grow(m->process, &m->process_room, m->processes + 1, sizeof(*m->process));
	for (; at && m->process[at - 1]->pid > pid; at--)
		m->process[at] = m->process[at - 1];
	m->process[at] = p;
	m->processes++;
	return p;
}

void top_process_ended(struct top_model *m, struct top_process *p)
{
	if (p->state != TOP_ENDED)
		p->ended_ns = m->now_ns;
	p->state = TOP_ENDED;
}

static char *unknown_kernel(uint32_t slot)
{
	char text[64];

	snprintf(text, sizeof(text), "(unknown kernel %u)", slot);
	return gw_copy(text);
}

struct wanted {
	const struct top_process *process;
	const char *mangled;
	uint32_t device, slot;
};

static bool is_wanted(const void *arg, uint32_t at)
{
	const struct wanted *w = arg;
	const struct top_row *r = w->process->row[at];

	return r->device == w->device && r->slot == w->slot &&
	       (!w->mangled || !strcmp(r->mangled, w->mangled));
}

static size_t row_of(struct top_model *m, struct top_process *p, const struct gw_live_config *c,
		     const char *mangled)
{
	const uint32_t device = c->device - 1; /* UINT32_MAX where it is not known */
	const uint32_t slot = mangled ? 0 : c->kernel;
	const struct wanted w = {p, mangled, device, slot};
	const uint64_t key = gw_hash(((uint64_t)device << 32) | slot, mangled ? mangled : "",
				     mangled ? strlen(mangled) : 0);
	uint32_t at = gw_index_find(&p->row_index, key, is_wanted, &w);
	struct top_row *r;

	if (at != GW_INDEX_NONE)
		return at;
	gw_index_add(&p->row_index, key, (uint32_t)p->rows);
	r = gw_alloc(sizeof(*r));
	r->process = p;
	r->slot = slot;
	r->device = device;
	r->at = (uint32_t)p->rows;
	p->devices |= device < 32 ? UINT32_C(1) << device : 0;
	r->mangled = mangled ? gw_copy(mangled) : NULL;
	r->plain = mangled ? gw_demangle(mangled) : unknown_kernel(c->kernel);
	r->name = gw_copy(r->plain);
	m->unnamed = true;
	p->row = gw_grow(p->row, &p->row_room, p->rows + 1, sizeof(*p->row));
	p->row[p->rows] = r;
	return p->rows++;
}

/* Whether an entry stands for what it stood for: ids of a log are used once. */
static bool same(const struct top_brief *a, const struct gw_live_config *b)
{
	return a->known && a->kernel == b->kernel && a->device == b->device &&
	       b->launches >= a->now.runs && b->time.count >= a->now.measured &&
	       b->ratio.count >= a->now.compared;
}

static void keep_whole(struct top_process *p, size_t at, const struct gw_live_config *c)
{
	p->config = gw_grow(p->config, &p->config_room, p->configs, sizeof(*p->config));
	p->config[at] = *c;
	p->brief[at].whole = true;
}

/* The change of entry @p at in this snapshot, made where it is the first. */
static struct top_change *change_of(struct top_process *p, size_t at)
{
	struct top_brief *brief = &p->brief[at];

	if (brief->change < p->changes && p->change[brief->change].at == at)
		return &p->change[brief->change];
	p->change = gw_grow(p->change, &p->change_room, p->changes + 1, sizeof(*p->change));
	brief->change = (uint32_t)p->changes++;
	p->change[brief->change] = (struct top_change){(uint32_t)at, brief->now};
	return &p->change[brief->change];
}

/* What may be another with each change. */
static void update(const struct top_model *m, struct top_process *p, size_t at,
		   const struct gw_live_config *c)
{
	struct top_brief *brief = &p->brief[at];

	brief->now = counts_of(c);
	brief->predicted = c->predicted;
	brief->low = c->low;
	brief->high = c->high;
	brief->bound = c->bound <= GW_BOUND_LAUNCH ? (uint8_t)c->bound : GW_BOUND_UNKNOWN;
	brief->tier = (uint8_t)c->tier;
	brief->work = (uint8_t)c->work;
	brief->whole = false;
	if (!m->brief)
		keep_whole(p, at, c);
}

void top_config_is(struct top_model *m, struct top_process *p, size_t at,
		   const struct gw_live_config *c, const char *mangled)
{
	struct top_change *change;
	struct top_brief *brief;
	bool known;
	uint32_t row;

	/* A kernel has a row, and one more from before its name came; one that changes is hostile.
	 */
	if (p->rows > 2 * p->configs + 2)
		return;
	p->brief = gw_grow(p->brief, &p->brief_room, at + 1, sizeof(*p->brief));
	p->configs = at + 1 > p->configs ? at + 1 : p->configs;
	brief = &p->brief[at];
	change = change_of(p, at);
	known = same(brief, c);
	row = brief->row;
	/* Most know their row, which need not be looked at. */
	if (known && c->id && !p->unnamed && !mangled) {
		update(m, p, at, c);
		return;
	}
	p->unnamed -= brief->known && !p->row[row]->mangled;
	if (!known || (mangled && !p->row[row]->mangled))
		row = (uint32_t)row_of(m, p, c, mangled);
	p->unnamed += c->id && !p->row[row]->mangled;
	p->again |= !known || !c->id || row != brief->row;
	/* What a process had before it was first seen was not launched in this interval. */
	if (!known)
		change->before = p->fresh ? counts_of(c) : (struct top_counts){0};
	brief->row = row;
	brief->kernel = c->kernel;
	brief->device = c->device;
	brief->known = c->id != 0;
	update(m, p, at, c);
}

void top_config_whole(struct top_process *p, size_t at, const struct gw_live_config *c)
{
	if (at < p->configs && same(&p->brief[at], c))
		keep_whole(p, at, c);
}

bool top_config_unnamed(const struct top_process *p, size_t at)
{
	return p->unnamed && at < p->configs && p->brief[at].known &&
	       !p->row[p->brief[at].row]->mangled;
}

void top_device_is(struct top_process *p, uint32_t ordinal, const struct gw_live_device *d)
{
	if (ordinal >= GW_LIVE_DEVICES)
		return;
	p->device[ordinal].now = *d;
	p->device[ordinal].known = true;
}

void top_totals_are(struct top_process *p, const struct gw_live_totals *t)
{
	p->totals = *t;
}

bool top_process_timed(const struct top_process *p)
{
	return !p->totals.ns || !p->totals.mode;
}

/* ---- what came of it ---- */

/* Sums over the configurations of a row. */
struct weights {
	double weight, predicted, low, high;
};

struct top_sums {
	struct top_counts interval, total;
	double time_ns, most;      /* of the interval; of the configuration with the most, total */
	size_t best;               /* which that is */
	uint32_t first;            /* configuration, plus one; the others by `next` of each */
	bool known, estimated;     /* time_ns */
	bool active, was;          /* a configuration has changed, in the snapshot before */
	bool weighed;              /* by_total is up to date */
	uint8_t bound, tier, work; /* of `best` */
	struct weights by_interval, by_total;
};

static void weigh(struct weights *w, const struct top_brief *c, uint64_t runs)
{
	if (!(c->predicted > 0) || !(c->low > 0) || !isfinite(c->high))
		return;
	w->weight += (double)runs;
	w->predicted += (double)runs * c->predicted;
	w->low += (double)runs * c->low;
	w->high += (double)runs * c->high;
}

static struct top_counts since(const struct top_counts *now, const struct top_counts *before)
{
	return (struct top_counts){now->runs - before->runs, now->measured - before->measured,
				   now->compared - before->compared, now->time_ns - before->time_ns,
				   now->ratio - before->ratio};
}

static void add(struct top_counts *to, const struct top_counts *from)
{
	to->runs += from->runs;
	to->measured += from->measured;
	to->compared += from->compared;
	to->time_ns += from->time_ns;
	to->ratio += from->ratio;
}

/* Where not every run is timed, runs count with the mean of those that were. */
static void add_time(struct top_sums *s, const struct top_counts *d, const struct top_counts *all,
		     bool timed)
{
	if (!d->runs && !d->measured)
		return;
	if (timed) {
		s->known |= d->measured > 0;
		s->time_ns += d->time_ns;
	} else if (all->measured) {
		const struct top_counts *mean = d->measured ? d : all;

		s->known = s->estimated = true;
		s->time_ns += (double)d->runs * mean->time_ns / (double)mean->measured;
	}
}

/* The configuration with the most time decides; the first of several. False: it may be another one
 * now. */
static bool decide(struct top_sums *s, const struct top_brief *c, size_t at)
{
	const struct top_counts *all = &c->now;
	const double time =
		all->measured ? (double)all->runs * all->time_ns / (double)all->measured : 0;

	if (at == s->best && time < s->most)
		return false;
	if (at != s->best && !(time > s->most || (time == s->most && at < s->best)))
		return true;
	s->most = time;
	s->best = at;
	s->bound = c->bound;
	s->tier = c->tier;
	s->work = c->work;
	return true;
}

/* Totals over all configurations. */
static void add_all(struct top_process *p)
{
	for (size_t i = 0; i < p->rows; i++) {
		p->sums[i] = (struct top_sums){.was = true, .most = -1};
		p->row[i]->configs = 0;
	}
	for (size_t i = 0; i < p->configs; i++) {
		struct top_brief *c = &p->brief[i];

		if (!c->known)
			continue;
		c->next = p->sums[c->row].first;
		p->sums[c->row].first = (uint32_t)i + 1;
		add(&p->sums[c->row].total, &c->now);
		decide(&p->sums[c->row], c, i);
		p->row[c->row]->configs++;
	}
}

/* Totals and what decides, of what has changed since. False: add_all() is to be asked. */
static bool add_changed(struct top_process *p)
{
	for (size_t k = 0; k < p->changes; k++) {
		const uint32_t at = p->change[k].at;
		const struct top_brief *c = &p->brief[at];
		const struct top_counts d = since(&c->now, &p->change[k].before);

		add(&p->sums[c->row].total, &d);
		if (!decide(&p->sums[c->row], c, at))
			return false;
	}
	return true;
}

/* What the last one had goes; a row that had none has nothing. */
static void begin_interval(struct top_sums *s)
{
	s->was = s->active;
	if (!s->was)
		return;
	s->active = s->known = s->estimated = false;
	s->time_ns = 0;
	s->interval = (struct top_counts){0};
	s->by_interval = (struct weights){0};
}

static void add_interval(struct top_process *p, bool timed)
{
	for (size_t k = 0; k < p->changes; k++) {
		const struct top_brief *c = &p->brief[p->change[k].at];
		struct top_sums *s = &p->sums[c->row];
		struct top_counts d;

		if (!c->known)
			continue;
		d = since(&c->now, &p->change[k].before);
		s->active = true;
		s->weighed = false;
		add(&s->interval, &d);
		add_time(s, &d, &c->now, timed);
		weigh(&s->by_interval, c, d.runs);
	}
}

/* A row without a predicted run in the interval has the mean over all. */
static void weigh_all(const struct top_process *p, struct top_sums *s)
{
	s->by_total = (struct weights){0};
	for (uint32_t at = s->first; at; at = p->brief[at - 1].next)
		weigh(&s->by_total, &p->brief[at - 1], p->brief[at - 1].now.runs);
	s->weighed = true;
}

static struct top_span span_of(const struct top_counts *c)
{
	return (struct top_span){
		.runs = (double)c->runs,
		.measured = (double)c->measured,
		.time_ns = c->measured || !c->runs ? c->time_ns : NAN,
		.mean_ns = c->measured ? c->time_ns / (double)c->measured : NAN,
		.ratio = c->compared ? c->ratio / (double)c->compared : NAN,
	};
}

static double interval_time(const struct top_sums *s)
{
	return s->known || !s->interval.runs ? s->time_ns : NAN;
}

void top_row_finish(struct top_row *r)
{
	struct top_sums *s = &r->process->sums[r->at];
	const struct weights *w = s->by_interval.weight > 0 ? &s->by_interval : &s->by_total;

	if (!r->unfinished)
		return;
	r->unfinished = false;
	if (!s->weighed && w == &s->by_total)
		weigh_all(r->process, s);
	r->total = span_of(&s->total);
	r->interval = span_of(&s->interval);
	r->interval.estimated = s->estimated;
	r->interval.time_ns = interval_time(s);
	if (isnan(r->process->runs))
		r->interval = (struct top_span){NAN, NAN, NAN, NAN, NAN, false};
	r->bound = (enum gw_bound)s->bound;
	r->tier = (enum gw_tier)s->tier;
	r->work = (enum gw_source)s->work;
	r->predicted = w->weight > 0 ? w->predicted / w->weight : NAN;
	r->low = w->weight > 0 ? w->low / w->weight : NAN;
	r->high = w->weight > 0 ? w->high / w->weight : NAN;
}

/* Rows that nobody may look at are finished once somebody does. */
static void finish_rows(struct top_process *p, bool unknown, bool later)
{
	double left = -(double)p->totals.counter[GW_COUNTER_launches_unmatched];

	p->sums = gw_grow(p->sums, &p->sum_room, p->rows + 1, sizeof(*p->sums));
	p->again |= unknown;
	for (size_t i = 0; !p->again && i < p->rows; i++)
		begin_interval(&p->sums[i]);
	if (p->again || !add_changed(p))
		add_all(p);
	add_interval(p, top_process_timed(p));
	p->runs = unknown ? NAN : 0;
	p->time_ns = NAN;
	memset(p->bound_ns, 0, sizeof(p->bound_ns));
	for (size_t i = 0; i < p->rows; i++) {
		const struct top_sums *s = &p->sums[i];
		const double ns = unknown ? NAN : interval_time(s);

		top_row_soon(p->row, i, p->rows);
		if (s->active || s->was) {
			p->row[i]->interval.time_ns = ns;
			p->row[i]->unfinished = true;
		}
		if (!later)
			top_row_finish(p->row[i]);
		top_add_time(&p->time_ns, ns);
		p->bound_ns[s->bound] += isnan(ns) ? 0 : ns;
		p->runs += (double)s->interval.runs;
		left += (double)s->total.runs - (double)s->total.measured;
	}
	p->waiting = left > 0;
	/* After it intervals are known that were not. */
	p->again = unknown;
}

/*
 * Records come later than the kernels that they are of. While the process launches, or a launch
 * waits for its record, all is known up to the end of the latest; else up to now.
 */
static void finish_device(const struct top_process *p, struct top_device *d, double span_ns)
{
	uint64_t horizon = d->now.last_end_ns, busy = d->now.busy_ns;
	const uint64_t input = d->now.idle_ns[GW_IDLE_INPUT];
	uint64_t idle = 0;
	double length;

	for (int i = 0; i < GW_IDLE_CAUSES; i++)
		idle += d->now.idle_ns[i];
	d->idle = NAN;
	d->input = !d->horizon_ns || idle <= d->idle_ns || input < d->input_ns
			   ? NAN
			   : (double)(input - d->input_ns) / (double)(idle - d->idle_ns);
	d->idle_ns = idle;
	d->input_ns = input;
	if (p->runs == 0 && !p->waiting && d->horizon_ns && !isnan(span_ns) &&
	    d->horizon_ns + (uint64_t)span_ns > horizon)
		horizon = d->horizon_ns + (uint64_t)span_ns;
	length = (double)horizon - (double)d->horizon_ns;
	if (!isnan(p->runs) && top_process_timed(p) && p->state != TOP_ENDED && d->horizon_ns &&
	    d->now.last_end_ns && busy >= d->busy_ns && length > 0) {
		d->idle = 1 - (double)(busy - d->busy_ns) / length;
		d->idle = d->idle < 0 ? 0 : d->idle;
	}
	if (isnan(p->runs) || horizon > d->horizon_ns || !d->now.last_end_ns) {
		d->horizon_ns = horizon;
		d->busy_ns = busy;
	}
}

static bool gone(const struct top_model *m, const struct top_process *p)
{
	return !p->touched || (p->state == TOP_ENDED && m->now_ns - p->ended_ns >= TOP_ENDED_NS);
}

static void drop_gone(struct top_model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < m->processes; i++)
		if (gone(m, m->process[i]))
			process_free(m->process[i]);
		else
			m->process[kept++] = m->process[i];
	m->processes = kept;
}

static void finish_shares(struct top_model *m)
{
	m->time_ns = NAN;
	memset(m->bound_ns, 0, sizeof(m->bound_ns));
	top_graphs_time(m);
	for (size_t i = 0; i < m->processes; i++) {
		const struct top_process *p = m->process[i];

		top_add_time(&m->time_ns, p->time_ns);
		for (int k = 0; k < TOP_BOUNDS; k++)
			m->bound_ns[k] += p->bound_ns[k];
	}
	top_graphs_share(m);
}

void top_process_end(const struct top_model *m, struct top_process *p)
{
	if (p->finished)
		return;
	p->finished = true;
	finish_rows(p, p->fresh || isnan(m->span_ns), m->brief);
	for (uint32_t d = 0; d < GW_LIVE_DEVICES; d++)
		if (p->device[d].known)
			finish_device(p, &p->device[d], m->span_ns);
}

void top_end(struct top_model *m)
{
	drop_gone(m);
	for (size_t i = 0; i < m->processes; i++)
		top_process_end(m, m->process[i]);
	if (m->unnamed)
		top_name_rows(m);
	finish_shares(m);
}
