/* gpuwatch recover over segments that hold nothing, or are damaged. */
#include "predictor/log/live.h"
#include "tests/cli/shell.h"
#include "tests/test.h"

#include <unistd.h>

#define RECOVER "GPUWATCH_RUN_DIR=$PWD $PREFIX/bin/gpuwatch recover --all"
/* No process has this number. */
#define ENDED "4194305-1-1.gwlive"

static int clear(void **state)
{
	return shell("rm -f *.gwlive *.gwl");
}

TEST_WITH(one_that_was_just_created_is_removed_and_said, clear, NULL)
{
	shell_runs(": > " ENDED "; " RECOVER);
	shell_says("it holds nothing and is removed");
	shell_ends(1, "test -e " ENDED);
}

TEST_WITH(one_of_zeroed_pages_is_removed_and_said, clear, NULL)
{
	shell_runs("truncate -s 32M " ENDED "; " RECOVER);
	shell_says("it holds nothing and is removed");
	shell_ends(1, "test -e " ENDED);
}

TEST_WITH(what_holds_nothing_is_kept_on_demand, clear, NULL)
{
	shell_runs(": > " ENDED "; " RECOVER " --keep && test -e " ENDED);
}

TEST_WITH(hostile_bytes_are_named_and_left, clear, NULL)
{
	shell_ends(2, "yes GWVL | head -c 2000000 > " ENDED "; " RECOVER);
	shell_says(ENDED ": it is damaged");
	shell_runs("test -e " ENDED);
}

TEST_WITH(a_damaged_one_does_not_keep_others_from_being_looked_at, clear, NULL)
{
	shell_ends(2, "yes | head -c 99999 > "
		      "4194305-1-2.gwlive; : > " ENDED "; " RECOVER);
	shell_says("4194305-1-2.gwlive: it is damaged");
	shell_ends(1, "test -e " ENDED);
}

TEST_WITH(one_that_is_being_made_is_left_alone, clear, NULL)
{
	shell_runs(": > $$-$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f20)-1.gwlive; " RECOVER
		   " && ls *.gwlive");
}

TEST_WITH(what_is_no_segment_by_its_name_is_left_alone, clear, NULL)
{
	shell_runs(": > notes.gwlive; " RECOVER " && test -e notes.gwlive");
}

/* A head and no more: of a process that ended, in the namespace numbered @p pid_namespace. */
static void make_segment(uint64_t pid_namespace)
{
	static struct gw_live_head h;
	FILE *out = fopen(ENDED, "wb"), *boot;
	const uint64_t size = 4 << 20;

	h = (struct gw_live_head){.magic = GW_LIVE_MAGIC,
				  .version = GW_LIVE_VERSION,
				  .size = size,
				  .start_time = 1,
				  .pid_namespace = pid_namespace,
				  .pid = 4194305};
	gw_live_layout(&h, size);
	boot = fopen("/proc/sys/kernel/random/boot_id", "r");
	assert_non_null(boot);
	assert_int_equal(fscanf(boot, "%63s", h.boot_id), 1);
	fclose(boot);
	assert_non_null(out);
	assert_int_equal(fwrite(&h, sizeof(h), 1, out), 1);
	assert_int_equal(ftruncate(fileno(out), (off_t)size), 0);
	fclose(out);
}

TEST_WITH(one_of_another_pid_namespace_is_left_alone, clear, NULL)
{
	make_segment(1);
	shell_runs(RECOVER " && test -e " ENDED " && ! ls *.gwl");
	shell_ends(2, "$PREFIX/bin/gpuwatch recover " ENDED);
	shell_says("another PID namespace");
	make_segment(0);
	shell_runs(RECOVER " && ! test -e " ENDED);
}

/* In /dev/shm anybody may make root's folder, or a link of its name to another user's. */
TEST_WITH(the_folder_of_another_user_is_left_alone, clear, NULL)
{
	if (getuid())
		skip();
	shell_ends(2, "mkdir -p run/gpuwatch; : > run/gpuwatch/" ENDED
		      "; chown 65534 run/gpuwatch; env -u GPUWATCH_RUN_DIR "
		      "XDG_RUNTIME_DIR=$PWD/run $PREFIX/bin/gpuwatch recover --all");
	shell_says("belongs to user 65534, not to you");
	shell_runs("test -e run/gpuwatch/" ENDED);
}

TEST_WITH(the_tables_are_printed_and_nothing_is_changed, clear, NULL)
{
	make_segment(0);
	shell_runs("$PREFIX/bin/gpuwatch recover --json " ENDED
		   " | grep -q '\"process\": *\"ended\"'");
	shell_runs(RECOVER " --json && test -e " ENDED " && ! ls *.gwl");
	shell_says("\"configurations\"");
}

TESTS_MAIN(shell_setup, shell_teardown)
