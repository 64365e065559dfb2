/* What a process has committed is found, once, however it dies. */
#include "cli/live/file.h"
#include "cli/live/tables.h"
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, GRAPHS = THREADS, NODES = 7 };

static char folder[64], run_dir[96];

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/dev/shm/gw-test-live-%d", (int)getpid());
	snprintf(run_dir, sizeof(run_dir), "GPUWATCH_RUN_DIR=%s", folder);
	return mkdir(folder, 0700);
}

static size_t pages_left; /* bytes of the segments that clear_folder() found */

/* How many segments there were; they are removed. */
static unsigned clear_folder(void)
{
	struct stat st;
	char path[400];
	DIR *d = opendir(folder);
	struct dirent *e;
	unsigned n = 0;

	pages_left = 0;
	while (d && (e = readdir(d)))
		if (strstr(e->d_name, ".sampler")) { /* a lock that processes of a GPU agree by */
			snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
			unlink(path);
		} else if (e->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
			pages_left += stat(path, &st) ? 0 : (size_t)st.st_blocks * 512;
			unlink(path);
			n++;
		}
	if (d)
		closedir(d);
	return n;
}

static int remove_folder(void **state)
{
	clear_folder();
	return rmdir(folder);
}

static struct outcome *killed(const char *how, const char *us, const char *mode, const char *more)
{
	struct run r = RUN("killed", how, us);

	r.env[0] = mode;
	r.env[1] = run_dir;
	r.env[2] = "WITNESS=witness";
	r.env[3] = more;
	return run_watched(&r);
}

static void read_witness(const struct outcome *o, uint64_t seen[THREADS + 1])
{
	char path[128];
	FILE *in;

	snprintf(path, sizeof(path), "%s/witness", o->dir);
	in = fopen(path, "r");
	assert_non_null(in);
	assert_int_equal(fread(seen, sizeof(*seen), THREADS + 1, in), THREADS + 1);
	fclose(in);
}

static const struct account *log_of(const struct outcome *o)
{
	for (unsigned i = 0; i < o->logs; i++)
		if (o->log[i].pid == o->pid)
			return &o->log[i];
	return NULL;
}

/* The one segment in the folder. */
static void segment_path(char *path, size_t size)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	assert_non_null(d);
	while ((e = readdir(d)) && e->d_name[0] == '.')
		;
	assert_non_null(e);
	snprintf(path, size, "%s/%s", folder, e->d_name);
	closedir(d);
}

/* Of a process that was killed before its log was begun. */
static void rest_alone(struct gw_live_rest *rest)
{
	struct gw_live_file file;
	char path[400], why[256];

	segment_path(path, sizeof(path));
	assert_true(gw_live_open(&file, path, why, sizeof(why)));
	assert_false(gw_live_owned(&file));
	gw_live_add(&file, NULL, 0, rest);
	gw_live_close(&file);
}

/* Its log and its segment, as one account. */
static struct account *whole_account(const struct outcome *o)
{
	struct account *a = calloc(1, sizeof(*a));
	struct gw_live_rest rest;
	char path[128];
	FILE *out;

	const struct account *log = log_of(o);

	if (!log) {
		rest_alone(&rest);
	} else if (!gw_live_rest_of(log->path, &rest)) {
		assert_true(account_of_log(log->path, a));
		return a;
	}
	snprintf(path, sizeof(path), "%s/whole", o->dir);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_int_equal(fwrite(rest.log, 1, rest.size, out), rest.size);
	fclose(out);
	free(rest.log);
	assert_true(account_of_log(path, a));
	return a;
}

static void assert_nothing_lost(const struct outcome *o)
{
	uint64_t seen[THREADS + 1], found[THREADS] = {0};
	struct account *a = whole_account(o);

	read_witness(o, seen);
	assert_false(a->damaged);
	for (unsigned i = 0; i < a->kernels; i++)
		if (a->kernel[i].grid[0] - 1 < THREADS)
			found[a->kernel[i].grid[0] - 1] += a->kernel[i].count;
	assert_true(seen[0] + seen[1] + seen[2] > 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_in_range(found[i], seen[i], seen[i] + 1);
	}
	free(a);
}

