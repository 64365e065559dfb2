/* Where a GPU's time went, where the truth is scripted: each row, and that the rows add up. */
#include "cli/log/gaps.h"
#include "predictor/core/index.h"
#include "tests/test.h"

struct script {
	struct log_gaps gaps;
	struct log_timeline timeline;
	struct log_waits waits;
};

/* Times in us throughout. */
static void start(struct script *s)
{
	*s = (struct script){0};
	s->timeline.waits = &s->waits;
}

static void launch(struct script *s, unsigned thread, uint64_t call, uint64_t from, uint64_t until,
		   bool communication)
{
	const struct gw_record_launch l = {.flags = GW_LAUNCH_MEASURED,
					   .call_ns = call * 1000,
					   .start_ns = from * 1000,
					   .duration_ns = (until - from) * 1000};

	log_gaps_add(&s->gaps, &s->timeline, &l, (struct log_caller){thread, communication});
}

static void kernel(struct script *s, uint64_t call, uint64_t from, uint64_t until)
{
	launch(s, 0, call, from, until, false);
}

static void waited(struct script *s, unsigned thread, enum gw_wait_call call, uint64_t from,
		   uint64_t until)
{
	log_waits_add(&s->waits, thread,
		      &(struct gw_record_wait){.call = call,
					       .start_ns = from * 1000,
					       .duration_ns = (until - from) * 1000});
}

static void children_worked(struct script *s, uint64_t from, uint64_t until, uint64_t threads)
{
	log_children_add(&s->waits,
			 &(struct gw_record_children){.start_ns = from * 1000,
						      .duration_ns = (until - from) * 1000,
						      .threads_ns = threads * 1000});
}

static void copied(struct script *s, enum gw_direction direction, uint64_t from, uint64_t until)
{
	log_gaps_copy(&s->gaps, &s->timeline,
		      &(struct gw_record_copy){.direction = direction,
					       .bytes = 100,
					       .start_ns = from * 1000,
					       .duration_ns = (until - from) * 1000});
}

/* The log ends: @p wall us were accounted for, all of it in rows that the test looked at. */
static void ends(struct script *s, double wall)
{
	log_gaps_end(&s->gaps, &s->timeline);
	log_waits_free(&s->waits);
	assert_true(fabs(log_spent_wall(&s->gaps.spent) - wall * 1000) < 0.5);
}

static void takes(const struct script *s, enum log_spent_row row, double us)
{
	if (fabs(s->gaps.spent.ns[row] - us * 1000) >= 0.5)
		fail_msg("%s: %.3f us, not %.3f", log_spent_name(row), s->gaps.spent.ns[row] / 1000,
			 us);
}

TEST(a_gap_is_split_at_the_call_that_ends_it)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	kernel(&s, 260, 270, 300);
	ends(&s, 190);
	takes(&s, LOG_SPENT_KERNELS, 120);
	takes(&s, LOG_SPENT_HOST, 60);
	takes(&s, LOG_SPENT_LATENCY, 10);
}

TEST(what_was_called_before_the_gap_follows_back_to_back)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	kernel(&s, 150, 203, 300);
	ends(&s, 190);
	takes(&s, LOG_SPENT_KERNELS, 187);
	takes(&s, LOG_SPENT_QUEUED, 3);
}

TEST(calls_in_quick_succession_are_launch_bound)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 108, 110);
	kernel(&s, 115, 123, 125);
	kernel(&s, 130, 138, 140);
	kernel(&s, 149, 160, 170);
	ends(&s, 62);
	takes(&s, LOG_SPENT_KERNELS, 16);
	takes(&s, LOG_SPENT_CALLS, 13 + 13 + 20);
	takes(&s, LOG_SPENT_LATENCY, 0);
	takes(&s, LOG_SPENT_HOST, 0);
}

/* As empty kernels on a GPU: the call of each begins before the one before it has run. */
TEST(calls_that_begin_while_the_gpu_works_may_be_launch_bound)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 107, 109);
	kernel(&s, 106, 113, 115);
	kernel(&s, 112, 119, 121);
	ends(&s, 14);
	takes(&s, LOG_SPENT_KERNELS, 6);
	takes(&s, LOG_SPENT_CALLS, 4 + 4);
	takes(&s, LOG_SPENT_QUEUED, 0);
}

TEST(a_full_queue_is_not_launch_bound_however_fast_the_calls)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 107, 157);
	kernel(&s, 103, 158, 208);
	kernel(&s, 106, 209, 259);
	ends(&s, 152);
	takes(&s, LOG_SPENT_QUEUED, 1 + 1);
	takes(&s, LOG_SPENT_CALLS, 0);
}

TEST(a_wait_of_the_thread_and_what_it_did_after_it_are_told_apart)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	waited(&s, 0, GW_WAIT_STREAM, 120, 230);
	kernel(&s, 290, 300, 310);
	ends(&s, 200);
	takes(&s, LOG_SPENT_KERNELS, 100);
	takes(&s, LOG_SPENT_WAIT, 30);
	takes(&s, LOG_SPENT_AFTER_WAIT, 60);
	takes(&s, LOG_SPENT_LATENCY, 10);
	assert_int_equal(s.gaps.spent.waits[GW_WAIT_STREAM], 1);
	assert_int_equal(s.gaps.spent.waits[GW_WAIT_EVENT], 0);
}

