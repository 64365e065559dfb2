/* Threads that launch, however short they live: nothing is lost, nothing counted twice. */
#include "tests/preload/harness.h"
#include "tests/test.h"

static void scenario(const char *name)
{
	for (int injected = 0; injected < 2; injected++) {
		struct run r = RUN("threads", name);
		struct outcome *o;

		r.inject = injected;
		o = run_both(&r);
		assert_int_equal(o->logs, 1);
		assert_logs_are_the_truth(o);
		outcome_free(o);
	}
}

#define SCENARIO(title, name) \
	TEST(title) \
	{ \
		scenario(name); \
	}

SCENARIO(sixty_four_threads_at_once, "at_once")
SCENARIO(threads_that_end_after_launching, "leaving")
SCENARIO(thousands_of_short_threads, "short_lived")
/*
 * Counting: the stand-in's libcupti has a thread that never ends, as the driver has on a GPU, and
 * then the program would not end either.
 */
TEST(detached_threads_outlive_main)
{
	struct run r = RUN("threads", "detached");
	struct outcome *o;

	NOT_UNDER_TSAN();
	r.env[0] = "GPUWATCH_MODE=count";
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

/* The sanitizer's own data of a thread have gone by then. */
TEST(launches_in_tls_destructors)
{
	NOT_UNDER_TSAN();
	scenario("tls_destructor");
}

/* The sanitizer's own data of a thread have gone by then. */
TEST(launches_in_tls_destructors_made_before_cuda)
{
	NOT_UNDER_TSAN();
	scenario("tls_destructor_first");
}

SCENARIO(all_threads_initialise_cuda_together, "init_together")
SCENARIO(cancelled_threads, "cancel")
SCENARIO(a_first_launch_is_no_cancellation_point, "cancel_pending")

TESTS_MAIN()
