#include "cli/ranks/build.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	PACE = 20000,         /* ns between launch calls that follow each other at once */
	TAKEN_MOST = 16 << 20 /* of 8 bytes, by rank and shape */
};
static const double ENOUGH = 0.5, UNPREDICTED = 0.2;

/* ---- what is in all ranks ---- */

struct keys {
	const uint64_t *key;
	uint64_t wanted;
};

static bool same_key(const void *arg, uint32_t position)
{
	const struct keys *k = arg;

	return k->key[position] == k->wanted;
}

/* Where each of @p count keys is among the runs of @p log; SIZE_MAX: nowhere. */
static void find_keys(const struct ranks_log *log, const uint64_t *keys, size_t count, size_t *at)
{
	struct gw_index index = {0};
	struct keys k = {.key = keys};

	for (size_t i = 0; i < count; i++) {
		at[i] = SIZE_MAX;
		gw_index_add(&index, gw_hash_mix(keys[i]), (uint32_t)i);
	}
	for (size_t i = 0; i < log->run_count; i++) {
		uint32_t which;

		k.wanted = log->runs[i].key;
		which = k.wanted ? gw_index_find(&index, gw_hash_mix(k.wanted), same_key, &k)
				 : GW_INDEX_NONE;
		if (which == GW_INDEX_NONE || at[which] != SIZE_MAX)
			continue;
		at[which] = i;
	}
	gw_index_free(&index);
}

/* A rank's boundaries must be in order; those that are in all ranks stay. */
static size_t keep_common(size_t **at, size_t ranks, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		bool common = true;

		for (size_t r = 0; r < ranks && common; r++)
			common = at[r][i] != SIZE_MAX && (!kept || at[r][i] > at[r][kept - 1]);
		for (size_t r = 0; r < ranks && common; r++)
			at[r][kept] = at[r][i];
		kept += common;
	}
	return kept;
}

/* ---- how long kernels should take ---- */

/* What a rank's launches of a shape took. */
struct taken {
	float ns; /* mean */
	uint32_t n;
};

static void take_runs(const struct ranks_log *log, size_t first, size_t count, struct taken *out)
{
	memset(out, 0, count * sizeof(*out));
	for (size_t i = 0; i < log->run_count; i++) {
		const struct ranks_run *run = &log->runs[i];
		struct taken *t;

		if (run->kind != RANKS_RUN_KERNEL || run->shape == GW_INDEX_NONE ||
		    run->shape - first >= count)
			continue;
		t = &out[run->shape - first];
		t->n += t->n < UINT32_MAX;
		t->ns += ((float)(run->end - run->start) - t->ns) / (float)t->n;
	}
}

/*
 * By shape: what the median rank's GPU takes; NaN where no two ranks run it. Ranks and shapes may
 * both be thousands, so shapes are taken some at a time.
 */
static double *references(const struct ranks_log *logs, size_t count,
			  const struct ranks_shapes *shapes)
{
	const size_t some = TAKEN_MOST / count + 1;
	const size_t most = some < shapes->count ? some : shapes->count;
	struct taken *taken = gw_alloc(most * count * sizeof(*taken));
	double *out = gw_alloc(shapes->count * sizeof(*out)),
	       *values = gw_alloc(count * sizeof(*values));

	for (size_t first = 0; first < shapes->count; first += most) {
		const size_t n = shapes->count - first < most ? shapes->count - first : most;

		for (size_t r = 0; r < count; r++)
			take_runs(&logs[r], first, n, &taken[r * most]);
		for (size_t s = 0; s < n; s++) {
			size_t k = 0;

			for (size_t r = 0; r < count; r++)
				if (taken[r * most + s].n)
					values[k++] = (double)taken[r * most + s].ns;
			out[first + s] = k > 1 ? ranks_median(values, k) : (double)NAN;
		}
	}
	free(values);
	free(taken);
	return out;
}

/* ---- the time of a rank ---- */

struct edge {
	uint64_t ns;
	uint32_t run;
	bool end;
};

