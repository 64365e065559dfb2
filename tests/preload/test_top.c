/* What gpuwatch top and agent say of a process is what its log says at the end. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64], run_dir[96];
static json_t *seen, *before; /* what top said last, and before that; free them */

static int make_folder(void **state)
{
	snprintf(folder, sizeof(folder), "/dev/shm/gw-test-top-%d", (int)getpid());
	snprintf(run_dir, sizeof(run_dir), "GPUWATCH_RUN_DIR=%s", folder);
	return mkdir(folder, 0700);
}

static int remove_folder(void **state)
{
	return rmdir(folder);
}

static json_t *top(pid_t pid)
{
	char command[2048];
	json_t *all;
	FILE *in;

	snprintf(command, sizeof(command),
		 "'%s' top --once --json --interval=0.1 --dir='%s' --pid=%d", GW_COMMAND, folder,
		 (int)pid);
	in = popen(command, "r");
	assert_non_null(in);
	all = json_loadf(in, 0, NULL);
	assert_int_equal(pclose(in), 0);
	assert_non_null(all);
	return all;
}

static json_int_t total(const json_t *kernel, const char *what)
{
	return json_integer_value(json_object_get(json_object_get(kernel, "total"), what));
}

/* Runs, or those with a time, of all kernels that top said. */
static json_int_t of_all(const json_t *all, const char *what)
{
	json_int_t n = 0;
	size_t i;
	json_t *kernel;

	json_array_foreach(json_object_get(all, "kernels"), i, kernel) n += total(kernel, what);
	return n;
}

static void wait_until_it_rests(pid_t pid)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/%d/cwd/ready", (int)pid);
	for (int tries = 0; access(path, F_OK) && tries < 1000; tries++)
		usleep(10000);
}

static void let_it_end(pid_t pid)
{
	char path[128];
	int go;

	snprintf(path, sizeof(path), "/proc/%d/cwd/go", (int)pid);
	go = open(path, O_WRONLY | O_CREAT, 0600);
	assert_true(go >= 0);
	close(go);
}

/* Once it rests: until top has all of its runs, with their times; then it may end. */
static void look(pid_t pid)
{
	int tries;

	wait_until_it_rests(pid);
	for (tries = 0; tries < 100; tries++) {
		json_decref(seen);
		seen = top(pid);
		if (of_all(seen, "runs") == 550 && of_all(seen, "measured") == 550)
			break;
	}
	/* And then nothing more comes. */
	json_decref(seen);
	seen = top(pid);
	let_it_end(pid);
}

/* Before it is switched, and then. */
static void look_at_a_switch(pid_t pid)
{
	char command[2048];

	wait_until_it_rests(pid);
	json_decref(before);
	before = top(pid);
	snprintf(command, sizeof(command), "'%s' ctl --dir='%s' %d mode=idle budget=7 for=1h >&2",
		 GW_COMMAND, folder, (int)pid);
	assert_int_equal(system(command), 0);
	json_decref(seen);
	seen = top(pid);
	let_it_end(pid);
}

TEST(top_counts_what_the_log_counts)
{
	struct run r = RUN("rests");
	struct outcome *o;
	const struct account *log;
	json_t *process, *kernel;
	size_t i;

	r.env[0] = run_dir;
	r.meanwhile = look;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_logs_are_the_truth(o);
	log = only_log(o);
	assert_int_equal(log->total, 550);
	assert_int_equal(of_all(seen, "runs"), log->total);
	assert_int_equal(of_all(seen, "measured"), log->measured);
	json_array_foreach(json_object_get(seen, "kernels"), i, kernel)
	{
		const char *name = json_string_value(json_object_get(kernel, "name"));
		uint64_t runs = 0;

		for (unsigned k = 0; k < log->kernels; k++)
			runs += strcmp(log->kernel[k].name, name) ? 0 : log->kernel[k].count;
		assert_int_equal(total(kernel, "runs"), runs);
	}
	assert_int_equal(i, 2);
	process = json_array_get(json_object_get(seen, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "pid")), o->pid);
	assert_string_equal(json_string_value(json_object_get(process, "state")), "running");
	assert_string_equal(json_string_value(json_object_get(process, "mode")), "audit");
	/* It rests, and nothing is on the GPU. */
	assert_true(json_number_value(json_object_get(process, "runs_per_s")) == 0);
	process = json_array_get(json_object_get(process, "devices"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "kernels")), 550);
	assert_true(json_number_value(json_object_get(process, "idle")) == 1);
	json_decref(seen);
	seen = top(o->pid);
	assert_int_equal(json_array_size(json_object_get(seen, "processes")), 0);
	json_decref(seen);
	seen = NULL;
	outcome_free(o);
}

