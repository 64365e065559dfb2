/* Kleimenov and Popova's time of a thread: fig. 3's loop, and expressions against the schedule they
 * stand for. */
#include "predictor/code/timing/timing.h"
#include "predictor/models/papers/interval.h"
#include "tests/test.h"

enum { MEMORY = 4 << 20 };

/* Fig. 3, twice: values 1 j, 2 temp, 3 %6, 4 %8, 5 %9, 6 res, 7 p. */
static const struct gw_time_insn fig_3[] = {
	{GW_TIME_int, {3}, {1}},     /* %6 = icmp %j, 15 */
	{GW_TIME_br, {0}, {3}},      /* br %6 */
	{GW_TIME_fp64, {4}, {2}},    /* %8 = fmul %temp, 1.3 */
	{GW_TIME_fp64, {5}, {4}},    /* %9 = fadd %8, 8.0 */
	{GW_TIME_fp64, {2}, {5, 7}}, /* %11 = fadd %9, %p: the next %temp */
	{GW_TIME_int, {1}, {1}},     /* %13 = add %j, 1: the next %j */
	{GW_TIME_br, {0}, {0}},      /* br */
};

static struct gw_time time_of_fig_3(unsigned iterations)
{
	struct gw_time_insn code[14];
	struct gw_arena arena;
	struct gw_time time;

	gw_arena_init(&arena, MEMORY);
	memcpy(code, fig_3, sizeof(fig_3));
	memcpy(code + 7, fig_3, sizeof(fig_3));
	assert_true(gw_time_of(code, 7 * iterations, 8, false, &arena, &time));
	gw_arena_free(&arena);
	return time;
}

/*
 * As printed, with its second comma read as a sum: the way from %13 to the second iteration's %8
 * goes through the next %6 and its branch. Fig. 3 leaves out the delay of %11 before %13, which
 * the order of the code puts there, and the branch that ends the second iteration.
 */
static double printed(double lat_int, double lat_fp64, double del_int, double del_fp64,
		      double del_br)
{
	double next = fmax(fmax(del_int + del_br, lat_int) + lat_int + del_br + del_fp64, lat_fp64);

	return lat_int + del_br + 2 * lat_fp64 + next + 2 * lat_fp64 + del_fp64 + del_int + del_br;
}

TEST(fig_3_s_two_iterations_take_the_time_printed)
{
	static const double cases[][5] = {{4, 8, 1, 1, 1},   {6, 48, 1, 32, 1}, {5, 9, 2, 4, 3},
					  {20, 21, 1, 2, 1}, {4, 4, 4, 4, 4},   {1, 100, 1, 50, 9}};
	struct gw_time time = time_of_fig_3(2);

	assert_false(time.incomplete);
	for (unsigned i = 0; i < COUNT(cases); i++) {
		const double *c = cases[i];
		struct gw_time_costs costs = {
			.lat = {[GW_TIME_int] = c[0], [GW_TIME_fp64] = c[1], [GW_TIME_br] = c[4]},
			.del = {[GW_TIME_int] = c[2], [GW_TIME_fp64] = c[3], [GW_TIME_br] = c[4]}};

		assert_true(fabs(gw_time_value(&time, &costs, NULL) -
				 printed(c[0], c[1], c[2], c[3], c[4])) < 1e-9);
	}
}

TEST(fig_3_s_expression_is_a_maximum_of_sums)
{
	struct gw_time once = time_of_fig_3(1);
	char text[400];

	/* lat_%6 + del_br + lat_%8 + lat_%9 + del_%11 + del_%13 + del_br */
	assert_string_equal(gw_time_text(&once, text, sizeof(text)),
			    "lat_int + 2 lat_fp64 + del_int + del_fp64 + 2 del_br");
	assert_string_equal(gw_time_text(&once, text, 12), "lat_int + 2");
}

static uint32_t state_of_random = 12345;

static uint32_t random_below(uint32_t limit)
{
	state_of_random = state_of_random * 1664525 + 1013904223;
	return (state_of_random >> 8) % limit;
}

enum { INSNS = 16, VALUES = 12 };

static struct gw_time_costs random_costs(void)
{
	struct gw_time_costs costs;

	for (unsigned c = 0; c < GW_TIME_CLASSES; c++) {
		costs.del[c] = 1 + random_below(8);
		costs.lat[c] = costs.del[c] + random_below(c == GW_TIME_mem ? 400 : 30);
	}
	return costs;
}

/* The same code as Koppelman's schedule has it. */
static double scheduled(const struct gw_time_insn *code, const struct gw_time_costs *costs)
{
	struct gw_interval_insn insns[INSNS];

	for (unsigned i = 0; i < INSNS; i++) {
		insns[i] = (struct gw_interval_insn){.result = (uint16_t)code[i].result[0],
						     .latency = costs->lat[code[i].cls],
						     .occupies = costs->del[code[i].cls]};
		for (unsigned s = 0; s < 2; s++)
			insns[i].source[s] = (uint16_t)code[i].source[s];
	}
	return gw_interval_latency(insns, INSNS);
}

TEST(an_expression_has_the_value_of_the_schedule_at_any_latencies)
{
	unsigned complete = 0;

	for (unsigned program = 0; program < 200; program++) {
		struct gw_time_insn code[INSNS] = {0};
		struct gw_arena arena;
		struct gw_time time;

		for (unsigned i = 0; i < INSNS; i++) {
			code[i].cls = (uint8_t)(random_below(2) ? GW_TIME_int : GW_TIME_mem);
			code[i].result[0] = 1 + random_below(VALUES - 1);
			code[i].source[0] = random_below(VALUES);
			code[i].source[1] = random_below(VALUES);
		}
		gw_arena_init(&arena, MEMORY);
		assert_true(gw_time_of(code, INSNS, VALUES, false, &arena, &time));
		gw_arena_free(&arena);
		complete += !time.incomplete;
		for (unsigned i = 0; i < 20; i++) {
			struct gw_time_costs costs = random_costs();
			double value = gw_time_value(&time, &costs, NULL);
			double truth = scheduled(code, &costs);

			/* Sums that were dropped can only be missed. */
			assert_true(value <= truth + 1e-9);
			if (!time.incomplete)
				assert_true(fabs(value - truth) < 1e-9);
		}
	}
	assert_true(complete > 100);
}

TEST(an_unknown_latency_leaves_the_time_unknown_where_it_stands)
{
	struct gw_time time = time_of_fig_3(2);
	struct gw_time_costs costs = gw_time_typical;

	costs.lat[GW_TIME_sfu] = NAN;
	assert_true(gw_time_value(&time, &costs, NULL) > 0);
	costs.lat[GW_TIME_fp64] = NAN;
	assert_true(isnan(gw_time_value(&time, &costs, NULL)));
}

TESTS_MAIN()