struct sweep {
	const struct ranks_log *log;
	struct ranks_rank *rank;
	const size_t *boundary; /* runs that end steps */
	size_t steps, step;
	uint64_t base;
	uint64_t *last_call; /* by thread */
	size_t last_room;
	struct {
		uint64_t from, until;
	} * exposed;
	size_t exposed_count, exposed_room;
};

static uint64_t step_end(const struct sweep *s, size_t step)
{
	return s->log->runs[s->boundary[step + 1]].end;
}

/* Pieces come in order of time. */
static void put(struct sweep *s, enum ranks_part part, uint64_t from, uint64_t until)
{
	uint64_t begin = s->log->runs[s->boundary[0]].end;

	if (part == RANKS_COMMUNICATION && from < until) {
		s->exposed = gw_grow(s->exposed, &s->exposed_room, s->exposed_count + 1,
				     sizeof(*s->exposed));
		s->exposed[s->exposed_count].from = from;
		s->exposed[s->exposed_count++].until = until;
	}
	from = from < begin ? begin : from;
	while (from < until && s->step < s->steps) {
		uint64_t end = step_end(s, s->step);

		if (end > from) {
			uint64_t to = until < end ? until : end;

			s->rank->steps[s->step].part[part] += (float)(to - from);
			from = to;
		}
		s->step += end <= from;
	}
}

static uint64_t call_before(struct sweep *s, const struct ranks_run *run)
{
	uint64_t before;

	if (run->thread == GW_INDEX_NONE || !run->call)
		return 0;
	s->last_call =
		gw_grow(s->last_call, &s->last_room, run->thread + 1u, sizeof(*s->last_call));
	before = s->last_call[run->thread];
	if (run->call > before)
		s->last_call[run->thread] = run->call;
	return before < run->call ? before : 0;
}

/* Nothing ran until @p run did. */
static void gap(struct sweep *s, uint64_t from, const struct ranks_run *run, uint64_t before)
{
	uint64_t until = run->start, called = run->call < until ? run->call : until;

	if (run->kind == RANKS_RUN_FROM_HOST) {
		put(s, RANKS_INPUT, from, until);
	} else if (!run->call) {
		put(s, RANKS_HOST, from, until);
	} else if (called <= from ||
		   (before && run->call - before <= PACE && until - called <= PACE)) {
		put(s, RANKS_IDLE, from, until);
	} else {
		put(s, RANKS_HOST, from, called);
		put(s, RANKS_IDLE, called, until);
	}
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->end != y->end)
		return y->end - x->end; /* ends first */
	return x->run < y->run ? -1 : x->run > y->run;
}

static void walk(struct sweep *s)
{
	static const enum ranks_part part_of[] = {[RANKS_RUN_KERNEL] = RANKS_COMPUTE,
						  [RANKS_RUN_COMMUNICATION] = RANKS_COMMUNICATION,
						  [RANKS_RUN_FROM_HOST] = RANKS_INPUT,
						  [RANKS_RUN_TO_HOST] = RANKS_HOST};
	size_t count = 2 * s->log->run_count, open[RANKS_RUN_TO_HOST + 1] = {0};
	struct edge *edges = gw_alloc(count * sizeof(*edges));
	uint64_t until = 0;

	for (uint32_t i = 0; i < s->log->run_count; i++) {
		edges[2 * i] = (struct edge){s->log->runs[i].start, i, false};
		edges[2 * i + 1] = (struct edge){s->log->runs[i].end, i, true};
	}
	qsort(edges, count, sizeof(*edges), by_time);
	for (size_t i = 0; i < count; i++) {
		const struct ranks_run *run = &s->log->runs[edges[i].run];
		uint64_t before = edges[i].end ? 0 : call_before(s, run);
		unsigned k = 0;

		while (k <= RANKS_RUN_TO_HOST && !open[k])
			k++;
		if (k <= RANKS_RUN_TO_HOST)
			put(s, part_of[k], until, edges[i].ns);
		else if (until && !edges[i].end)
			gap(s, until, run, before);
		until = edges[i].ns;
		if (edges[i].end)
			open[run->kind] -= open[run->kind] != 0;
		else
			open[run->kind]++;
	}
	free(edges);
}

