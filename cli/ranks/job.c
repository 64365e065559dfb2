#include "cli/ranks/job.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * A rank is late where it needs LEAST of a step more for itself than the median rank, and for
 * certain once what it needs beyond that, step by step, and beyond DRIFT times the scatter, adds up
 * to CERTAIN times the scatter. One step adds or takes away STEP_MOST at most: a few extreme ones
 * are not enough, and a fast one among slow ones does not end it. Of scatter there is LITTLE of a
 * step at least.
 */
static const double LEAST = 0.03, DRIFT = 1, STEP_MOST = 1.6, CERTAIN = 11, MOST = 14,
		    LITTLE = 0.006;
/* A cause explains a quarter of the lateness at least. */
static const double EXPLAINS = 0.25;
enum { CAUSE_STEPS = 5 };

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

/* ---- who waits for whom ---- */

static void find_last(const struct ranks_job *job, const struct ranks_table *t,
		      const struct ranks_gathering *g)
{
	const struct ranks_seat *s = &t->seats[g->first], *last = s;
	double came;

	for (size_t k = 1; k < g->count; k++)
		if (ranks_meeting_of(job, &s[k])->start - ranks_offset_of(t, &s[k]) >
		    ranks_meeting_of(job, last)->start - ranks_offset_of(t, last))
			last = &s[k];
	came = ranks_meeting_of(job, last)->start - ranks_offset_of(t, last);
	for (size_t k = 0; k < g->count; k++) {
		struct ranks_meeting *m = &job->ranks[s[k].rank].meetings[s[k].meeting];

		m->until = fmin(came + ranks_offset_of(t, &s[k]), m->end);
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

static void join(struct ranks_job *job, const struct ranks_table *t)
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

/* ---- who is late, and why ---- */

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

double ranks_scatter(double *distances, size_t count)
{
	double value = ranks_median(distances, count), most = value / 0.6745;

	/* What is above the median comes behind it: the median of that has three quarters below it.
	 */
	for (int half = 0; half < 2; half++) {
		size_t middle = (count - 1) / 2;

		distances += middle;
		count -= middle;
		value = ranks_median(distances, count);
	}
	return fmax(most, value / 1.5341);
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
	job->noise = m ? ranks_scatter(changes, m) / sqrt(2) : 0;
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
		double over = ((double)s[i].late - less) / unit;
		double add = fmax(fmin(over, STEP_MOST), -STEP_MOST);

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
	struct ranks_table t;

	ranks_gather(job, &t);
	join(job, &t);
	come_late(job, t.values);
	scales(job);
	for (uint32_t r = 0; r < job->rank_count; r++)
		watch(job, r);
	job->network_count = ranks_watch_network(job, &job->networks);
	keep_apart(job);
	if (job->episode_count)
		qsort(job->episodes, job->episode_count, sizeof(*job->episodes), by_found);
	ranks_table_free(job, &t);
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
