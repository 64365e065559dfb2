/* Where a GPU's time went, from a real process's log, where the program's script is the truth. */
#include "tests/preload/harness.h"

#include "cli/log/model.h"
#include "tests/test.h"

enum { TURNS = 20 };

static struct gw_log_model model;
static uint64_t first, last; /* of the log's kernels and copies, ns */

static bool look(void *arg, const struct gw_log_record *record)
{
	const struct gw_record_launch *l = (const void *)record->head;
	const struct gw_record_copy *c = (const void *)record->head;
	uint64_t start = 0, end = 0;

	(void)arg;
	if (record->head->kind == GW_RECORD_LAUNCH && l->start_ns) {
		start = l->start_ns;
		end = start + l->duration_ns;
	} else if (record->head->kind == GW_RECORD_COPY) {
		start = c->start_ns;
		end = start + c->duration_ns;
	}
	if (start && (!first || start < first))
		first = start;
	if (end > last)
		last = end;
	return true;
}

/* Run a scenario; its rows. They add up to the time from the first start to the last end. */
static const struct log_spent *spent(const char *scenario, const char *option)
{
	struct run r = RUN("spent", scenario);
	struct gw_log_status status;
	struct outcome *o;
	double wall;

	r.env[0] = option;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	first = last = 0;
	assert_true(gw_log_read(only_log(o)->path, look, NULL, &status));
	gw_log_model_init(&model);
	assert_true(gw_log_model_read(&model, only_log(o)->path));
	assert_int_equal(model.gpu_count, 1);
	outcome_free(o);
	wall = log_spent_wall(&model.gpus[0].gaps.spent);
	if (fabs(wall - (double)(last - first)) > 0.001 * wall)
		fail_msg("rows add up to %.0f ns of %.0f", wall, (double)(last - first));
	return &model.gpus[0].gaps.spent;
}

static double ms(const struct log_spent *s, enum log_spent_row row)
{
	return s->ns[row] / 1e6;
}

static void about(const struct log_spent *s, enum log_spent_row row, double truth)
{
	if (fabs(ms(s, row) - truth) > 0.01 * truth)
		fail_msg("%s: %.3f ms, not %.3f", log_spent_name(row), ms(s, row), truth);
}

/* A machine that has much else to do lets a program sleep longer, never shorter. */
static void at_least(const struct log_spent *s, enum log_spent_row row, double truth)
{
	if (ms(s, row) < 0.99 * truth)
		fail_msg("%s: %.3f ms, not %.3f or more", log_spent_name(row), ms(s, row), truth);
}

TEST(work_of_the_host_after_a_wait_is_told_from_other_work)
{
	const struct log_spent *s = spent("waits", "GPUWATCH_STATIC=0");

	about(s, LOG_SPENT_KERNELS, TURNS * 5.0);
	at_least(s, LOG_SPENT_AFTER_WAIT, TURNS * 4.0);
	assert_true(s->waits[GW_WAIT_STREAM] > 0);
	assert_true(ms(s, LOG_SPENT_NO_CALL) + ms(s, LOG_SPENT_NO_TIME) == 0);
	gw_log_model_free(&model);
}

TEST(work_of_the_host_without_a_wait_is_other_work)
{
	const struct log_spent *s = spent("host", "GPUWATCH_STATIC=0");

	about(s, LOG_SPENT_KERNELS, TURNS * 3.0);
	at_least(s, LOG_SPENT_HOST, TURNS * 4.5);
	gw_log_model_free(&model);
}

/* Of 60 ms in which they had a processor for three fifths, a fifth at least lies in spans in which
 * they had it for half. A machine that has much else to do may give them that once only. */
TEST(work_of_child_processes_while_the_host_sleeps_is_input)
{
	const struct log_spent *s = spent("input", "GPUWATCH_STATIC=0");

	at_least(s, LOG_SPENT_INPUT, 60 / 5.0);
	gw_log_model_free(&model);
}

TEST(child_processes_that_sleep_are_no_input)
{
	const struct log_spent *s = spent("idle_children", "GPUWATCH_STATIC=0");

	assert_true(ms(s, LOG_SPENT_INPUT) == 0);
	at_least(s, LOG_SPENT_HOST, 5 * 60.0);
	gw_log_model_free(&model);
}

TEST(copies_count_by_direction)
{
	const struct log_spent *s = spent("copies", "GPUWATCH_STATIC=0");
	const double each = ((32 << 20) / 16 + 500) / 1e6;

	assert_true(s->copies);
	about(s, LOG_SPENT_KERNELS, TURNS * 1.0);
	about(s, LOG_SPENT_COPY_TO_DEVICE, TURNS * each);
	about(s, LOG_SPENT_COPY_TO_HOST, TURNS * each);
	about(s, LOG_SPENT_SET, TURNS * each);
	assert_int_equal(s->copy_count[GW_DIRECTION_TO_HOST], TURNS);
	assert_true(s->copy_bytes[GW_DIRECTION_TO_DEVICE] == TURNS * (double)(32 << 20));
	gw_log_model_free(&model);
}