static double exposed_share(const struct sweep *s, const struct ranks_run *run)
{
	size_t low = 0, high = s->exposed_count;
	double sum = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->exposed[middle].until <= run->start)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < s->exposed_count && s->exposed[low].from < run->end; low++) {
		uint64_t from =
			s->exposed[low].from > run->start ? s->exposed[low].from : run->start;
		uint64_t until =
			s->exposed[low].until < run->end ? s->exposed[low].until : run->end;

		sum += (double)(until - from);
	}
	return run->end > run->start ? sum / (double)(run->end - run->start) : 0;
}

static void set_meetings(struct sweep *s)
{
	const struct ranks_log *log = s->log;
	size_t *list, step = 0;

	s->rank->meeting_count = ranks_meetings(log, &list);
	s->rank->meetings = gw_alloc(s->rank->meeting_count * sizeof(*s->rank->meetings));
	for (size_t i = 0; i < s->rank->meeting_count; i++) {
		const struct ranks_run *run = &log->runs[list[i]];

		while (step < s->steps && list[i] > s->boundary[step + 1])
			step++;
		s->rank->meetings[i] = (struct ranks_meeting){
			.key = run->key,
			.start = (double)run->start - (double)s->base,
			.end = (double)run->end - (double)s->base,
			.exposed = exposed_share(s, run),
			.step = step < s->steps && list[i] > s->boundary[0] ? (uint32_t)step
									    : RANKS_NO_STEP,
			.together = run->together,
		};
	}
	free(list);
}

/*
 * By shape: how long the rank's kernels should take. Those that no other rank runs, as predicted on
 * average; NaN: they never were.
 */
static double *expectations(const struct ranks_log *log, const double *reference, size_t shapes)
{
	double *out = gw_alloc(shapes * sizeof(*out));
	size_t *n = gw_alloc(shapes * sizeof(*n));

	for (size_t i = 0; i < log->run_count; i++) {
		const struct ranks_run *run = &log->runs[i];

		if (run->kind != RANKS_RUN_KERNEL || run->shape == GW_INDEX_NONE ||
		    isnan(run->predicted))
			continue;
		out[run->shape] += (double)run->predicted;
		n[run->shape]++;
	}
	for (size_t s = 0; s < shapes; s++)
		out[s] = !isnan(reference[s]) ? reference[s]
			 : n[s]               ? out[s] / (double)n[s]
					      : (double)NAN;
	free(n);
	return out;
}

/* Of the kernels that began in a step, how much longer or shorter they should have taken. */
static void set_expected(struct sweep *s, const double *expectation)
{
	struct share {
		double expected, measured, unknown;
	} *sums = gw_alloc(s->steps * sizeof(*sums));
	size_t step = 0;

	for (size_t i = s->boundary[0]; i < s->log->run_count && step < s->steps; i++) {
		const struct ranks_run *run = &s->log->runs[i];
		double ns = (double)(run->end - run->start), expected;

		while (step < s->steps && run->start >= step_end(s, step))
			step++;
		if (step == s->steps || run->kind != RANKS_RUN_KERNEL ||
		    run->start < s->log->runs[s->boundary[0]].end)
			continue;
		expected = run->shape == GW_INDEX_NONE ? ns : expectation[run->shape];
		sums[step].measured += ns;
		sums[step].unknown += isnan(expected) ? ns : 0;
		sums[step].expected += isnan(expected) ? ns : expected;
	}
	for (size_t i = 0; i < s->steps; i++) {
		struct ranks_step *to = &s->rank->steps[i];
		double share = sums[i].measured > 0 ? sums[i].expected / sums[i].measured : 0;

		to->expected = sums[i].unknown > UNPREDICTED * sums[i].measured
				       ? (float)NAN
				       : (float)((double)to->part[RANKS_COMPUTE] * share);
	}
	free(sums);
}

static void set_rank(struct ranks_rank *rank, const struct ranks_log *log, const size_t *boundary,
		     size_t steps, uint64_t base, const double *reference, size_t shapes)
{
	struct sweep s = {
		.log = log, .rank = rank, .boundary = boundary, .steps = steps, .base = base};

	double *expectation = expectations(log, reference, shapes);

	rank->steps = gw_alloc(steps * sizeof(*rank->steps));
	walk(&s);
	set_meetings(&s);
	set_expected(&s, expectation);
	free(expectation);
	free(s.last_call);
	free(s.exposed);
}