TEST(top_shows_the_budget_and_until_when_a_mode_lasts)
{
	struct run r = RUN("rests");
	struct outcome *o;
	const json_t *process;

	r.env[0] = run_dir;
	r.meanwhile = look_at_a_switch;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	process = json_array_get(json_object_get(before, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "budget")), 1);
	assert_true(json_is_null(json_object_get(process, "until_ns")));
	assert_true(json_is_null(json_object_get(process, "then")));
	process = json_array_get(json_object_get(seen, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "budget")), 7);
	assert_true(json_integer_value(json_object_get(process, "until_ns")) > 0);
	assert_string_equal(json_string_value(json_object_get(process, "then")), "audit");
	json_decref(before);
	json_decref(seen);
	before = seen = NULL;
	outcome_free(o);
}

/* Of mode watch no record says what ran on it. */
TEST(top_shows_the_gpu_of_a_process_in_mode_watch)
{
	struct run r = RUN("rests");
	struct outcome *o;
	const json_t *device;

	r.env[0] = run_dir;
	r.env[1] = "GPUWATCH_MODE=watch";
	r.meanwhile = look;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	device = json_array_get(json_object_get(seen, "processes"), 0);
	device = json_array_get(json_object_get(device, "devices"), 0);
	assert_non_null(device);
	assert_true(json_is_null(json_object_get(device, "idle")));
	json_decref(seen);
	seen = NULL;
	outcome_free(o);
}

/* The value of a line of the agent that is of @p metric and has one of two labels; 0: it is none.
 */
static double value_of(const char *line, const char *metric, const char *one, const char *other)
{
	const bool is = !strncmp(line, metric, strlen(metric)) &&
			(strstr(line, one) || strstr(line, other));

	return is ? strtod(strrchr(line, ' '), NULL) : 0;
}

/* Seconds that the agent says kernels lost to other work on the GPU, idle time left out. */
static double lost_to_contention(void)
{
	char command[2048], line[1024];
	double sum = 0;
	FILE *in;

	snprintf(command, sizeof(command), "'%s' agent --once --dir='%s'", GW_COMMAND, folder);
	in = popen(command, "r");
	assert_non_null(in);
	while (fgets(line, sizeof(line), in)) {
		sum += value_of(line, "gpuwatch_lost_seconds_total{", "=\"contention\"",
				"=\"contention\"");
		sum -= value_of(line, "gpuwatch_idle_seconds_total{", "=\"launch_latency\"",
				"=\"back_to_back\"");
	}
	assert_int_equal(pclose(in), 0);
	return sum;
}

static double lost_before, lost;

/* Until no more comes. */
static void look_at_losses(pid_t pid)
{
	wait_until_it_rests(pid);
	lost = lost_to_contention();
	for (int tries = 0; tries < 100 && !(lost > 0 && fabs(lost - lost_before) < 1e-7);
	     tries++) {
		lost_before = lost;
		usleep(300000);
		lost = lost_to_contention();
	}
	let_it_end(pid);
}

/* The process was there from the start: nothing changes, so there is no slow episode. */
TEST(what_another_process_interrupts_is_lost_to_it)
{
	struct run r = RUN("rests", "interrupted");
	struct outcome *o;

	r.env[0] = run_dir;
	r.env[1] = "GPUWATCH_STATIC=0"; /* the time is an argument, which must not tell launches
					   apart */
	r.env[2] = "STANDIN_NVML_PIDS=self,1";
	r.env[3] = "STANDIN_NVML_OTHERS=50@0";
	r.meanwhile = look_at_losses;
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_int_equal(only_log(o)->slows, 0);
	assert_int_equal(only_log(o)->clock.others, 50);
	/* 50 launches by 2 ms, less those before there was a prediction or an answer of NVML's */
	assert_true(lost > 0.05 && lost < 0.1005);
	outcome_free(o);
}

TESTS_MAIN(make_folder, remove_folder)
