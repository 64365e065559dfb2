/*
 * The stand-in libcupti, and what the environment makes both libraries do. The environment is
 * read when they are loaded, so each scripted case runs in a process of its own: this program
 * again, with the name of a scenario as its argument; its output is what the test looks at.
 */
#include "test_support.h"
#include "tests/test.h"

struct seen {
	atomic_size_t records; /* CUPTI's own thread may deliver */
	size_t bad, incomplete;
	uint32_t streams[4096];
	uint64_t first_start;
};
static struct seen seen;
static atomic_size_t buffer_size = 1 << 20;
static size_t record_size = sizeof(CUpti_ActivityKernel10);

static void on_request(uint8_t **buffer, size_t *size, size_t *max)
{
	*size = buffer_size;
	*buffer = aligned_alloc(8, *size);
	*max = 0;
}

static void on_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			size_t valid)
{
	CUpti_Activity *record = NULL;
	(void)context;
	(void)stream;
	(void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
		CUpti_ActivityKernel4 k; /* the part all layouts share */
		memcpy(&k, record, sizeof k);
		if (seen.records < 4096)
			seen.streams[seen.records] = k.streamId;
		if (!seen.first_start)
			seen.first_start = k.start;
		seen.bad += k.end <= k.start;
		seen.incomplete += k.end == 0;
		seen.records++;
	}
	free(buffer);
}

static void collect(void)
{
	memset(&seen, 0, sizeof seen);
	assert_int_equal(cuptiActivityRegisterCallbacks(on_request, on_complete), 0);
	assert_int_equal(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
}

static void launch(const struct fixture *f, int times)
{
	for (int i = 0; i < times; i++)
		assert_int_equal(cuLaunchKernel(f->empty, 1 + (unsigned)i, 1, 1, 32, 1, 1, 0,
						f->stream, NULL, NULL),
				 0);
}

/* ---- without a script ---- */

TEST_WITH(every_kernel_has_a_record, fixture_make, fixture_drop)
{
	collect();
	launch(*state, 1000);
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	assert_int_equal(seen.records, 1000);
	assert_int_equal(seen.bad, 0);
	cuptiFinalize();
}

TEST_WITH(a_full_buffer_is_delivered_without_a_flush, fixture_make, fixture_drop)
{
	struct timespec pause = {0, 5000000};
	collect();
	buffer_size = 16 * record_size;
	for (int i = 0; i < 6000 && seen.records == 0; i++) {
		launch(*state, 100);
		cuCtxSynchronize();
		nanosleep(&pause, NULL);
	}
	buffer_size = 1 << 20;
	cuptiFinalize();
	assert_true(seen.records > 0);
}

TEST_WITH(a_running_kernel_holds_its_records_back, fixture_make, fixture_drop)
{
	struct fixture *f = *state;
	size_t records = 0, incomplete = 0, early = 0;
	collect();
	WHILE_IT_RUNS(f, f->stream, 200000000, {
		cuptiActivityFlushAll(0); /* those of a try that was held up */
		records = seen.records;
		incomplete = seen.incomplete;
		launch(f, 3);
		cuptiActivityFlushAll(0);
		early = seen.records - records;
	});
	assert_int_equal(early, 0);
	cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	assert_int_equal(seen.records - records, 4);
	assert_int_equal(seen.incomplete - incomplete, 4);
	cuptiFinalize();
}

TEST_WITH(nothing_is_recorded_when_disabled, fixture_make, fixture_drop)
{
	collect();
	assert_int_equal(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), 0);
	launch(*state, 3);
	cuCtxSynchronize();
	cuptiActivityFlushAll(1);
	assert_int_equal(seen.records, 0);
	cuptiFinalize();
}

struct heard {
	int entered, left;
	uint32_t correlation;
	char symbol[32], function[32];
	unsigned grid;
};

