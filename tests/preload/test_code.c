/* Real images as modules: what is read off them in the process, and that nothing comes of bad ones.
 */
#include "tests/preload/harness.h"

#include "cli/log/reader.h"
#include "tests/test.h"

#include <dirent.h>
#include <unistd.h>

static char image[2048], kernels[2048], profile[2048], hostile[64];

/* The stand-in takes any fat binary or cubin for these kernels. */
static struct run with_image(const char *scenario, const char *path)
{
	struct run r = RUN("code", scenario);

	snprintf(image, sizeof(image), "CODE_IMAGE=%s", path);
	snprintf(kernels, sizeof(kernels), "STANDIN_KERNELS=%s/code.kernels", GW_SOURCES);
	r.env[0] = image;
	r.env[1] = kernels;
	return r;
}

static uint64_t count_of(const struct outcome *o, enum gw_counter c)
{
	return only_log(o)->counter[c];
}

static const char *corpus(const char *file)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", GW_CORPUS, file);
	return path;
}

TEST(what_a_kernel_does_is_read_off_its_code)
{
	static const char *const files[] = {"sm_90.cubin", "zstd.fatbin", "lz4.fatbin"};

	for (unsigned i = 0; i < COUNT(files); i++) {
		struct run r = with_image("one", corpus(files[i]));
		struct outcome *o = run_both(&r);

		assert_logs_are_the_truth(o);
		assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
		assert_int_equal(count_of(o, GW_COUNTER_analysis_no_arguments), 0);
		assert_int_equal(degraded_otherwise(only_log(o)), 0);
		assert_int_equal(warnings(o->err), 0);
		outcome_free(o);
	}
}

/*
 * With what is known of the GPU it is a time, said before any was measured: the time waits a second
 * for it, or until the program ends. Where a busy machine's threads take longer, the program is run
 * again.
 */
TEST(a_first_launch_is_predicted_from_code)
{
	struct run r = with_image("two", corpus("sm_90.cubin"));
	struct outcome *o;

	snprintf(profile, sizeof(profile), "GPUWATCH_PROFILE=%s/../../predict/test-gpu.json",
		 GW_SOURCES);
	r.env[2] = profile;
	o = run_both(&r);
	for (int i = 0; i < 9 && count_of(o, GW_COUNTER_predicted_late) < 2; i++) {
		outcome_free(o);
		o = run_both(&r);
	}
	assert_int_equal(count_of(o, GW_COUNTER_predicted_late), 2);
	assert_int_equal(only_log(o)->cold_static, 1);
	/* Another shape, too, though the kernel has a time by then. */
	assert_int_equal(only_log(o)->warm_static, 1);
	assert_replays(o);
	outcome_free(o);
}

TEST(the_functions_and_modules_of_a_library_are_its_code)
{
	static const char *const scenarios[] = {"library", "library_module"};

	for (unsigned i = 0; i < 2; i++) {
		struct run r = with_image(scenarios[i], corpus("sm_90.cubin"));
		struct outcome *o = run_both(&r);

		assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
		assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 0);
		outcome_free(o);
	}
}

/* Whatever it was called as, and wherever it has gone. */
TEST(code_of_the_program_is_read_from_its_own_file)
{
	struct run r = with_image("own", corpus("sm_90.cubin"));
	struct outcome *o;

	r.program = "code_fatbin";
	o = run_both(&r);
	assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 0);
	assert_int_equal(count_of(o, GW_COUNTER_image_bytes), 0);
	outcome_free(o);
}

TEST(a_module_is_loaded_while_a_constructor_waits_for_it)
{
	struct run r = with_image("constructor", corpus("sm_90.cubin"));
	struct outcome *o;
	char library[600];

	snprintf(library, sizeof(library), "CODE_LIBRARY=%s", built("calls_back.so"));
	r.env[2] = library;
	o = run_both(&r);
	assert_string_equal(o->out, "loaded meanwhile\n");
	outcome_free(o);
}

/* Two libraries with a kernel of one name, and a graph of both. */
static struct outcome *graph_of_libraries(const char *scenario)
{
	struct run r = with_image(scenario, corpus("sm_90.cubin"));
	char second[2048];
	struct outcome *o;

	snprintf(second, sizeof(second), "CODE_IMAGE_2=%s", corpus("sm_90a.cubin"));
	r.env[2] = second;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->kernel_records, 2);
	/* Nodes have digests of their arguments, so that they are of other configurations than what
	 * was launched before, where the kernel's code was read between the two. */
	assert_in_range(only_log(o)->config_records, 2, 4);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 0);
	assert_int_equal(degraded_otherwise(only_log(o)), 0);
	return o;
}

/* A captured kernel of a library is the one that was launched: its code is found, and what was
 * learnt of its launches in streams holds for the graph's. */