/* Node 2 is off; node 4 is one of two in turns of 16 launches. */
static void assert_no_graph_lost(const struct outcome *o)
{
	uint64_t seen[THREADS + 1], found[NODES] = {0}, turn[2] = {0}, launched;
	struct account *a = whole_account(o);

	read_witness(o, seen);
	assert_false(a->damaged);
	for (unsigned i = 0; i < a->kernels; i++) {
		uint32_t grid = a->kernel[i].grid[0];

		if (grid >= 200 && grid < 202)
			turn[grid - 200] += a->kernel[i].count;
		else if (grid >= 100 && grid < 100 + NODES)
			found[grid - 100] += a->kernel[i].count;
	}
	launched = found[0];
	assert_in_range(launched, seen[GRAPHS], seen[GRAPHS] + 1);
	for (unsigned i = 0; i < NODES; i++)
		assert_int_equal(found[i], i == 2 || i == 4 ? 0 : launched);
	assert_int_equal(turn[0], launched / 32 * 16 + (launched % 32 < 16 ? launched % 32 : 16));
	assert_int_equal(turn[1],
			 launched / 32 * 16 + (launched % 32 < 16 ? 0 : launched % 32 - 16));
	free(a);
}

TEST(no_kernel_of_a_graph_is_lost)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
					    "GPUWATCH_MODE=count"};
	static const char *const us[] = {"0", "57000", "190000", "1103000"};

	for (unsigned mode = 0; mode < 3; mode++)
		for (unsigned i = 0; i < 4; i++) {
			struct outcome *o = killed("kill", us[i], modes[mode], "GRAPHS=1");

			assert_nothing_lost(o);
			assert_no_graph_lost(o);
			outcome_free(o);
			assert_int_equal(clear_folder(), 1);
		}
}

static void nothing_lost_by(const char *how)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
					    "GPUWATCH_MODE=count"};
	static const char *const us[] = {"60000", "173000", "1100000"};

	for (unsigned mode = 0; mode < 3; mode++)
		for (unsigned i = 0; i < 3; i++) {
			struct outcome *o = killed(how, us[i], modes[mode],
						   i == 1 ? "GPUWATCH_CUPTI=none" : NULL);

			assert_nothing_lost(o);
			outcome_free(o);
			assert_int_equal(clear_folder(), 1);
		}
}

#define DEATH(title, how) \
	TEST(title) \
	{ \
		nothing_lost_by(how); \
	}

DEATH(nothing_is_lost_by_sigkill, "kill")
DEATH(nothing_is_lost_by_sigsegv, "segv")
DEATH(nothing_is_lost_by_abort, "abort")
DEATH(nothing_is_lost_by__exit, "_exit")
DEATH(nothing_is_lost_by_exec, "exec")

static uint64_t of_grid(const struct account *a, uint32_t grid)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < a->kernels; i++)
		n += a->kernel[i].grid[0] == grid ? a->kernel[i].count : 0;
	return n;
}

/* What a process that watches it would have seen last. */
TEST(the_tables_show_what_was_measured_and_predicted)
{
	struct outcome *o = killed("kill", "1500000", "GPUWATCH_MODE=audit", NULL);
	uint64_t launches = 0, measured = 0, compared = 0;
	unsigned configs = 0, predicted = 0;
	struct gw_live_file file;
	struct gw_live_config c;
	struct gw_live_device device;
	struct gw_live_totals totals;
	char path[400], why[256];

	segment_path(path, sizeof(path));
	assert_true(gw_live_map(&file, path, why, sizeof(why)));
	for (uint32_t i = 0; i < file.head->configs.count; i++)
		if (gw_live_config_at(&file, i, &c)) {
			configs++;
			assert_non_null(gw_live_kernel_in(&file, c.kernel));
			assert_true(c.time.count <= c.launches);
			launches += c.launches;
			measured += c.time.count;
			compared += c.ratio.count;
			predicted +=
				c.predicted > 0 && c.low <= c.predicted && c.predicted <= c.high;
		}
	assert_true(gw_live_totals_of(&file, &totals));
	assert_true(configs >= THREADS && predicted > 0);
	assert_true(measured > 0 && compared > 0 && compared <= measured);
	assert_true(totals.counter[GW_COUNTER_launches] > 0);
	assert_true(totals.counter[GW_COUNTER_worker_cpu_ns] > 0);
	assert_true(totals.counter[GW_COUNTER_memory] > 0);
	assert_true(launches >= totals.counter[GW_COUNTER_joined]);
	assert_true(gw_live_device_at(&file, 0, &device));
	assert_int_equal(device.kernels, measured);
	assert_true(device.busy_ns > 0);
	gw_live_unmap(&file);
	outcome_free(o);
	assert_int_equal(clear_folder(), 1);
}

