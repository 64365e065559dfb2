/* What launches are predicted from in the process, and what a replay of the log needs. */
#include "tests/preload/harness.h"

#include "predictor/core/types.h"
#include "tests/test.h"

#include <unistd.h>

static struct outcome *under(const char *scenario, const char *option, void (*in_child)(void))
{
	struct run r = RUN("work", scenario);
	struct outcome *o;

	r.env[0] = option;
	r.in_child = in_child;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

TEST(later_grids_of_a_kernel_are_warm_and_repeated_ones_steady)
{
	struct outcome *o = under("grids", NULL, NULL);
	const struct account *log = only_log(o);

	assert_true(log->tiers[GW_TIER_NONE] > 0); /* the first: nothing is known of a stand-in */
	assert_int_equal(log->tiers[GW_TIER_COLD], 0);
	assert_true(log->tiers[GW_TIER_WARM] >= 3);
	assert_true(log->tiers[GW_TIER_STEADY] > log->measured / 2);
	outcome_free(o);
}

TEST(the_log_says_when_predictions_were_made_anew)
{
	struct outcome *o = under("grids", NULL, NULL);
	const struct account *log = only_log(o);

	assert_true(log->published > 1);
	assert_int_equal(log->disorder, 0);
	assert_int_equal(log->early, 0);
	assert_true(log->known <= log->measured);
	outcome_free(o);
}

static const char profile[] = "{\"gpuwatch_profile\": 1,"
			      "\"name\": \"gpuwatch stand-in (simulated on the CPU)\","
			      "\"params\": {\"sm_count\": {\"value\": 4, \"unit\": \"1\","
			      "\"method\": \"vendor\", \"source\": \"this test\"}},"
			      "\"curves\": {}}";

static void write_profile(void)
{
	FILE *f = fopen("profile.json", "w");

	if (!f || fputs(profile, f) < 0 || fclose(f) != 0)
		_exit(126);
}

TEST(the_profile_in_use_is_in_the_log)
{
	struct outcome *o = under("grids", "GPUWATCH_PROFILE=profile.json", write_profile);
	const struct account *log = only_log(o);

	assert_true(log->profile > 0);
	assert_int_equal(log->profile, log->profile_size);
	assert_int_equal(warnings(o->err), 0);
	assert_int_equal(log->degraded >> GW_DEGRADED_PROFILE & 1, 0);
	outcome_free(o);
}

/* On the terminal: what follows from it, what helps and why, none of it cut off. */
TEST(a_profile_that_cannot_be_read_is_reported_in_whole)
{
	struct outcome *o = under("grids", "GPUWATCH_PROFILE=profiles/of/this/machine.json", NULL);

	assert_non_null(strstr(o->err, "gpuwatch: predictions come from times alone: no device "
				       "profile for '"));
	assert_non_null(strstr(o->err, "run `gpuwatch calibrate` on it, or name a profile file"));
	assert_non_null(strstr(o->err, "profiles/of/this/machine.json: can't read the device "
				       "profile: No such file or directory\n"));
	outcome_free(o);
}

static void write_two_profiles(void)
{
	static const char text[] = "{\"gpuwatch_profile\": 1, \"name\": \"gpuwatch stand-in (%s)\","
				   "\"params\": {\"sm_count\": {\"value\": %d, \"unit\": \"1\","
				   "\"method\": \"vendor\", \"source\": \"this test\"}},"
				   "\"curves\": {}}";
	FILE *a = fopen("a.json", "w"), *b = fopen("b.json", "w");

	if (!a || !b || fprintf(a, text, "large", 100) < 0 || fprintf(b, text, "small", 10) < 0 ||
	    fclose(a) || fclose(b))
		_exit(126);
}

static struct outcome *on_two_gpus(const char *names, const char *profiles)
{
	struct run r = RUN("work", "two_gpus");
	struct outcome *o;

	r.env[0] = "STANDIN_DEVICES=2";
	r.env[1] = names;
	r.env[2] = profiles;
	r.in_child = write_two_profiles;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

TEST(each_gpu_has_its_own_profile_and_configurations)
{
	struct outcome *o = on_two_gpus("STANDIN_NAMES=large,small", "GPUWATCH_PROFILE=.");
	const struct account *log = only_log(o);

	assert_int_equal(log->profiled, 1u << 1 | 1u << 2);
	assert_int_equal(log->on_device[1], 100);
	assert_int_equal(log->on_device[2], 120);
	assert_int_equal(log->on_device[0], 0);
	assert_int_equal(log->unlike, 0);
	outcome_free(o);
}

/* One history for both would say 100 or 400 us for either. */
TEST(times_of_one_gpu_do_not_predict_another)
{
	struct outcome *o = on_two_gpus("STANDIN_NAMES=same,same", NULL);
	const struct account *log = only_log(o);

	assert_true(log->tiers[GW_TIER_STEADY] > 150);
	assert_in_range(log->steady_far, 0, 5); /* where the machine is late */
	assert_int_equal(log->tiers[GW_TIER_WARM], 0);
	outcome_free(o);
}

static void break_profile(void)
{
	FILE *f = fopen("profile.json", "w");

	if (!f || fputs("{\"gpuwatch_profile\": 1,", f) < 0 || fclose(f) != 0)
		_exit(126);
}

TEST(a_profile_that_cannot_be_read_is_said_once)
{
	struct outcome *o = under("grids", "GPUWATCH_PROFILE=profile.json", break_profile);
	const struct account *log = only_log(o);

	assert_int_equal(log->profile, 0);
	assert_int_equal(warnings(o->err), 1);
	assert_int_equal(log->degraded >> GW_DEGRADED_PROFILE & 1, 1);
	assert_true(log->tiers[GW_TIER_STEADY] > 0);
	outcome_free(o);
}

/* Budget enough for the thread that samples counters to be there. */
TEST(an_idle_program_is_left_in_peace)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
					    "GPUWATCH_MODE=count"};

	NOT_UNDER_TSAN();
	for (int i = 0; i < 3; i++) {
		struct run r = RUN("work", "idle");
		struct outcome *o;
		unsigned often = 1000;

		r.env[0] = modes[i];
		r.env[1] = "GPUWATCH_BUDGET=100";
		o = run_watched(&r);
		assert_logs_are_the_truth(o);
		assert_int_equal(sscanf(o->out, "awake %u", &often), 1);
		assert_in_range(often, 0, 10);
		outcome_free(o);
	}
}

TESTS_MAIN()
