#include "cli/ranks/job.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK = 64, /* collectives of a rank that share one clock offset */
	ROUNDS = 16 /* at most, in which offsets pass from one communicator to the next */
};
static const double SETTLED = 1000; /* ns: offsets that move by less */

/* ---- collectives ---- */

static bool same_key(const void *arg, uint32_t position)
{
	const struct {
		const struct ranks_table *t;
		uint64_t key;
	} *a = arg;

	return a->t->all[position].key == a->key;
}

static uint32_t gathering_of(struct ranks_table *t, struct gw_index *index, uint64_t key)
{
	const struct {
		const struct ranks_table *t;
		uint64_t key;
	} a = {t, key};
	uint32_t at = gw_index_find(index, gw_hash_mix(key), same_key, &a);

	if (at != GW_INDEX_NONE)
		return at;
	t->all = gw_grow(t->all, &t->room, t->count + 1, sizeof(*t->all));
	t->all[t->count] = (struct ranks_gathering){.key = key};
	gw_index_add(index, gw_hash_mix(key), (uint32_t)t->count);
	return (uint32_t)t->count++;
}

static void gather(const struct ranks_job *job, struct ranks_table *t)
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
			struct ranks_gathering *g = &t->all[of[at++]];
			struct ranks_seat *next = &t->seats[g->first + g->count];

			/* A log may name a collective twice: the first one counts. */
			if (g->count && next[-1].rank == r)
				continue;
			*next = (struct ranks_seat){(uint32_t)r, (uint32_t)m};
			g->count++;
		}
	free(of);
}

const struct ranks_meeting *ranks_meeting_of(const struct ranks_job *job,
					     const struct ranks_seat *s)
{
	return &job->ranks[s->rank].meetings[s->meeting];
}

static size_t blocks(const struct ranks_rank *r)
{
	return r->meeting_count / BLOCK + 1;
}

double ranks_offset_of(const struct ranks_table *t, const struct ranks_seat *s)
{
	return t->offset[s->rank][s->meeting / BLOCK];
}

/* ---- clocks ---- */

/* Whether all ranks of a collective have one clock: its ends say nothing of clocks. */
static bool of_one_clock(const struct ranks_job *job, const struct ranks_table *t,
			 const struct ranks_gathering *g)
{
	const struct ranks_seat *s = &t->seats[g->first];

	for (size_t k = 1; k < g->count; k++)
		if (job->ranks[s[k].rank].clock != job->ranks[s->rank].clock)
			return false;
	return true;
}

/* How much later than the median rank each one ends, by rank and meeting; NaN: that says nothing.
 */
static void deviations(const struct ranks_job *job, const struct ranks_table *t, double **out)
{
	for (size_t r = 0; r < job->rank_count; r++)
		for (size_t m = 0; m < job->ranks[r].meeting_count; m++)
			out[r][m] = (double)NAN;
	for (size_t i = 0; i < t->count; i++) {
		const struct ranks_gathering *g = &t->all[i];
		const struct ranks_seat *s = &t->seats[g->first];
		double median;

		if (of_one_clock(job, t, g) || !ranks_meeting_of(job, s)->together)
			continue;
		for (size_t k = 0; k < g->count; k++)
			t->values[k] =
				ranks_meeting_of(job, &s[k])->end - ranks_offset_of(t, &s[k]);
		median = ranks_median(t->values, g->count);
		for (size_t k = 0; k < g->count; k++)
			out[s[k].rank][s[k].meeting] = ranks_meeting_of(job, &s[k])->end -
						       ranks_offset_of(t, &s[k]) - median;
	}
}

/* The largest move. */
static double move_offsets(const struct ranks_rank *rank, const double *deviation, double *offsets)
{
	double most = 0;

	for (size_t b = 0; b < blocks(rank); b++) {
		double values[BLOCK];
		size_t n = 0;

		for (size_t m = b * BLOCK; m < (b + 1) * BLOCK && m < rank->meeting_count; m++)
			if (!isnan(deviation[m]))
				values[n++] = deviation[m];
		if (n) {
			const double move = ranks_median(values, n);

			offsets[b] += move;
			most = fmax(most, fabs(move));
		} else if (b) {
			offsets[b] = offsets[b - 1];
		}
	}
	return most;
}

/* Offsets settle, communicator by communicator. */
static void find_offsets(const struct ranks_job *job, struct ranks_table *t, double **deviation)
{
	double most = SETTLED;

	for (int round = 0; round < ROUNDS && most >= SETTLED; round++) {
		most = 0;
		deviations(job, t, deviation);
		for (size_t r = 0; r < job->rank_count; r++)
			most = fmax(most, move_offsets(&job->ranks[r], deviation[r], t->offset[r]));
	}
}

static bool meets_other_clocks(const struct ranks_rank *rank, const double *deviation)
{
	for (size_t m = 0; m < rank->meeting_count; m++)
		if (!isnan(deviation[m]))
			return true;
	return false;
}

/* A rank that meets those of its machine alone has the clock of one that meets others. */
static void share_offsets(struct ranks_job *job, struct ranks_table *t, double *const *deviation)
{
	size_t *of = gw_alloc(job->rank_count * sizeof(*of)); /* by clock: such a rank, and 1 */

	for (size_t r = 0; r < job->rank_count; r++)
		if (meets_other_clocks(&job->ranks[r], deviation[r]))
			of[job->ranks[r].clock] = r + 1;
	for (size_t r = 0; r < job->rank_count; r++) {
		const size_t from = of[job->ranks[r].clock];
		const size_t mine = blocks(&job->ranks[r]);

		if (!from || meets_other_clocks(&job->ranks[r], deviation[r]))
			continue;
		for (size_t b = 0; b < mine; b++)
			t->offset[r][b] =
				t->offset[from - 1][b * blocks(&job->ranks[from - 1]) / mine];
	}
	free(of);
}

static void set_clocks(struct ranks_job *job, struct ranks_table *t)
{
	double **deviation = gw_alloc(job->rank_count * sizeof(*deviation));

	t->offset = gw_alloc(job->rank_count * sizeof(*t->offset));
	job->one_clock = true;
	for (size_t r = 0; r < job->rank_count; r++) {
		t->offset[r] = gw_alloc(blocks(&job->ranks[r]) * sizeof(**t->offset));
		deviation[r] = gw_alloc(job->ranks[r].meeting_count * sizeof(**deviation));
		job->one_clock &= job->ranks[r].clock == job->ranks[0].clock;
	}
	if (!job->one_clock) {
		find_offsets(job, t, deviation);
		share_offsets(job, t, deviation);
	}
	for (size_t r = 0; r < job->rank_count; r++) {
		size_t n = blocks(&job->ranks[r]);
		double *copy = gw_alloc(n * sizeof(*copy));

		memcpy(copy, t->offset[r], n * sizeof(*copy));
		job->ranks[r].offset = ranks_median(copy, n);
		free(copy);
		free(deviation[r]);
	}
	free(deviation);
}

void ranks_gather(struct ranks_job *job, struct ranks_table *t)
{
	*t = (struct ranks_table){.values = gw_alloc(job->rank_count * sizeof(*t->values))};
	gather(job, t);
	set_clocks(job, t);
}

void ranks_table_free(const struct ranks_job *job, struct ranks_table *t)
{
	for (size_t r = 0; r < job->rank_count; r++)
		free(t->offset[r]);
	free(t->offset);
	free(t->all);
	free(t->seats);
	free(t->values);
}
