/* Where a GPU's time went, where the truth is scripted: each row, and that the rows add up. */
#include "cli/log/gaps.h"
#include "predictor/core/index.h"
#include "tests/test.h"

static struct {
	struct log_gaps gaps;
	struct log_timeline timeline;
	struct log_waits waits;
} s;

/* Times in us throughout. */
static int start(void **state)
{
	(void)state;
	memset(&s, 0, sizeof(s));
	s.timeline.waits = &s.waits;
	return 0;
}

static void launch(unsigned thread, uint64_t call, uint64_t from, uint64_t until,
		   bool communication)
{
	const struct gw_record_launch l = {.flags = GW_LAUNCH_MEASURED,
					   .call_ns = call * 1000,
					   .start_ns = from * 1000,
					   .duration_ns = (until - from) * 1000};

	log_gaps_add(&s.gaps, &s.timeline, &l, (struct log_caller){thread, communication});
}

static void kernel(uint64_t call, uint64_t from, uint64_t until)
{
	launch(0, call, from, until, false);
}

static void waited(unsigned thread, enum gw_wait_call call, uint64_t from, uint64_t until)
{
	log_waits_add(&s.waits, thread,
		      &(struct gw_record_wait){.call = call,
					       .start_ns = from * 1000,
					       .duration_ns = (until - from) * 1000});
}

static void children_worked(uint64_t from, uint64_t until, uint64_t threads)
{
	log_children_add(&s.waits,
			 &(struct gw_record_children){.start_ns = from * 1000,
						      .duration_ns = (until - from) * 1000,
						      .threads_ns = threads * 1000});
}

static void copied(enum gw_direction direction, uint64_t from, uint64_t until)
{
	log_gaps_copy(&s.gaps, &s.timeline,
		      &(struct gw_record_copy){.direction = direction,
					       .bytes = 100,
					       .start_ns = from * 1000,
					       .duration_ns = (until - from) * 1000});
}

/* The log ends: @p wall us were accounted for, all of it in rows that the test looked at. */
static void ends(double wall)
{
	log_gaps_end(&s.gaps, &s.timeline);
	log_waits_free(&s.waits);
	assert_true(fabs(log_spent_wall(&s.gaps.spent) - wall * 1000) < 0.5);
}

static void takes(enum log_spent_row row, double us)
{
	if (fabs(s.gaps.spent.ns[row] - us * 1000) >= 0.5)
		fail_msg("%s: %.3f us, not %.3f", log_spent_name(row), s.gaps.spent.ns[row] / 1000,
			 us);
}

TEST_WITH(a_gap_is_split_at_the_call_that_ends_it, start, NULL)
{
	kernel(100, 110, 200);
	kernel(260, 270, 300);
	ends(190);
	takes(LOG_SPENT_KERNELS, 120);
	takes(LOG_SPENT_HOST, 60);
	takes(LOG_SPENT_LATENCY, 10);
}

TEST_WITH(what_was_called_before_the_gap_follows_back_to_back, start, NULL)
{
	kernel(100, 110, 200);
	kernel(150, 203, 300);
	ends(190);
	takes(LOG_SPENT_KERNELS, 187);
	takes(LOG_SPENT_QUEUED, 3);
}

TEST_WITH(calls_in_quick_succession_are_launch_bound, start, NULL)
{
	kernel(100, 108, 110);
	kernel(115, 123, 125);
	kernel(130, 138, 140);
	kernel(149, 160, 170);
	ends(62);
	takes(LOG_SPENT_KERNELS, 16);
	takes(LOG_SPENT_CALLS, 13 + 13 + 20);
	takes(LOG_SPENT_LATENCY, 0);
	takes(LOG_SPENT_HOST, 0);
}

/* As empty kernels on a GPU: the call of each begins before the one before it has run. */
TEST_WITH(calls_that_begin_while_the_gpu_works_may_be_launch_bound, start, NULL)
{
	kernel(100, 107, 109);
	kernel(106, 113, 115);
	kernel(112, 119, 121);
	ends(14);
	takes(LOG_SPENT_KERNELS, 6);
	takes(LOG_SPENT_CALLS, 4 + 4);
	takes(LOG_SPENT_QUEUED, 0);
}

TEST_WITH(a_full_queue_is_not_launch_bound_however_fast_the_calls, start, NULL)
{
	kernel(100, 107, 157);
	kernel(103, 158, 208);
	kernel(106, 209, 259);
	ends(152);
	takes(LOG_SPENT_QUEUED, 1 + 1);
	takes(LOG_SPENT_CALLS, 0);
}

TEST_WITH(a_wait_of_the_thread_and_what_it_did_after_it_are_told_apart, start, NULL)
{
	kernel(100, 110, 200);
	waited(0, GW_WAIT_STREAM, 120, 230);
	kernel(290, 300, 310);
	ends(200);
	takes(LOG_SPENT_KERNELS, 100);
	takes(LOG_SPENT_WAIT, 30);
	takes(LOG_SPENT_AFTER_WAIT, 60);
	takes(LOG_SPENT_LATENCY, 10);
	assert_int_equal(s.gaps.spent.waits[GW_WAIT_STREAM], 1);
	assert_int_equal(s.gaps.spent.waits[GW_WAIT_EVENT], 0);
}

