/*
 * What must hold of every model, and what of bounds, on thousands of launches from a
 * deterministic generator. `--count` prints how often each model breaks the monotone
 * properties (docs/internals/models.md lists it).
 */
#include "predictor/models/bounds.h"
#include "predictor/models/papers/models.h"
#include "predictor/models/papers/tune.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

#include <float.h>

enum { LAUNCHES = 3000, HOSTILE = 20000 };

/** Changes of a launch or device whose effect on time has a known direction. */
enum change { BANDWIDTH, CLOCK, SMS, BYTES, INSTRUCTIONS, CHANGES };

static const char *const change_names[CHANGES] = {"bandwidth", "clock", "SMs", "bytes",
						  "instructions"};

static double log_uniform(uint64_t *seed, double low, double high)
{
	return low * pow(high / low, fixture_random(seed));
}

static uint32_t pick(uint64_t *seed, uint32_t count)
{
	return (uint32_t)(fixture_random(seed) * count);
}

static void scale_param(struct fixture *f, enum gw_param p, double factor)
{
	f->device.param[p].value *= factor;
}

static void scale_curve(struct fixture *f, enum gw_curve_id c, double x, double y)
{
	struct gw_curve *curve = &f->device.curve[c];

	for (uint32_t i = 0; i < curve->count; i++) {
		curve->x[i] *= x;
		curve->y[i] *= y;
	}
}

/* Everything that is inside SMs: it grows with their number and their clock. */
static void scale_sm_rates(struct fixture *f, double factor)
{
	static const enum gw_param rates[] = {
		GW_PARAM_t_sp,          GW_PARAM_t_dp,          GW_PARAM_t_hp,
		GW_PARAM_t_int,         GW_PARAM_t_add,         GW_PARAM_t_ldst,
		GW_PARAM_t_sfu,         GW_PARAM_t_issue,       GW_PARAM_t_atomic_shared,
		GW_PARAM_t_tensor_fp16, GW_PARAM_t_tensor_tf32, GW_PARAM_t_tensor_fp8,
		GW_PARAM_t_tensor_int8, GW_PARAM_t_tensor_fp64, GW_PARAM_b_l1,
		GW_PARAM_b_shared,
	};

	for (unsigned i = 0; i < COUNT(rates); i++)
		scale_param(f, rates[i], factor);
}

static void more_bandwidth(struct fixture *f, double factor)
{
	static const enum gw_param rates[] = {
		GW_PARAM_b_mem,          GW_PARAM_b_mem_read, GW_PARAM_b_mem_write,
		GW_PARAM_b_mem_copy,     GW_PARAM_b_mem_spec, GW_PARAM_b_l2_read,
		GW_PARAM_b_l2_write,     GW_PARAM_b_l1,       GW_PARAM_b_shared,
		GW_PARAM_bw_uncoalesced,
	};

	for (unsigned i = 0; i < COUNT(rates); i++)
		scale_param(f, rates[i], factor);
	scale_curve(f, GW_CURVE_dram_latency_at_load, factor, 1);
	scale_curve(f, GW_CURVE_dram_bw_in_flight, 1, factor);
}

/* A profile of more SMs says the same device-wide bandwidth at fewer bytes in flight each. */
static void more_sms(struct fixture *f, double factor)
{
	double before = f->device.param[GW_PARAM_sm_count].value;
	double after = ceil(before * factor);

	f->device.param[GW_PARAM_sm_count].value = after;
	scale_sm_rates(f, after / before);
	scale_curve(f, GW_CURVE_dram_bw_in_flight, before / after, 1);
}

static bool unit_is(unsigned field, const char *const *units)
{
	for (unsigned i = 0; units[i]; i++)
		if (!strcmp(gw_work_info(field).unit, units[i]))
			return true;
	return false;
}

/*
 * Of the same traffic more requests, or more sectors asked of L1, mean less scattered addresses or
 * more hits, and of the same traffic of L1 more that is written means less that is read: each of
 * these can make a launch faster. Such a row grows with all the traffic of its accesses.
 */
static const struct accesses {
	enum gw_work_field rows[4], traffic[4];
} accesses[] = {
	{{GW_WORK_global_load_requests, GW_WORK_global_load_sectors},
	 {GW_WORK_l1_bytes, GW_WORK_l2_read_bytes, GW_WORK_l2_total_bytes,
	  GW_WORK_dram_read_bytes}},
	{{GW_WORK_global_store_requests, GW_WORK_global_store_sectors, GW_WORK_l2_write_bytes},
	 {GW_WORK_l1_bytes, GW_WORK_l2_total_bytes}}};