static void on_call(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data)
{
	const CUpti_CallbackData *call = data;
	struct heard *h = user;
	assert_int_equal(domain, CUPTI_CB_DOMAIN_DRIVER_API);
	assert_int_equal(id, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
	h->entered += call->callbackSite == CUPTI_API_ENTER;
	h->left += call->callbackSite == CUPTI_API_EXIT;
	h->correlation = call->correlationId;
	snprintf(h->symbol, sizeof h->symbol, "%s", call->symbolName);
	snprintf(h->function, sizeof h->function, "%s", call->functionName);
	h->grid = ((const cuLaunchKernel_params *)call->functionParams)->gridDimX;
}

TEST_WITH(a_callback_sees_a_launch_come_and_go, fixture_make, fixture_drop)
{
	CUpti_SubscriberHandle subscriber, second;
	struct heard heard = {0};
	assert_int_equal(cuptiSubscribe(&subscriber, on_call, &heard), 0);
	assert_int_equal(cuptiSubscribe(&second, on_call, NULL),
			 CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
	assert_int_equal(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API,
					     CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel),
			 0);
	launch(*state, 2);
	assert_int_equal(heard.entered, 2);
	assert_int_equal(heard.left, 2);
	assert_string_equal(heard.symbol, "empty");
	assert_string_equal(heard.function, "cuLaunchKernel");
	assert_int_equal(heard.grid, 2);
	assert_int_equal(cuptiUnsubscribe(subscriber), 0);
	launch(*state, 1);
	assert_int_equal(heard.entered, 2);
}

enum { THREADS = 16, STREAMS = 8, EACH = 200 };

static void *launch_on_streams(void *given)
{
	const struct fixture *f = given;
	CUstream streams[STREAMS];
	intptr_t failed = cuCtxSetCurrent(f->context);
	for (int i = 0; i < STREAMS; i++)
		failed += cuStreamCreate(&streams[i], (unsigned)i & 1);
	for (int i = 0; i < EACH; i++)
		failed += cuLaunchKernel(f->empty, 1, 1, 1, 32, 1, 1, 0, streams[i % STREAMS], NULL,
					 NULL);
	for (int i = 0; i < STREAMS; i++)
		failed += cuStreamSynchronize(streams[i]) + cuStreamDestroy(streams[i]);
	return (void *)failed;
}

TEST_WITH(sixteen_threads_on_eight_streams_each_lose_nothing, fixture_make, fixture_drop)
{
	pthread_t threads[THREADS];
	collect();
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, launch_on_streams, *state), 0);
	for (int i = 0; i < 50; i++) /* flushed meanwhile */
		cuptiActivityFlushAll(0);
	for (int i = 0; i < THREADS; i++) {
		void *failed = NULL;
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	assert_int_equal(seen.records, THREADS * EACH);
	assert_int_equal(seen.bad, 0);
	cuptiFinalize();
}

/* ns since it was first asked. */
static uint64_t my_clock(void)
{
	static uint64_t first;
	struct timespec t;
	uint64_t now;

	clock_gettime(CLOCK_MONOTONIC, &t);
	now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	first = first ? first : now;
	return now - first;
}

TEST_WITH(records_follow_a_registered_clock, fixture_make, fixture_drop)
{
	collect();
	assert_int_equal(cuptiActivityRegisterTimestampCallback(my_clock), 0);
	launch(*state, 1);
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	assert_int_equal(seen.records, 1);
	assert_in_range(seen.first_start, 0, 60000000000); /* CLOCK_REALTIME is far beyond */
	assert_int_equal(seen.bad, 0);
	cuptiFinalize();
}

/* ---- scenarios, in a process of their own ---- */

static const char *self;

/* Runs a scenario under "NAME=value"; its first line of output is returned. */
static const char *scenario(const char *environment, const char *name)
{
	static char line[256];
	char command[512];
	FILE *pipe;
	snprintf(command, sizeof command, "%s '%s' %s 2>&1", environment, self, name);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	if (!fgets(line, sizeof line, pipe))
		line[0] = '\0';
	line[strcspn(line, "\n")] = '\0';
	pclose(pipe);
	return line;
}

static int scenario_records(const struct fixture *f)
{
	size_t dropped = 0, out_of_order = 0;
	uint64_t before, now = 0;
	struct timespec t;
	CUstream other;
	uint32_t version = 0;
	cuptiGetVersion(&version);
	if (version < 13)
		record_size = sizeof(CUpti_ActivityKernel4);
	cuStreamCreate(&other, CU_STREAM_NON_BLOCKING);
	clock_gettime(CLOCK_REALTIME, &t);
	before = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	cuptiActivityRegisterCallbacks(on_request, on_complete);
	int enabled = (int)cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	cuptiGetTimestamp(&now);
	for (int i = 0; i < 60; i++)
		cuLaunchKernel(f->empty, 1, 1, 1, 32, 1, 1, 0, i % 2 ? other : f->stream, NULL,
			       NULL);
	cuCtxSynchronize();
	cuptiActivityFlushAll(0);
	size_t first = seen.records;
	cuptiActivityFlushAll(0);
	cuptiActivityGetNumDroppedRecords(f->context, 0, &dropped);
	for (size_t i = 1; i < seen.records; i++)
		out_of_order += seen.streams[i] < seen.streams[i - 1];
	printf("enabled %d first %zu all %zu dropped %zu bad %zu turns %zu hour %d %d\n", enabled,
	       first, seen.records, dropped, seen.bad, out_of_order,
	       (int)((int64_t)(seen.first_start - before) / 3600000000000),
	       (int)((int64_t)(now - before) / 3600000000000));
	return 0;
}

