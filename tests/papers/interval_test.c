/*
 * Koppelman (interval analysis), number by number, through the model's own functions. Its
 * slides have no page numbers that survive, so each is cited by its title.
 */
#include "predictor/models/papers/interval.h"
#include "tests/test.h"

/* Equal when printed with that many decimals. */
static void assert_prints(double value, double printed, int decimals)
{
	if (!(fabs(value - printed) <= 0.5 * pow(10, -decimals) * (1 + 1e-9)))
		fail_msg("%.10g is not %.*f", value, decimals, printed);
}

static struct gw_interval_insn insn(double latency, double occupies, uint16_t result, uint16_t a,
				    uint16_t b, uint16_t c)
{
	return (struct gw_interval_insn){latency, occupies, result, {a, b, c}};
}

/** What the MXV examples assume of a device; cycles. */
struct mxv {
	double load, hit, fp;                  /* L_M, L_2, L_F */
	double load_slot, fp_slot, store_slot; /* cycles a scheduler is taken */
	unsigned m, n, extra;
};

enum { CODE_MAX = 4096 };

/* MXV-LCS: N loads, then column by column M multiply-adds, then M stores. */
static double lcs_latency(const struct mxv *x)
{
	static struct gw_interval_insn code[CODE_MAX];
	size_t k = 0;

	for (uint16_t c = 0; c < x->n; c++)
		code[k++] = insn(x->load, x->load_slot, (uint16_t)(1 + c), 0, 0, 0);
	for (uint16_t c = 0; c < x->n; c++)
		for (uint16_t r = 0; r < x->m; r++) {
			uint16_t sum = (uint16_t)(1 + x->n + r);

			code[k++] = insn(x->fp, x->fp_slot, sum, (uint16_t)(1 + c), sum, 0);
		}
	for (unsigned i = 0; i < x->extra; i++)
		code[k++] = insn(x->fp, 1, 0, 0, 0, 0);
	for (uint16_t r = 0; r < x->m; r++)
		code[k++] = insn(0, x->store_slot, 0, (uint16_t)(1 + x->n + r), 0, 0);
	return gw_interval_latency(code, k);
}

/* MXV-(LC)*S: each load is used at once; one load of eight misses L2. */
static double lc_s_latency(const struct mxv *x)
{
	static struct gw_interval_insn code[CODE_MAX];
	size_t k = 0;

	for (uint16_t c = 0; c < x->n; c++) {
		code[k++] = insn(c % 8 ? x->hit : x->load, x->load_slot, 1, 0, 0, 0);
		for (uint16_t r = 0; r < x->m; r++)
			code[k++] =
				insn(x->fp, x->fp_slot, (uint16_t)(2 + r), 1, (uint16_t)(2 + r), 0);
	}
	for (uint16_t r = 0; r < x->m; r++)
		code[k++] = insn(0, x->store_slot, 0, (uint16_t)(2 + r), 0, 0);
	return gw_interval_latency(code, k);
}

/* mxv_o_per_thd: N loads, N multiply-adds that each need the one before, a store. */
static double per_thd_latency(const struct mxv *x)
{
	static struct gw_interval_insn code[CODE_MAX];
	size_t k = 0;

	for (uint16_t c = 0; c < x->n; c++)
		code[k++] = insn(x->load, x->load_slot, (uint16_t)(2 + c), 0, 0, 0);
	for (uint16_t c = 0; c < x->n; c++)
		code[k++] = insn(x->fp, x->fp_slot, 1, (uint16_t)(2 + c), 1, 0);
	code[k++] = insn(0, x->store_slot, 0, 1, 0, 0);
	return gw_interval_latency(code, k);
}

/* Threads that saturate device memory of @p bandwidth B/s at @p phi Hz. */
static double data_threads(double latency, double bytes, double bandwidth, double phi)
{
	struct gw_interval_use use = {bytes, gw_interval_bytes_per_cycle(bandwidth, phi)};

	return gw_interval_threads(latency, &use, 1);
}

/* Threads of an SM that saturate issue, and the cycles one thread needs there. */
static double issue_threads(double latency, double fp, double memory, double *cycles)
{
	const struct gw_interval_use use[] = {{fp, 128}, {memory, 64}};

	*cycles = gw_interval_busy(1, use, 2);
	return gw_interval_threads(latency, use, 2);
}

/* "Example: Compute L_iota for a simple loop": 8 LS units per scheduler, L_M 400, L_F 6. */
static const struct gw_interval_insn simple_loop[] = {
	{400, 4, 1, {0, 0, 0}}, /* LD.E R2, [R2] */
	{6, 1, 2, {1, 0, 0}},   /* FADD R7, R2, 1 */
	{0, 4, 0, {2, 0, 0}},   /* ST.E [R4], R7 */
	{0, 1, 0, {0, 0, 0}},   /* BRA .Loop */
};

