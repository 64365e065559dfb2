/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ranks/job.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"
#include "cli/ranks/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A rank is late where it needs LEAST of a step more for itself than the median rank, and for
 * certain once what it needs beyond that, step by step, and beyond DRIFT times the scatter, adds up
 * to CERTAIN times the scatter. One step adds STEP_MOST at most, so that a few extreme ones are not
 * enough; of scatter there is LITTLE of a step at least.
 */
static const double LEAST = 0.03, DRIFT = 1, STEP_MOST = 2, CERTAIN = 11, MOST = 14, LITTLE = 0.006;
/* A cause explains a quarter of the lateness at least. */
static const double EXPLAINS = 0.25;
enum {
	BLOCK = 64, /* collectives of a rank that share one clock offset */
	ROUNDS = 3, /* in which offsets pass from one communicator to the next */
	CAUSE_STEPS = 5
};

static const char *const part_names[] = {
#define PART(NAME, key, name, meaning) name,
#include "cli/ranks/part.def"
#undef PART
};
static const char *const part_keys[] = {
#define PART(NAME, key, name, meaning) #key,
#include "cli/ranks/part.def"
#undef PART
};
static const char *const cause_names[] = {
#define CAUSE(NAME, key, name, meaning) name,
#include "cli/ranks/cause.def"
#undef CAUSE
};
static const char *const cause_keys[] = {
#define CAUSE(NAME, key, name, meaning) #key,
#include "cli/ranks/cause.def"
#undef CAUSE
};

const char *ranks_part_name(enum ranks_part part)
{
	return part_names[part];
}

const char *ranks_part_key(enum ranks_part part)
{
	return part_keys[part];
}

const char *ranks_cause_name(enum ranks_cause cause)
{
	return cause_names[cause];
}

const char *ranks_cause_key(enum ranks_cause cause)
{
	return cause_keys[cause];
}

/* Hoare's selection. */
double ranks_median(double *v, size_t count)
{
	size_t low = 0, high = count - 1, at = (count - 1) / 2;

	while (low < high) {
		double pivot = v[low + (high - low) / 2];
		size_t i = low, j = high;

		for (;; i++, j--) {
			while (v[i] < pivot)
				i++;
			while (v[j] > pivot)
				j--;
			if (i >= j)
				break;
			double swap = v[i];

			v[i] = v[j];
			v[j] = swap;
		}
		if (at <= j)
			high = j;
		else
			low = j + 1;
	}
	return v[at];
}

/* ---- collectives --------------------------------------------------------------------------- */

/* Which ranks have a collective, each once: seats[first] to seats[first + count - 1]. */
struct seat {
	uint32_t rank, meeting;
};

struct gathering {
	uint64_t key;
	size_t first, count;
};

struct table {
	struct gathering *all;
	struct seat *seats;
	double **offset; /* by rank and block */
	size_t count, room;
	double *values; /* room for one of each rank */
};

static bool same_key(const void *arg, uint32_t position)
{
	const struct {
		const struct table *t;
		uint64_t key;
	} *a = arg;

	return a->t->all[position].key == a->key;
}

static uint32_t gathering_of(struct table *t, struct gw_index *index, uint64_t key)
{
	const struct {
		const struct table *t;
		uint64_t key;
	} a = {t, key};
	uint32_t at = gw_index_find(index, gw_hash_mix(key), same_key, &a);

	if (at != GW_INDEX_NONE)
		return at;
	t->all = gw_grow(t->all, &t->room, t->count + 1, sizeof(*t->all));
	t->all[t->count] = (struct gathering){.key = key};
	gw_index_add(index, gw_hash_mix(key), (uint32_t)t->count);
	return (uint32_t)t->count++;
}

static void gather(const struct ranks_job *job, struct table *t)
{
	struct gw_index index = {0};
	size_t all = 0, at = 0;
	uint32_t *of;

	for (size_t r = 0; r < job->rank_count; r++)
		all += job->ranks[r].meeting_count;
	of = gw_alloc(all * sizeof(*of));
	for (size_t r = 0; r < job->rank_count; r++)
		for (size_t m = 0; m < job->ranks[r].meeting_count; m++, at++) {
			of[at] = gathering_of(t, &index, job->ranks[r].meetings[m].key);
			t->all[of[at]].count++;
		}
	gw_index_free(&index);
	at = 0;
	for (size_t g = 0; g < t->count; g++) {
		t->all[g].first = at;
		at += t->all[g].count;
		t->all[g].count = 0;
	}
	t->seats = gw_alloc(all * sizeof(*t->seats));
	at = 0;
	for (size_t r = 0; r < job->rank_count; r++)
		for (size_t m = 0; m < job->ranks[r].meeting_count; m++) {
			struct gathering *g = &t->all[of[at++]];
			struct seat *next = &t->seats[g->first + g->count];

			/* A log may name a collective twice: the first one counts. */
			if (g->count && next[-1].rank == r)
				continue;
			*next = (struct seat){(uint32_t)r, (uint32_t)m};
			g->count++;
		}
	free(of);
}

