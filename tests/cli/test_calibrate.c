/* gpuwatch calibrate without a GPU: what it says where it can't measure, and a whole run on the
 * CPU stand-in, whose clock group's numbers are known. */
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <time.h>

#define CALIBRATE GPUWATCH " calibrate "
#define STANDIN_GPU \
	"LD_LIBRARY_PATH=" STANDIN " STANDIN_KERNELS=" KERNELS " HOME=$PWD XDG_CONFIG_HOME= "
#define CLOCK STANDIN_GPU CALIBRATE "--only=clock "

/* Refused with one message that says @p what and leaves no file. */
static void assert_refused(const char *what)
{
	shell_says(what);
	assert_true(strncmp(shell_output, "gpuwatch: ", 10) == 0);
	assert_ptr_equal(strchr(shell_output, '\n'), shell_output + strlen(shell_output) - 1);
	shell_gives("", "ls -A");
}

static int begin(void **state)
{
	return shell("chmod u+w . 2>/dev/null; rm -rf ./* .config");
}

TEST_WITH(without_a_driver_it_says_what_to_install, begin, NULL)
{
	shell_ends(2, "LD_LIBRARY_PATH= " CALIBRATE "-o p.json");
	if (strstr(shell_output, "no GPU is visible"))
		skip(); /* a driver without a GPU is installed here */
	assert_refused("no NVIDIA driver: libcuda.so.1");
}

TEST_WITH(without_a_gpu_it_says_where_to_look, begin, NULL)
{
	shell_ends(2, "STANDIN_DEVICES=0 " CLOCK "-o p.json");
	assert_refused("no GPU is visible: check nvidia-smi");
}

TEST_WITH(a_device_that_is_not_there_is_refused, begin, NULL)
{
	shell_ends(2, "STANDIN_DEVICES=2 " CLOCK "--device=2 -o p.json");
	assert_refused("there is no device 2: this machine has 2, counted from 0");
}

TEST_WITH(a_gpu_another_process_uses_is_busy, begin, NULL)
{
	shell_ends(2, "STANDIN_NVML_PIDS=77,78 " CLOCK "-o p.json");
	assert_refused("the GPU is busy: process 77 uses it");
}

TEST_WITH(a_gpu_that_works_for_a_hidden_process_is_busy, begin, NULL)
{
	shell_ends(2, "STANDIN_NVML_BUSY=60 " CLOCK "-o p.json");
	assert_refused("the GPU is busy: it works for somebody else");
}

TEST_WITH(force_measures_a_busy_gpu, begin, NULL)
{
	shell_runs("STANDIN_NVML_PIDS=77 " CLOCK "--force -o p.json");
	shell_gives("p.json\n", "ls");
}

TEST_WITH(kernels_that_do_not_fit_the_gpu_are_reported, begin, NULL)
{
	shell_runs(CLOCK "-o p.json");
	shell_ends(2, "rm p.json; LD_LIBRARY_PATH=" STANDIN " " CALIBRATE "-o p.json");
	assert_refused("no kernel of this gpuwatch runs on this GPU");
}

TEST_WITH(folder_that_cannot_be_written_is_found_before_measuring, begin, NULL)
{
	shell_ends(2, "STANDIN_COUNT=$PWD/count " CLOCK "-o /proc/p.json; s=$?; "
		      "grep -c gw_clock_cost count >&2; rm -f count; exit $s");
	shell_says("/proc/p.json: can't write the device profile",
		   "nothing was measured: give -o FILE", "\n0\n");
}

/* Else a folder would be found when all is measured, and a device would be gone. */
TEST_WITH(output_that_is_no_file_is_found_before_measuring_and_stays, begin, NULL)
{
	static const char *const made[] = {"mkdir out", "mkfifo out"};

	for (size_t i = 0; i < COUNT(made); i++) {
		shell_ends(2,
			   "rm -rf out; %s; ls -ld out >before; "
			   "STANDIN_COUNT=$PWD/count " STANDIN_GPU CALIBRATE
			   "--quick -o out; s=$?; "
			   "grep -c gw_clock_cost count >&2; rm -f count; exit $s",
			   made[i]);
		shell_says("out: not a regular file; nothing was measured: give -o FILE", "\n0\n");
		shell_runs("ls -ld out | cmp - before; s=$?; rm -rf out; exit $s");
	}
}