TEST(without_records_of_copies_the_log_says_so)
{
	const struct log_spent *s = spent("copies", "GPUWATCH_COUNTERS=off");

	assert_true(s->recorded && !s->copies);
	about(s, LOG_SPENT_KERNELS, TURNS * 1.0);
	assert_int_equal(s->copy_count[GW_DIRECTION_TO_HOST], 0);
	gw_log_model_free(&model);
}

enum { COLLECTIVES_KEPT = 64 };

static struct {
	struct gw_record_communicator communicator[4];
	struct gw_record_collective collective[COLLECTIVES_KEPT];
	unsigned communicators, collectives, kernels;
	unsigned after[COLLECTIVES_KEPT]; /* kernels called before each */
	uint64_t called[COLLECTIVES_KEPT];
} nccl;

static bool look_for_collectives(void *arg, const struct gw_log_record *record)
{
	const void *head = record->head;

	(void)arg;
	if (record->head->kind == GW_RECORD_COMMUNICATOR)
		nccl.communicator[nccl.communicators++ % 4] =
			*(const struct gw_record_communicator *)head;
	if (record->head->kind == GW_RECORD_COLLECTIVE)
		nccl.collective[nccl.collectives++ % COLLECTIVES_KEPT] =
			*(const struct gw_record_collective *)head;
	if (record->head->kind == GW_RECORD_LAUNCH)
		nccl.called[nccl.kernels++ % COLLECTIVES_KEPT] =
			((const struct gw_record_launch *)head)->call_ns;
	return true;
}

/* What NCCL reports of a scenario; its output goes to @p out. */
static void report_collectives(const char *scenario, const char *option, char out[64])
{
	struct run r = RUN("spent", scenario);
	struct gw_log_status status;
	struct outcome *o;

	r.env[0] = "GPUWATCH_STATIC=0";
	r.env[1] = "NCCL_PROFILER_PLUGIN=" GW_LIBRARY;
	r.env[2] = option;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	memset(&nccl, 0, sizeof(nccl));
	assert_true(gw_log_read(only_log(o)->path, look_for_collectives, NULL, &status));
	assert_int_equal(only_log(o)->counter[GW_COUNTER_collectives], nccl.collectives);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_collectives_dropped], 0);
	snprintf(out, 64, "%s", o->out);
	outcome_free(o);
}

TEST(nccl_reports_collectives_to_the_library_that_is_preloaded)
{
	char out[64];

	report_collectives("collectives", NULL, out);
	assert_string_equal(out, "2 none\n");
	assert_int_equal(nccl.communicators, 1);
	assert_int_equal(nccl.communicator[0].rank, 3);
	assert_int_equal(nccl.communicator[0].ranks, 8);
	assert_true(nccl.communicator[0].hash == 0x123456789abcdef);
	assert_int_equal(nccl.collectives, TURNS);
	assert_int_equal(nccl.kernels, TURNS + 1);
	for (unsigned i = 0; i < TURNS; i++) {
		const struct gw_record_collective *c = &nccl.collective[i];

		assert_int_equal(c->communicator, nccl.communicator[0].id);
		assert_true(c->sequence == (UINT64_C(1) << 32) + i);
		assert_true(c->count == (UINT64_C(5) << 32 | 7));
		assert_int_equal(c->function, GW_COLLECTIVE_ALL_REDUCE);
		assert_int_equal(c->datatype, GW_DATATYPE_BFLOAT16);
		assert_true(c->thread > 0);
		assert_true(c->call_ns >= nccl.called[i + 1]); /* the first is no collective's */
		assert_true(i + 2 > TURNS || c->call_ns <= nccl.called[i + 2]);
	}
}

TEST(nccl_of_an_older_version_reports_them_too)
{
	char out[64];

	report_collectives("collectives4", NULL, out);
	assert_int_equal(nccl.communicators, 2);
	assert_int_equal(nccl.collectives, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_true(nccl.communicator[i].hash == i + 1 && nccl.communicator[i].rank == i);
		assert_int_equal(nccl.collective[i].communicator, nccl.communicator[i].id);
		assert_int_equal(nccl.collective[i].function, GW_COLLECTIVE_OTHER);
		assert_int_equal(nccl.collective[i].datatype, GW_DATATYPE_FLOAT32);
	}
}

TEST(nccl_is_asked_for_nothing_where_that_is_switched_off)
{
	static const char *const options[] = {"GPUWATCH_NCCL=0", "GPUWATCH_MODE=watch",
					      "GPUWATCH_MODE=count"};
	char out[64];

	for (unsigned i = 0; i < COUNT(options); i++) {
		report_collectives("collectives", options[i], out);
		assert_string_equal(out, "0 none\n");
		assert_int_equal(nccl.collectives, 0);
	}
}

TESTS_MAIN()