static bool one_of(unsigned field, const enum gw_work_field rows[4])
{
	for (unsigned i = 0; i < 4 && rows[i]; i++)
		if (rows[i] == field)
			return true;
	return false;
}

static const struct accesses *accesses_of(unsigned field)
{
	for (unsigned i = 0; i < COUNT(accesses); i++)
		if (one_of(field, accesses[i].rows))
			return &accesses[i];
	return NULL;
}

/* One amount of the kind, at random, grows; nothing else does that does not follow. */
static void more_work(struct fixture *f, const char *const *units, double factor, uint64_t *seed)
{
	const struct accesses *all;
	unsigned field;

	do
		field = pick(seed, GW_WORK_FIELDS);
	while (!unit_is(field, units));
	all = accesses_of(field);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (all ? one_of(i, all->rows) || one_of(i, all->traffic) : i == field)
			f->work.q[i].value *= factor;
}

/* Apply a change; true when it can only make the launch faster, false when only slower. */
static bool apply(struct fixture *f, enum change change, uint64_t *seed)
{
	static const char *const bytes[] = {"B", "sector", "wavefront", NULL};
	static const char *const insts[] = {"warp inst", "thread inst", "flop", "op", NULL};
	double factor = 1 + 3 * fixture_random(seed);

	switch (change) {
	case BANDWIDTH:
		more_bandwidth(f, factor);
		return true;
	case CLOCK:
		scale_param(f, GW_PARAM_sm_clock, factor);
		scale_sm_rates(f, factor);
		return true;
	case SMS:
		more_sms(f, factor);
		return true;
	case BYTES:
		more_work(f, bytes, factor, seed);
		return false;
	default:
		more_work(f, insts, factor, seed);
		return false;
	}
}

static void random_device(struct fixture *f, uint64_t *seed)
{
	static const double capabilities[] = {35, 61, 70, 80, 86, 90, 100, 120};

	for (unsigned i = 0; i < GW_PARAMS; i++)
		f->device.param[i].value *= log_uniform(seed, 0.5, 2);
	f->device.param[GW_PARAM_warp_size].value = 32;
	f->device.param[GW_PARAM_schedulers_per_sm].value = 4;
	f->device.param[GW_PARAM_shared_reserved].value = 1024;
	f->device.param[GW_PARAM_sm_count].value = 1 + pick(seed, 200);
	f->device.param[GW_PARAM_compute_capability].value = capabilities[pick(seed, 8)];
}

static void random_work(struct fixture *f, uint64_t *seed)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		double kind = fixture_random(seed);

		if (kind < 0.03)
			f->work.q[i] = (struct gw_quantity){.value = NAN};
		else if (kind > 0.3)
			fixture_work(f, (enum gw_work_field)i, log_uniform(seed, 1, 1e4));
		else
			fixture_work(f, (enum gw_work_field)i, 0);
	}
	fixture_work(f, GW_WORK_warp_ilp, 1 + 3 * fixture_random(seed));
	fixture_work(f, GW_WORK_warp_loads_in_flight, 1 + 7 * fixture_random(seed));
	fixture_work(f, GW_WORK_l1_hit_rate, fixture_random(seed));
	fixture_work(f, GW_WORK_l2_hit_rate, fixture_random(seed));
	fixture_work(f, GW_WORK_divergent_branches, 0);
	fixture_work(f, GW_WORK_narrow_accesses, 0);
	if (fixture_random(seed) < 0.5)
		f->work.q[GW_WORK_warp_cycles] = f->work.q[GW_WORK_warp_cycles_longest] =
			(struct gw_quantity){.value = NAN};
}

static void random_fixture(struct fixture *f, uint64_t *seed)
{
	uint32_t blocks = (uint32_t)log_uniform(seed, 1, 1e6);

	fixture_init(f);
	random_device(f, seed);
	fixture_grid(f, 1, 32);
	random_work(f, seed); /* of one warp */
	fixture_grid(f, blocks, 32 * (1 + pick(seed, 32)));
	f->kernel.registers = pick(seed, 65);
}