TEST_WITH(samples_folder_that_cannot_be_made_is_found_before_measuring, begin, NULL)
{
	shell_ends(2, CLOCK "-o p.json --samples=/proc/x");
	assert_refused("/proc/x: the folder cannot be made");
}

TEST_WITH(group_that_does_not_exist_is_refused_with_the_list, begin, NULL)
{
	shell_ends(2, STANDIN_GPU CALIBRATE "--only=clocks");
	assert_refused("unknown group \"clocks\"; --only must be one of \"direct\", \"clock\"");
}

TEST_WITH(operand_is_taken_for_a_forgotten_option, begin, NULL)
{
	shell_ends(2, STANDIN_GPU CALIBRATE "p.json");
	assert_refused("did you mean -o p.json?");
}

TEST_WITH(measured_values_stand_in_the_profile, begin, NULL)
{
	shell_runs(CLOCK "-o p.json");
	shell_says("SM clock 1000 MHz (least 1000), throttled by: none");
	shell_runs("grep -o '\"lat_clock\": .*' p.json");
	shell_says(
		"\"value\": 41, \"unit\": \"cycle\", \"spread\": 0, \"samples\": 8192, \"method\": "
		"\"measured\", \"how\": \"two reads in a row, 1 warp on one SM\", \"group\": "
		"\"clock\"");
	shell_runs("grep -o '\"clock_cost_8\": .*' p.json");
	shell_says("[[40, 0.25], [41, 0.75]]");
	shell_runs("grep -o '\"driver\": \"stand-in\", \"sm_clock\": 1000000000' p.json");
	shell_runs("grep -o '\"sm_count\": .*driver.*' p.json");
}

TEST_WITH(quick_run_takes_fewer_samples, begin, NULL)
{
	shell_runs(CLOCK "--quick -o p.json");
	shell_runs("grep -o '\"lat_clock\": .*' p.json");
	shell_says("\"samples\": 1024");
}

TEST_WITH(clocks_that_are_held_down_are_reported_and_recorded, begin, NULL)
{
	shell_runs("STANDIN_NVML_THROTTLE=0x24 " CLOCK "-o p.json");
	shell_says("clock: the clocks were throttled: power cap, thermal slowdown");
	shell_runs("grep -c '\"throttle\": \"power cap, thermal slowdown\"' p.json");
}

TEST_WITH(samples_are_written_as_they_were_taken, begin, NULL)
{
	shell_runs(CLOCK "--quick -o p.json --samples=s");
	shell_gives("clock-1-warps.csv\nclock-32-warps.csv\nclock-8-warps.csv\n"
		    "1025\ncycles\n40\n41\n41\n41\n40\n",
		    "ls s; wc -l < s/clock-1-warps.csv; head -6 s/clock-1-warps.csv");
}

TEST_WITH(profile_goes_to_the_users_own_and_is_found_by_name, begin, NULL)
{
	shell_runs(CLOCK);
	shell_gives("gpuwatch-stand-in-simulated-on-the-cpu.json\n",
		    "ls .config/gpuwatch/profiles");
	shell_runs(STANDIN_GPU CALIBRATE "--from='gpuwatch stand-in (simulated on the CPU)'");
	shell_says("lat_clock");
}

TEST_WITH(one_group_leaves_the_rest_of_a_profile_as_it_is, begin, NULL)
{
	shell_runs(CLOCK "-o p.json");
	shell_runs("sed -i 's/\"lat_clock\": {\"value\": 41/\"lat_l1\": {\"value\": 33, "
		   "\"unit\": \"cycle\", \"method\": \"measured\"}, &/; "
		   "s/\"value\": 41/\"value\": 7/' p.json; grep -c '\"value\": 7' p.json");
	shell_runs(CLOCK "-o p.json");
	shell_runs("grep -c '\"lat_l1\": {\"value\": 33' p.json && "
		   "grep -c '\"lat_clock\": {\"value\": 41' p.json");
}

