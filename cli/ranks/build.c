/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ranks/build.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PERIOD_MOST = 1024, PERIOD_LEAST = 64 /* last collectives, of which one ends a step */,
       PACE = 20000 /* ns between launch calls that follow each other at once */ };
static const double REPEATS = 0.9, ENOUGH = 0.5, UNPREDICTED = 0.2;

/* ---- steps --------------------------------------------------------------------------------- */

size_t ranks_period(const uint64_t *s, size_t count)
{
	for (size_t p = 1; p <= PERIOD_MOST && 3 * p <= count; p++) {
		size_t same = 0;

		for (size_t i = p; i < count; i++)
			same += s[i] == s[i - p];
		if ((double)same >= REPEATS * (double)(count - p))
			return p;
	}
	return 0;
}

static size_t meetings_of(const struct ranks_log *log, size_t **out)
{
	size_t *list = gw_alloc(log->run_count * sizeof(*list)), n = 0;

	for (size_t i = 0; i < log->run_count; i++)
		if (log->runs[i].key)
			list[n++] = i;
	*out = list;
	return n;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How many of @p count sorted values are below @p value. */
static size_t below(const uint64_t *values, size_t count, uint64_t value)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * What tells collectives of a step apart: what they are, and, where @p launches, how many kernels were
 * called since the one before. The order of calls is the program's; that on the GPU varies.
 */
static uint64_t *symbols_of(const struct ranks_log *log, const size_t *meetings, size_t count,
                            bool launches)
{
	uint64_t *symbols = gw_alloc(count * sizeof(*symbols));
	uint64_t *calls = gw_alloc(log->run_count * sizeof(*calls));
	size_t n = 0;

	for (size_t i = 0; i < log->run_count; i++)
		if (log->runs[i].kind == RANKS_RUN_KERNEL && log->runs[i].call)
			calls[n++] = log->runs[i].call;
	if (n)
		qsort(calls, n, sizeof(*calls), by_value);
	for (size_t i = 0; i < count; i++) {
		const struct ranks_run *run = &log->runs[meetings[i]];
		size_t since = i && launches ? below(calls, n, run->call) -
		                                       below(calls, n, log->runs[meetings[i - 1]].call)
		                             : 0;

		symbols[i] = gw_hash(run->symbol, &since, sizeof(since));
	}
	free(calls);
	return symbols;
}

/* Which of a step's collectives is followed by the longest pause: the step ends there. */
static size_t phase_of(const struct ranks_log *log, const size_t *meetings, size_t count, size_t period)
{
	double best = -1;
	size_t phase = 0;

	for (size_t p = 0; p < period; p++) {
		double pause = 0;
		size_t n = 0;

		for (size_t i = p; i + 1 < count; i += period, n++)
			pause += (double)log->runs[meetings[i + 1]].start -
			         (double)log->runs[meetings[i]].end;
		if (n && pause / (double)n > best) {
			best = pause / (double)n;
			phase = p;
		}
	}
	return phase;
}

/* How far apart the occurrences of symbol @p wanted are, where they are about evenly so; 0: they are not.
 */
static double spacing(const uint64_t *symbols, size_t count, uint64_t wanted)
{
	size_t seen = 0, first = 0, last = 0, even = 0;
	double mean;

	for (size_t i = 0; i < count; i++)
		if (symbols[i] == wanted) {
			first = seen++ ? first : i;
			last = i;
		}
	if (seen < 4 || (double)(last - first) < REPEATS * (double)count - 2 * PERIOD_LEAST)
		return 0;
	mean = (double)(last - first) / (double)(seen - 1);
	for (size_t i = first + 1, before = first; i < count; i++)
		if (symbols[i] == wanted) {
			even += fabs((double)(i - before) - mean) <= mean / 2;
			before = i;
		}
	return (double)even >= REPEATS * (double)(seen - 1) ? mean : 0;
}

/*
 * Collectives that overlap come in an order that varies. The one that comes most rarely and about
 * evenly ends a step: its symbol, 0: there is none.
 */
static uint64_t rarest(const uint64_t *symbols, size_t count, size_t *period)
{
	double best = 1;
	uint64_t found = 0;

	for (size_t i = 0; i < count && i < PERIOD_LEAST; i++) {
		double each = spacing(symbols, count, symbols[count - 1 - i]);

		if (each <= best)
			continue;
		best = each;
		found = symbols[count - 1 - i];
	}
	*period = found ? (size_t)(best + 0.5) : 0;
	return found;
}

/* The keys of the collectives that end steps, in order; how many. */
static size_t boundaries(const struct ranks_log *log, uint64_t **out, size_t *period)
{
	size_t *meetings, count = meetings_of(log, &meetings), n = 0, each, phase;
	uint64_t *keys = gw_alloc(count * sizeof(*keys)), *symbols, only = 0;

	for (int launches = 1; launches >= 0; launches--) {
		symbols = symbols_of(log, meetings, count, launches);
		*period = ranks_period(symbols, count);
		if (*period || !launches)
			break;
		free(symbols);
	}
	each = *period ? *period : 1;
	phase = phase_of(log, meetings, count, each);
	if (!*period)
		only = rarest(symbols, count, period);
	for (size_t i = phase; i < count; i += each)
		if (!only || symbols[i] == only)
			keys[n++] = log->runs[meetings[i]].key;
	free(symbols);
	free(meetings);
	*out = keys;
	return n;
}

/* ---- what is in all ranks ------------------------------------------------------------------ */

struct keys {
	const uint64_t *key;
	uint64_t wanted;
};

static bool same_key(const void *arg, uint32_t position)
{
	const struct keys *k = arg;

	return k->key[position] == k->wanted;
}

/* Where each of @p count keys is among the runs of @p log; SIZE_MAX: nowhere. How many are there. */
static size_t find_keys(const struct ranks_log *log, const uint64_t *keys, size_t count, size_t *at)
{
	struct gw_index index = {0};
	struct keys k = {.key = keys};
	size_t found = 0;

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
		found++;
	}
	gw_index_free(&index);
	return found;
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

/* ---- how long kernels should take ---------------------------------------------------------- */

/* By shape: what the median rank's GPU takes; NaN where no two ranks run it. */
static double *references(const struct ranks_log *logs, size_t count, const struct ranks_shapes *shapes)
{
	struct sum { double ns; uint64_t n; } *sums = gw_alloc(shapes->count * count * sizeof(*sums));
	double *out = gw_alloc(shapes->count * sizeof(*out)), *values = gw_alloc(count * sizeof(*values));

	for (size_t r = 0; r < count; r++)
		for (size_t i = 0; i < logs[r].run_count; i++) {
			const struct ranks_run *run = &logs[r].runs[i];

			if (run->kind != RANKS_RUN_KERNEL || run->shape == GW_INDEX_NONE)
				continue;
			sums[run->shape * count + r].ns += (double)(run->end - run->start);
			sums[run->shape * count + r].n++;
		}
	for (size_t s = 0; s < shapes->count; s++) {
		size_t n = 0;

		for (size_t r = 0; r < count; r++)
			if (sums[s * count + r].n)
				values[n++] = sums[s * count + r].ns / (double)sums[s * count + r].n;
		out[s] = n > 1 ? ranks_median(values, n) : (double)NAN;
	}
	free(values);
	free(sums);
	return out;
}

/* ---- the time of a rank -------------------------------------------------------------------- */

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
	struct { uint64_t from, until; } *exposed;
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
	s->last_call = gw_grow(s->last_call, &s->last_room, run->thread + 1u, sizeof(*s->last_call));
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
	} else if (called <= from || (before && run->call - before <= PACE && until - called <= PACE)) {
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
	static const enum ranks_part part_of[] = {
	        [RANKS_RUN_KERNEL] = RANKS_COMPUTE,
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
		uint64_t from = s->exposed[low].from > run->start ? s->exposed[low].from : run->start;
		uint64_t until = s->exposed[low].until < run->end ? s->exposed[low].until : run->end;

		sum += (double)(until - from);
	}
	return run->end > run->start ? sum / (double)(run->end - run->start) : 0;
}