static struct gw_estimate ask(const struct gw_model *model, const struct fixture *f)
{
	struct gw_estimate e;

	model->estimate(&f->device, &f->launch, &f->work, NULL, &e);
	return e;
}

/** How often a model answered both sides of a change, and how often the wrong way. */
struct tally {
	unsigned asked[CHANGES], wrong[CHANGES];
};

/* Faster or slower than it may be, beyond what rounding can do. */
static bool broken(bool faster, double before, double after)
{
	return faster ? after > before * (1 + 1e-9) : after < before * (1 - 1e-9);
}

static void tally_model(const struct gw_model *model, struct tally *t)
{
	uint64_t seed = 4;

	memset(t, 0, sizeof(*t));
	for (int i = 0; i < LAUNCHES; i++) {
		struct fixture before, after;
		enum change change = (enum change)(i % CHANGES);
		double a, b;
		bool faster;

		random_fixture(&before, &seed);
		after = before;
		after.launch.kernel = &after.kernel;
		before.launch.kernel = &before.kernel;
		faster = apply(&after, change, &seed);
		a = ask(model, &before).seconds;
		b = ask(model, &after).seconds;
		if (isnan(a) || isnan(b))
			continue;
		t->asked[change]++;
		t->wrong[change] += broken(faster, a, b);
	}
}

TEST(bounds_is_monotone)
{
	struct tally t;

	tally_model(&gw_model_bounds, &t);
	for (unsigned c = 0; c < CHANGES; c++) {
		assert_true(t.asked[c] > LAUNCHES / CHANGES * 9 / 10);
		if (t.wrong[c])
			fail_msg("%u of %u go the wrong way: %s", t.wrong[c], t.asked[c],
				 change_names[c]);
	}
}

/* The published model is known not to be monotone; were it so here, it would not be theirs. */
TEST(mwp_cwp_2009_is_not_monotone)
{
	struct tally t;
	unsigned wrong = 0;

	tally_model(gw_model_find("mwp-cwp-2009"), &t);
	for (unsigned c = 0; c < CHANGES; c++)
		wrong += t.wrong[c];
	assert_true(wrong > 0);
}

static double hostile_number(uint64_t *seed)
{
	static const double numbers[] = {0,    -1,       1e-320,    DBL_MIN, DBL_MAX, 1e308, -1e308,
					 1e-9, INFINITY, -INFINITY, NAN,     1,       2,     1e18};

	return numbers[pick(seed, COUNT(numbers))];
}

static uint32_t hostile_count(uint64_t *seed)
{
	static const uint32_t counts[] = {0,    1,     2,     31,        32,
					  1024, 65535, 65536, INT32_MAX, UINT32_MAX};

	return counts[pick(seed, COUNT(counts))];
}

static struct gw_dim3 hostile_dim3(uint64_t *seed)
{
	return (struct gw_dim3){hostile_count(seed), hostile_count(seed), hostile_count(seed)};
}

/* Points must rise, as a profile's reader sees to; all else may be anything. */
static void hostile_curve(struct fixture *f, enum gw_curve_id c, uint64_t *seed)
{
	struct gw_curve *curve = &f->device.curve[c];
	double x = 0;

	curve->count = pick(seed, 5);
	for (uint32_t i = 0; i < curve->count; i++) {
		x += log_uniform(seed, 1e-300, 1e300);
		curve->x[i] = x * (double)(i + 1);
		curve->y[i] = hostile_number(seed);
	}
}

static void hostile_fixture(struct fixture *f, uint64_t *seed)
{
	/* Mostly sane, so that what is hostile gets past the first check. */
	double share = fixture_random(seed) * 0.4;

	random_fixture(f, seed);
	for (unsigned i = 0; i < GW_PARAMS; i++)
		if (fixture_random(seed) < share)
			f->device.param[i].value = hostile_number(seed);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (fixture_random(seed) < share)
			f->work.q[i].value = hostile_number(seed);
	for (unsigned c = 0; c < GW_CURVES; c++)
		if (fixture_random(seed) < share)
			hostile_curve(f, (enum gw_curve_id)c, seed);
	if (fixture_random(seed) < share)
		f->launch.config.grid = hostile_dim3(seed);
	if (fixture_random(seed) < share)
		f->launch.config.block = hostile_dim3(seed);
	if (fixture_random(seed) < share)
		f->launch.config.cluster = hostile_dim3(seed);
	if (fixture_random(seed) < share)
		f->kernel.registers = hostile_count(seed);
	if (fixture_random(seed) < share)
		f->launch.config.dynamic_shared = hostile_count(seed);
}