TEST(children_have_segments_of_their_own)
{
	struct outcome *o = killed("kill", "30000", "GPUWATCH_MODE=count", "CHILDREN=1");
	const struct account *child;
	struct account *a, both;
	struct gw_live_rest rest;

	assert_nothing_lost(o);
	a = whole_account(o);
	assert_int_equal(of_grid(a, 50) + of_grid(a, 51) + of_grid(a, 52), 0);
	free(a);
	assert_int_equal(o->logs, 2);
	child = o->log[0].pid == o->pid ? &o->log[1] : &o->log[0];
	if (gw_live_rest_of(child->path, &rest)) {
		FILE *out = fopen(child->path, "w");

		assert_non_null(out);
		assert_int_equal(fwrite(rest.log, 1, rest.size, out), rest.size);
		fclose(out);
		free(rest.log);
	}
	assert_true(account_of_log(child->path, &both));
	assert_int_equal(of_grid(&both, 50), 600);
	outcome_free(o);
	assert_int_equal(clear_folder(),
			 3); /* one of the child whose launches the driver refused */
}

/* Killed once it had a log, which a busy machine takes long for. */
static struct outcome *killed_with_log(void)
{
	struct outcome *o = NULL;
	char us[16];

	for (unsigned after = 173000; after < 10000000; after *= 2) {
		snprintf(us, sizeof(us), "%u", after);
		o = killed("kill", us, "GPUWATCH_MODE=audit", NULL);
		if (log_of(o))
			return o;
		outcome_free(o);
		clear_folder();
	}
	fail_msg("a program of ten seconds has no log");
	return NULL;
}

TEST(a_torn_first_block_hides_no_segment)
{
	struct outcome *o = killed_with_log();
	struct gw_live_rest rest;
	char zero[24] = "";
	int fd;

	fd = open(log_of(o)->path, O_WRONLY);
	assert_int_equal(pwrite(fd, zero, sizeof(zero), 0), sizeof(zero));
	close(fd);
	setenv("GPUWATCH_RUN_DIR", folder, 1);
	assert_true(gw_live_rest_of(log_of(o)->path, &rest));
	unsetenv("GPUWATCH_RUN_DIR");
	assert_true(rest.launches > 0);
	free(rest.log);
	outcome_free(o);
	clear_folder();
}

/* Every call on the file, that on its size above all, is refused without a signal. */
static void limit_files(void)
{
	const struct rlimit limit = {1 << 20, 1 << 20};

	setrlimit(RLIMIT_FSIZE, &limit);
}

TEST(a_limit_of_file_sizes_sends_no_signal)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.env[0] = run_dir;
	r.in_child = limit_files;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_SEGMENT);
	assert_int_equal(clear_folder(), 0);
	outcome_free(o);
}

/* The folder is a small file system of this process's own, all but @p left bytes of it used. */
static bool small_folder(const char *size, size_t left)
{
	char path[128], option[32];
	struct statfs fs;
	int fd, r;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return false;
	snprintf(option, sizeof(option), "mode=700,size=%s", size);
	if (mount("none", folder, "tmpfs", 0, option))
		return false;
	snprintf(path, sizeof(path), "%s/.full", folder);
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || statfs(folder, &fs))
		return false;
	r = fallocate(fd, 0, 0, (off_t)((size_t)fs.f_bavail * (size_t)fs.f_bsize - left));
	close(fd);
	return r == 0;
}

