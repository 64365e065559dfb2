/* Idle time by cause in the live segment, what ran at the same time, whose it is, and what others
 * left. */
#include "cli/live/launches.h"
#include "cli/live/tables.h"
#include "predictor/log/record.h"
#include "preload/live/live.h"
#include "preload/maps/memory.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/worker/parts.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct gw_live_file file;

static uint64_t file_bytes; /* that each is said to take; 0: as it is */

int fstat(int fd, struct stat *st)
{
	const int r = (int)syscall(SYS_fstat, fd, st);

	if (!r && file_bytes && S_ISREG(st->st_mode))
		st->st_blocks = (blkcnt_t)(file_bytes / 512);
	return r;
}

static int start(void **state)
{
	char why[256];

	fixture_start();
	gw_degraded_reset();
	gw_memory_start();
	gw_options.memory_max = 1 << 28;
	gw_options.segment = 8 << 20;
	gw_options.mode = GW_MODE_AUDIT;
	snprintf(gw_options.run_mode, sizeof(gw_options.run_mode), "0600");
	snprintf(gw_options.run_dir, sizeof(gw_options.run_dir), "/dev/shm/gw-test-idle-%d",
		 (int)getpid());
	gw_live_abandon();
	gw_live_start();
	assert_true(gw_live_map(&file, gw_live_path(), why, sizeof(why)));
	return 0;
}

static int stop(void **state)
{
	gw_live_unmap(&file);
	gw_live_end();
	gw_live_abandon();
	return rmdir(gw_options.run_dir);
}

/* A kernel from @p start to @p end, whose launch thread 1 called at @p call. */
static void ran_for(uint64_t start, uint64_t end, uint64_t call)
{
	const struct gw_record_launch r = {.call_ns = call, .thread = call ? 1 : 0};

	gw_live_ran_for(2, start, end, &r);
}

TEST_WITH(idle_time_has_the_cause_of_the_launch_that_ended_it, start, stop)
{
	struct gw_live_device d;
	uint64_t all = 0;

	ran_for(1000000, 2000000, 900000);
	ran_for(2001000, 3000000, 1500000); /* called before: 1 us */
	gw_live_waited(1, 2500000, 3400000);
	gw_live_copied(2, 3900000, 3950000);
	ran_for(4000000, 5000000, 3990000); /* 400 us of a wait, 540 after it, 50 of a copy */
	ran_for(6000000, 7000000, 5900000); /* 900 us of something else, 100 until it ran */
	ran_for(7000100, 7001000, 6990000);
	ran_for(7020000, 7021000, 7005000); /* one call 15 us after the other */
	gw_live_untimed(&(struct gw_record_launch){.call_ns = 7500000});
	gw_live_untimed(
		&(struct gw_record_launch){.call_ns = 7950000, .flags = GW_LAUNCH_MEASURED});
	ran_for(8000000, 8001000, 7900000);
	ran_for(8001500, 8002000, 0);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_QUEUED], 1000 + 100);
	assert_int_equal(d.idle_ns[GW_IDLE_WAIT], 400000);
	assert_int_equal(d.idle_ns[GW_IDLE_AFTER_WAIT], 500000);
	assert_int_equal(d.idle_ns[GW_IDLE_COPY], 50000);
	assert_int_equal(d.idle_ns[GW_IDLE_LATENCY], 10000 + 100000);
	assert_int_equal(d.idle_ns[GW_IDLE_HOST], 40000 + 900000);
	assert_int_equal(d.idle_ns[GW_IDLE_LAUNCH_BOUND], 19000);
	assert_int_equal(d.idle_ns[GW_IDLE_UNKNOWN], 979000 + 500);
	for (int i = 0; i < GW_LIVE_IDLE; i++)
		all += d.idle_ns[i];
	assert_true(d.gap.sum == (double)all);
}