static const struct ranks_meeting *meeting(const struct ranks_job *job, const struct seat *s)
{
	return &job->ranks[s->rank].meetings[s->meeting];
}

static size_t blocks(const struct ranks_rank *r)
{
	return r->meeting_count / BLOCK + 1;
}

static double offset(const struct table *t, const struct seat *s)
{
	return t->offset[s->rank][s->meeting / BLOCK];
}

/* ---- clocks -------------------------------------------------------------------------------- */

/* How much later than the median rank each one ends, by rank and meeting; NaN: that says nothing.
 */
static void deviations(const struct ranks_job *job, const struct table *t, double **out)
{
	for (size_t r = 0; r < job->rank_count; r++)
		for (size_t m = 0; m < job->ranks[r].meeting_count; m++)
			out[r][m] = (double)NAN;
	for (size_t i = 0; i < t->count; i++) {
		const struct gathering *g = &t->all[i];
		const struct seat *s = &t->seats[g->first];
		double median;

		if (g->count < 2 || !meeting(job, s)->together)
			continue;
		for (size_t k = 0; k < g->count; k++)
			t->values[k] = meeting(job, &s[k])->end - offset(t, &s[k]);
		median = ranks_median(t->values, g->count);
		for (size_t k = 0; k < g->count; k++)
			out[s[k].rank][s[k].meeting] =
			        meeting(job, &s[k])->end - offset(t, &s[k]) - median;
	}
}

static void move_offsets(const struct ranks_rank *rank, const double *deviation, double *offsets)
{
	for (size_t b = 0; b < blocks(rank); b++) {
		double values[BLOCK];
		size_t n = 0;

		for (size_t m = b * BLOCK; m < (b + 1) * BLOCK && m < rank->meeting_count; m++)
			if (!isnan(deviation[m]))
				values[n++] = deviation[m];
		if (n)
			offsets[b] += ranks_median(values, n);
		else if (b)
			offsets[b] = offsets[b - 1];
	}
}

static void set_clocks(struct ranks_job *job, struct table *t)
{
	double **deviation = gw_alloc(job->rank_count * sizeof(*deviation));

	t->offset = gw_alloc(job->rank_count * sizeof(*t->offset));
	for (size_t r = 0; r < job->rank_count; r++) {
		t->offset[r] = gw_alloc(blocks(&job->ranks[r]) * sizeof(**t->offset));
		deviation[r] = gw_alloc(job->ranks[r].meeting_count * sizeof(**deviation));
	}
	for (int round = 0; round < ROUNDS && !job->one_clock; round++) {
		deviations(job, t, deviation);
		for (size_t r = 0; r < job->rank_count; r++)
			move_offsets(&job->ranks[r], deviation[r], t->offset[r]);
	}
	for (size_t r = 0; r < job->rank_count; r++) {
		double *copy = deviation[r];
		size_t n = blocks(&job->ranks[r]);

		copy = gw_alloc(n * sizeof(*copy));
		memcpy(copy, t->offset[r], n * sizeof(*copy));
		job->ranks[r].offset = ranks_median(copy, n);
		free(copy);
		free(deviation[r]);
	}
	free(deviation);
}

/* ---- who waits for whom -------------------------------------------------------------------- */

static void find_last(const struct ranks_job *job, const struct table *t, const struct gathering *g)
{
	const struct seat *s = &t->seats[g->first], *last = s;
	double came;

	for (size_t k = 1; k < g->count; k++)
		if (meeting(job, &s[k])->start - offset(t, &s[k]) >
		    meeting(job, last)->start - offset(t, last))
			last = &s[k];
	came = meeting(job, last)->start - offset(t, last);
	for (size_t k = 0; k < g->count; k++) {
		struct ranks_meeting *m = &job->ranks[s[k].rank].meetings[s[k].meeting];

		m->until = fmin(came + offset(t, &s[k]), m->end);
		m->last = last->rank;
		m->others = (uint32_t)g->count - 1;
	}
}

/* Collectives may overlap: each moment counts for the first of them. */
static void wait_for(const struct ranks_job *job, uint32_t rank)
{
	const struct ranks_rank *r = &job->ranks[rank];
	double covered = -INFINITY;

	for (size_t i = 0; i < r->meeting_count; i++) {
		const struct ranks_meeting *m = &r->meetings[i];
		struct ranks_step *step = m->step < job->step_count ? &r->steps[m->step] : NULL;
		double wait = (m->until - fmax(m->start, covered)) * m->exposed;

		if (!step || !m->others || m->last == rank || !(wait > 0))
			continue;
		covered = m->until;
		wait = fmin(wait, (double)step->part[RANKS_COMMUNICATION]);
		step->part[RANKS_COMMUNICATION] -= (float)wait;
		step->part[RANKS_WAITING] += (float)wait;
		job->ranks[m->last].steps[m->step].caused += (float)(wait / m->others);
		if (wait > (double)step->least) {
			step->least = (float)wait;
			step->waited_for = m->last;
		}
	}
}

