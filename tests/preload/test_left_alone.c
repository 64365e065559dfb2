/* Programs that can't bear libgpuwatch.so, or are not for it: they run as without gpuwatch. */
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <unistd.h>

/* Run the program by `gpuwatch run`, itself or by a shell: as it runs alone. Their stderr. */
static void run_alike(const char *program, const char *scenario, bool by_shell, char *err,
		      size_t size)
{
	struct run alone = RUN(program, scenario);
	struct run r = by_shell ? RUN(GW_COMMAND, "run", "--quiet", "--", "/bin/sh", "-c",
				      "\"$0\" \"$@\"; exit $?", built(program), scenario)
				: RUN(GW_COMMAND, "run", "--", built(program), scenario);
	struct outcome *bare, *o;

	if (access(built(program), X_OK))
		skip(); /* no compiler for it */
	bare = run_bare(&alone);
	o = run_bare(&r);
	assert_string_equal(bare->err, "");
	assert_int_equal(o->status, bare->status);
	assert_string_equal(o->out, bare->out);
	assert_int_equal(o->logs, 0);
	snprintf(err, size, "%s", o->err);
	outcome_free(bare);
	outcome_free(o);
}

static void is_left_alone(const char *program, const char *scenario, const char *why)
{
	char err[2000];

	run_alike(program, scenario, false, err, sizeof(err));
	assert_non_null(strstr(err, why));
	assert_non_null(strstr(err, "; it runs without gpuwatch\n"));
	assert_ptr_equal(strchr(err, '\n'), strrchr(err, '\n'));
}

static void child_is_left_alone(const char *program, const char *scenario)
{
	char err[2000];

	run_alike(program, scenario, true, err, sizeof(err));
	assert_string_equal(err, "");
}

TEST(musl_program_is_left_alone_and_named)
{
	is_left_alone("small_musl", "fail", "uses the musl C library");
}

TEST(musl_child_is_left_alone)
{
	child_is_left_alone("small_musl", "fail");
}

/* The preloaded library's name leads to it from a folder that is deep, and through a link. */
TEST(glibc_child_in_a_deep_folder_is_watched)
{
	struct run r = RUN(GW_COMMAND, "run", "--quiet", "--", "/bin/sh", "-c",
			   "mkdir -p a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p && cp \"$0\" "
			   "a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/it "
			   "&& ln -s a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/it it && ./it launches",
			   built("plain"));
	struct outcome *o = run_bare(&r);

	assert_int_equal(o->status, 0);
	assert_string_equal(o->err, "");
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

TEST(address_sanitizer_is_left_alone_and_named)
{
	is_left_alone("plain_address", "launches", "is built with AddressSanitizer");
}

TEST(address_sanitizers_child_is_left_alone)
{
	child_is_left_alone("plain_address", "launches");
}

TEST(clangs_address_sanitizer_is_left_alone_and_named)
{
	is_left_alone("small_clang_address", "fail", "is built with AddressSanitizer");
}

TEST(clangs_address_sanitizers_child_is_left_alone)
{
	child_is_left_alone("small_clang_address", "fail");
	child_is_left_alone("small_clang_static_address", "fail");
}

/* It would count what we keep among the program's leaks. */
TEST(leak_sanitizers_child_is_left_alone)
{
	child_is_left_alone("plain_leak", "launches");
}

TEST(options_of_address_sanitizer_stay)
{
	struct run r =
		RUN(GW_COMMAND, "run", "--quiet", "--", "/bin/sh", "-c", "echo $ASAN_OPTIONS");
	struct outcome *o;

	r.env[0] = "ASAN_OPTIONS=color=never";
	o = run_bare(&r);
	assert_string_equal(o->out, "color=never:verify_asan_link_order=0\n");
	outcome_free(o);
	r.env[0] = "ASAN_OPTIONS=verify_asan_link_order=1";
	o = run_bare(&r);
	assert_string_equal(o->out, "verify_asan_link_order=1\n");
	outcome_free(o);
}

/* It sees our calls of libc and not what orders them, and finds races. */
TEST(thread_sanitizers_child_is_left_alone)
{
	child_is_left_alone("plain_thread", "launches");
}

TEST(program_with_undefined_behaviour_sanitizer_is_watched)
{
	struct run r = RUN("plain_undefined", "launches");
	struct outcome *o;

	if (access(built("plain_undefined"), X_OK))
		skip();
	o = run_both(&r);
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

TESTS_MAIN()
