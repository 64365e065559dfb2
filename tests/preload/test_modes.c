/* Modes and options, and what becomes of times where measuring is degraded. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct outcome *under(const char *scenario, const char *one, const char *two)
{
	struct run r = RUN("work", scenario);
	struct outcome *o;

	r.env[0] = one;
	r.env[1] = one ? two : NULL;
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	return o;
}

static bool is_degraded(const struct outcome *o, enum gw_degraded code)
{
	return only_log(o)->degraded >> code & 1;
}

TEST(audit_times_every_kernel)
{
	struct outcome *o = under("everything", NULL, NULL);

	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_joined], o->truth[0].total);
	assert_int_equal(degraded_otherwise(only_log(o)), 0);
	assert_true(only_log(o)->flags & GW_HEADER_STAND_IN);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

/* Records without a launch are written before the launches are seen: none of these takes the record
 * of the next one. */
TEST(calls_that_outlast_their_kernels_shift_no_times)
{
	struct run r = RUN("plain", "launches");
	struct outcome *o;
	const uint64_t *c;

	r.env[0] = "STANDIN_SLOW=cuLaunchKernel:120:after";
	o = run_watched(&r);
	assert_logs_are_the_truth(o);
	c = only_log(o)->counter;
	assert_int_equal(c[GW_COUNTER_joined] + c[GW_COUNTER_launches_by_record],
			 o->truth[0].total);
	assert_in_range(c[GW_COUNTER_launches_by_record], 3, o->truth[0].total);
	outcome_free(o);
}

TEST(count_times_none)
{
	struct outcome *o = under("everything", "GPUWATCH_MODE=count", NULL);

	assert_int_equal(only_log(o)->measured, 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_activity], 0);
	assert_int_equal(degraded_otherwise(only_log(o)), 0);
	outcome_free(o);
}

static bool same_configuration(const struct tally *a, const struct tally *b)
{
	return !strcmp(a->name, b->name) && !memcmp(a->grid, b->grid, sizeof(a->grid)) &&
	       !memcmp(a->block, b->block, sizeof(a->block)) && a->shared == b->shared;
}

/* Those of graphs, too: their nodes keep them. */
TEST(arguments_of_each_configuration_are_kept_once)
{
	struct outcome *o = under("everything", NULL, NULL);
	const struct tally *kernel = only_log(o)->kernel;
	uint64_t configurations = 0, graphs = 0;

	for (unsigned i = 0; i < only_log(o)->kernels; i++) {
		unsigned first = 0;

		while (!same_configuration(&kernel[first], &kernel[i]))
			first++;
		configurations += first == i;
		graphs += first == i && kernel[i].graph;
	}
	assert_in_range(configurations, 2, 100);
	assert_in_range(graphs, 1, configurations - 1);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_arguments], configurations);
	outcome_free(o);
	o = under("everything", "GPUWATCH_MODE=count", NULL);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_arguments], 0);
	outcome_free(o);
}

TEST(refused_and_captured_launches_are_distinguished)
{
	struct outcome *o = under("everything", NULL, NULL);

	assert_int_equal(only_log(o)->counter[GW_COUNTER_captured], 2);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_failed], 2);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_graph_launches], 4);
	outcome_free(o);
}

static void off(const char *option)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.env[0] = option;
	o = run_both(&r);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 0);
	outcome_free(o);
}

TEST(mode_off_writes_nothing)
{
	off("GPUWATCH_MODE=off");
}

TEST(disabled_writes_nothing)
{
	off("GPUWATCH_DISABLE=1");
}

TEST(bad_option_is_said_once_and_its_default_used)
{
	struct outcome *o = under("everything", "GPUWATCH_MODE=fast", "GPUWATCH_RING=-3");

	assert_int_equal(warnings(o->err), 1);
	assert_non_null(strstr(o->err, "GPUWATCH_MODE=fast"));
	assert_non_null(strstr(o->err, "audit"));
	assert_true(is_degraded(o, GW_DEGRADED_OPTION));
	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	outcome_free(o);
}

/* ---- without activity records ---- */

static void by_events(const char *option, enum gw_degraded code, unsigned aloud)
{
	struct outcome *o = under("everything", option, "GPUWATCH_EVENT_RATE=4");

	assert_true(is_degraded(o, code));
	assert_in_range(only_log(o)->measured, 1, o->truth[0].total - 1);
	assert_int_equal(only_log(o)->by_events, only_log(o)->measured);
	assert_int_equal(warnings(o->err), aloud);
	outcome_free(o);
}