static void join(struct ranks_job *job, const struct table *t)
{
	for (size_t r = 0; r < job->rank_count; r++) {
		struct ranks_rank *rank = &job->ranks[r];

		for (size_t m = 0; m < rank->meeting_count; m++)
			rank->meetings[m].others = 0;
		for (size_t i = 0; i < job->step_count; i++) {
			struct ranks_step *s = &rank->steps[i];

			s->late = s->caused = s->least = 0;
			s->waited_for = RANKS_NO_STEP;
		}
	}
	for (size_t i = 0; i < t->count; i++) {
		if (t->all[i].count < 2)
			continue;
		job->joined++;
		find_last(job, t, &t->all[i]);
	}
	for (uint32_t r = 0; r < job->rank_count; r++)
		wait_for(job, r);
}

/* ---- who is late, and why ------------------------------------------------------------------ */

/* What a rank does by itself. */
static double own(const struct ranks_step *s)
{
	return (double)(s->part[RANKS_COMPUTE] + s->part[RANKS_INPUT] + s->part[RANKS_HOST] +
	                s->part[RANKS_IDLE]);
}

static double length(const struct ranks_step *s)
{
	return own(s) + (double)(s->part[RANKS_COMMUNICATION] + s->part[RANKS_WAITING]);
}

static void come_late(const struct ranks_job *job, double *values)
{
	for (size_t i = 0; i < job->step_count; i++) {
		double median;

		for (size_t r = 0; r < job->rank_count; r++)
			values[r] = own(&job->ranks[r].steps[i]);
		median = ranks_median(values, job->rank_count);
		for (size_t r = 0; r < job->rank_count; r++) {
			struct ranks_step *s = &job->ranks[r].steps[i];

			s->late = (float)(own(s) - median);
		}
	}
}

/*
 * The standard deviation of what changes by so much from one to the next: by the median of a normal
 * distribution, or by seven eighths where its tail is heavier.
 */
static double scatter(double *changes, size_t count)
{
	double value = ranks_median(changes, count), most = value / 0.6745;

	/* What is above the median comes behind it: the median of that has three quarters below it.
	 */
	for (int half = 0; half < 2; half++) {
		size_t middle = (count - 1) / 2;

		changes += middle;
		count -= middle;
		value = ranks_median(changes, count);
	}
	return fmax(most, value / 1.5341) / sqrt(2);
}

/* Of the steps of some ranks: median length, and scatter from each step to the next. */
static void scales(struct ranks_job *job)
{
	enum { VALUES = 1 << 18 };
	size_t all = job->rank_count * job->step_count, n = 0, m = 0,
	       each = all / VALUES + 1; /* one of so many counts */
	double *lengths = gw_alloc((all / each + job->rank_count) * sizeof(*lengths));
	double *changes = gw_alloc((all / each + job->rank_count) * sizeof(*changes));

	for (size_t r = 0; r < job->rank_count; r++) {
		const struct ranks_step *s = job->ranks[r].steps;

		for (size_t i = r % each; i < job->step_count; i += each) {
			lengths[n++] = length(&s[i]);
			if (i)
				changes[m++] = fabs((double)(s[i].late - s[i - 1].late));
		}
	}
	job->length = n ? ranks_median(lengths, n) : 0;
	job->noise = m ? scatter(changes, m) : 0;
	free(lengths);
	free(changes);
}

/* What of a step could make a rank late. */
static void measure(const struct ranks_step *s, double out[RANKS_CAUSES])
{
	bool known = !isnan(s->expected);

	out[RANKS_CAUSE_UNKNOWN] = 0;
	out[RANKS_CAUSE_COMPUTE] = known ? 0 : (double)s->part[RANKS_COMPUTE];
	out[RANKS_CAUSE_GPU] = known ? (double)(s->part[RANKS_COMPUTE] - s->expected) : 0;
	out[RANKS_CAUSE_WORK] = known ? (double)s->expected : 0;
	out[RANKS_CAUSE_INPUT] = (double)s->part[RANKS_INPUT];
	out[RANKS_CAUSE_HOST] = (double)(s->part[RANKS_HOST] + s->part[RANKS_IDLE]);
}