TEST_WITH(too_little_memory_leaves_values_unknown_with_the_reason, begin, NULL)
{
	shell_runs(CLOCK "-o p.json");
	/* The first piece is the bench's own, the second the group's first. */
	shell_runs("STANDIN_FAIL=cuMemAlloc_v2:2:2 " CLOCK "-o p.json");
	shell_says("clock: 0.1 MiB of device memory could not be allocated");
	shell_runs("grep -o '\"lat_clock\": .*' p.json; grep -o '\"clock_cost_[18]\": .*' "
		   "p.json | cut -c1-60");
	shell_says("\"lat_clock\": {\"why\": \"0.1 MiB of device memory could not be allocated\", "
		   "\"group\": \"clock\"}",
		   "\"clock_cost_1\": {\"why\":", "\"clock_cost_8\": {\"unit_x\": \"cycle\"");
}

TEST_WITH(profile_of_another_gpu_is_not_written_over, begin, NULL)
{
	shell_ends(2, "echo '{\"gpuwatch_profile\": 1, \"name\": \"Other\"}' > p.json; " CLOCK
		      "-o p.json");
	shell_says("describes 'Other', this is 'gpuwatch stand-in");
	shell_gives("{\"gpuwatch_profile\": 1, \"name\": \"Other\"}\n", "cat p.json");
}

/* Every driver call of the run in turn fails, early and late: one message, no profile, no part of
 * one. */
TEST_WITH(any_failing_driver_call_ends_in_one_message, begin, NULL)
{
	static const char *const calls[] = {
		"cuInit:1:999",          "cuDeviceGetCount:1:3",  "cuDeviceGetName:1:101",
		"cuCtxCreate_v2:1:2",    "cuStreamCreate:1:700",  "cuModuleLoadData:*:209",
		"cuMemHostAlloc:1:700",  "cuEventCreate:2:700",   "cuMemAlloc_v2:1:719",
		"cuLaunchKernel:1:719",  "cuLaunchKernel:5:700",  "cuStreamQuery:2:700",
		"cuMemcpyDtoH_v2:3:700", "cuMemsetD8Async:1:719",
	};

	for (size_t i = 0; i < COUNT(calls); i++) {
		if (shell("STANDIN_FAIL=%s " CLOCK "-o p.json 2>err >out; s=$?; "
			  "grep -v ': [0-9]* values' err; rm -f err out; exit $s",
			  calls[i]) != 2)
			fail_msg("%s: %s", calls[i], shell_output);
		assert_refused("");
	}
}

/* Starts a run of some ten seconds and, once it measures, sends it @p signal; then as it ended. */
#define STOPPED_BY(signal, before) \
	"STANDIN_TRACE=trace STANDIN_LATENCY_NS=1000000000 HOME=$PWD " before CLOCK \
	"-o p.json & p=$!; until grep -qs cuLaunchKernel trace || ! kill -0 $p; do sleep 0.02; " \
	"done; kill -" signal " $p; wait $p; s=$?; rm -f trace; exit $s"

TEST_WITH(interrupted_run_writes_nothing, begin, NULL)
{
	shell_ends(2, STOPPED_BY("INT", ""));
	assert_refused("stopped; no profile was written");
}

/* By SIGALRM timeout(1) learns that the time is over; it then sends SIGTERM, twice. */
TEST_WITH(run_that_timeout_ends_writes_nothing, begin, NULL)
{
	shell_ends(124, STOPPED_BY("ALRM", "timeout 600 env "));
	assert_refused("stopped; no profile was written");
}

TEST_WITH(killed_run_writes_nothing, begin, NULL)
{
	shell_ends(128 + 9, STOPPED_BY("KILL", ""));
	shell_gives("", "ls -A");
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Like the kernels of the other tests, but the one that is measured takes a day. */
TEST_WITH(kernel_that_never_ends_is_given_up_after_20_s, begin, NULL)
{
	double begin = now();

	shell_runs("sed '/gw_clock_cost/s/$/ ns=86400000000000/' " KERNELS " > kernels");
	shell_ends(2, STANDIN_GPU "STANDIN_KERNELS=kernels " CALIBRATE "--only=clock -o p.json");
	assert_true(now() - begin >= 20);
	shell_says("a kernel of group clock did not end within 20 s: the GPU hangs; look at dmesg");
	shell_gives("", "rm kernels; ls -A");
}

TESTS_MAIN(shell_setup, shell_teardown)
