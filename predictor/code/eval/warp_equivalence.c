#include "predictor/code/eval/warp_equivalence.h"

#include <string.h>

enum { PAGE = 64, PAGES = GW_ALIKE_EVENTS / PAGE };

/* A warp that was run: it answers for those from `low` on, `count` along each axis. */
struct kept {
	int64_t low[GW_EVAL_AXES], count[GW_EVAL_AXES];
	uint32_t first, events;
};

struct gw_warp_equivalence {
	struct gw_arena *arena;
	struct gw_eval *eval;
	struct gw_eval_limits limits;
	struct gw_eval_access *page[PAGES]; /* a few are all that most launches need */
	uint32_t events;                    /* in use, of kept warps and the one under way */
	struct kept kept[GW_ALIKE_RUNS];
	uint32_t count;
	uint32_t unasked; /* accesses made again since limits.go_on was last asked */
	/* The one under way. */
	uint32_t first;
	bool lost; /* not all of its accesses are kept */
	gw_eval_sink *sink;
	void *arg;
};

struct gw_warp_equivalence *gw_warp_equivalence_new(struct gw_eval *eval,
						    const struct gw_eval_limits *limits,
						    struct gw_arena *arena)
{
	struct gw_warp_equivalence *a = gw_arena_array(arena, 1, sizeof(*a));

	if (!a)
		return NULL;
	a->arena = arena;
	a->limits = *limits;
	a->eval = eval;
	return a;
}

static struct gw_eval_access *event(const struct gw_warp_equivalence *a, uint32_t at)
{
	return &a->page[at / PAGE][at % PAGE];
}

/* A place for one more; NULL: there is none. */
static struct gw_eval_access *place(struct gw_warp_equivalence *a)
{
	uint32_t page = a->events / PAGE;

	if (a->lost || page == PAGES)
		return NULL;
	if (!a->page[page])
		a->page[page] = gw_arena_room(a->arena, PAGE, sizeof(**a->page));
	return a->page[page] ? event(a, a->events++) : NULL;
}

static void keep(void *arg, const struct gw_eval_access *access)
{
	struct gw_warp_equivalence *a = arg;
	struct gw_eval_access *to = place(a);

	a->lost = !to;
	if (to)
		*to = *access;
	a->sink(a->arg, access);
}

static bool answers(const struct kept *k, const int64_t at[GW_EVAL_AXES])
{
	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		if (at[i] < k->low[i] || at[i] - k->low[i] >= k->count[i])
			return false;
	return true;
}

/* The access that a warp @p away makes in place of @p access. Addresses of shared and local memory
 * are of 32 bits. */
static void move(struct gw_eval_access *access, const int64_t away[GW_EVAL_AXES])
{
	bool narrow = access->space == IR_SPACE_SHARED || access->space == IR_SPACE_LOCAL;
	uint64_t offset = 0;

	access->warp += (uint32_t)away[0];
	access->block.x += (uint32_t)away[1];
	access->block.y += (uint32_t)away[2];
	access->block.z += (uint32_t)away[3];
	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		offset += (uint64_t)access->grows[i] * (uint64_t)away[i];
	for (unsigned lane = 0; offset && lane < GW_LANES; lane++) {
		uint64_t moved = access->address[lane] + offset;

		access->address[lane] = narrow ? (uint32_t)moved : moved;
	}
}

static void make_again(struct gw_warp_equivalence *a, const struct kept *k,
		       const int64_t at[GW_EVAL_AXES], struct gw_warp_equivalence_report *out)
{
	int64_t away[GW_EVAL_AXES];

	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		away[i] = at[i] - k->low[i];
	*out = (struct gw_warp_equivalence_report){.complete = true};
	for (; out->steps < k->events && !out->halted; out->steps++) {
		struct gw_eval_access moved = *event(a, k->first + (uint32_t)out->steps);

		move(&moved, away);
		a->sink(a->arg, &moved);
		if (++a->unasked % GW_EVAL_ASK == 0 && a->limits.go_on)
			out->halted = !a->limits.go_on(a->limits.go_on_arg);
	}
}

static const char *run(struct gw_warp_equivalence *a, struct gw_dim3 block, uint32_t warp,
		       struct gw_warp_equivalence_report *out)
{
	struct kept k = {.low = {warp, block.x, block.y, block.z}};
	struct gw_eval_warp_report report;
	bool alone = true;
	const char *why;

	if (a->count == GW_ALIKE_RUNS || a->events > GW_ALIKE_EVENTS / 2)
		a->count = a->events = 0;
	k.first = a->events;
	a->lost = false;
	why = gw_eval_alike(a->eval, block, warp, keep, a, &report, k.count);
	if (why)
		return why;
	*out = (struct gw_warp_equivalence_report){report.complete, report.halted, report.steps};
	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		alone &= k.count[i]++ == 0;
	k.events = a->events - k.first;
	if (report.complete && !a->lost && !alone)
		a->kept[a->count++] = k;
	else
		a->events = k.first;
	return NULL;
}

const char *gw_warp_equivalence_warp(struct gw_warp_equivalence *a, struct gw_dim3 block,
				     uint32_t warp, gw_eval_sink *sink, void *arg,
				     struct gw_warp_equivalence_report *out)
{
	const int64_t at[GW_EVAL_AXES] = {warp, block.x, block.y, block.z};

	a->sink = sink;
	a->arg = arg;
	for (uint32_t i = a->count; i-- > 0;)
		if (answers(&a->kept[i], at)) {
			make_again(a, &a->kept[i], at, out);
			return NULL;
		}
	return run(a, block, warp, out);
}
