/*
 * Matrix operations of a warp group (wgmma), which go on beside the warps that issue them: one
 * after the other through the tensor cores, closed into groups (the last of a group names a
 * scoreboard of its own kind, gsb0), and awaited by WARPGROUP.DEPBAR, which says how many of the
 * newest groups may still be under way. As if no other warp group used the tensor cores.
 */
#include "predictor/code/sass/tensor.h"
#include "predictor/code/timing/schedule_parts.h"

#include <math.h>

enum { NO_GROUP = 7 }; /* of bits 84 to 86: the group goes on */

static struct gw_cycles later_of(const struct gw_cycles *a, const struct gw_cycles *b)
{
	if (isnan(a->value))
		return *a;
	return isnan(b->value) || b->value > a->value ? *b : *a;
}

static void add(struct gw_cycles *t, const struct gw_waits *waits, unsigned kind, double n)
{
	t->value += n * waits->cycles[kind];
	t->count[kind] += (float)n;
}

/* The newest stands first; beyond what is kept the oldest are taken for done. */
static void close_group(struct gw_warp *w, const struct gw_cycles *done)
{
	for (unsigned i = GW_WARP_GROUPS - 1; i; i--)
		w->group[i] = w->group[i - 1];
	w->group[0] = *done;
}

void gw_warp_matrix(struct gw_warp *w, const struct gw_sass_insn *insn,
		    const struct gw_waits *waits)
{
	unsigned columns = gw_sass_group_columns(insn);
	struct gw_cycles done;

	w->tensor = later_of(&w->tensor, &w->now);
	/* The latency of an unknown operation is unknown. */
	if (columns)
		add(&w->tensor, waits, GW_WAIT_matrix_columns, columns / 8.0);
	else
		w->tensor.value = NAN;
	done = w->tensor;
	add(&done, waits, GW_WAIT_matrix, 1);
	if (gw_sass_bits(insn, 84, 3) != NO_GROUP)
		close_group(w, &done);
}

void gw_warp_await(struct gw_warp *w, const struct gw_sass_insn *insn)
{
	uint64_t newest = gw_sass_bits(insn, 72, 3);

	if (!gw_sass_bits(insn, 47, 1) || newest >= GW_WARP_GROUPS) /* it is no wait */
		return;
	w->now = later_of(&w->now, &w->group[newest]);
}

void gw_warp_matrix_merge(struct gw_warp *w, const struct gw_warp *other)
{
	w->tensor = later_of(&w->tensor, &other->tensor);
	for (unsigned i = 0; i < GW_WARP_GROUPS; i++)
		w->group[i] = later_of(&w->group[i], &other->group[i]);
}