TEST(simple_loop_takes_410_cycles)
{
	/* The slide stops where the branch issues; with the branch's own cycle it is 411. */
	assert_prints(gw_interval_latency(simple_loop, 3), 410, 0);
	assert_prints(gw_interval_latency(simple_loop, 4), 411, 0);
}

/* "Example, Find L_iota for Actual SASS code": slots are registers, CC is 20, P0 is 21. */
static double actual_sass_latency(void)
{
	enum { R0 = 30, R2 = 2, R3, R4, R5, R6, R7, R8, R9, R11 = 11, CC = 20, P0 };
	const struct gw_interval_insn code[] = {
		insn(6, 1, R2, R6, 0, 0),   insn(6, 1, R4, R8, 0, 0),  insn(400, 4, R2, R2, 0, 0),
		insn(6, 1, CC, R8, 0, 0),   insn(6, 1, R5, R9, 0, 0),  insn(6, 1, R0, R0, 0, 0),
		insn(6, 1, P0, R0, R11, 0), insn(6, 1, R9, R9, CC, 0), insn(6, 1, CC, R6, 0, 0),
		insn(6, 1, R3, R3, CC, 0),  insn(6, 1, R7, R2, 0, 0),  insn(0, 4, 0, R4, R5, R7),
		insn(0, 1, 0, P0, 0, 0),
	};

	return gw_interval_latency(code, sizeof(code) / sizeof(*code));
}

TEST(actual_sass_takes_417_cycles)
{
	assert_prints(actual_sass_latency(), 417, 0);
}

/* "Example: Resources for simple loop": M2200, 88.1 GB/s, 1.04 GHz, 8 B. */
TEST(threads_that_saturate_an_m2200)
{
	assert_prints(data_threads(gw_interval_latency(simple_loop, 3), 8, 88.1e9, 1.04e9), 4341,
		      0);
	assert_prints(data_threads(actual_sass_latency(), 8, 88.1e9, 1.04e9), 4416, 0);
}

/* "Example, continued": GP104, Theta_IM = 640, Theta_IF = 2560 instructions per cycle. */
TEST(dispatch_of_a_gp104)
{
	const struct gw_interval_use use[] = {{2, gw_interval_theta(20, 4, 8)},
					      {1, gw_interval_theta(20, 4, 32)}};

	assert_prints(use[0].theta, 640, 0);
	assert_prints(use[1].theta, 2560, 0);
	assert_prints(gw_interval_busy(1, use, 2), 0.00351563, 8);
	assert_prints(gw_interval_busy(1000, use, 2), 3.51563, 5);
}

/* "Instruction Bandwidth Scope": CC 6.0, 56 SMs, 2 schedulers, 8 units each. */
TEST(load_store_bandwidth_of_a_gp100)
{
	assert_prints(gw_interval_theta(56, 2, 8), 896, 0);
}

/* "Estimation of Interval Latency", CC 5.1 and CC 7.5 with M = N = 16. */
TEST(mxv_lcs_on_5_1_and_7_5)
{
	assert_prints(lcs_latency(&(struct mxv){400, 230, 4, 4, 1, 4, 16, 16, 0}), 720, 0);
	assert_prints(lcs_latency(&(struct mxv){400, 230, 4, 4, 2, 4, 16, 16, 0}), 976, 0);
}

/* "Matrix Size Minimizing Number of Threads": the minimum is at sqrt(L_M) = 20. */
TEST(square_matrix_of_20_needs_fewest_threads)
{
	double least = INFINITY;
	unsigned best = 0;

	for (unsigned n = 4; n <= 40; n++) {
		struct mxv x = {400, 230, 4, 4, 1, 4, n, n, 0};
		double threads = data_threads(lcs_latency(&x), 8.0 * n, 500e9, 1.81e9);

		if (threads < least) {
			least = threads;
			best = n;
		}
	}
	assert_int_equal(best, 20);
}

/* "Solution Calculations", GTX 1080: 20 SMs, 320.3 GB/s, 1.73 GHz. */
TEST(gtx_1080)
{
	double latency = lcs_latency(&(struct mxv){400, 200, 6, 4, 1, 1, 16, 16, 0}), cycles;

	assert_prints(latency, 672, 0);
	assert_prints(latency / 1.73, 388.4, 1);
	/* 971.9 comes from the rounded nanoseconds; from the cycles it is 972.0. */
	assert_prints(data_threads(388.4, 128, 320.3, 1), 971.9, 1);
	assert_prints(data_threads(latency, 128, 320.3e9, 1.73e9), 972.0, 1);
	assert_prints(data_threads(388.4, 128, 320.3, 1) / 20, 48.6, 1);
	assert_prints(issue_threads(latency, 256, 32, &cycles), 268.8, 1);
	assert_prints(cycles, 2.5, 1);
}

