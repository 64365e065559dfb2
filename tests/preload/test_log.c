/* The log and what can be wrong with the place it goes to. The program never notices. */
#include "cli/log/reader.h"
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct run work(const char *scenario)
{
	struct run r = RUN("work", scenario);

	return r;
}

static void complete(const struct outcome *o)
{
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
}

/* No log, one line that says so, and the program none the wiser. */
static void no_log(struct run *r)
{
	struct outcome *o = run_both(r);

	assert_int_equal(o->status, 0);
	assert_int_equal(o->logs, 0);
	assert_int_equal(warnings(o->err), 1);
	outcome_free(o);
}

TEST(mode_is_0600)
{
	struct run r = work("everything");
	struct outcome *o = run_both(&r);
	struct stat st;

	complete(o);
	assert_int_equal(stat(only_log(o)->path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	outcome_free(o);
}

struct search {
	const char *text;
	bool found;
};

static bool look_into(void *arg, const struct gw_log_record *record)
{
	struct search *s = arg;

	s->found |= memmem(record->head, record->head->length, s->text, strlen(s->text)) != NULL;
	return true;
}

/* Whether the bytes of @p text stand anywhere in the only log's records. */
static bool log_holds(const struct outcome *o, const char *text)
{
	struct search s = {.text = text};
	struct gw_log_status status;

	assert_true(gw_log_read(only_log(o)->path, look_into, &s, &status));
	return s.found;
}

TEST(command_line_is_in_the_log)
{
	struct run r = RUN("work", "everything", "--api-key=SECRET123");
	struct outcome *o = run_both(&r);

	complete(o);
	assert_true(log_holds(o, "work everything --api-key=SECRET123"));
	outcome_free(o);
}

TEST(arguments_stay_out_of_the_log_where_only_the_name_is_kept)
{
	struct run r = RUN("work", "everything", "--api-key=SECRET123");
	struct outcome *o;

	r.env[0] = "GPUWATCH_COMMAND=name";
	o = run_both(&r);
	complete(o);
	assert_false(log_holds(o, "SECRET123"));
	assert_false(log_holds(o, "work everything"));
	assert_true(log_holds(o, "command="));
	outcome_free(o);
}

static void make_directory_read_only(void)
{
	if (mkdir("closed", 0500) != 0 || mkdir("open", 0700) != 0)
		_exit(126);
	if (getuid() == 0 && (setgid(65534) != 0 || chown("closed", 65534, 65534) != 0 ||
			      chmod(".", 0777) != 0 || setuid(65534) != 0))
		_exit(126);
}

/* Root may write anywhere, so its run drops to another user, who must reach the program. */
static bool reached_by_others(void)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(setgid(65534) != 0 || setuid(65534) != 0 ||
		      access("/proc/self/exe", X_OK) != 0 || access(GW_LIBRARY, R_OK) != 0);
	return waitpid(pid, &status, 0) == pid && status == 0;
}

TEST(read_only_directory)
{
	struct run r = work("everything");

	if (getuid() == 0 && !reached_by_others())
		skip();
	r.env[0] = "GPUWATCH_OUT=closed/log.gwl";
	r.in_child = make_directory_read_only;
	no_log(&r);
}

TEST(missing_directory)
{
	struct run r = work("everything");

	r.env[0] = "GPUWATCH_OUT=/no/such/place/log.gwl";
	no_log(&r);
}

TEST(bad_macro)
{
	struct run r = work("everything");

	r.env[0] = "GPUWATCH_OUT=log.%z.gwl";
	no_log(&r);
}

TEST(default_name_is_in_the_working_directory)
{
	struct run r = work("everything");
	struct outcome *o;
	char host[256] = "", name[400];

	r.env[0] = "GPUWATCH_OUT=";
	o = run_both(&r);
	complete(o);
	gethostname(host, sizeof(host) - 1);
	snprintf(name, sizeof(name), "/gpuwatch.%s.%d.gwl", host, (int)only_log(o)->pid);
	assert_string_equal(strrchr(only_log(o)->path, '/'), name);
	outcome_free(o);
}

TEST(macros_of_the_name)
{
	struct run r = work("everything");
	struct outcome *o;

	r.env[0] = "GPUWATCH_OUT=a%%b.%q{FLAVOUR}.%r.gwl";
	r.env[1] = "FLAVOUR=sour";
	r.env[2] = "SLURM_PROCID=7";
	o = run_both(&r);
	complete(o);
	assert_string_equal(strrchr(only_log(o)->path, '/'), "/a%b.sour.7.gwl");
	outcome_free(o);
}

static const char taken_text[] = "somebody else's\n";

static void take_names(void)
{
	for (int i = 0; i < 2; i++) {
		int fd = open(i ? "log.gwl.1" : "log.gwl", O_WRONLY | O_CREAT, 0644);

		if (fd < 0 || write(fd, taken_text, sizeof(taken_text) - 1) < 0)
			_exit(126);
		close(fd);
	}
}

TEST(taken_name_gets_a_number)
{
	struct run r = work("everything");
	struct outcome *o;
	char path[128];
	struct stat st;

	r.env[0] = "GPUWATCH_OUT=log.gwl";
	r.in_child = take_names;
	o = run_both(&r);
	complete(o);
	assert_string_equal(strrchr(only_log(o)->path, '/'), "/log.gwl.2");
	snprintf(path, sizeof(path), "%s/log.gwl", o->dir);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, sizeof(taken_text) - 1);
	outcome_free(o);
}

static void plant_link(void)
{
	if (symlink("victim", "log.gwl") != 0)
		_exit(126);
}