/* What was called, waited for and copied before it has no time in it. */
TEST_WITH(after_a_step_of_the_wall_clock_causes_are_known_again, start, stop)
{
	struct gw_live_device d;

	ran_for(9000000, 9100000, 8900000);
	gw_live_waited(1, 2100000, 2400000);
	gw_live_copied(2, 2500000, 2600000);
	gw_live_clock_set();
	ran_for(1000000, 2000000, 900000);
	ran_for(3000000, 3001000, 2990000);
	ran_for(3020000, 3021000, 3005000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_WAIT] + d.idle_ns[GW_IDLE_COPY], 0);
	assert_int_equal(d.idle_ns[GW_IDLE_HOST], 990000);
	assert_int_equal(d.idle_ns[GW_IDLE_LAUNCH_BOUND], 19000);
}

TEST_WITH(waits_that_were_pushed_out_leave_the_cause_unknown, start, stop)
{
	struct gw_live_device d;

	ran_for(1000, 2000, 900);
	for (uint64_t i = 0; i < 300; i++)
		gw_live_waited(1, 1000000 + i * 1000, 1000500 + i * 1000);
	ran_for(900000, 901000, 890000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_UNKNOWN], 888000);
	assert_int_equal(d.idle_ns[GW_IDLE_HOST], 0);
}

TEST_WITH(so_do_those_of_a_thread_whose_place_another_had, start, stop)
{
	struct gw_live_device d;

	ran_for(1000, 2000, 900);
	gw_live_waited(1, 10000, 800000);
	gw_live_waited(65, 10000, 20000);
	ran_for(900000, 901000, 890000);
	ran_for(1900000, 1901000, 1890000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_UNKNOWN], 888000);
	assert_int_equal(d.idle_ns[GW_IDLE_HOST], 989000);
}

TEST_WITH(what_children_read_meanwhile_is_input, start, stop)
{
	struct gw_live_device d;

	ran_for(1000000, 2000000, 900000);
	gw_live_children(1500000, 2400000, 1000); /* 400 us of it after the kernel */
	gw_live_waited(1, 2500000, 2600000);
	gw_live_children(2550000, 2800000, 1000);  /* 200 us of it after the wait */
	gw_live_children(2850000, 2950000, 90000); /* the threads had a CPU */
	ran_for(3000000, 4000000, 2990000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_INPUT], 400000 + 200000);
	assert_int_equal(d.idle_ns[GW_IDLE_HOST], 100000);
	assert_int_equal(d.idle_ns[GW_IDLE_WAIT], 100000);
	assert_int_equal(d.idle_ns[GW_IDLE_AFTER_WAIT], 190000);
	for (uint64_t i = 0; i < 300; i++)
		gw_live_children(5000000 + 1000 * i, 5001000 + 1000 * i, 0);
	ran_for(5300000, 5301000, 5299000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.idle_ns[GW_IDLE_UNKNOWN], 1044000); /* before those that are kept */
	assert_int_equal(d.idle_ns[GW_IDLE_INPUT], 600000 + 255000);
}

/* A sum ended before its counter there. */
TEST_WITH(a_segment_of_the_version_before_is_read, start, stop)
{
	const uint32_t had = offsetof(struct gw_live_sum, counter);
	const struct gw_live_section *now = &file.head->sums;
	struct gw_live_file before;
	struct gw_live_left left = {.file = &before};
	struct gw_live_sum read;
	unsigned char *data = malloc(file.size);
	struct gw_live_head *head = (void *)data;

	assert_non_null(data);
	memcpy(data, file.data, file.size);
	for (uint32_t i = 0; i < now->count; i++) {
		const struct gw_live_sum one = {.config = i + 1,
						.block = GW_LIVE_NO_BLOCK,
						.launches = 10 * i,
						.counter = 3};

		memcpy(data + now->offset + (size_t)i * had, &one, had);
	}
	head->version = GW_LIVE_BEFORE;
	assert_false(gw_live_check(&before, data, file.size));
	head->sums.size = had;
	assert_true(gw_live_check(&before, data, file.size));
	assert_true(gw_live_sum_left(&left, 2, &read));
	assert_int_equal(read.config, 3);
	assert_int_equal(read.launches, 20);
	assert_int_equal(read.counter, 0);
	free(data);
}

/* ---- launches beyond its room ---- */

/* A thread whose words alone found room: 9 launches of kernels and 3 of graphs, of which 4 found
 * the ring full. */
