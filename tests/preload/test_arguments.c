/* Launches of one grid that differ in their arguments: distinguished, predicted each from its own.
 */
#include "tests/preload/harness.h"

#include "predictor/core/types.h"
#include "tests/test.h"

static char image[1024], kernels[1024];

static struct outcome *under_with(const char *code, const char *scenario, const char *option,
				  bool inject)
{
	struct run r = RUN("arguments", scenario);
	struct outcome *o;

	snprintf(kernels, sizeof(kernels), "STANDIN_KERNELS=%s/arguments.kernels", GW_SOURCES);
	r.env[0] = kernels;
	r.env[1] = code;
	r.env[2] = option;
	r.inject = inject;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	assert_int_equal(warnings(o->err), 0);
	return o;
}

static struct outcome *under(const char *scenario, const char *option, bool inject)
{
	snprintf(image, sizeof(image), "CODE_IMAGE=%s/sm_90.cubin", GW_CORPUS);
	return under_with(image, scenario, option, inject);
}

/* The image is bytes that are no code: it is looked for, and never read. */
static struct outcome *under_unread(const char *scenario)
{
	return under_with("CODE_IMAGE=" GW_SOURCES "/arguments.kernels", scenario, NULL, false);
}

static uint64_t count_of(const struct outcome *o, enum gw_counter c)
{
	return only_log(o)->counter[c];
}

/* What it was before there was a digest, and is where no code is to be read. */
TEST(without_code_they_are_one_configuration)
{
	struct outcome *o = under("turns", "GPUWATCH_STATIC=0", false);

	assert_int_equal(only_log(o)->digests, 0);
	assert_int_equal(only_log(o)->provisional, 0);
	assert_int_equal(count_of(o, GW_COUNTER_digest_plans), 0);
	assert_int_equal(only_log(o)->plain, only_log(o)->measured);
	assert_true(only_log(o)->off > only_log(o)->measured / 2);
	outcome_free(o);
}

TEST(launches_are_predicted_from_those_with_the_same_arguments)
{
	struct outcome *o = under("turns", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(count_of(o, GW_COUNTER_digest_plans), 1);
	assert_int_equal(count_of(o, GW_COUNTER_digest_plans_dropped), 0);
	assert_int_equal(log->digests, 3);
	assert_int_equal(log->provisional, 1);
	assert_int_equal(log->plain, 0);
	assert_int_equal(log->off, 0);
	assert_true(log->tiers[GW_TIER_STEADY] > log->measured * 4 / 5);
	assert_int_equal(log->early, 0);
	assert_replays(o);
	outcome_free(o);
}

/* By all that is no pointer, from the first launch on. */
TEST(so_they_are_where_no_code_is_read)
{
	struct outcome *o = under_unread("turns");
	const struct account *log = only_log(o);

	assert_int_equal(log->digests, 0);
	assert_int_equal(log->provisional, 3);
	assert_int_equal(log->plain, 0);
	assert_int_equal(count_of(o, GW_COUNTER_digest_provisional_dropped), 0);
	assert_int_equal(log->off, 0);
	assert_true(log->tiers[GW_TIER_STEADY] > log->measured * 4 / 5);
	assert_int_equal(log->early, 0);
	assert_replays(o);
	outcome_free(o);
}

/* Lengths that come before the code is read do not share times, and what was learnt is kept. */
TEST(a_sweep_at_once_is_distinguished_at_once)
{
	struct outcome *o = under("sweep", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(log->plain, 0);
	assert_in_range(log->provisional, 1, 5);
	assert_int_equal(log->off, 0);
	assert_int_equal(log->mixed, 0);
	assert_replays(o);
	outcome_free(o);
}

TEST(so_they_are_where_cupti_s_callbacks_see_them)
{
	struct outcome *o = under("turns", NULL, true);

	assert_int_equal(only_log(o)->digests, 3);
	assert_int_equal(only_log(o)->off, 0);
	outcome_free(o);
}

/* Four times the trips are four times the loop's instructions, as the code has them: the stand-in
 * counts others. */
TEST(each_has_the_work_of_its_own_arguments)
{
	struct outcome *o = under("turns", "GPUWATCH_COUNTERS=off", false);
	const struct account *log = only_log(o);
	double least = 0, most = 0;

	assert_int_equal(log->works, 4); /* with the one from before the code was read */
	for (unsigned i = 0; i < log->works; i++) {
		double v = log->work[i].value[GW_WORK_inst_executed];

		least = !i || v < least ? v : least;
		most = v > most ? v : most;
	}
	assert_true(most > 15 * least && most < 17 * least);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_arguments), 0);
	outcome_free(o);
}

