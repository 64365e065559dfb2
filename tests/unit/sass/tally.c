#include "tests/unit/sass/sass_fixture.h"

#include "predictor/code/eval/warp_equivalence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

void tally_load(struct tally *t, uint64_t address)
{
	t->loads++;
	t->load_sum += address;
}

void tally_store(struct tally *t, uint64_t address)
{
	t->stores++;
	t->store_sum += address;
}

static void count_once(struct tally *t, const struct gw_eval_access *a, uint64_t offset)
{
	bool is_store = a->op->op == IR_ST;

	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		if (!(a->active >> lane & 1))
			continue;
		t->exact &= a->base[lane] == GW_BASE_NONE && (a->certain >> lane & 1);
		if (is_store)
			tally_store(t, a->address[lane] + offset);
		else
			tally_load(t, a->address[lane] + offset);
	}
}

static void expand(struct tally *t, const struct gw_eval_access *a, uint32_t level, uint64_t offset)
{
	if (level == a->repeats || level >= GW_EVAL_LOOPS) {
		count_once(t, a, offset);
		return;
	}
	t->exact &= a->repeat[level].linear || a->repeat[level].count == 1;
	for (uint64_t n = 0; n < a->repeat[level].count; n++)
		expand(t, a, level + 1, offset + n * (uint64_t)a->repeat[level].step);
}

static void see(void *arg, const struct gw_eval_access *a)
{
	struct tally *t = arg;

	if (a->space != IR_SPACE_GLOBAL)
		return;
	t->exact &= !a->unbounded;
	expand(t, a, 0, 0);
}

/* Warps that are like one that was run make the same accesses when they are not run themselves.
 * Whoever asks for addresses learns more of them; what is not known of one is anything. */
static void compare(const struct tally *run, const struct tally *again)
{
	assert_true(run->loads == again->loads && run->stores == again->stores);
	assert_true(!run->exact || again->exact);
	assert_true(!run->exact || run->load_sum == again->load_sum);
	assert_true(!run->exact || run->store_sum == again->store_sum);
}

void tally_launch(struct tally *t, const struct gw_ir_program *p, const struct gw_config *c,
		  const uint8_t *arguments, uint32_t bytes)
{
	struct gw_eval_launch launch = {.config = *c, .arguments = {arguments, bytes}};
	uint32_t warps = (uint32_t)((gw_dim3_count(c->block) + 31) / 32);
	struct gw_eval_limits limits = {0};
	struct gw_arena arena;
	struct tally again = *t;
	struct gw_warp_equivalence *alike;
	struct gw_eval *eval;

	gw_arena_init(&arena, 64 << 20);
	eval = gw_eval_new(p, &launch, &limits, &arena);
	alike = gw_warp_equivalence_new(gw_eval_new(p, &launch, &limits, &arena), &limits, &arena);
	assert_non_null(eval);
	assert_non_null(alike);
	for (uint32_t y = 0; y < c->grid.y; y++)
		for (uint32_t x = 0; x < c->grid.x; x++)
			for (uint32_t w = 0; w < warps; w++) {
				const struct gw_dim3 block = {x, y, 0};
				struct gw_eval_warp_report report;
				struct gw_warp_equivalence_report reported;

				assert_null(gw_eval_warp(eval, block, w, see, t, &report));
				assert_null(gw_warp_equivalence_warp(alike, block, w, see, &again,
								     &reported));
				again.control &= report.complete && report.control_known;
				again.exact &= again.control;
				t->control &= report.complete && report.control_known;
				t->exact &= t->control;
				t->awaits |= report.awaits;
			}
	compare(t, &again);
	gw_arena_free(&arena);
}
