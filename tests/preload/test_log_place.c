/*
 * The place of the log, changed while it is written. The program never notices, its files are its
 * own, and what the log has is right.
 */
#include "cli/log/reader.h"
#include "tests/preload/harness.h"
#include "tests/test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static struct run place(const char *scenario)
{
	struct run r = RUN("place", scenario);

	r.env[0] = "GPUWATCH_OUT=log.gwl";
	r.env[1] = "LOG=log.gwl";
	return r;
}

static struct {
	unsigned launches, nameless, configs, headers, devices, ends;
	bool named[1 << 16];
} seen;

static bool take(void *arg, const struct gw_log_record *r)
{
	uint32_t id;

	(void)arg;
	switch (r->head->kind) {
	case GW_RECORD_LAUNCH:
		id = ((const struct gw_record_launch *)(const void *)r->head)->config;
		seen.launches++;
		seen.nameless += !seen.named[id & 0xffff];
		break;
	case GW_RECORD_CONFIG:
		id = ((const struct gw_record_config *)(const void *)r->head)->id;
		seen.named[id & 0xffff] = true;
		seen.configs++;
		break;
	case GW_RECORD_HEADER:
		seen.headers++;
		break;
	case GW_RECORD_DEVICE:
		seen.devices++;
		break;
	case GW_RECORD_END:
		seen.ends++;
		break;
	default:
		break;
	}
	return true;
}

/* What is in the log stands behind what explains it. */
static void assert_explained(const struct outcome *o, const char *name)
{
	struct gw_log_status status;
	char path[200];

	snprintf(path, sizeof(path), "%s/%s", o->dir, name);
	memset(&seen, 0, sizeof(seen));
	if (!gw_log_read(path, take, NULL, &status))
		fail_msg("%s: %s", path, status.error);
	assert_int_equal(status.damaged_bytes, 0);
	assert_true(seen.launches >= 40);
	assert_int_equal(seen.nameless, 0);
	assert_int_equal(seen.headers, 1);
	assert_int_equal(seen.devices, 1);
	assert_int_equal(seen.ends, 1);
}

static void explained(struct run r)
{
	struct outcome *o = run_watched(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "done"));
	assert_explained(o, r.env[1] + strlen("LOG="));
	outcome_free(o);
}

/* All that was launched is in the log. */
static void complete(struct run r)
{
	struct outcome *o = run_watched(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, "done"));
	assert_int_equal(o->logs, 1);
	assert_logs_are_the_truth(o);
	outcome_free(o);
}

TEST(a_log_that_is_deleted_is_begun_anew)
{
	explained(place("deleted"));
}

TEST(so_is_its_folder)
{
	struct run r = place("folder_removed");

	r.env[0] = "GPUWATCH_OUT=sub/log.gwl";
	r.env[1] = "LOG=sub/log.gwl";
	explained(r);
}

TEST(a_log_cut_by_others_explains_what_follows)
{
	explained(place("truncated"));
}

TEST(a_daemon_that_closes_all_and_leaves_the_folder_has_a_whole_log)
{
	complete(place("daemonized"));
}

/* The same where the stand-in can't leave its count. */
static void closed_in_order(struct run r)
{
	struct outcome *o = run_watched(&r);
	unsigned last = 0;

	assert_int_equal(o->status, 0);
	assert_true(only_log(o)->ended);
	assert_false(only_log(o)->damaged);
	for (unsigned i = 0; i < only_log(o)->kernels; i++)
		if (only_log(o)->kernel[i].grid[0] == 4)
			last += (unsigned)only_log(o)->kernel[i].count;
	assert_int_equal(last, 100);
	outcome_free(o);
}

TEST(so_has_one_that_changes_its_root)
{
	if (getuid() != 0)
		skip();
	closed_in_order(place("chrooted"));
}

TEST(so_has_one_that_drops_its_rights)
{
	if (getuid() != 0)
		skip();
	closed_in_order(place("unprivileged"));
}

static void mount_small_disk(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mkdir("small", 0700) != 0 || mount("none", "small", "tmpfs", 0, "size=256k") != 0)
		_exit(125);
}

/* The disk goes with the process: its log is looked at from within. */
TEST(a_disk_that_is_full_at_first_costs_what_had_no_room_and_no_names)
{
	struct run r = place("full_at_first");
	struct outcome *o;

	if (!may_mount())
		skip();
	r.env[0] = "GPUWATCH_OUT=small/log.gwl";
	r.env[1] = "LOG=small/log.gwl";
	r.in_child = mount_small_disk;
	r.shell = "\"$@\" && cp small/log.gwl copy.gwl";
	o = run_watched(&r);
	assert_int_equal(o->status, 0);
	assert_explained(o, "copy.gwl");
	outcome_free(o);
}

static void says(const char *scenario, const char *text)
{
	struct run r = place(scenario);
	struct outcome *o = run_both(&r);

	assert_int_equal(o->status, 0);
	assert_non_null(strstr(o->out, text));
	outcome_free(o);
}

TEST(no_number_of_the_programs_is_the_logs)
{
	says("numbers", "of the log: 0\n");
}

TEST(the_log_holds_no_end_of_a_pipe)
{
	says("pipe_ends", "end of the pipe: 1\n");
}

TEST(the_programs_locks_stay)
{
	says("locks", "locked: 1\n");
}

TEST(nothing_lands_in_a_file_that_takes_over_any_number)
{
	says("race", "mine has 8 bytes\n");
}

TESTS_MAIN()