static void set_meetings(struct sweep *s)
{
	const struct ranks_log *log = s->log;
	size_t *list, step = 0;

	s->rank->meeting_count = meetings_of(log, &list);
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

		if (run->kind != RANKS_RUN_KERNEL || run->shape == GW_INDEX_NONE || isnan(run->predicted))
			continue;
		out[run->shape] += (double)run->predicted;
		n[run->shape]++;
	}
	for (size_t s = 0; s < shapes; s++)
		out[s] = !isnan(reference[s]) ? reference[s] : n[s] ? out[s] / (double)n[s] : (double)NAN;
	free(n);
	return out;
}

/* Of the kernels that began in a step, how much longer or shorter they should have taken. */
static void set_expected(struct sweep *s, const double *expectation)
{
	struct share { double expected, measured, unknown; } *sums = gw_alloc(s->steps * sizeof(*sums));
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
	struct sweep s = {.log = log, .rank = rank, .boundary = boundary, .steps = steps, .base = base};

	double *expectation = expectations(log, reference, shapes);

	rank->steps = gw_alloc(steps * sizeof(*rank->steps));
	walk(&s);
	set_meetings(&s);
	set_expected(&s, expectation);
	free(expectation);
	free(s.last_call);
	free(s.exposed);
}

/* ---- the job ------------------------------------------------------------------------------- */

static bool one_clock(const struct ranks_log *logs, size_t count)
{
	for (size_t r = 1; r < count; r++)
		if (strcmp(logs[r].host, logs[0].host) || strcmp(logs[r].boot, logs[0].boot))
			return false;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct ranks_log *x = a, *y = b;

	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* Logs with too few of the boundaries go to the end. How many stay. */
static size_t take_part(struct ranks_log *logs, size_t count, const uint64_t *keys, size_t n,
                        size_t **at)
{
	size_t kept = 0;

	for (size_t r = 0; r < count; r++) {
		struct ranks_log log = logs[r];

		at[kept] = gw_alloc(n * sizeof(**at));
		if ((double)find_keys(&log, keys, n, at[kept]) < ENOUGH * (double)n || n < 2) {
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
	size_t **at = gw_alloc(count * sizeof(size_t *)), n, kept;
	uint64_t *keys;
	double *reference = NULL;

	*job = (struct ranks_job){0};
	qsort(logs, count, sizeof(*logs), by_number);
	n = boundaries(&logs[0], &keys, &steps->period);
	kept = take_part(logs, count, keys, n, at);
	steps->left_out = count - kept;
	steps->base = UINT64_MAX;
	for (size_t r = 0; r < kept; r++)
		if (logs[r].run_count && logs[r].runs[0].start < steps->base)
			steps->base = logs[r].runs[0].start;
	n = keep_common(at, kept, n);
	if (kept > 1 && n > 1) {
		reference = references(logs, kept, shapes);
		job->rank_count = kept;
		job->step_count = n - 1;
		job->one_clock = one_clock(logs, kept);
		job->ranks = gw_alloc(kept * sizeof(*job->ranks));
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