/* From then on attached launches would only cost more. */
TEST(records_without_times_end_activity)
{
	struct run r = RUN("work", "very_many");
	struct outcome *o;
	const struct account *log;

	r.env[0] = "STANDIN_NO_TIMES_AFTER=1000";
	o = run_both(&r);
	log = only_log(o);
	assert_logs_are_the_truth(o);
	assert_true(log->degraded >> GW_DEGRADED_NO_TIMES & 1);
	assert_in_range(log->measured - log->by_events, 900, 1000);
	assert_true(log->by_events > 100);
	assert_in_range(log->invalid, 2000, 12000);
	assert_int_equal(log->invalid, log->counter[GW_COUNTER_activity_invalid]);
	outcome_free(o);
}

/* Single ones do not. */
TEST(some_records_without_times_are_borne)
{
	struct run r = RUN("work", "very_many");
	struct outcome *o;

	r.env[0] = "STANDIN_BAD_TIME=4";
	o = run_both(&r);
	assert_false(only_log(o)->degraded >> GW_DEGRADED_NO_TIMES & 1);
	assert_int_equal(only_log(o)->by_events, 0);
	outcome_free(o);
}

TEST(no_cupti_some_launches_are_timed_by_events)
{
	/* It stands in the log, and is no news to who asked for it. */
	by_events("GPUWATCH_CUPTI=none", GW_DEGRADED_NO_CUPTI, 0);
}

/* The driver makes no core dump beside libcupti, or hangs beside its sampled counters. */
TEST(where_the_gpu_dumps_core_libcupti_is_left_alone)
{
	by_events("CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1", GW_DEGRADED_NO_CUPTI, 0);
	by_events("CUDA_ENABLE_USER_TRIGGERED_COREDUMP=1", GW_DEGRADED_NO_CUPTI, 0);
}

TEST(libcupti_named_and_missing)
{
	by_events("GPUWATCH_CUPTI=/no/such/libcupti.so", GW_DEGRADED_NO_CUPTI, 1);
}

TEST(another_subscriber_goes_first)
{
	by_events("STANDIN_SUBSCRIBED=1", GW_DEGRADED_CUPTI_TAKEN, 1);
}

TEST(insufficient_privileges)
{
	by_events("STANDIN_DENY=1", GW_DEGRADED_NO_CUPTI, 1);
}

TEST(libcupti_too_old)
{
	by_events("STANDIN_CUPTI_VERSION=12", GW_DEGRADED_NO_CUPTI, 1);
}

/* A thread's record is used again by the next thread; times must not be mixed up. */
TEST(event_times_belong_to_their_launch)
{
	struct outcome *o = under("durations", "GPUWATCH_CUPTI=none", "GPUWATCH_EVENT_RATE=1");
	const struct account *log = only_log(o);

	assert_true(log->by_events >= 8);
	for (unsigned i = 0; i < log->kernels; i++) {
		const struct tally *t = &log->kernel[i];

		/* An eighth may have been taken off for the call. */
		if (t->min_ns && t->min_ns < 87000 * (uint64_t)t->grid[0])
			fprintf(stderr, "grid %u took %llu ns?\n", t->grid[0],
				(unsigned long long)t->min_ns);
		assert_true(!t->min_ns || t->min_ns >= 87000 * (uint64_t)t->grid[0]);
	}
	outcome_free(o);
}

/* Asking an event for its time would break a capture that any thread has under way. */
TEST(timing_by_events_leaves_captures_alone)
{
	struct outcome *o = under("beside_capture", "GPUWATCH_CUPTI=none", "GPUWATCH_EVENT_RATE=1");

	outcome_free(o);
}

TEST(activity_leaves_captures_alone)
{
	struct outcome *o = under("beside_capture", NULL, NULL);

	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	outcome_free(o);
}

/* ---- records as they should not be ---- */

TEST(old_record_layouts)
{
	static const char *const version[] = {
		"STANDIN_CUPTI_VERSION=13", "STANDIN_CUPTI_VERSION=15", "STANDIN_CUPTI_VERSION=17",
		"STANDIN_CUPTI_VERSION=18", "STANDIN_CUPTI_VERSION=19"};

	for (size_t i = 0; i < 5; i++) {
		struct outcome *o = under("everything", version[i], NULL);

		assert_int_equal(only_log(o)->measured, o->truth[0].total);
		outcome_free(o);
	}
}

TEST(dropped_records_are_counted)
{
	struct outcome *o = under("many", "STANDIN_DROP=3", NULL);
	const struct account *log = only_log(o);

	assert_int_equal(log->counter[GW_COUNTER_activity_dropped], log->total / 3);
	assert_int_equal(log->measured, log->total - log->total / 3);
	assert_int_equal(log->counter[GW_COUNTER_launches_unmatched], log->total / 3);
	outcome_free(o);
}

TEST(invalid_times_are_never_used)
{
	struct outcome *o = under("many", "STANDIN_BAD_TIME=4", NULL);
	const struct account *log = only_log(o);

	assert_int_equal(log->invalid, log->total / 4);
	assert_int_equal(log->measured, log->total - log->total / 4);
	assert_int_equal(log->counter[GW_COUNTER_activity_invalid], log->total / 4);
	outcome_free(o);
}

