#include "cli/ranks/build.h"

#include "cli/common/memory.h"
#include "predictor/core/hash.h"

#include <math.h>
#include <stdlib.h>

enum {
	PERIOD_MOST = 1024,
	PERIOD_LEAST = 64, /* last collectives, of which one ends a step */
	TURNS_LEAST = 12   /* periods whose order varies */
};
static const double REPEATS = 0.9;

/* The least period after which enough symbols are the same, and the share of them; 0: none. */
static size_t in_order(const uint64_t *s, size_t count, double *share)
{
	for (size_t p = 1; p <= PERIOD_MOST && 3 * p <= count; p++) {
		size_t same = 0;

		for (size_t i = p; i < count; i++)
			same += s[i] == s[i - p];
		*share = (double)same / (double)(count - p);
		if (*share >= REPEATS)
			return p;
	}
	*share = 0;
	return 0;
}

/* Of the periods of @p p symbols, the share that has the same ones as the period before, in any
 * order; with the first symbol where that is most. */
static double in_any_order(const uint64_t *s, size_t count, size_t p)
{
	size_t same[PERIOD_MOST] = {0}, turns = count / p - 2, most = 0;
	uint64_t before = 0, now = 0;

	for (size_t i = 0; i < p; i++) {
		before += s[i];
		now += s[i + p];
	}
	for (size_t i = 0; i < p * turns; i++) {
		same[i % p] += before == now;
		before += s[i + p] - s[i];
		now += s[i + 2 * p] - s[i + p];
	}
	for (size_t i = 0; i < p; i++)
		most = same[i] > most ? same[i] : most;
	return (double)most / (double)turns;
}

/*
 * Where collectives overlap, their order varies from step to step, and the period after which it
 * repeats is that of several steps, by chance.
 */
size_t ranks_period(const uint64_t *s, size_t count)
{
	double share;
	size_t found = in_order(s, count, &share);

	for (size_t p = 2; p < (found ? found : PERIOD_MOST) && TURNS_LEAST * p <= count; p++) {
		const double any = in_any_order(s, count, p);

		if (any >= REPEATS && any > share)
			return p;
	}
	return found;
}

size_t ranks_meetings(const struct ranks_log *log, size_t **out)
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
 * What distinguishes collectives of a step: what they are, and, where @p launches, how many kernels
 * were called since the one before. The order of calls is the program's; that on the GPU varies.
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
		size_t since = i && launches
				       ? below(calls, n, run->call) -
						 below(calls, n, log->runs[meetings[i - 1]].call)
				       : 0;

		symbols[i] = gw_hash(run->symbol, &since, sizeof(since));
	}
	free(calls);
	return symbols;
}

/* Which of a step's collectives is followed by the longest pause: the step ends there. */
static size_t phase_of(const struct ranks_log *log, const size_t *meetings, size_t count,
		       size_t period)
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

/* How far apart the occurrences of symbol @p wanted are, where they are about evenly so; 0: they
 * are not.
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

size_t ranks_boundaries(const struct ranks_log *log, uint64_t **out, size_t *period)
{
	size_t *meetings, count = ranks_meetings(log, &meetings), n = 0, each, phase;
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
