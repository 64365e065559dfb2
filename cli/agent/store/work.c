#include "cli/agent/store/work.h"

#include "cli/common/memory.h"
#include "predictor/core/hash.h"

#include <stdlib.h>
#include <string.h>

enum { PROBES = 16 };

/* A row whose sm_hertz is the sum over its timed launches of which the clock was known. */
struct place {
	struct hours_work row;
	double clocked;
};

struct agent_work {
	struct place place[WORK_PLACES], other;
};

struct agent_work *agent_work_new(void)
{
	return gw_alloc(sizeof(struct agent_work));
}

void agent_work_free(struct agent_work *w)
{
	free(w);
}

void agent_work_clear(struct agent_work *w)
{
	memset(w, 0, sizeof(*w));
}

static bool same(const struct hours_work *a, const struct hours_work *b)
{
	return a->shape == b->shape && a->bound == b->bound && !strcmp(a->program, b->program) &&
	       !strcmp(a->build, b->build);
}

static struct place *place_of(struct agent_work *w, const struct hours_work *row)
{
	const uint64_t hash = gw_hash(gw_hash(row->shape, row->program, strlen(row->program)),
				      row->build, strlen(row->build));

	for (uint64_t i = 0; i < PROBES; i++) {
		struct place *p = &w->place[(hash + i) % WORK_PLACES];

		if (!p->row.shape)
			p->row = *row;
		if (same(&p->row, row))
			return p;
	}
	return &w->other;
}

static void add(struct place *to, const struct hours_work *from, double clock_sum, double clocked)
{
	struct hours_work *r = &to->row;

	r->launches += from->launches;
	r->timed += from->timed;
	r->gpu_s += from->gpu_s;
	r->timed_s += from->timed_s;
	r->compared_s += from->compared_s;
	r->expected_s += from->expected_s;
	r->sm_hertz += clock_sum;
	to->clocked += clocked;
}

void agent_work_add(struct agent_work *w, const struct hours_work *row, const struct agent_sum *d,
		    double sm_hertz)
{
	const struct hours_work come = {.launches = (uint64_t)d->launches,
					.timed = (uint64_t)d->measured,
					.gpu_s = d->gpu_ns / 1e9,
					.timed_s = d->measured_ns / 1e9,
					.compared_s = d->compared_ns / 1e9,
					.expected_s = d->expected_ns / 1e9};
	const double clocked = sm_hertz > 0 ? d->measured : 0;

	add(place_of(w, row), &come, clocked * sm_hertz, clocked);
}

static int by_time(const void *a, const void *b)
{
	const double x = (*(struct place *const *)a)->row.gpu_s;
	const double y = (*(struct place *const *)b)->row.gpu_s;

	return (x < y) - (x > y);
}

static void put(struct hours_work *out, const struct place *p)
{
	*out = p->row;
	out->sm_hertz = p->clocked > 0 ? p->row.sm_hertz / p->clocked : 0;
}

size_t agent_work_rows(const struct agent_work *w, struct hours_work *out)
{
	const struct place *list[WORK_PLACES];
	struct place other = w->other;
	size_t count = 0, rows = 0;

	for (size_t i = 0; i < WORK_PLACES; i++)
		if (w->place[i].row.shape)
			list[count++] = &w->place[i];
	qsort(list, count, sizeof(struct place *), by_time);
	for (size_t i = 0; i < count; i++)
		if (i < WORK_ROWS)
			put(&out[rows++], list[i]);
		else
			add(&other, &list[i]->row, list[i]->row.sm_hertz, list[i]->clocked);
	if (other.row.launches || other.row.timed) {
		put(&out[rows], &other);
		strcpy(out[rows++].kernel, "other");
	}
	return rows;
}