/* What was learnt before the code was read is not lost: the first launch after that has it. */
TEST(nothing_learnt_before_is_lost)
{
	struct outcome *o = under("alike", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(log->digests, 1);
	assert_int_equal(log->provisional, 1);
	/* How many came before the code was read depends on the machine. */
	assert_in_range(log->guessed, 1, log->measured - 1);
	assert_int_equal(log->off, 0);
	assert_in_range(log->tiers[GW_TIER_NONE], 1, log->guessed);
	assert_true(log->tiers[GW_TIER_STEADY] + log->guessed + 5 >= log->measured);
	assert_replays(o);
	outcome_free(o);
}

TEST(a_number_that_never_returns_is_given_up)
{
	struct outcome *o = under("counter", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(count_of(o, GW_COUNTER_digest_plans_dropped), 1);
	assert_int_equal(log->digests, 33);
	/* The last twenty, at least, are steady. */
	assert_int_equal(log->off, 0);
	assert_true(log->plain > log->measured / 2);
	assert_true(log->tiers[GW_TIER_STEADY] >= 20);
	assert_replays(o);
	outcome_free(o);
}

TEST(so_it_is_where_no_code_is_read)
{
	struct outcome *o = under_unread("counter");
	const struct account *log = only_log(o);

	assert_int_equal(count_of(o, GW_COUNTER_digest_provisional_dropped), 1);
	assert_int_equal(log->provisional, 9);
	assert_true(log->plain > log->measured / 2);
	assert_true(log->tiers[GW_TIER_STEADY] >= 20);
	assert_replays(o);
	outcome_free(o);
}

/* Eight configurations tell that it is none; the others are one, that goes on from the first. */
TEST(what_no_launch_uses_distinguishes_few)
{
	struct outcome *o = under("unset", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(count_of(o, GW_COUNTER_digest_plans), 1);
	assert_int_equal(count_of(o, GW_COUNTER_digest_plans_dropped), 0);
	assert_in_range(log->digests, 2, 16);
	assert_int_equal(log->plain, 0);
	assert_int_equal(log->off, 0);
	assert_true(log->tiers[GW_TIER_STEADY] > log->measured * 3 / 4);
	assert_replays(o);
	outcome_free(o);
}

/* Thirty of them wait at once: a thread each may be at one, the others take its result. */
TEST(numbers_that_decide_nothing_share_what_is_known)
{
	struct outcome *o = under(
		"factors", "GPUWATCH_PROFILE=" GW_SOURCES "/../../predict/test-gpu.json", false);
	const struct account *log = only_log(o);

	assert_int_equal(log->measured, 60);
	assert_in_range(count_of(o, GW_COUNTER_studied), 1, 16);
	assert_int_equal(log->tiers[GW_TIER_NONE], 0);
	assert_replays(o);
	outcome_free(o);
}

TEST(a_buffer_is_read_no_further_than_it_goes)
{
	struct outcome *o = under("buffer", NULL, false);
	const struct account *log = only_log(o);

	assert_int_equal(log->measured, 4);
	assert_int_equal(log->digests, 1);
	assert_int_equal(log->guessed, 1); /* before the code was read */
	assert_int_equal(log->plain, 1);   /* cut off */
	outcome_free(o);
}

/* Whichever call changed them. */
TEST(nodes_of_a_graph_have_the_digests_of_their_arguments)
{
	static const char *const scenarios[] = {"graph", "graph_any", "graph_old"};

	for (unsigned i = 0; i < 3; i++) {
		struct outcome *o = under(scenarios[i], NULL, false);
		const struct account *log = only_log(o);

		assert_int_equal(log->digests, 3);
		assert_int_equal(log->provisional, 1);
		assert_int_equal(log->plain, 0);
		assert_int_equal(log->off, 0);
		outcome_free(o);
	}
}

/* But for those of the first launch, and of the first ones after a change: two or more, where a
 * busy machine's threads take long. */
TEST(nodes_of_a_graph_are_predicted_before_its_launch)
{
	struct outcome *o = under("graph", NULL, false);
	const struct account *log = only_log(o);

	assert_in_range(log->late, 0, 10);
	assert_true(log->tiers[GW_TIER_STEADY] >= 30);
	assert_int_equal(log->early, 0);
	assert_replays(o);
	outcome_free(o);
}

TESTS_MAIN()