/* With @p left bytes for segments the program runs as ever; what has no room is said. */
static void full_after(size_t left)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=count"};

	for (unsigned i = 0; i < 2; i++) {
		pid_t pid = fork();
		int status;

		assert_true(pid >= 0);
		if (!pid) {
			struct run r = RUN("work", "everything");
			struct outcome *o;

			if (!small_folder("48M", left))
				_exit(77);
			r.env[0] = run_dir;
			r.env[1] = modes[i];
			o = run_watched(&r);
			assert_int_equal(o->status, 0);
			assert_logs_are_the_truth(o);
			assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_SEGMENT);
			outcome_free(o);
			_exit(0);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
			skip();
		assert_int_equal(status, 0);
	}
}

TEST(a_full_place_at_the_start_is_said)
{
	full_after(0);
	full_after(1 << 20); /* for part of the head */
}

TEST(a_place_that_fills_in_mid_run_is_said)
{
	full_after(1200 << 10); /* no ring, and no entries */
	full_after(2400 << 10); /* one ring, and no entries */
}

static void no_segment_is_left_by(const char *program, const char *scenario)
{
	struct run r = RUN(program, scenario);
	struct outcome *o;

	r.env[0] = run_dir;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	assert_int_equal(clear_folder(), 0);
	outcome_free(o);
}

TEST(a_program_that_ends_leaves_no_segment)
{
	no_segment_is_left_by("work", "everything");
}

TEST(a_sandboxed_program_leaves_no_memory)
{
	struct run r = RUN("sandbox", "seccomp", "return");
	struct outcome *o;

	r.env[0] = run_dir;
	r.env[1] = "STANDIN_COUNT=";
	o = run_watched(&r);
	clear_folder();
	assert_in_range(pages_left, 0, 64 << 10); /* two threads' own words */
	if (strstr(o->out, "no sandbox")) {
		outcome_free(o);
		skip();
	}
	assert_string_equal(o->out, "alive\n");
	assert_int_equal(only_log(o)->degraded & 1u << GW_DEGRADED_LOG, 0);
	outcome_free(o);
}

TEST(without_a_place_for_it_all_is_as_before)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	r.env[0] = "GPUWATCH_RUN_DIR=/proc/nowhere";
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_SEGMENT);
	assert_int_equal(warnings(o->err), 1);
	assert_non_null(strstr(o->err, "GPUWATCH_RUN_DIR=/proc/nowhere: No such file"));
	outcome_free(o);
}

/* Memory backed by a disk stalls in write-back. */
TEST(a_folder_on_a_disk_is_refused)
{
	struct run r = RUN("work", "everything");
	char on_disk[] = "live-on-disk.XXXXXX", option[4200], *whole;
	struct statfs fs;
	struct outcome *o;

	assert_non_null(mkdtemp(on_disk));
	whole = realpath(on_disk, NULL);
	assert_non_null(whole);
	assert_int_equal(statfs(whole, &fs), 0);
	if (fs.f_type != TMPFS_MAGIC) {
		snprintf(option, sizeof(option), "GPUWATCH_RUN_DIR=%s", whole);
		r.env[0] = option;
		o = run_watched(&r);
		assert_int_equal(o->status, 0);
		assert_logs_are_the_truth(o);
		assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_SEGMENT);
		assert_int_equal(warnings(o->err), 1);
		assert_non_null(strstr(o->err, "it is not in memory"));
		outcome_free(o);
	}
	assert_int_equal(rmdir(whole), 0); /* empty: no segment was made */
	free(whole);
	if (fs.f_type == TMPFS_MAGIC)
		skip();
}

TEST(a_folder_that_others_may_write_is_refused)
{
	struct run r = RUN("work", "everything");
	struct outcome *o;

	assert_int_equal(chmod(folder, 0777), 0);
	r.env[0] = run_dir;
	o = run_watched(&r);
	assert_int_equal(chmod(folder, 0700), 0);
	assert_int_equal(o->status, 0);
	assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_SEGMENT);
	assert_int_equal(warnings(o->err), 1);
	assert_int_equal(clear_folder(), 0);
	outcome_free(o);
}

TESTS_MAIN(make_folder, remove_folder)