static struct gw_thread *thread_beyond(void)
{
	static struct gw_event ring[16];
	struct gw_thread *t = gw_live_room(sizeof(*t));

	assert_non_null(t);
	t->ring = ring;
	t->mask = 15;
	gw_live_ring(t);
	atomic_store(&t->counts.launches, 9);
	atomic_store(&t->counts.graph_launches, 3);
	atomic_store(&t->counts.dropped, 4);
	return t;
}

static struct gw_live_left left_with(unsigned char *blocks)
{
	struct gw_live_left left = {
		.file = &file, .first_block = 1, .blocks = blocks, .block_bytes = 2};

	gw_live_take(&left);
	return left;
}

TEST_WITH(launches_in_a_ring_that_is_not_there_are_counted, start, stop)
{
	struct gw_thread *t = thread_beyond();
	const struct gw_event e = {.kind = GW_EVENT_KERNEL, .kernel = 1, .block_x = 1};
	struct gw_record_launch r = {0};
	struct gw_live_left left = left_with(NULL);

	assert_int_equal(left.lost, 8);
	assert_int_equal(left.count, 0);
	assert_int_equal(left.counted[0], 9);
	assert_int_equal(left.counted[5], 4);
	/* The worker takes one: it has an entry before it is no longer in the ring. */
	gw_live_taking(t, 0);
	gw_live_enter(&r, t, &e, 0);
	assert_int_equal(left_with(NULL).lost, 8);
	atomic_store(&t->tail_taken, UINT64_C(1) << 32 | 1);
	left = left_with(NULL);
	assert_int_equal(left.lost, 7);
	assert_int_equal(left.count, 1);
	free(left.launch);
}

TEST_WITH(a_ring_of_which_nothing_is_known_is_counted, start, stop)
{
	struct gw_thread t = {.mask = 15};

	thread_beyond();
	assert_int_equal(left_with(NULL).unlisted, 0);
	gw_live_ring(&t);
	assert_int_equal(left_with(NULL).unlisted, 1);
}

TEST_WITH(launches_without_an_entry_are_counted_until_they_are_in_the_log, start, stop)
{
	struct gw_thread *t = thread_beyond();
	const struct gw_event e = {.kind = GW_EVENT_KERNEL, .kernel = 1, .block_x = 1};
	struct gw_record_launch r[3] = {0};
	unsigned char blocks[2] = {0};

	atomic_store(&t->tail_taken, UINT64_C(8) << 32 | 8);
	t->live = 0; /* so that there is no entry */
	gw_live_taking(t, 7);
	for (int i = 0; i < 3; i++)
		gw_live_enter(&r[i], t, &e, 0);
	assert_int_equal(left_with(blocks).lost, 3);
	gw_live_logged(gw_live_entry(&r[0]), 2);
	gw_live_logged(gw_live_entry(&r[1]), 3);
	assert_int_equal(left_with(blocks).lost, 3);
	blocks[0] = 1 << 2;
	assert_int_equal(left_with(blocks).lost, 2);
	gw_live_dropped(gw_live_entry(&r[2]));
	assert_int_equal(left_with(blocks).lost, 1);
	gw_live_tick(4);
	assert_int_equal(left_with(blocks).lost, 0);
}

/* Any user may write the number of any process into a segment. */
TEST_WITH(it_is_nobodys_where_its_file_is_of_a_user_whom_the_process_is_not, start, stop)
{
	struct gw_live_file as = file;

	NOT_UNDER_QEMU();
	as.user = geteuid() + 1;
	assert_int_equal(gw_live_owner(&as), GW_LIVE_UNOWNED);
	as.user = geteuid();
	assert_int_equal(gw_live_owner(&as), GW_LIVE_OWNED);
	as.user = 0;
	assert_int_equal(gw_live_owner(&as), GW_LIVE_OWNED);
}