static int scenario_calls(const struct fixture *f)
{
	CUpti_SubscriberHandle subscriber;
	CUstream made;
	int results[4];
	for (int i = 0; i < 4; i++)
		results[i] = (int)cuLaunchKernel(f->empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL);
	printf("launches %d %d %d %d stream %d subscribe %d enable %d\n", results[0], results[1],
	       results[2], results[3], (int)cuStreamCreate(&made, 0),
	       (int)cuptiSubscribe(&subscriber, on_call, NULL),
	       (int)cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	return 0;
}

static int scenario_run(const char *name)
{
	void *state = NULL;
	if (fixture_make(&state) != 0)
		return 1;
	int status = strcmp(name, "records") == 0 ? scenario_records(state) : scenario_calls(state);
	free(state);
	return status;
}

TEST(records_are_plain_without_a_script)
{
	assert_string_equal(scenario("", "records"), "enabled 0 first 60 all 60 dropped 0 bad 0 "
						     "turns 29 hour 0 0");
}

TEST(every_seventh_record_is_dropped_and_counted)
{
	assert_non_null(strstr(scenario("STANDIN_DROP=7", "records"), "all 52 dropped 8 bad 0"));
}

TEST(every_tenth_record_has_impossible_times)
{
	assert_non_null(
		strstr(scenario("STANDIN_BAD_TIME=10", "records"), "all 60 dropped 0 bad 6"));
}

TEST(records_of_a_stream_come_a_flush_late)
{
	assert_non_null(strstr(scenario("STANDIN_HOLD=2", "records"), "first 30 all 60"));
}

TEST(records_are_reordered_between_streams)
{
	assert_non_null(strstr(scenario("STANDIN_REORDER=1", "records"), "all 60 dropped 0 bad 0 "
									 "turns 1 "));
}

TEST(cuptis_clock_is_another)
{
	assert_non_null(
		strstr(scenario("STANDIN_CLOCK_OFFSET=7200000000000", "records"), "hour 2 2"));
}

TEST(an_older_version_has_shorter_records)
{
	assert_non_null(strstr(scenario("STANDIN_CUPTI_VERSION=12", "records"), "all 60 dropped 0 "
										"bad 0"));
}

TEST(privileges_can_be_missing)
{
	assert_non_null(strstr(scenario("STANDIN_DENY=1", "records"), "enabled 35 first 0"));
}

TEST(the_nth_call_fails_as_asked)
{
	assert_string_equal(
		scenario("STANDIN_FAIL=cuLaunchKernel:3:719,cuptiActivityEnable:1:999", "calls"),
		"launches 0 0 719 0 stream 0 subscribe 0 enable 999");
}

TEST(every_call_fails_as_asked)
{
	assert_string_equal(scenario("STANDIN_FAIL='cuLaunchKernel:*:2'", "calls"),
			    "launches 2 2 2 2 stream 0 subscribe 0 enable 0");
}

TEST(another_subscriber_can_be_there)
{
	assert_non_null(strstr(scenario("STANDIN_SUBSCRIBED=1", "calls"), "subscribe 39"));
}

TEST(a_wrong_rule_is_one_clear_error)
{
	assert_string_equal(scenario("STANDIN_FAIL=cuInit", "calls"),
			    "stand-in: STANDIN_FAIL: \"cuInit\" is not function:N:code (N a count "
			    "from 1, or *)");
}

TEST(the_trace_has_a_line_for_a_call)
{
	char path[] = "/tmp/standin-trace-XXXXXX", environment[128], line[512];
	int fd = mkstemp(path), launches = 0, refused = 0;
	FILE *file;
	assert_true(fd >= 0);
	close(fd);
	snprintf(environment, sizeof environment,
		 "STANDIN_TRACE=%s STANDIN_FAIL=cuLaunchKernel:2:1", path);
	scenario(environment, "calls");
	file = fopen(path, "r");
	assert_non_null(file);
	while (fgets(line, sizeof line, file)) {
		launches += strstr(line, " cuLaunchKernel(ptr, 1, 1, 1, 32, 1, 1, 0, null, null, "
					 "null) = ") != NULL;
		refused += strstr(line, "null) = 1\n") != NULL;
	}
	fclose(file);
	unlink(path);
	assert_int_equal(launches, 4);
	assert_int_equal(refused, 1);
}

TEST(the_truth_counts_what_ran)
{
	char path[] = "/tmp/standin-count-XXXXXX", environment[128], text[4096] = "";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	snprintf(environment, sizeof environment, "STANDIN_COUNT=%s", path);
	scenario(environment, "records");
	assert_true(read(fd, text, sizeof text - 1) > 0);
	close(fd);
	unlink(path);
	assert_non_null(strstr(text, "\"name\": \"empty\", \"grid\": [1, 1, 1]"));
	assert_non_null(strstr(text, "\"count\": 30}"));
	assert_non_null(strstr(text, "\"total\": 60}"));
}

int main(int argc, char **argv)
{
	self = argv[0];
	if (argc > 1)
		return scenario_run(argv[1]);
	return tests_run(NULL, NULL);
}