TEST(planted_symlink_is_not_followed)
{
	struct run r = work("everything");
	struct outcome *o;
	char path[128];

	r.env[0] = "GPUWATCH_OUT=log.gwl";
	r.in_child = plant_link;
	o = run_both(&r);
	snprintf(path, sizeof(path), "%s/victim", o->dir);
	assert_int_equal(access(path, F_OK), -1);
	complete(o);
	assert_string_equal(strrchr(only_log(o)->path, '/'), "/log.gwl.1");
	outcome_free(o);
}

TEST(full_log_goes_on_with_sums)
{
	struct run r = work("many");
	struct outcome *o;
	struct stat st;

	r.env[0] = "GPUWATCH_LOG_MAX=65536";
	o = run_both(&r);
	complete(o);
	assert_true(only_log(o)->aggregated > 1000);
	assert_int_equal(only_log(o)->counter[GW_COUNTER_aggregated], only_log(o)->aggregated);
	assert_true(only_log(o)->degraded & 1u << GW_DEGRADED_LOG_FULL);
	assert_int_equal(only_log(o)->measured, only_log(o)->total);
	assert_int_equal(stat(only_log(o)->path, &st), 0);
	assert_true(st.st_size <= 65536);
	outcome_free(o);
}

/* 60,000 configurations, whose records alone are several times as large. */
TEST(no_record_makes_the_log_larger_than_it_may_be)
{
	static const char *const modes[] = {"GPUWATCH_MODE=audit", "GPUWATCH_MODE=watch",
					    "GPUWATCH_MODE=count"};

	for (int i = 0; i < 3; i++) {
		struct run r = RUN("bounds", "configurations");
		struct outcome *o;
		struct stat st;

		r.env[0] = modes[i];
		r.env[1] = "GPUWATCH_LOG_MAX=65536";
		o = run_watched(&r);
		assert_int_equal(o->status, 0);
		assert_int_equal(stat(only_log(o)->path, &st), 0);
		assert_in_range(st.st_size, 1, 65536);
		assert_true(only_log(o)->aggregated > 0);
		outcome_free(o);
	}
}

/* ---- limits ---- */

static void limit(int which, rlim_t value)
{
	const struct rlimit to = {value, value};

	if (setrlimit((__rlimit_resource_t)which, &to) != 0)
		_exit(126);
}

static void limit_file_size(void)
{
	limit(RLIMIT_FSIZE, 3000);
}

static void limit_file_size_to_nothing(void)
{
	limit(RLIMIT_FSIZE, 400);
}

/* What could be written is readable, and the rest is known to be lost. */
static void cut_short(struct run *r)
{
	struct outcome *o = run_both(r);

	assert_int_equal(o->status, 0);
	assert_in_range(o->logs, 0, 1);
	assert_int_equal(warnings(o->err), 1);
	if (o->logs)
		assert_true(o->log[0].total < 6000);
	outcome_free(o);
}

TEST(file_size_limit)
{
	struct run r = work("many");

	r.env[0] = "STANDIN_COUNT="; /* its file would meet the limit as well */
	r.in_child = limit_file_size;
	cut_short(&r);
}

/* Even the last block, which is written on the program's own thread, brings no SIGXFSZ. */
TEST(file_size_limit_at_once)
{
	struct run r = RUN("plain", "launches");

	r.env[0] = "STANDIN_COUNT=";
	r.in_child = limit_file_size_to_nothing;
	cut_short(&r);
}

static void mount_small_disk(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mkdir("small", 0700) != 0 || mount("none", "small", "tmpfs", 0, "size=4k") != 0)
		_exit(125);
}

TEST(full_disk)
{
	struct run r = work("many");
	struct outcome *o;

	if (!may_mount()) {
		print_message("may not mount a small disk here\n");
		skip();
	}
	r.env[0] = "GPUWATCH_OUT=small/log.gwl";
	r.in_child = mount_small_disk;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	assert_int_equal(warnings(o->err), 1);
	outcome_free(o);
}

/* The program's table is full once it runs, the log has one of its own. */
TEST(log_needs_no_descriptor_of_the_program)
{
	struct run r = RUN("plain", "no_descriptor");
	struct outcome *o;

	r.env[0] = "STANDIN_COUNT=";
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	assert_int_equal(o->logs, 1);
	assert_true(only_log(o)->ended);
	outcome_free(o);
}

TEST(tight_memory)
{
	struct run r = RUN("plain", "tight_memory");
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 0);
	for (unsigned i = 0; i < o->logs; i++)
		assert_true(o->log[i].total <= o->truth[0].total);
	outcome_free(o);
}

/* ---- a stderr nobody reads ---- */

static void closed_pipe_as_stderr(void)
{
	int ends[2];

	if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0)
		_exit(126);
	close(ends[0]);
	close(ends[1]);
	signal(SIGPIPE, SIG_DFL);
}

TEST(warning_into_a_closed_pipe)
{
	struct run r = work("everything");
	struct outcome *o;

	r.env[0] = "GPUWATCH_MODE=fast";
	r.env[1] = "GPUWATCH_SUMMARY=1";
	r.in_child = closed_pipe_as_stderr;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	complete(o);
	outcome_free(o);
}

static void no_standard_files(void)
{
	close(STDIN_FILENO);
	close(STDERR_FILENO);
}

/* The log must not become the program's stdin or stderr. */
TEST(closed_standard_files)
{
	struct run r = work("everything");
	struct outcome *o;

	r.in_child = no_standard_files;
	o = run_both(&r);
	assert_int_equal(o->status, 0);
	complete(o);
	outcome_free(o);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
