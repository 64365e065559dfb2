/* GPUWATCH_LOG_MAX over a long time, which the test moves: no byte more, and no launch lost. */
#include "cli/log/reader.h"
#include "preload/live/aggregate.h"
#include "preload/runtime/degrade.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

enum { CONFIGS_MOST = 20000 };

static char folder[] = "/tmp/gw_test_bound.XXXXXX";
static const uint64_t SECOND = 1000000000;
static uint64_t now_ns, largest;

static struct totals {
	uint64_t launches, total_ns;
} truth[CONFIGS_MOST + 1], found[CONFIGS_MOST + 1], lost_names;
static bool named[CONFIGS_MOST + 1], ended;
static unsigned repeated;

static int start(void **state)
{
	fixture_start();
	gw_degraded_reset();
	memset(truth, 0, sizeof(truth));
	snprintf(gw_options.out, sizeof(gw_options.out), "log");
	snprintf(gw_options.log_mode, sizeof(gw_options.log_mode), "0600");
	gw_aggregate_start();
	now_ns = 1000 * SECOND;
	largest = 0;
	return 0;
}

static int clean(void **state)
{
	gw_log_close();
	return unlink("log");
}

static void begin(uint64_t most)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION};

	gw_options.log_max = most;
	assert_true(gw_log_open());
	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), "host=x", 7);
}

static void kernel_and_config(uint32_t id)
{
	struct gw_record_kernel k = {.id = id};
	struct gw_record_config c = {.id = id, .kernel = id, .grid_x = id * 977};
	char name[64];

	snprintf(name, sizeof(name), "_Z6kernel%uPfS_i", id * 7919);
	gw_log_write(GW_RECORD_KERNEL, &k, sizeof(k), name, strlen(name) + 1);
	gw_log_write(GW_RECORD_CONFIG, &c, sizeof(c), NULL, 0);
	if (id % 100 == 0)
		gw_log_settle(); /* the writer may be slow, and what has no room is lost */
}

/* As launches.c has it. */
static void launch(uint32_t config)
{
	struct gw_record_launch r = {.config = config,
				     .flags = GW_LAUNCH_MEASURED,
				     .predicted = NAN,
				     .call_ns = now_ns,
				     .start_ns = now_ns + 1000,
				     .duration_ns = 1000 + (uint64_t)rand() % 100000};

	truth[config].launches++;
	truth[config].total_ns += r.duration_ns;
	if (gw_log_sums())
		gw_aggregate_add(&r);
	else
		gw_log_write(GW_RECORD_LAUNCH, &r, sizeof(r), NULL, 0);
}

static void look_at_size(void)
{
	struct stat s;

	gw_log_settle();
	assert_int_equal(stat("log", &s), 0);
	if ((uint64_t)s.st_size > largest)
		largest = (uint64_t)s.st_size;
	assert_true(largest <= gw_options.log_max);
}

static void counters(void)
{
	struct {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} r = {.head = {.count = GW_COUNTERS, .ns = now_ns}};

	r.value[0] = now_ns;
	gw_log_write(GW_RECORD_COUNTERS, &r, sizeof(r), NULL, 0);
}

/* @p configs of them are launched each @p pause seconds, for @p days. */
static void serve(uint32_t configs, unsigned pause, unsigned days)
{
	const uint64_t until = now_ns + days * 86400 * SECOND;

	for (; now_ns < until; now_ns += pause * SECOND) {
		for (unsigned i = 0; i < 200; i++) {
			launch(1 + (uint32_t)rand() % configs);
			if (i % 64 == 63 && !gw_log_sums())
				gw_log_settle();
		}
		gw_aggregate_tick(now_ns, false);
		counters();
		look_at_size();
	}
}

static void finish(void)
{
	struct gw_record_end r = {.ns = now_ns};

	gw_aggregate_tick(now_ns, true);
	counters();
	gw_log_write(GW_RECORD_END, &r, sizeof(r), NULL, 0);
	gw_aggregate_copy();
	look_at_size();
	gw_log_close();
}

static void add(uint32_t config, uint64_t launches, uint64_t total_ns)
{
	struct totals *t = config && named[config] ? &found[config] : &lost_names;

	t->launches += launches;
	t->total_ns += total_ns;
}

