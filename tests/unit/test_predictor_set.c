/* Predictors of several GPUs: nothing of one is reported of another, numbers are common to all. */
#include "predictor/learner/predictor_set.h"
#include "predictor/models/model.h"
#include "tests/test.h"

enum { CONFIGS = 200 };

static const struct gw_kernel kernel = {.name = "k", .registers = 32};
static struct gw_predictor_set *fleet;
static struct gw_device fast, slow;
static unsigned reported;

static void set(struct gw_device *d, const char *name, double scale)
{
	gw_device_clear(d, name);
	d->param[GW_PARAM_sm_clock].value = 1e9 * scale;
	d->param[GW_PARAM_sm_count].value = 100;
	d->param[GW_PARAM_b_mem].value = 1e12 * scale;
	d->param[GW_PARAM_launch_floor].value = 2e-6 / scale;
}

static int start(void **state)
{
	set(&fast, "fast", 4);
	set(&slow, "slow", 1);
	fleet = gw_predictor_set_new(CONFIGS);
	reported = 0;
	return fleet ? 0 : -1;
}

static int stop(void **state)
{
	gw_predictor_set_free(fleet);
	gw_predictor_set_free(NULL);
	return 0;
}

static void configure(uint32_t config, uint32_t device, uint32_t grid)
{
	const struct gw_launch launch = {.kernel = &kernel,
					 .config = {{grid, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0, 0}};

	gw_predictor_set_configure(fleet, config, device, 1, &launch);
}

static uint64_t observe(uint32_t config, double seconds)
{
	const struct gw_observation o = {.seconds = seconds,
					 .exclusive = true,
					 .predicted = NAN,
					 .low = NAN,
					 .high = NAN,
					 .sm_hz = NAN};

	return gw_predictor_set_observe(fleet, config, &o);
}

static void changed(void *arg, uint32_t config, const struct gw_prediction *p)
{
	(void)arg;
	assert_true(config > 0 && isfinite(p->seconds));
	reported++;
}

static struct gw_prediction predict(uint32_t config, uint64_t known)
{
	struct gw_prediction p;

	gw_predictor_set_predict(fleet, config, known, &p);
	return p;
}

TEST_WITH(what_one_gpu_shows_is_not_reported_of_another, start, stop)
{
	configure(1, 1, 1000); /* the same kernel and grid on two GPUs */
	configure(2, 2, 1000);
	for (int i = 0; i < 6; i++)
		observe(1, 10e-6);
	gw_predictor_set_advance(fleet, changed, NULL);
	assert_true(fabs(predict(1, 6).seconds - 10e-6) < 1e-9);
	assert_int_equal(predict(1, 6).tier, GW_TIER_STEADY);
	assert_true(isnan(predict(2, 6).seconds));
	for (int i = 0; i < 6; i++)
		observe(2, 40e-6);
	gw_predictor_set_advance(fleet, changed, NULL);
	assert_true(fabs(predict(1, 12).seconds - 10e-6) < 1e-9);
	assert_true(fabs(predict(2, 12).seconds - 40e-6) < 1e-9);
}

TEST_WITH(observations_are_numbered_over_all_gpus, start, stop)
{
	configure(1, 1, 1);
	configure(2, 2, 1);
	assert_int_equal(observe(1, 1e-6), 1);
	assert_int_equal(observe(2, 2e-6), 2);
	assert_int_equal(observe(1, 1e-6), 3);
	assert_int_equal(gw_predictor_set_observations(fleet), 3);
	assert_int_equal(observe(99, -1), 0); /* not a time */
	assert_int_equal(gw_predictor_set_observations(fleet), 3);
	assert_true(gw_predictor_set_advance(fleet, changed, NULL));
	assert_int_equal(reported, 2);
	assert_false(gw_predictor_set_advance(fleet, changed, NULL));
	assert_int_equal(predict(2, 3).known, 3);
	/* Called when only two had been made: none of what was published since. */
	assert_true(isnan(predict(1, 2).seconds));
}

TEST_WITH(a_gpu_that_comes_later_takes_up_the_numbers, start, stop)
{
	configure(1, 1, 1);
	for (int i = 0; i < 5; i++)
		observe(1, 1e-6);
	gw_predictor_set_advance(fleet, NULL, NULL);
	configure(2, 2, 1);
	assert_int_equal(observe(2, 2e-6), 6);
	gw_predictor_set_advance(fleet, NULL, NULL);
	assert_int_equal(predict(2, 6).known, 6);
	assert_true(isnan(predict(2, 5).seconds)); /* nothing of it was known then */
}

/* A model of the test's own, so that the profile alone decides. */
static void floor_of(const struct gw_device *device, const struct gw_launch *launch,
		     const struct gw_work *work, const struct gw_model_options *options,
		     struct gw_estimate *out)
{
	(void)launch;
	(void)work;
	(void)options;
	gw_estimate_clear(out);
	out->seconds = 5 * gw_param(device, GW_PARAM_launch_floor);
}

/* Memory contents decide nothing of the work. */
static const struct gw_quantity decided = {0, GW_SOURCE_STATIC, 1};

TEST_WITH(each_gpu_is_predicted_by_its_own_profile, start, stop)
{
	static const struct gw_model model = {.name = "floor", .estimate = floor_of};
	struct gw_work work;
	double seconds[4];

	gw_work_clear(&work);
	work.q[GW_WORK_dram_read_bytes] = (struct gw_quantity){1e6, GW_SOURCE_STATIC, 1};
	work.q[GW_WORK_least_time] = decided;
	gw_predictor_set_model(fleet, &model);
	gw_predictor_set_device(fleet, 1, &fast);
	configure(1, 1, 1000);
	configure(2, 2, 1000); /* before its profile is reported … */
	configure(3, 3, 1000); /* … and a GPU of which there is none */
	gw_predictor_set_device(fleet, 2, &slow);
	configure(4, 0, 1000); /* unknown: by the first */
	for (uint32_t c = 1; c <= 4; c++) {
		gw_predictor_set_work(fleet, c, &work);
		seconds[c - 1] = predict(c, 0).seconds;
	}
	assert_true(seconds[0] > 0 && fabs(seconds[1] / seconds[0] - 4) < 0.01);
	assert_true(isnan(seconds[2]));
	assert_true(fabs(seconds[3] / seconds[0] - 1) < 0.01);
}

/* A launch that writes, as its code says. */
static void written(struct gw_work *work)
{
	gw_work_clear(work);
	work->q[GW_WORK_dram_write_bytes] = (struct gw_quantity){1e6, GW_SOURCE_STATIC, 1};
	work->q[GW_WORK_least_time] = decided;
}

static void predict_by_floor(const struct gw_work *work)
{
	static const struct gw_model model = {.name = "floor", .estimate = floor_of};

	gw_predictor_set_model(fleet, &model);
	gw_predictor_set_device(fleet, 1, &fast);
	configure(1, 1, 1000);
	gw_predictor_set_work(fleet, 1, work);
}

/* What something is at most is for verdicts: it makes no launch one whose work was counted. */
TEST_WITH(limits_of_work_are_no_work, start, stop)
{
	struct gw_work work;

	written(&work);
	work.q[GW_WORK_most_dram_read_bytes] = (struct gw_quantity){1e6, GW_SOURCE_COUNTED, 1};
	predict_by_floor(&work);
	assert_int_equal(predict(1, 0).work, GW_SOURCE_STATIC);
	work.q[GW_WORK_dram_read_bytes] = work.q[GW_WORK_most_dram_read_bytes];
	gw_predictor_set_work(fleet, 1, &work);
	assert_int_equal(predict(1, 0).work, GW_SOURCE_COUNTED);
}

/* A sample that went astray says a hundred times what later ones allow. */
TEST_WITH(what_a_limit_refutes_is_forgotten, start, stop)
{
	struct gw_work work;

	written(&work);
	work.q[GW_WORK_dram_read_bytes] = (struct gw_quantity){1.9e6, GW_SOURCE_COUNTED, 0.3F};
	work.q[GW_WORK_most_dram_read_bytes] = (struct gw_quantity){1e6, GW_SOURCE_COUNTED, 1};
	predict_by_floor(&work);
	assert_int_equal(predict(1, 0).work, GW_SOURCE_COUNTED);
	work.q[GW_WORK_dram_read_bytes].value = 1e8;
	gw_predictor_set_work(fleet, 1, &work);
	assert_int_equal(predict(1, 0).work, GW_SOURCE_STATIC);
}

TEST_WITH(ids_out_of_reach_are_not_known_gpus_and_no_configurations, start, stop)
{
	configure(1, GW_FLEET_MOST + 1, 1);
	configure(2, 0, 1);
	configure(CONFIGS + 1, 1, 1);
	configure(0, 1, 1);
	observe(1, 1e-6);
	gw_predictor_set_advance(fleet, NULL, NULL);
	assert_true(predict(2, 1).seconds > 0); /* of the same kernel on the same unknown GPU */
	assert_int_equal(observe(CONFIGS + 1, 1e-6), 0);
	assert_true(isnan(predict(0, 1).seconds));
	assert_true(isnan(predict(CONFIGS + 1, 1).seconds));
}

TESTS_MAIN()
