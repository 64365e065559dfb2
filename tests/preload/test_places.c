/* Where libcupti is found: by the preloaded library and by `gpuwatch doctor`, which must agree. */
#include "tests/preload/harness.h"
#include "tests/test.h"

/*
 * A toolkit of its own with the stand-in's libcupti in the folder `where`, and a loader's path that
 * has none. Doctor prints what it finds; the program's launches then have times of start, or have
 * not.
 */
static const char script[] =
	"mkdir -p driver \"home/$2\" && cp \"$1\"/libcuda.so.1 \"$1\"/libnvidia-ml.so.1 driver && "
	"cp \"$1\"/libcupti.so.13 \"home/$2/libcupti.so$3\" && "
	"chmod ${MODES% *} \"home/$2\" && chmod ${MODES#* } \"home/$2/libcupti.so$3\" && "
	"(cd driver && touch libcupti.so libcupti.so.13 libcupti.so.12 libcupti.so.11.8) && "
	"export LD_LIBRARY_PATH=$PWD/driver CUDA_HOME=$PWD/home && "
	"{ \"$4\" doctor 2>/dev/null | grep libcupti; } ; "
	"\"$4\" run --out=log.gwl -- \"$0\" launches";

/* @p modes: MODES=, that of the folder, and of the file. */
static void both_look_as(const char *where, const char *suffix, const char *modes, bool found)
{
	struct run r =
		RUN("/bin/sh", "-c", script, built("plain"), GW_STANDIN, where, suffix, GW_COMMAND);
	struct outcome *o;
	const struct account *log;
	uint64_t started = 0;
	char path[200];

	r.env[0] = modes;
	o = run_bare(&r);
	assert_int_equal(o->status, 0);
	log = only_log(o);
	for (unsigned i = 0; i < log->kernels; i++)
		started += log->kernel[i].started;
	snprintf(path, sizeof(path), "/home/%s/libcupti.so%s ", where, suffix);
	assert_int_equal(strstr(o->out, path) != NULL, found);
	assert_int_equal(started, found ? log->total : 0);
	outcome_free(o);
}

static void both_look(const char *where, const char *suffix, bool found)
{
	both_look_as(where, suffix, "MODES=755 755", found);
}

TEST(neither_takes_it_where_others_may_write)
{
	both_look_as("lib64", ".13", "MODES=1777 755", false);
	both_look_as("lib64", ".13", "MODES=755 757", false);
}

TEST(doctor_and_library_find_it_in_each_folder_of_a_toolkit)
{
	both_look("lib64", ".13", true);
	both_look("lib64", "", true);
	both_look("extras/CUPTI/lib64", ".2099.1", true);
	both_look("targets/x86_64-linux/lib", ".13", true);
	both_look("targets/another-linux/lib", ".13", true);
}

TEST(neither_finds_it_elsewhere)
{
	both_look("lib32", ".13", false);
	both_look("targets/x86_64-linux/lib64", ".13", false);
}

TESTS_MAIN()