TEST(late_and_unordered_records_are_joined)
{
	struct outcome *o = under("everything", "STANDIN_HOLD=2", "STANDIN_REORDER=1");

	assert_int_equal(only_log(o)->measured, o->truth[0].total);
	outcome_free(o);
}

TEST(full_ring_drops_and_counts)
{
	struct run r = RUN("work", "many");
	struct outcome *o;

	r.env[0] = "GPUWATCH_RING=64";
	o = run_both(&r);
	assert_true(only_log(o)->ended);
	assert_true(only_log(o)->counter[GW_COUNTER_ring_dropped] > 0);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_launches], o->truth[0].total);
	/* With activity records even these are in the log, though nobody knows who called. */
	assert_int_equal(only_log(o)->total, o->truth[0].total);
	outcome_free(o);
}

/* ---- the summary ---- */

static void summary(const char *option, bool wanted)
{
	struct run r = RUN("work", "everything");
	struct outcome *bare = run_bare(&r), *o;

	r.env[0] = option;
	o = run_watched(&r);
	assert_int_equal(o->status, bare->status);
	assert_string_equal(o->out, bare->out);
	assert_int_equal(strstr(o->err, "launches") != NULL, wanted);
	if (!wanted)
		assert_string_equal(o->err, bare->err);
	outcome_free(bare);
	outcome_free(o);
}

TEST(summary_on_demand_goes_to_stderr)
{
	summary("GPUWATCH_SUMMARY=1", true);
}

TEST(summary_can_be_left_out)
{
	summary("GPUWATCH_SUMMARY=0", false);
}

TEST(summary_is_for_terminals)
{
	NOT_UNDER_TSAN();
	summary("GPUWATCH_SUMMARY=auto", false);
}

TEST(summary_on_a_terminal)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	if (WEXITSTATUS(system("script -qec true /dev/null >/dev/null 2>&1")) != 0)
		skip();
	r.env[0] = "GPUWATCH_SUMMARY=auto";
	r.shell = "script -qec \"$1 $2\" /dev/null";
	o = run_watched(&r);
	assert_non_null(strstr(o->out, "gpuwatch: "));
	outcome_free(o);
}

/* ---- what a program may notice ---- */

TEST(errno_stays)
{
	struct outcome *o = under("errno", NULL, NULL);

	outcome_free(o);
	o = under("errno", "GPUWATCH_CUPTI=none", "GPUWATCH_EVENT_RATE=1");
	outcome_free(o);
}

TEST(descriptor_numbers_stay)
{
	struct outcome *o = under("descriptors", NULL, NULL);

	outcome_free(o);
}

/* Such a file would have the lowest number that is free, which the program may count on getting. */
static void opens_none(struct run r)
{
	struct outcome *o;

	r.preload_after = built("other_open.so");
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_int_equal(o->logs, 1);
	if (strstr(o->out, "opened among"))
		fail_msg("%s", o->out);
	outcome_free(o);
}

/* Code of an unseen module, a profile; child processes; a turn at the GPU's counters. */
TEST(no_file_is_opened_among_the_programs)
{
	struct run code = RUN("code", "unseen"), children = RUN("spent", "idle_children"),
		   counters = RUN("counted", "900");

	NOT_UNDER_TSAN();
	code.env[0] = "CODE_IMAGE=" GW_CORPUS "/lz4.fatbin";
	code.env[1] = "STANDIN_KERNELS=" GW_SOURCES "/code.kernels";
	code.env[2] = "CODE_MAPPED=" GW_CORPUS "/library.so";
	code.env[3] = "STANDIN_REPORTS=0";
	code.env[4] = "GPUWATCH_PROFILE=" GW_SOURCES "/../../predict/test-gpu.json";
	opens_none(code);
	opens_none(children);
	counters.env[0] = "GPUWATCH_COUNTERS=pm";
	opens_none(counters);
}

static void without_close_range(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {4, code};
	struct rlimit numbers = {20000, 20000};

	if (setrlimit(RLIMIT_NOFILE, &numbers) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		_exit(9);
}

/* As before Linux 5.9, where a million numbers may have to be closed: the log's thread does. */
TEST(no_number_is_closed_for_each_small_file)
{
	struct run r = RUN("spent", "idle_children");
	struct outcome *o;

	NOT_UNDER_TSAN();
	r.preload_after = built("other_open.so");
	r.in_child = without_close_range;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_int_equal(o->logs, 1);
	assert_null(strstr(o->out, "closed numbers"));
	outcome_free(o);
}

/* The log's descriptor is closed under us and its number given to a file of the program's. */
TEST(the_programs_files_stay_its_own)
{
	struct run r = RUN("work", "closes_all");
	struct outcome *o = run_both(&r);

	NOT_UNDER_TSAN();
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

TESTS_MAIN()