/* The same, "correct store II" and "accounting for 1.2 I/op". */
TEST(gtx_1080_with_stores_and_extra_instructions)
{
	double two = lcs_latency(&(struct mxv){400, 200, 6, 4, 1, 2, 16, 16, 0});
	double more = lcs_latency(&(struct mxv){400, 200, 6, 4, 1, 1, 16, 16, 19}), cycles;

	assert_prints(two, 688, 0);
	assert_prints(two / 1.73, 397.7, 1);
	assert_prints(more, 691, 0);
	assert_prints(more / 1.73, 399.4, 1);
	assert_prints(data_threads(399.4, 128, 320.3, 1), 999, 0);
	assert_prints(issue_threads(more, 256 + 19, 32, &cycles), 261, 0);
	assert_prints(cycles, 2.648, 3);
}

/* The same, K20c: 13 SMs, 208.0 GB/s, 0.71 GHz. */
TEST(k20c)
{
	double latency = lcs_latency(&(struct mxv){400, 200, 6, 4, 1, 1, 16, 16, 0}), cycles;

	assert_prints(latency / 0.71, 946.5, 1);
	assert_prints(data_threads(946.5, 128, 208.0, 1), 1538, 0);
	assert_prints(data_threads(latency, 128, 208e9, 0.71e9) / 13, 118, 0);
	assert_prints(issue_threads(latency, 256 + 51, 32, &cycles), 231.8, 1);
	assert_prints(cycles, 2.898, 3);
}

/* "Data Use Limits" of MXV-(LC)*S, with the slide's 320.8 GB/s (elsewhere it is 320.3). */
TEST(mxv_lc_s_on_a_gtx_1080)
{
	struct mxv x = {400, 200, 6, 1, 1, 1, 16, 16, 0};
	double threads = data_threads(lc_s_latency(&x), 8.0 * 16, 320.8e9, 1.73e9);

	assert_prints(threads, 5609.4, 1);
	assert_prints(threads / 20, 280, 0);
	/* 8.77 warps, which the slide prints as 8. */
	assert_int_equal((int)(threads / 20 / 32), 8);
}

/* "mxv-o-per-thd": 497 cycles; 11502 is from 320.3 GB/s though the slide shows 320.8. */
TEST(per_thd_on_a_gtx_1080)
{
	double latency = per_thd_latency(&(struct mxv){400, 200, 6, 4, 1, 1, 16, 16, 0});
	double threads = data_threads(latency, 8, 320.3e9, 1.73e9);

	assert_prints(latency, 497, 0);
	assert_prints(latency / 1.73, 287.3, 1);
	assert_prints(threads, 11502, 0);
	assert_prints(data_threads(latency, 8, 320.8e9, 1.73e9), 11520, 0);
	assert_prints(threads / 20, 575, 0);
	assert_prints(threads / 20 / 32, 18, 0);
}

/* "Analysis of Intervals Without Barriers": N/P L below saturation, N d/Theta above. */
TEST(time_falls_with_threads_until_saturation)
{
	const struct gw_interval_use use = {8, 100};
	double saturating = gw_interval_threads(400, &use, 1);

	assert_prints(saturating, 5000, 0);
	assert_prints(gw_interval_time(1e6, 1000, 400, saturating), 1e6 / 1000 * 400, 3);
	assert_prints(gw_interval_time(1e6, 9000, 400, saturating), gw_interval_busy(1e6, &use, 1),
		      3);
}

TEST(intervals_between_barriers_add_up)
{
	const struct gw_barrier_interval both[] = {{1000, 10, 400, 100}, {500, 200, 300, 50}};

	assert_prints(gw_interval_total(both, 2), 1000.0 / 10 * 400 + 500.0 / 50 * 300, 6);
}

TEST(slot_out_of_range_has_no_latency)
{
	const struct gw_interval_insn reads = {1, 1, 0, {GW_INTERVAL_SLOTS, 0, 0}};
	const struct gw_interval_insn writes = {1, 1, GW_INTERVAL_SLOTS, {0, 0, 0}};

	assert_true(isnan(gw_interval_latency(&reads, 1)));
	assert_true(isnan(gw_interval_latency(&writes, 1)));
}

TESTS_MAIN()
