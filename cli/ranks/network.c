/* Collectives that take longer than before, once all of their ranks have come. */
#include "cli/ranks/job.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>

enum {
	PAST = 32, /* steps that a rank is compared with */
	LEAST_PAST = 5,
	MEMBERS = 2 /* of the smallest collective: one rank alone is none */
};
/* As a late rank is found (job.c): the least share of a step, and how far a sum must rise. */
static const double LEAST = 0.03, STEP_MOST = 2, CERTAIN = 11, MOST = 14, LITTLE = 0.006, DOUBT = 4;

/* A rank's exposed communication, step after step. */
struct watched {
	double past[PAST];
	size_t filled;
	double usual, scatter; /* of these */
	double sum, more;      /* more: than usual, mean since `first` */
	uint32_t first, late;  /* late: steps in that mean */
	bool certain;
	size_t next; /* of its collectives */
};

/* Of a rank's collectives in a step: how long they took after all of their ranks had come, exposed.
 */
static double together(const struct ranks_rank *r, struct watched *w, uint32_t step)
{
	double ns = 0;

	for (; w->next < r->meeting_count; w->next++) {
		const struct ranks_meeting *m = &r->meetings[w->next];

		if (m->step == RANKS_NO_STEP || !m->others || m->step < step)
			continue;
		if (m->step > step)
			break;
		ns += fmax(m->end - fmax(m->until, m->start), 0) * m->exposed;
	}
	return ns;
}

static void remember(struct watched *w, double ns)
{
	double values[PAST];
	const size_t n = w->filled + 1 < PAST ? w->filled + 1 : PAST;

	w->past[w->filled++ % PAST] = ns;
	for (size_t i = 0; i < n; i++)
		values[i] = w->past[i];
	w->usual = ranks_median(values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(w->past[i] - w->usual);
	/* Of a few it is not known well. */
	w->scatter = ranks_scatter(values, n) * (1 + DOUBT / (double)n);
}

static void look(struct watched *w, double ns, double length, uint32_t step)
{
	const double unit = fmax(w->scatter, LITTLE * length);
	const double over = ns - w->usual - fmax(LEAST * length, w->scatter);

	if (w->filled < LEAST_PAST) {
		remember(w, ns);
		return;
	}
	if (w->sum <= 0) {
		w->first = step;
		w->more = w->late = 0;
	}
	w->sum = fmin(fmax(w->sum + fmin(over / unit, STEP_MOST), 0), MOST);
	if (w->sum >= CERTAIN)
		w->certain = true;
	if (w->sum > 0) {
		w->more += (ns - w->usual - w->more) / ++w->late;
		return;
	}
	w->certain = false;
	remember(w, ns);
}

/* What those that are certain have in common after @p step. False: too few are. */
static bool sum_up(const struct watched *all, uint32_t ranks, struct ranks_network *out,
		   double *values)
{
	size_t n = 0;

	out->ranks = 0;
	for (uint32_t r = 0; r < ranks; r++) {
		if (!all[r].certain)
			continue;
		if (!out->ranks++)
			out->rank = r;
		values[n++] = all[r].more;
	}
	if (out->ranks < MEMBERS)
		return false;
	out->more = ranks_median(values, n);
	n = 0;
	for (uint32_t r = 0; r < ranks; r++)
		if (all[r].certain)
			values[n++] = (double)all[r].first;
	out->first = (uint32_t)ranks_median(values, n);
	return true;
}

size_t ranks_watch_network(const struct ranks_job *job, struct ranks_network **out)
{
	struct watched *all = gw_alloc(job->rank_count * sizeof(*all));
	double *values = gw_alloc(job->rank_count * sizeof(*values));
	size_t count = 0, room = 0;
	bool open = false;

	*out = NULL;
	for (uint32_t i = 0; i < job->step_count && job->length > 0; i++) {
		struct ranks_network now;

		for (size_t r = 0; r < job->rank_count; r++)
			look(&all[r], together(&job->ranks[r], &all[r], i), job->length, i);
		if (!sum_up(all, (uint32_t)job->rank_count, &now, values)) {
			open = false;
			continue;
		}
		now.found = i;
		now.last = i;
		if (!open) {
			*out = gw_grow(*out, &room, count + 1, sizeof(**out));
			(*out)[count++] = now;
			open = true;
			continue;
		}
		/* More of its ranks become certain, and it lasts. */
		now.found = (*out)[count - 1].found;
		now.first = (*out)[count - 1].first;
		if (now.ranks < (*out)[count - 1].ranks) {
			now.ranks = (*out)[count - 1].ranks;
			now.rank = (*out)[count - 1].rank;
		}
		(*out)[count - 1] = now;
	}
	free(all);
	free(values);
	return count;
}
