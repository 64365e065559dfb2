/* Which configurations are solved for: how they come, and give their place to others. */
#include "predictor/counters/attribute_state.h"

#include <string.h>

enum {
	N = GW_ATTRIBUTE_CONFIGS,
	RIPE = 16,      /* windows with a configuration: it may give its place to another */
	STALE = 8,      /* windows since the last with it: likewise */
	KNOWN_FOR = 64, /* windows, before it is solved for again */
};

/*
 * Take a configuration out of the equations without losing what they say of the others: Gauss's
 * elimination of its column (Schur's complement).
 */
static void eliminate(struct gw_attribution *a, struct gw_attribution_group *g, unsigned e)
{
	for (unsigned m = 0; m < a->metrics; m++) {
		double *gram = g->gram[m], *rhs = g->rhs[m],
		       pivot = gram[gw_attribution_pair(e, e)];

		for (unsigned i = 0; pivot > 0 && i < a->slots; i++) {
			double f = gram[gw_attribution_pair(i, e)] / pivot;

			if (i == e || f == 0)
				continue;
			for (unsigned j = 0; j <= i; j++)
				if (j != e)
					gram[gw_attribution_pair(i, j)] -=
						f * gram[gw_attribution_pair(e, j)];
			rhs[i] -= f * rhs[e];
		}
		if (pivot > 0)
			g->square[m] -= rhs[e] * rhs[e] / pivot;
		for (unsigned i = 0; i < a->slots; i++)
			gram[gw_attribution_pair(i, e)] = 0;
		rhs[e] = g->beside[m][e] = 0;
	}
	g->rows[e] = g->launches[e] = g->touched[e] = 0;
}

/* Slot of a configuration; N and more: where its counts are kept; GW_ATTRIBUTE_NOWHERE. */
static unsigned place_of(const struct gw_attribution *a, uint32_t config)
{
	for (unsigned i = 0; i < a->slots; i++)
		if (a->slot[i].config == config)
			return i;
	for (unsigned i = 0; i < GW_ATTRIBUTE_KNOWN; i++)
		if (a->known[i].config == config && a->known[i].until > a->windows)
			return N + i;
	return GW_ATTRIBUTE_NOWHERE;
}

/* Half of its counts or more are what may be believed. */
static bool sure(const struct gw_attribution *a, unsigned slot)
{
	unsigned n = 0;

	for (unsigned m = 0; m < a->metrics; m++)
		n += a->solved[slot].error[m] <= GW_COUNTED_WORST;
	return 2 * n >= a->metrics;
}

/* Whose place another may have, N: none's. */
static unsigned ripe(const struct gw_attribution *a)
{
	unsigned found = N;

	for (unsigned i = 0; i < a->slots; i++) {
		const struct gw_attribution_slot *s = &a->slot[i];

		if (s->window + STALE > a->windows &&
		    !(s->solved && (s->windows >= RIPE || sure(a, i))))
			continue;
		if (found == N || s->windows > a->slot[found].windows)
			found = i;
	}
	return found;
}

/* From now on its counts are taken off where it runs. */
static void settle(struct gw_attribution *a, unsigned slot)
{
	struct gw_attribution_known *k = a->known;

	for (unsigned i = 0; i < GW_ATTRIBUTE_KNOWN; i++)
		if (a->known[i].until < k->until)
			k = &a->known[i];
	if (a->slot[slot].solved) {
		k->config = a->slot[slot].config;
		k->until = a->windows + KNOWN_FOR;
		memcpy(k->value, a->solved[slot].value, sizeof(k->value));
	}
	for (unsigned i = 0; i < sizeof(a->group) / sizeof(a->group[0][0]); i++)
		eliminate(a, &a->group[0][0] + i, slot);
}

struct gw_attribution_ran *gw_attribution_ran_of(struct gw_attribution *a, uint32_t config)
{
	const uint32_t hash = config * UINT32_C(2654435769) >> (32 - GW_ATTRIBUTE_RAN_BITS);

	for (unsigned i = 0; i < GW_ATTRIBUTE_RAN; i++) {
		struct gw_attribution_ran *r = &a->ran[(hash + i) % GW_ATTRIBUTE_RAN];

		if (r->config == config || !r->config)
			return r;
	}
	return NULL;
}

/* It is solved for from now on. False: there is no room. */
static bool give_room(struct gw_attribution *a, struct gw_attribution_ran *r)
{
	const unsigned i = a->slots < N ? a->slots++ : ripe(a);
	struct gw_attribution_ran *before;
	uint32_t config;

	if (i == N)
		return false;
	config = a->slot[i].config;
	if (config)
		settle(a, i);
	a->slot[i] = (struct gw_attribution_slot){
		.config = r->config, .window = a->windows, .windows = 1};
	for (unsigned m = 0; m < a->metrics; m++)
		a->slot[i].cost[m] = 1;
	r->place = i;
	before = config ? gw_attribution_ran_of(a, config) : NULL;
	if (before)
		before->place = place_of(a, config);
	return true;
}

/* What ran longest in the window and has no place. */
static struct gw_attribution_ran *longest(struct gw_attribution *a)
{
	struct gw_attribution_ran *found = NULL;

	for (struct gw_attribution_ran *r = a->ran; r < a->ran + GW_ATTRIBUTE_RAN; r++)
		if (r->config && r->place == GW_ATTRIBUTE_NOWHERE && (!found || r->ns > found->ns))
			found = r;
	return found;
}

void gw_attribution_place(struct gw_attribution *a)
{
	struct gw_attribution_ran *r;

	memset(a->ran, 0, sizeof(a->ran));
	for (size_t i = 0; i < a->run_count; i++) {
		r = a->runs[i].config ? gw_attribution_ran_of(a, a->runs[i].config) : NULL;
		if (!r)
			continue;
		r->config = a->runs[i].config;
		if (a->runs[i].end > a->runs[i].start)
			r->ns += (double)(a->runs[i].end - a->runs[i].start);
	}
	for (r = a->ran; r < a->ran + GW_ATTRIBUTE_RAN; r++) {
		if (!r->config)
			continue;
		r->place = place_of(a, r->config);
		if (r->place < N) {
			a->slot[r->place].window = a->windows;
			a->slot[r->place].windows++;
		}
	}
	while ((r = longest(a)) != NULL && give_room(a, r))
		;
}