TEST_WITH(waits_of_another_thread_explain_nothing, start, NULL)
{
	kernel(100, 110, 200);
	waited(1, GW_WAIT_EVENT, 120, 280);
	kernel(290, 300, 310);
	ends(200);
	takes(LOG_SPENT_WAIT, 0);
	takes(LOG_SPENT_HOST, 90);
}

TEST_WITH(work_of_children_while_the_thread_is_off_the_cpu_is_input, start, NULL)
{
	kernel(100, 110, 200);
	waited(0, GW_WAIT_STREAM, 120, 230);
	children_worked(150, 240, 0);
	children_worked(240, 260, 9);
	children_worked(270, 400, 1);
	kernel(290, 300, 310);
	ends(200);
	takes(LOG_SPENT_WAIT, 30);
	takes(LOG_SPENT_INPUT, 10 + 20 + 20);
	takes(LOG_SPENT_AFTER_WAIT, 10);
	takes(LOG_SPENT_LATENCY, 10);
}

/* Of 100 us of a span the thread was on the CPU for 10, and the gap has 15 of them. */
TEST_WITH(what_the_thread_may_have_computed_in_the_gap_is_no_input, start, NULL)
{
	kernel(100, 110, 200);
	children_worked(115, 215, 10);
	kernel(290, 300, 310);
	ends(200);
	takes(LOG_SPENT_INPUT, 0);
	takes(LOG_SPENT_HOST, 90);
}

TEST_WITH(copies_count_by_direction_where_no_kernel_runs, start, NULL)
{
	kernel(100, 110, 200);
	copied(GW_DIRECTION_TO_HOST, 190, 220); /* 20 of 30 beside nothing */
	copied(GW_DIRECTION_SET, 240, 245);
	copied(GW_DIRECTION_TO_DEVICE, 250, 280);
	kernel(270, 290, 300); /* queued behind the last */
	ends(190);
	takes(LOG_SPENT_COPY_TO_HOST, 20);
	takes(LOG_SPENT_SET, 5);
	takes(LOG_SPENT_COPY_TO_DEVICE, 30);
	takes(LOG_SPENT_HOST, 20 + 5);
	takes(LOG_SPENT_QUEUED, 10);
	takes(LOG_SPENT_KERNELS, 100);
	assert_true(s.gaps.spent.copy_ns[GW_DIRECTION_TO_HOST] == 30000);
	assert_int_equal(s.gaps.spent.copy_count[GW_DIRECTION_TO_DEVICE], 1);
}

TEST_WITH(copies_that_overlap_count_once, start, NULL)
{
	copied(GW_DIRECTION_TO_DEVICE, 100, 150);
	copied(GW_DIRECTION_TO_HOST, 120, 130);
	copied(GW_DIRECTION_TO_HOST, 140, 170);
	kernel(60, 170, 200);
	ends(100);
	takes(LOG_SPENT_COPY_TO_DEVICE, 50);
	takes(LOG_SPENT_COPY_TO_HOST, 20);
	takes(LOG_SPENT_KERNELS, 30);
}

TEST_WITH(communication_counts_where_no_other_kernel_runs, start, NULL)
{
	kernel(90, 100, 200);
	launch(0, 150, 180, 260, true);
	kernel(160, 220, 230);
	kernel(270, 280, 300);
	launch(0, 275, 300, 350, true);
	ends(250);
	takes(LOG_SPENT_KERNELS, 100 + 10 + 20);
	takes(LOG_SPENT_COMMUNICATION, 20 + 30 + 50);
	takes(LOG_SPENT_HOST, 10);
	takes(LOG_SPENT_LATENCY, 10);
}

TEST_WITH(what_ends_in_nothing_that_was_called_is_unknown, start, NULL)
{
	kernel(90, 100, 200);
	kernel(0, 230, 240); /* by the GPU itself */
	copied(GW_DIRECTION_TO_HOST, 300, 310);
	ends(210);
	takes(LOG_SPENT_KERNELS, 110);
	takes(LOG_SPENT_NO_CALL, 30 + 60);
	takes(LOG_SPENT_COPY_TO_HOST, 10);
}

TEST_WITH(a_gap_with_kernels_that_have_no_time_is_unknown, start, NULL)
{
	const struct gw_record_launch lost = {.call_ns = 210 * 1000};

	kernel(90, 100, 200);
	log_gaps_add(&s.gaps, &s.timeline, &lost, (struct log_caller){0});
	kernel(280, 290, 300);
	ends(200);
	takes(LOG_SPENT_NO_TIME, 90);
	takes(LOG_SPENT_KERNELS, 110);
}

TEST(kernels_of_communication_libraries_are_known_by_name)
{
	assert_true(log_communicates(
		"_Z28ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
	assert_true(log_communicates("_ZN4vllm19cross_device_reduceILi2EEE"));
	assert_false(log_communicates("_Z10vector_addPfPKfS1_i"));
}

TESTS_MAIN()