TEST(the_kernels_of_a_captured_graph_are_those_of_their_libraries)
{
	outcome_free(graph_of_libraries("library_graph"));
}

TEST(kernels_that_only_graphs_launch_have_their_code)
{
	static const char *const scenarios[] = {"captured_only", "built_only"};

	for (unsigned i = 0; i < 2; i++) {
		struct outcome *o = graph_of_libraries(scenarios[i]);

		assert_int_equal(only_log(o)->config_records, 2);
		assert_int_equal(count_of(o, GW_COUNTER_studied), 2);
		outcome_free(o);
	}
}

/* Of what a context had, a later one has nothing. */
TEST(modules_go_with_their_context)
{
	struct outcome *o = graph_of_libraries("context_after");

	assert_int_equal(count_of(o, GW_COUNTER_studied), 2);
	outcome_free(o);
}

struct digests {
	uint64_t of[4];
	unsigned count;
};

static bool look_for_code(void *arg, const struct gw_log_record *record)
{
	struct digests *d = arg;

	if (record->head->kind == GW_RECORD_CODE)
		d->of[d->count++ % 4] =
			((const struct gw_record_code *)(const void *)record->head)->digest;
	return true;
}

/*
 * Kernels of two modules that have one name, the same parameters and registers, but other code, and
 * take other times: each is predicted from its own, and code loaded again is no new kernel.
 */
TEST(kernels_of_one_name_in_two_modules_are_two)
{
	struct run r = with_image("namesakes", corpus("sm_90.cubin"));
	char second[2048], slow[2048];
	struct digests code = {0};
	struct gw_log_status status;
	struct outcome *o;

	snprintf(second, sizeof(second), "CODE_IMAGE_2=%s", corpus("sm_90a.cubin"));
	snprintf(slow, sizeof(slow), "CODE_KERNELS_2=%s/code_slow.kernels", GW_SOURCES);
	r.env[2] = second;
	r.env[3] = slow;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_int_equal(only_log(o)->kernel_records, 2);
	assert_true(only_log(o)->measured > 100);
	assert_int_equal(only_log(o)->mixed, 0);
	assert_true(gw_log_read(only_log(o)->path, look_for_code, &code, &status));
	assert_int_equal(code.count, 2);
	assert_true(code.of[0] &&
		    code.of[1] == code.of[0]); /* compiled for sm_90a it is the same */
	outcome_free(o);
}

/* The one analysis of a run's log that found no code. */
static void assert_no_code(const struct outcome *o, const char *why)
{
	assert_int_equal(count_of(o, GW_COUNTER_studied), 0);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 1);
	assert_string_equal(only_log(o)->analysis_text, why);
}

/* As the runtimes up to CUDA 11 load theirs: libcupti says what the driver loaded. */
TEST(the_code_of_a_module_that_no_hook_saw_is_what_libcupti_reports)
{
	static char cubin[2048];

	for (unsigned i = 0; i < 4; i++) {
		/* A cubin, and PTX or a fat binary, which the driver makes one of. */
		struct run r = with_image("unseen", corpus(i % 2 ? "lz4.fatbin" : "sm_90.cubin"));
		struct outcome *o;

		if (i % 2) {
			snprintf(cubin, sizeof(cubin), "STANDIN_CUBIN=%s", corpus("sm_90.cubin"));
			r.env[2] = cubin;
		}
		r.inject = i >= 2;
		o = run_both(&r);
		assert_logs_are_the_truth(o);
		assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
		assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 0);
		assert_true(count_of(o, GW_COUNTER_image_bytes) > 0);
		assert_int_equal(degraded_otherwise(only_log(o)), 0);
		outcome_free(o);
	}
}

/* The runtimes since CUDA 12 load what hooks see: there nobody listens, and nothing is kept twice.
 */
TEST(nothing_is_reported_where_a_runtime_asks_for_the_library_calls)
{
	static const char *const asks[] = {"CODE_ASKS=cuLibraryLoadData", "CODE_ASKS=cuModuleLoad"};

	for (unsigned i = 0; i < 2; i++) {
		struct run r = with_image("unseen", corpus("sm_90.cubin"));
		struct outcome *o;

		r.env[2] = asks[i];
		o = run_both(&r);
		assert_int_equal(count_of(o, GW_COUNTER_image_bytes) > 0, i);
		assert_int_equal(count_of(o, GW_COUNTER_studied), i);
		outcome_free(o);
	}
}