/* How much more of each cause the rank had than the median rank in step @p i, ns. */
static void compare(const struct ranks_job *job, uint32_t rank, uint32_t i, double *values,
                    double out[RANKS_CAUSES])
{
	double mine[RANKS_CAUSES], theirs[RANKS_CAUSES];

	measure(&job->ranks[rank].steps[i], mine);
	for (unsigned c = 0; c < RANKS_CAUSES; c++) {
		for (size_t r = 0; r < job->rank_count; r++) {
			measure(&job->ranks[r].steps[i], theirs);
			values[r] = theirs[c];
		}
		out[c] = mine[c] - ranks_median(values, job->rank_count);
	}
}

/* By the median of the steps after which it was found: they are late for certain. */
static void explain(const struct ranks_job *job, struct ranks_episode *e)
{
	double *values = gw_alloc(job->rank_count * sizeof(*values));
	double all[RANKS_CAUSES + 1][CAUSE_STEPS];
	size_t n = 0;

	for (; n < CAUSE_STEPS && n <= e->found - e->first; n++) {
		uint32_t i = e->found - (uint32_t)n;
		double excess[RANKS_CAUSES];

		compare(job, e->rank, i, values, excess);
		for (unsigned c = 0; c < RANKS_CAUSES; c++)
			all[c][n] = excess[c];
		all[RANKS_CAUSES][n] = (double)job->ranks[e->rank].steps[i].late;
	}
	e->late = ranks_median(all[RANKS_CAUSES], n);
	for (unsigned c = 0; c < RANKS_CAUSES; c++)
		e->excess[c] = ranks_median(all[c], n);
	for (unsigned c = 0; c < RANKS_CAUSES; c++)
		if (e->excess[c] > e->excess[e->cause] && e->excess[c] > EXPLAINS * e->late)
			e->cause = (enum ranks_cause)c;
	free(values);
}

static void end_episode(struct ranks_job *job, const struct ranks_episode *e)
{
	job->episodes = gw_grow(job->episodes, &job->episode_room, job->episode_count + 1,
	                        sizeof(*job->episodes));
	job->episodes[job->episode_count] = *e;
	explain(job, &job->episodes[job->episode_count++]);
}

static void watch(struct ranks_job *job, uint32_t rank)
{
	const struct ranks_step *s = job->ranks[rank].steps;
	double unit = fmax(job->noise, LITTLE * job->length), sum = 0;
	double less = fmax(LEAST * job->length, DRIFT * job->noise);
	struct ranks_episode e = {.rank = rank, .found = RANKS_NO_STEP};

	for (uint32_t i = 0; i < job->step_count && unit > 0; i++) {
		double add = fmin(((double)s[i].late - less) / unit, STEP_MOST);

		if (sum <= 0)
			e.first = i;
		if (add > 0)
			e.last = i;
		sum = fmin(fmax(sum + add, 0), MOST);
		if (sum >= CERTAIN && e.found == RANKS_NO_STEP)
			e.found = i;
		if (sum > 0 || e.found == RANKS_NO_STEP)
			continue;
		end_episode(job, &e);
		e.found = RANKS_NO_STEP;
	}
	if (e.found != RANKS_NO_STEP)
		end_episode(job, &e);
}

/* While a rank is late, what others wait beside their kernels looks like communication. */
static void keep_apart(struct ranks_job *job)
{
	size_t kept = 0;

	for (size_t i = 0; i < job->network_count; i++) {
		const struct ranks_network n = job->networks[i];
		bool alone = true;

		for (size_t k = 0; k < job->episode_count && alone; k++)
			alone = job->episodes[k].first > n.last || job->episodes[k].last < n.first;
		if (alone)
			job->networks[kept++] = n;
	}
	job->network_count = kept;
}

static int by_found(const void *a, const void *b)
{
	const struct ranks_episode *x = a, *y = b;

	if (x->found != y->found)
		return x->found < y->found ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

void ranks_judge(struct ranks_job *job)
{
	struct table t = {.values = gw_alloc(job->rank_count * sizeof(*t.values))};

	gather(job, &t);
	set_clocks(job, &t);
	join(job, &t);
	come_late(job, t.values);
	scales(job);
	for (uint32_t r = 0; r < job->rank_count; r++)
		watch(job, r);
	job->network_count = ranks_watch_network(job, &job->networks);
	keep_apart(job);
	if (job->episode_count)
		qsort(job->episodes, job->episode_count, sizeof(*job->episodes), by_found);
	for (size_t r = 0; r < job->rank_count; r++)
		free(t.offset[r]);
	free(t.offset);
	free(t.all);
	free(t.seats);
	free(t.values);
}

void ranks_job_free(struct ranks_job *job)
{
	free(job->episodes);
	free(job->networks);
	job->networks = NULL;
	job->network_count = 0;
	job->episodes = NULL;
	job->episode_count = job->episode_room = 0;
}