static void check_estimate(const struct gw_model *model, const struct gw_estimate *e)
{
	if (isnan(e->seconds) ? !e->reason[0] : !(e->seconds >= 0 && e->seconds <= DBL_MAX))
		fail_msg("%s answers %g with the reason '%s'", model->name, e->seconds, e->reason);
	if (!isnan(e->seconds) && e->reason[0])
		fail_msg("%s answers %g and refuses: %s", model->name, e->seconds, e->reason);
	if (isnan(e->seconds) && e->bound != GW_BOUND_UNKNOWN)
		fail_msg("%s has no time, but a bound", model->name);
	assert_true(e->term_count <= GW_TERMS_MAX);
	assert_true(e->warning_count <= GW_WARNINGS_MAX);
	for (unsigned i = 0; i < e->term_count; i++) {
		assert_non_null(e->terms[i].name);
		assert_non_null(e->terms[i].unit);
		if (e->terms[i].resource)
			assert_string_equal(e->terms[i].unit, "s");
	}
	for (unsigned i = 0; i < e->warning_count; i++)
		assert_non_null(e->warnings[i]);
}

TEST(every_answer_is_finite_or_has_a_reason)
{
	uint64_t seed = 5;

	for (int i = 0; i < HOSTILE; i++) {
		struct fixture f;

		hostile_fixture(&f, &seed);
		f.launch.kernel = &f.kernel;
		for (unsigned m = 0; gw_models[m]; m++) {
			struct gw_estimate e = ask(gw_models[m], &f);

			check_estimate(gw_models[m], &e);
		}
	}
}

/* A model that refused everything would pass the test above. */
TEST(every_model_answers_for_the_fixture)
{
	struct fixture f;

	fixture_init(&f);
	for (unsigned m = 0; gw_models[m]; m++) {
		struct gw_estimate e = ask(gw_models[m], &f);

		if (!(e.seconds > 1e-6 && e.seconds < 1e-2))
			fail_msg("%s: %g s (%s)", gw_models[m]->name, e.seconds, e.reason);
	}
}

/* Seconds whatever the clock: the same cycles at half the clock take twice as long. */
TEST(time_is_in_seconds)
{
	static const char *const in_cycles[] = {"mwp-cwp-2009", "mwp-cwp", "mwp-cwp-levels"};

	for (unsigned i = 0; i < COUNT(in_cycles); i++) {
		const struct gw_model *model = gw_model_find(in_cycles[i]);
		struct fixture f;
		double before;

		fixture_init(&f);
		before = ask(model, &f).seconds;
		scale_param(&f, GW_PARAM_sm_clock, 0.5);
		more_bandwidth(&f, 0.5);
		assert_true(fabs(ask(model, &f).seconds / before - 2) < 1e-9);
	}
}

static void print_counts(void)
{
	for (unsigned m = 0; gw_models[m]; m++) {
		struct tally t;

		tally_model(gw_models[m], &t);
		printf("%-15s", gw_models[m]->name);
		for (unsigned c = 0; c < CHANGES; c++)
			printf("  %s %u/%u", change_names[c], t.wrong[c], t.asked[c]);
		putchar('\n');
	}
}

enum { MOST = 64 };

static size_t tune(const struct fixture *f, struct gw_tune_request request,
		   struct gw_tune_choice out[MOST], char why[120])
{
	return gw_wave_tune(&f->device, &f->launch, &f->work, NULL, &request, out, MOST, why);
}

LAUNCH_TEST(every_block_size_is_ranked_fastest_first)
{
	struct gw_tune_choice c[MOST];
	char why[120];
	size_t n, described = 0;

	n = tune(f, (struct gw_tune_request){0}, c, why);
	assert_int_equal(n, 32);
	for (size_t i = 0; i < n; i++) {
		assert_true(i == 0 || c[i - 1].seconds <= c[i].seconds);
		assert_true(c[i].grid * c[i].block >= 16000 * 256);
		assert_true((c[i].grid - 1) * c[i].block < 16000 * 256);
		described += c[i].described;
	}
	assert_int_equal(described, 1);
}