/* Loaded before anybody listened: it lies in the executable, or in a library. */
TEST(the_code_of_a_module_that_nobody_saw_is_what_the_program_holds)
{
	static char mapped[2048];

	for (unsigned i = 0; i < 2; i++) {
		struct run r = with_image("unseen", corpus("lz4.fatbin"));
		struct outcome *o;

		if (i) { /* PTX for this GPU */
			snprintf(mapped, sizeof(mapped), "CODE_MAPPED=%s", corpus("library.so"));
			r.env[3] = mapped;
		} else {
			r.program = "code_fatbin";
		}
		r.env[2] = "STANDIN_REPORTS=0";
		o = run_both(&r);
		assert_logs_are_the_truth(o);
		assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
		assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 0);
		assert_int_equal(count_of(o, GW_COUNTER_image_bytes), 0);
		outcome_free(o);
	}
}

TEST(a_name_that_stands_for_different_code_is_nobodys)
{
	static char mapped[2048];
	struct run r = with_image("unseen", corpus("lz4.fatbin"));
	struct outcome *o;

	snprintf(mapped, sizeof(mapped), "CODE_MAPPED=%s", corpus("library.so"));
	r.env[2] = "STANDIN_REPORTS=0";
	o = run_both(&r);
	assert_no_code(o, "its module was loaded unseen, and no object of the process holds its "
			  "code");
	outcome_free(o);
	r.program = "code_fatbin";
	r.env[3] = mapped;
	o = run_both(&r);
	assert_no_code(o, "its module was loaded unseen, and there is other code of its name");
	outcome_free(o);
}

/* What PTX becomes only the driver knows, and libcupti reports. */
TEST(ptx_is_analysed_as_what_the_driver_made_of_it)
{
	static char cubin[2048];
	struct run r = with_image("one", corpus("sm_70.ptx"));
	struct outcome *o;

	snprintf(cubin, sizeof(cubin), "STANDIN_CUBIN=%s", corpus("sm_90.cubin"));
	r.env[2] = cubin;
	o = run_both(&r);
	assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
	/* The compiler's schedule is in machine code alone. */
	assert_true(only_log(o)->works > 0);
	outcome_free(o);
}

/* What code does not tell has its reason in the log. */
TEST(what_is_unknown_has_its_reason)
{
	struct run r = with_image("one", corpus("sm_80.cubin")); /* the GPU is another one */
	struct outcome *o = run_both(&r);

	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_code), 1);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_NO_CODE], 1);
	assert_int_equal(only_log(o)->analysis_config, 1);
	assert_string_equal(only_log(o)->analysis_text, "no image in it runs on this GPU");
	outcome_free(o);
	r = with_image("one", corpus("sm_90.cubin"));
	o = run_both(&r);
	assert_int_equal(only_log(o)->config_records, 1);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_NO_CODE], 0);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_UNSUPPORTED], 0);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_NOT_REACHED], 0);
	outcome_free(o);
	r.env[2] = "GPUWATCH_STATIC=0";
	o = run_both(&r);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_OFF], 1);
	assert_string_equal(only_log(o)->analysis_text, "GPUWATCH_STATIC=0");
	assert_int_equal(only_log(o)->analysis_config, 0);
	outcome_free(o);
	r.env[2] = "GPUWATCH_MODE=count";
	o = run_both(&r);
	assert_int_equal(only_log(o)->analyses[GW_ANALYSIS_OFF], 1);
	assert_string_equal(only_log(o)->analysis_text, "only modes audit and watch read code");
	outcome_free(o);
}

/* Of every configuration something is reported, or why not. */
TEST(no_configuration_is_left_without_a_word)
{
	struct run r = with_image("many", corpus("zstd.fatbin"));
	struct outcome *o = run_both(&r);
	unsigned said = 0;

	for (unsigned i = 0; i < GW_ANALYSIS_ENDS; i++)
		said += i == GW_ANALYSIS_DONE ? 0 : only_log(o)->analyses[i];
	assert_int_equal(said + count_of(o, GW_COUNTER_studied), only_log(o)->config_records);
	outcome_free(o);
}

TEST(graphs_are_analysed_too)
{
	struct run r = with_image("graph", corpus("sm_90.cubin"));
	struct outcome *o = run_both(&r);

	assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
	assert_int_equal(count_of(o, GW_COUNTER_arguments), 1);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_no_arguments), 0);
	outcome_free(o);
}

TEST(none_where_it_is_not_wanted)
{
	struct run r = with_image("one", corpus("sm_90.cubin"));
	struct outcome *o;

	r.env[2] = "GPUWATCH_STATIC=0";
	o = run_both(&r);
	assert_int_equal(count_of(o, GW_COUNTER_studied), 0);
	assert_int_equal(count_of(o, GW_COUNTER_analysis_ns), 0);
	outcome_free(o);
}

/*
 * A library that reading code brought in, libz among them, would be what the program gets for its
 * own of that name: reading code brings in none.
 */