TEST(waits_of_another_thread_explain_nothing)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	waited(&s, 1, GW_WAIT_EVENT, 120, 280);
	kernel(&s, 290, 300, 310);
	ends(&s, 200);
	takes(&s, LOG_SPENT_WAIT, 0);
	takes(&s, LOG_SPENT_HOST, 90);
}

TEST(work_of_children_while_the_thread_is_off_the_cpu_is_input)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	waited(&s, 0, GW_WAIT_STREAM, 120, 230);
	children_worked(&s, 150, 240, 0);
	children_worked(&s, 240, 260, 9);
	children_worked(&s, 270, 400, 1);
	kernel(&s, 290, 300, 310);
	ends(&s, 200);
	takes(&s, LOG_SPENT_WAIT, 30);
	takes(&s, LOG_SPENT_INPUT, 10 + 20 + 20);
	takes(&s, LOG_SPENT_AFTER_WAIT, 10);
	takes(&s, LOG_SPENT_LATENCY, 10);
}

/* Of 100 us of a span the thread was on the CPU for 10, and the gap has 15 of them. */
TEST(what_the_thread_may_have_computed_in_the_gap_is_no_input)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	children_worked(&s, 115, 215, 10);
	kernel(&s, 290, 300, 310);
	ends(&s, 200);
	takes(&s, LOG_SPENT_INPUT, 0);
	takes(&s, LOG_SPENT_HOST, 90);
}

TEST(copies_count_by_direction_where_no_kernel_runs)
{
	struct script s;

	start(&s);
	kernel(&s, 100, 110, 200);
	copied(&s, GW_DIRECTION_TO_HOST, 190, 220); /* 20 of 30 beside nothing */
	copied(&s, GW_DIRECTION_SET, 240, 245);
	copied(&s, GW_DIRECTION_TO_DEVICE, 250, 280);
	kernel(&s, 270, 290, 300); /* queued behind the last */
	ends(&s, 190);
	takes(&s, LOG_SPENT_COPY_TO_HOST, 20);
	takes(&s, LOG_SPENT_SET, 5);
	takes(&s, LOG_SPENT_COPY_TO_DEVICE, 30);
	takes(&s, LOG_SPENT_HOST, 20 + 5);
	takes(&s, LOG_SPENT_QUEUED, 10);
	takes(&s, LOG_SPENT_KERNELS, 100);
	assert_true(s.gaps.spent.copy_ns[GW_DIRECTION_TO_HOST] == 30000);
	assert_int_equal(s.gaps.spent.copy_count[GW_DIRECTION_TO_DEVICE], 1);
}

TEST(copies_that_overlap_count_once)
{
	struct script s;

	start(&s);
	copied(&s, GW_DIRECTION_TO_DEVICE, 100, 150);
	copied(&s, GW_DIRECTION_TO_HOST, 120, 130);
	copied(&s, GW_DIRECTION_TO_HOST, 140, 170);
	kernel(&s, 60, 170, 200);
	ends(&s, 100);
	takes(&s, LOG_SPENT_COPY_TO_DEVICE, 50);
	takes(&s, LOG_SPENT_COPY_TO_HOST, 20);
	takes(&s, LOG_SPENT_KERNELS, 30);
}

TEST(communication_counts_where_no_other_kernel_runs)
{
	struct script s;

	start(&s);
	kernel(&s, 90, 100, 200);
	launch(&s, 0, 150, 180, 260, true);
	kernel(&s, 160, 220, 230);
	kernel(&s, 270, 280, 300);
	launch(&s, 0, 275, 300, 350, true);
	ends(&s, 250);
	takes(&s, LOG_SPENT_KERNELS, 100 + 10 + 20);
	takes(&s, LOG_SPENT_COMMUNICATION, 20 + 30 + 50);
	takes(&s, LOG_SPENT_HOST, 10);
	takes(&s, LOG_SPENT_LATENCY, 10);
}

TEST(what_ends_in_nothing_that_was_called_is_unknown)
{
	struct script s;

	start(&s);
	kernel(&s, 90, 100, 200);
	kernel(&s, 0, 230, 240); /* by the GPU itself */
	copied(&s, GW_DIRECTION_TO_HOST, 300, 310);
	ends(&s, 210);
	takes(&s, LOG_SPENT_KERNELS, 110);
	takes(&s, LOG_SPENT_NO_CALL, 30 + 60);
	takes(&s, LOG_SPENT_COPY_TO_HOST, 10);
}

TEST(a_gap_with_kernels_that_have_no_time_is_unknown)
{
	const struct gw_record_launch lost = {.call_ns = 210 * 1000};
	struct script s;

	start(&s);
	kernel(&s, 90, 100, 200);
	log_gaps_add(&s.gaps, &s.timeline, &lost, (struct log_caller){0});
	kernel(&s, 280, 290, 300);
	ends(&s, 200);
	takes(&s, LOG_SPENT_NO_TIME, 90);
	takes(&s, LOG_SPENT_KERNELS, 110);
}

TEST(kernels_of_communication_libraries_are_known_by_name)
{
	assert_true(log_communicates(
		"_Z28ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"));
	assert_true(log_communicates("_ZN4vllm19cross_device_reduceILi2EEE"));
	assert_false(log_communicates("_Z10vector_addPfPKfS1_i"));
}

TESTS_MAIN()