/* Whenever the process is killed, all parts have as many. */
TEST_WITH(launches_of_a_graph_count_for_each_of_its_configurations, start, stop)
{
	const struct gw_record_launch r = {.flags = GW_LAUNCH_GRAPH};
	struct gw_live_left left = {.file = &file};
	struct gw_live_sum s;

	gw_live_sum_counter(100, 5);
	gw_live_sum_part(101, 7, 5, 2, 100);
	gw_live_sum_part(102, 8, 5, 1, 100);
	assert_false(gw_live_sum_left(&left, 101, &s)); /* not launched yet */
	for (int i = 0; i < 3; i++)
		gw_live_summed(100, &r);
	assert_false(gw_live_sum_left(&left, 100, &s)); /* it is no sum */
	assert_true(gw_live_sum_left(&left, 101, &s));
	assert_int_equal(s.config, 7);
	assert_int_equal(s.launches, 6);
	assert_true(gw_live_sum_left(&left, 102, &s));
	assert_int_equal(s.launches, 3);
	gw_live_sum(101, 9, 6); /* the place is another's in the next span */
	gw_live_summed(101, &r);
	assert_true(gw_live_sum_left(&left, 101, &s));
	assert_int_equal(s.launches, 1);
}

TEST_WITH(other_modes_have_no_idle_time, start, stop)
{
	struct gw_live_device d;

	gw_options.mode = GW_MODE_WATCH;
	ran_for(1000, 2000, 900);
	ran_for(5000, 6000, 4000);
	assert_true(gw_live_device_at(&file, 2, &d));
	for (int i = 0; i < GW_LIVE_IDLE; i++)
		assert_int_equal(d.idle_ns[i], 0);
}

static struct gw_activity ran(uint32_t stream, uint64_t start, uint64_t end)
{
	struct gw_activity a = fixture_record(1);

	a.stream = stream;
	a.start = start;
	a.end = end;
	gw_beside_kernel_ran(&a);
	return a;
}

TEST_WITH(a_kernel_that_ends_later_is_seen_beside_an_earlier_one, start, stop)
{
	const uint64_t begin = 5000000000;

	for (int reversed = 0; reversed < 2; reversed++) {
		struct gw_activity first, during, after;

		gw_beside_start();
		if (reversed) /* buffers come by thread */
			ran(2, begin + 50000, begin + 900000);
		first = ran(1, begin, begin + 40000);
		during = ran(1, begin + 100000, begin + 200000);
		after = ran(1, begin + 910000, begin + 950000);
		if (!reversed)
			ran(2, begin + 50000, begin + 900000);
		assert_false(gw_beside_of(&first).kernels);
		assert_true(gw_beside_of(&during).kernels);
		assert_false(gw_beside_of(&after).kernels);
	}
}

TEST_WITH(copies_are_seen_beside_a_kernel_that_they_take_a_tenth_of, start, stop)
{
	const uint64_t begin = 5000000000;
	struct gw_copy copy = {.stream = 7, .start = begin + 10000, .end = begin + 15000};
	struct gw_activity a;

	gw_beside_start();
	a = ran(1, begin, begin + 100000);
	copy.device = a.device;
	gw_beside_copy_ran(&copy);
	assert_false(gw_beside_of(&a).copies);
	copy.start += 20000;
	copy.end += 30000;
	gw_beside_copy_ran(&copy);
	assert_true(gw_beside_of(&a).copies);
	copy.device++;
	copy.stream++;
	a = ran(1, begin + 200000, begin + 300000);
	copy.start = a.start;
	copy.end = a.end;
	gw_beside_copy_ran(&copy);
	assert_false(gw_beside_of(&a).copies);
}

TEST_WITH(a_gpu_shows_its_time_between_kernels, start, stop)
{
	const struct gw_clock_sample clock = {.ns = 5, .sm_khz = 1980000, .reasons = 4};
	struct gw_live_device d;

	assert_false(gw_live_device_at(&file, 2, &d));
	gw_live_ran(2, 1000, 2000);
	gw_live_ran(2, 1500, 2500); /* beside it */
	gw_live_ran(2, 1600, 1700);
	gw_live_ran(2, 6500, 7000);
	gw_live_clock_set();
	gw_live_ran(2, 100, 200);
	gw_live_ran(99, 100, 200);
	gw_live_clocks(2, &clock, 350000);
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.kernels, 5);
	assert_int_equal(d.busy_ns, 1500 + 500 + 100);
	assert_int_equal(d.gap.count, 1);
	assert_true(d.gap.sum == 4000);
	assert_int_equal(d.sm_khz, 1980000);
	assert_int_equal(d.power_mw, 350000);
	assert_int_equal(d.reasons, 4);
}