TEST(the_libraries_that_a_program_gets_stay_its_own)
{
	static char library[1024];
	struct run r = with_image("own_libz", corpus("sm_90.cubin"));
	struct outcome *o;

	snprintf(library, sizeof(library), "CODE_LIBRARY=%s/needs_own_z.so", GW_PRELOAD_CLIENTS);
	r.env[2] = library;
	o = run_both(&r);
	assert_int_equal(count_of(o, GW_COUNTER_studied), 1);
	assert_non_null(strstr(o->out, "its own libz says 17"));
	outcome_free(o);
}

/* The largest grids, and arguments that are all ones. */
TEST(whatever_the_arguments_are_the_program_runs_as_without)
{
	struct run r = with_image("all", corpus("zstd.fatbin"));
	struct outcome *o = run_both(&r);

	assert_logs_are_the_truth(o);
	assert_int_equal(count_of(o, GW_COUNTER_launches), 3);
	assert_int_equal(count_of(o, GW_COUNTER_ring_dropped), 0);
	assert_in_range(count_of(o, GW_COUNTER_studied) +
				count_of(o, GW_COUNTER_analysis_abandoned) +
				count_of(o, GW_COUNTER_analysis_unknown),
			3, 3);
	outcome_free(o);
}

/* An end in the midst of analyses does not wait for them. */
TEST(an_end_is_not_delayed_by_what_is_left)
{
	struct run r = with_image("many", corpus("zstd.fatbin"));
	struct outcome *o = run_both(&r);

	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->ended);
	assert_in_range(count_of(o, GW_COUNTER_arguments), 1, 200);
	outcome_free(o);
}

/* How long exit() was held for the analyses that were begun, ns. */
static uint64_t held(const char *scenario, const char *option)
{
	struct run r = with_image(scenario, corpus("zstd.fatbin"));
	struct outcome *o;
	uint64_t ns;

	r.env[2] = option;
	o = run_both(&r);
	assert_logs_are_the_truth(o);
	assert_true(only_log(o)->ended);
	ns = count_of(o, GW_COUNTER_exit_wait_ns);
	outcome_free(o);
	return ns;
}

TEST(an_end_is_held_for_analyses_that_were_begun)
{
	assert_true(held("late", "GPUWATCH_EXIT_WAIT=1000") > 0);
	assert_int_equal(held("late", "GPUWATCH_EXIT_WAIT=0"), 0);
	assert_int_equal(held("late", "GPUWATCH_MODE=watch"), 0);
}

/* A copy of @p file in which every @p step-th byte from @p first on is another. */
static void damage(const char *file, unsigned first, unsigned step)
{
	FILE *from = fopen(corpus(file), "rb"), *to = fopen(hostile, "wb");

	assert_true(from && to);
	for (unsigned at = 0;; at++) {
		int c = fgetc(from);

		if (c == EOF)
			break;
		/* Its first bytes say what it is, and how long. */
		fputc(at >= 64 && at % step == first ? c ^ 0xff : c, to);
	}
	fclose(from);
	fclose(to);
}

TEST(damaged_images_do_no_harm)
{
	static const char *const files[] = {"sm_90.cubin", "zstd.fatbin"};

	snprintf(hostile, sizeof(hostile), "/tmp/gw_code.XXXXXX");
	close(mkstemp(hostile));
	for (unsigned i = 0; i < 8; i++) {
		struct run r = with_image("one", hostile);
		struct outcome *o;

		damage(files[i % 2], 17 * i % 31, 31 + 170 * (i / 2));
		o = run_both(&r);
		assert_int_equal(count_of(o, GW_COUNTER_launches), 1);
		assert_true(only_log(o)->ended);
		outcome_free(o);
	}
	unlink(hostile);
}

/* What fuzzing found worth keeping, as far as the stand-in loads it. */
TEST(images_of_the_fuzzer_do_no_harm)
{
	DIR *folder = opendir(GW_FUZZ_IMAGES);
	struct dirent *entry;
	unsigned run = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)) && run < 12) {
		static const unsigned char kinds[][4] = {{0x50, 0xed, 0x55, 0xba},
							 {0x7f, 'E', 'L', 'F'}};
		unsigned char head[4] = {0};
		char path[1300];
		struct outcome *o;
		struct run r;
		FILE *file;

		snprintf(path, sizeof(path), "%s/%s", GW_FUZZ_IMAGES, entry->d_name);
		file = fopen(path, "rb");
		if (!file)
			continue;
		if (fread(head, 1, 4, file) != 4)
			head[0] = 0;
		fclose(file);
		if (memcmp(head, kinds[0], 4) != 0 && memcmp(head, kinds[1], 4) != 0)
			continue;
		r = with_image("one", path);
		o = run_both(&r);
		assert_int_equal(count_of(o, GW_COUNTER_launches), 1);
		outcome_free(o);
		run++;
	}
	closedir(folder);
	assert_true(run > 0);
}

TESTS_MAIN()