TEST(times_are_the_wave_models_own)
{
	struct gw_tune_choice c[MOST];
	struct fixture f, other;
	struct gw_estimate e;
	char why[120];
	size_t n, i = 0;

	fixture_init(&f);
	n = tune(&f, (struct gw_tune_request){0}, c, why);
	while (i < n && c[i].block != 128)
		i++;
	assert_true(i < n);
	fixture_init(&other);
	fixture_grid(&other, 32000, 128);
	gw_model_find("wave")->estimate(&other.device, &other.launch, &other.work, NULL, &e);
	assert_true(fabs(c[i].seconds - e.seconds) < 1e-15);
}

/* Launching costs 1 ns a block here: fewer, larger blocks are faster until waves are uneven. */
LAUNCH_TEST(grid_stride_loops_may_launch_fewer_blocks)
{
	struct gw_tune_choice c[MOST], fixed[MOST];
	char why[120];

	assert_true(tune(f, (struct gw_tune_request){0}, fixed, why) > 0);
	assert_int_equal(tune(f, (struct gw_tune_request){.any_grid = true}, c, why), MOST);
	assert_true(c[0].seconds < fixed[0].seconds);
	assert_true(c[0].grid * c[0].block < 16000 * 256);
}

/* 200 blocks instead of 16,000: each warp does 80 times as much, barriers included. */
LAUNCH_TEST(fewer_warps_do_more_each)
{
	static const enum gw_work_field per_warp[] = {
		GW_WORK_warp_cycles, GW_WORK_warp_cycles_longest, GW_WORK_warp_memory_chain,
		GW_WORK_coalesced_mem_insts, GW_WORK_barriers};
	static struct gw_tune_choice c[1000];
	const struct gw_tune_request request = {.any_grid = true};
	char why[120];
	size_t n, i = 0;

	fixture_work(f, GW_WORK_barriers, 3);
	n = gw_wave_tune(&f->device, &f->launch, &f->work, NULL, &request, c, 1000, why);
	while (i < n && !(c[i].block == 256 && c[i].grid == 200))
		i++;
	assert_true(i < n);
	f->launch.config.grid.x = 200;
	for (size_t k = 0; k < COUNT(per_warp); k++)
		f->work.q[per_warp[k]].value *= 80;
	gw_model_find("wave")->estimate(&f->device, &f->launch, &f->work, NULL, &e);
	assert_true(fabs(c[i].seconds - e.seconds) < 1e-12);
}

LAUNCH_TEST(shared_memory_follows_the_block_when_asked)
{
	struct gw_tune_choice c[MOST];
	char why[120];
	size_t n;

	f->launch.config.dynamic_shared = 2048;
	n = tune(f, (struct gw_tune_request){.shared_per_thread = true}, c, why);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c[i].shared, c[i].block * 8);
	n = tune(f, (struct gw_tune_request){0}, c, why);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(c[i].shared, 2048);
}

LAUNCH_TEST(blocks_the_kernel_cannot_have_are_left_out)
{
	struct gw_tune_choice c[MOST];
	char why[120];

	f->kernel.max_threads = 256;
	assert_int_equal(tune(f, (struct gw_tune_request){0}, c, why), 8);
}

LAUNCH_TEST(short_list_keeps_the_best)
{
	struct gw_tune_choice all[MOST], few[3];
	struct gw_tune_request request = {0};
	char why[120];

	tune(f, request, all, why);
	assert_int_equal(
		gw_wave_tune(&f->device, &f->launch, &f->work, NULL, &request, few, 3, why), 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(few[i].block == all[i].block && few[i].grid == all[i].grid);
}

LAUNCH_TEST(nothing_to_rank_says_why)
{
	struct gw_tune_choice c[MOST];
	char why[120];

	f->work.q[GW_WORK_inst_executed] = (struct gw_quantity){.value = NAN};
	assert_int_equal(tune(f, (struct gw_tune_request){0}, c, why), 0);
	assert_non_null(strstr(why, "inst_executed"));
	f->launch.config.cluster.x = 2;
	assert_int_equal(tune(f, (struct gw_tune_request){0}, c, why), 0);
	assert_non_null(strstr(why, "cluster"));
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--count")) {
		print_counts();
		return 0;
	}
	return tests_run(NULL, NULL);
}