static bool take(void *arg, const struct gw_log_record *record)
{
	const void *r = record->head;

	(void)arg;
	if (record->head->kind == GW_RECORD_LAUNCH)
		add(((const struct gw_record_launch *)r)->config, 1,
		    ((const struct gw_record_launch *)r)->duration_ns);
	else if (record->head->kind == GW_RECORD_AGGREGATE)
		add(((const struct gw_record_aggregate *)r)->config,
		    ((const struct gw_record_aggregate *)r)->launches,
		    ((const struct gw_record_aggregate *)r)->total_ns);
	else if (record->head->kind == GW_RECORD_CONFIG)
		named[((const struct gw_record_config *)r)->id] = true;
	ended |= record->head->kind == GW_RECORD_END;
	repeated += record->head->kind == GW_RECORD_HEADER;
	return true;
}

/* All launches are there; of how many configurations only in the sum of all others? */
static unsigned account(void)
{
	struct gw_log_status status;
	struct totals missing = {0, 0};
	unsigned others = 0;

	memset(found, 0, sizeof(found));
	memset(named, 0, sizeof(named));
	lost_names = missing;
	ended = false;
	repeated = 0;
	if (!gw_log_read("log", take, NULL, &status))
		fail_msg("%s", status.error);
	assert_int_equal(status.damaged_bytes, 0);
	assert_int_equal(status.notes, 0);
	assert_true(ended);
	assert_int_equal(repeated, 1);
	for (uint32_t i = 1; i <= CONFIGS_MOST; i++) {
		missing.launches += truth[i].launches - found[i].launches;
		missing.total_ns += truth[i].total_ns - found[i].total_ns;
		others += truth[i].launches != found[i].launches;
	}
	assert_int_equal(missing.launches, lost_names.launches);
	assert_int_equal(missing.total_ns, lost_names.total_ns);
	assert_int_equal(atomic_load(&gw_counters[GW_COUNTER_log_lost]), 0);
	return others;
}

TEST_WITH(a_month_of_few_configurations_in_the_smallest_log, start, clean)
{
	begin(65536);
	for (uint32_t i = 1; i <= 50; i++)
		kernel_and_config(i);
	serve(50, 100, 30);
	finish();
	assert_int_equal(account(), 0);
}

TEST_WITH(thousands_of_configurations_in_the_smallest_log, start, clean)
{
	begin(65536);
	for (uint32_t i = 1; i <= 5000; i++)
		kernel_and_config(i);
	serve(5000, 100, 3);
	finish();
	assert_in_range(account(), 1, 5000 - 50);
}

TEST_WITH(ten_thousand_configurations_in_a_mebibyte, start, clean)
{
	begin(1 << 20);
	for (uint32_t i = 1; i <= 10000; i++)
		kernel_and_config(i);
	serve(10000, 100, 3);
	finish();
	account();
	assert_true(found[1].launches > 0);
}

TEST_WITH(new_configurations_while_it_is_full_are_in_the_sum_of_others, start, clean)
{
	begin(65536);
	for (uint32_t i = 1; i <= 2000; i++) {
		kernel_and_config(i);
		for (int k = 0; k < 30; k++)
			launch(i);
		now_ns += 20 * SECOND;
		gw_aggregate_tick(now_ns, false);
		counters();
		look_at_size();
	}
	finish();
	assert_true(account() > 1000);
}

/* A process that is killed then leaves one of the two copies, and that is not old. */
TEST_WITH(without_an_end_the_last_copy_counts, start, clean)
{
	struct gw_log_status status;
	uint64_t launches = 0, written = 0;

	begin(65536);
	for (uint32_t i = 1; i <= 300; i++)
		kernel_and_config(i);
	serve(300, 100, 10);
	gw_log_settle();
	memset(found, 0, sizeof(found));
	memset(named, 0, sizeof(named));
	lost_names = (struct totals){0, 0};
	assert_true(gw_log_read("log", take, NULL, &status));
	for (uint32_t i = 1; i <= 300; i++) {
		written += found[i].launches;
		launches += truth[i].launches;
	}
	/* Spans grow to a sixty-fourth of the time; 200 launches come each hundred seconds. */
	written += lost_names.launches;
	assert_true(written <= launches);
	assert_true(written > launches - launches / 32);
}

int main(void)
{
	int failed;

	if (!mkdtemp(folder) || chdir(folder))
		return 1;
	failed = tests_run(NULL, NULL);
	return rmdir(folder) ? 1 : failed;
}