/* ---- the job ---- */

static bool same_clock(const struct ranks_log *a, const struct ranks_log *b)
{
	return !strcmp(a->host, b->host) && !strcmp(a->boot, b->boot);
}

/* The clock of log @p r has the number of the first log that has it. */
static uint32_t clock_of(const struct ranks_log *logs, const struct ranks_job *job, size_t r)
{
	for (size_t k = r; k; k--)
		if (same_clock(&logs[k - 1], &logs[r]))
			return job->ranks[k - 1].clock;
	return (uint32_t)r;
}

static int by_number(const void *a, const void *b)
{
	const struct ranks_log *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* How many of the boundaries that were found come in order. Where time went back, few do. */
static size_t in_order(const size_t *at, size_t n)
{
	size_t count = 0, last = 0;

	for (size_t i = 0; i < n; i++) {
		if (at[i] == SIZE_MAX || (count && at[i] <= last))
			continue;
		last = at[i];
		count++;
	}
	return count;
}

/* Whether one ended before the other began, by one clock: they are of two runs, whatever agrees. */
static bool at_other_times(const struct ranks_log *a, const struct ranks_log *b)
{
	if (!same_clock(a, b) || !a->run_count || !b->run_count)
		return false;
	return a->runs[a->run_count - 1].start < b->runs[0].start ||
	       b->runs[b->run_count - 1].start < a->runs[0].start;
}

/* Logs with too few of the boundaries, or few in order, go to the end. How many stay. */
static size_t take_part(struct ranks_log *logs, size_t count, const uint64_t *keys, size_t n,
			size_t **at)
{
	size_t kept = 0;

	for (size_t r = 0; r < count; r++) {
		struct ranks_log log = logs[r];

		at[kept] = gw_alloc(n * sizeof(**at));
		find_keys(&log, keys, n, at[kept]);
		if ((double)in_order(at[kept], n) < ENOUGH * (double)n || n < 2 ||
		    (kept && at_other_times(&logs[0], &log))) {
			free(at[kept]);
			continue;
		}
		memmove(&logs[kept + 1], &logs[kept], (r - kept) * sizeof(*logs));
		logs[kept++] = log;
	}
	return kept;
}

bool ranks_build(struct ranks_job *job, struct ranks_log *logs, size_t count,
		 const struct ranks_shapes *shapes, struct ranks_steps *steps)
{
	size_t **at = gw_alloc(count * sizeof(size_t *)), all, n, kept;
	uint64_t *keys;
	double *reference = NULL;

	*job = (struct ranks_job){0};
	qsort(logs, count, sizeof(*logs), by_number);
	all = ranks_boundaries(&logs[0], &keys, &steps->period);
	kept = take_part(logs, count, keys, all, at);
	steps->left_out = count - kept;
	steps->base = UINT64_MAX;
	for (size_t r = 0; r < kept; r++)
		if (logs[r].run_count && logs[r].runs[0].start < steps->base)
			steps->base = logs[r].runs[0].start;
	n = keep_common(at, kept, all);
	steps->apart = all - n;
	if (kept > 1 && n > 1) {
		reference = references(logs, kept, shapes);
		job->rank_count = kept;
		job->step_count = n - 1;
		job->ranks = gw_alloc(kept * sizeof(*job->ranks));
		for (size_t r = 0; r < kept; r++)
			job->ranks[r].clock = clock_of(logs, job, r);
		for (size_t r = 0; r < kept; r++)
			set_rank(&job->ranks[r], &logs[r], at[r], n - 1, steps->base, reference,
				 shapes->count);
	}
	for (size_t r = 0; r < kept; r++)
		free(at[r]);
	free(at);
	free(keys);
	free(reference);
	return job->rank_count > 1;
}

void ranks_unbuild(struct ranks_job *job)
{
	for (size_t r = 0; r < job->rank_count; r++) {
		free(job->ranks[r].meetings);
		free(job->ranks[r].steps);
	}
	free(job->ranks);
	job->ranks = NULL;
	job->rank_count = 0;
}
