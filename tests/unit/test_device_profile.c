/* The device profile in the process: whose is taken, what the log keeps of it, what is said. */
#include "preload/maps/devices.h"
#include "preload/worker/profile.h"

#include "predictor/learner/predictor.h"
#include "predictor/profile/profile.h"
#include "preload/runtime/degrade.h"
#include "preload/worker/launches.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/analysis/analyze.h"
#include "preload/worker/registry.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

static char text[GW_PROFILE_BYTES];
static size_t length, announced;
static uint32_t pieces, of_device;
static const struct gw_device *predicted;
static uint32_t predicted_on;

/* What the profile is handed to. */
void gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
		  size_t tail_size)
{
	struct gw_record_profile r;

	assert_int_equal(kind, GW_RECORD_PROFILE);
	assert_int_equal(size, sizeof(r));
	assert_true(size + tail_size <= GW_RECORD_MAX);
	memcpy(&r, head, sizeof(r));
	assert_int_equal(r.offset, length);
	assert_int_equal(((const char *)tail)[tail_size - 1], 0);
	assert_int_equal(strlen(tail), tail_size - 1);
	memcpy(text + length, tail, tail_size);
	length += tail_size - 1;
	announced = r.size;
	of_device = r.device;
	pieces++;
}

void gw_predictor_set_device(struct gw_predictor_set *f, uint32_t device,
			     const struct gw_device *profile)
{
	(void)f;
	predicted = profile;
	predicted_on = device;
}

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	gw_device_profile_start(NULL);
	snprintf(gw_options.profile, sizeof(gw_options.profile), "%s/nvidia-h200.json",
		 GW_PROFILES);
	unsetenv("GPUWATCH_PROFILE");
	length = announced = 0;
	pieces = of_device = 0;
	gw_devices_clear();
	gw_device_stand_in_set(false);
	predicted = NULL;
	predicted_on = 0;
	return 0;
}

static int stop(void **state)
{
	for (uint32_t id = 1; id <= GW_FLEET_MOST; id++)
		free((void *)(uintptr_t)gw_device_profile(id));
	return 0;
}

TEST_WITH(the_profile_of_the_gpus_name_is_taken_and_kept_in_the_log, start, stop)
{
	static struct gw_profile read;
	struct gw_profile_error error;
	struct gw_reason reason;

	gw_device_profile_use(3, "NVIDIA H200");
	assert_non_null(gw_device_profile(3));
	assert_ptr_equal(gw_device_profile(0), gw_device_profile(3));
	assert_ptr_equal(predicted, gw_device_profile(3));
	assert_int_equal(predicted_on, 3);
	assert_int_equal(of_device, 3);
	assert_true(pieces > 1);
	assert_int_equal(length, announced);
	assert_int_equal(gw_profile_parse(text, length, "log", &read, &error), 0);
	for (unsigned i = 0; i < GW_PARAMS; i++)
		assert_memory_equal(&read.device.param[i].value,
				    &gw_device_profile(3)->param[i].value, sizeof(double));
	assert_false(gw_degraded_get(0, &reason));
	gw_device_profile_use(3, "NVIDIA H200"); /* once */
	assert_int_equal(length, announced);
}

/* A machine with two kinds of GPU, one of which nobody has calibrated. */
TEST_WITH(each_gpu_has_its_own_profile, start, stop)
{
	struct gw_reason reason;

	gw_options.profile[strlen(gw_options.profile) - strlen("/nvidia-h200.json")] = 0;
	gw_device_profile_use(1, "A GPU nobody has");
	assert_true(gw_degraded_get(0, &reason));
	assert_null(gw_device_profile(1));
	gw_device_profile_use(2, "NVIDIA H200");
	assert_int_equal(predicted_on, 2);
	assert_int_equal(of_device, 2);
	assert_null(gw_device_profile(1));
	length = 0;
	gw_device_profile_use(3, "NVIDIA GeForce GTX 660");
	assert_int_equal(of_device, 3);
	assert_int_equal(length, announced);
	assert_string_not_equal(gw_device_profile(2)->name, gw_device_profile(3)->name);
	assert_ptr_equal(gw_device_profile(0), gw_device_profile(2));
}

TEST_WITH(another_gpus_profile_is_not_used_and_that_is_said, start, stop)
{
	struct gw_reason reason;

	gw_device_profile_use(1, "A GPU nobody has");
	assert_null(gw_device_profile(1));
	assert_null(predicted);
	assert_int_equal(pieces, 0);
	assert_true(gw_degraded_get(0, &reason));
	assert_int_equal(reason.code, GW_DEGRADED_PROFILE);
	assert_non_null(strstr(reason.text, "gpuwatch calibrate"));
}

TEST_WITH(a_stand_in_lacks_nothing_unless_a_profile_is_named, start, stop)
{
	struct gw_reason reason;

	gw_device_stand_in_set(true);
	gw_options.profile[0] = 0;
	gw_device_profile_use(1, "gpuwatch stand-in (a test's)");
	assert_null(gw_device_profile(1));
	assert_false(gw_degraded_get(0, &reason));
	start(NULL);
	gw_device_stand_in_set(true);
	gw_device_profile_use(1, "gpuwatch stand-in (a test's)");
	assert_null(gw_device_profile(1));
	assert_true(gw_degraded_get(0, &reason));
}

TEST_WITH(a_gpu_without_a_name_is_not_looked_for, start, stop)
{
	struct gw_reason reason;

	gw_device_profile_use(1, "");
	assert_false(gw_degraded_get(0, &reason));
	gw_device_profile_use(1, "NVIDIA H200");
	assert_non_null(gw_device_profile(1));
}

TESTS_MAIN()