TEST_WITH(a_gpu_shows_what_was_lost_by_cause, start, stop)
{
	static const struct gw_config shape = {{7, 2, 1}, {128, 1, 1}, {1, 1, 1}, 0, 0};
	struct gw_live_device d;

	gw_live_config(1, 1, 3, &shape);
	gw_live_ran(2, 1000, 2000);
	gw_live_lost(1, GW_SLOW_CLOCK, 500);
	gw_live_lost(1, GW_SLOW_CLOCK, 250);
	gw_live_lost(1, GW_SLOW_CACHE, 0);
	gw_live_lost(1, GW_SLOW_CACHE, NAN);
	gw_live_lost(7, GW_SLOW_CACHE, 100); /* there is no such configuration */
	assert_true(gw_live_device_at(&file, 2, &d));
	assert_int_equal(d.lost_ns[GW_SLOW_CLOCK], 750);
	assert_int_equal(d.lost_ns[GW_SLOW_CACHE], 0);
}

/* Of six processes that were killed, by when they began; the second runs in another namespace. */
TEST_WITH(what_killed_processes_leave_is_bounded, start, stop)
{
	const struct gw_live_head *own = file.head;
	char first[4200], name[4300];
	const int pid = fork();
	struct gw_live_head h;

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	snprintf(first, sizeof(first), "%s", gw_live_path());
	for (int i = 0; i < 6; i++) {
		FILE *out;

		memcpy(&h, own, sizeof(h));
		h.pid = (uint32_t)pid;
		h.pid_namespace += i == 1;
		snprintf(name, sizeof(name), "%s/%d-%d-1.gwlive", gw_options.run_dir, pid, 60 - i);
		out = fopen(name, "w");
		assert_non_null(out);
		assert_int_equal(fwrite(&h, sizeof(h), 1, out), 1);
		fclose(out);
	}
	file_bytes = 100 << 20;
	gw_live_abandon();
	gw_live_start();
	file_bytes = 0;
	assert_int_equal(unlink(first), 0);
	for (int i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "%s/%d-%d-1.gwlive", gw_options.run_dir, pid, 60 - i);
		assert_int_equal(unlink(name), i < 3 ? 0 : -1);
	}
}

TEST_WITH(it_is_owned_while_its_process_runs_in_this_namespace, start, stop)
{
	struct gw_live_head other = *file.head;
	struct gw_live_file as = {.data = file.data, .size = file.size, .head = &other};

	NOT_UNDER_QEMU();
	assert_int_equal(gw_live_owner(&file), GW_LIVE_OWNED);
	other.pid = 1 << 22;
	assert_int_equal(gw_live_owner(&as), GW_LIVE_UNOWNED);
	other.pid_namespace++;
	assert_int_equal(gw_live_owner(&as), GW_LIVE_ELSEWHERE);
	assert_true(gw_live_owned(&as));
	snprintf(other.boot_id, sizeof(other.boot_id), "another boot");
	assert_int_equal(gw_live_owner(&as), GW_LIVE_UNOWNED);
}

/* Where the clock since boot is another, so is when a process began. */
static int seen_from_another_time(void)
{
	int fd, status;
	pid_t pid;

	if (unshare(CLONE_NEWTIME) || (fd = open("/proc/self/timens_offsets", O_WRONLY)) < 0 ||
	    write(fd, "boottime 9999 0", 15) != 15)
		return 77;
	pid = fork();
	if (!pid)
		_exit(gw_live_owner(&file) != GW_LIVE_OWNED);
	return waitpid(pid, &status, 0) == pid && !status ? 0 : 1;
}

TEST_WITH(it_is_owned_by_a_process_of_another_time_namespace, start, stop)
{
	pid_t pid;
	int status;

	NOT_UNDER_QEMU();
	pid = fork();
	if (!pid)
		_exit(seen_from_another_time());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

TESTS_MAIN()
