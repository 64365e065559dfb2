#include "preload/worker/parts.h"

#include "preload/cupti/activity.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/driver.h"
#include "preload/live/aggregate.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/live/log_name.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/process.h"
#include "gw_commit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static uint64_t start_ticks, start_ns, start_monotonic;
static uint32_t driver_version;

/* The tail: key=value strings, one after the other. */
struct tail {
	char text[12288];
	size_t size;
};

static void add(struct tail *t, const char *key, const char *value)
{
	int n = snprintf(t->text + t->size, sizeof(t->text) - t->size, "%s=%s", key, value);

	if (n > 0 && (size_t)n < sizeof(t->text) - t->size)
		t->size += (size_t)n + 1;
}

/*
 * A small file of the kernel's up to its first NUL, or all of it with NULs turned into blanks:
 * arguments are separated by them.
 */
static void add_file(struct tail *t, const char *key, const char *path, bool first)
{
	char text[4096];
	size_t n = gw_small_file(path, text, sizeof(text));

	if (!n)
		return;
	while (n && (text[n - 1] == '\n' || !text[n - 1]))
		n--;
	text[n] = 0;
	for (size_t i = 0; i < n; i++)
		if ((!text[i] && !first) || text[i] == '\n')
			text[i] = ' ';
	add(t, key, text);
}

static void add_exe(struct tail *t)
{
	char path[4096];

	if (gw_program_path(path, sizeof(path)))
		add(t, "exe", path);
}

void gw_header_start(void)
{
	gw_clock_start(&start_ticks, &start_ns, &start_monotonic);
}

void gw_header_ask_driver(void)
{
	driver_version = gw_driver_version();
}

void gw_header_write(void)
{
	struct gw_record_header r = {
		.version = GW_LOG_VERSION,
		.pid = (uint32_t)getpid(),
		.ppid = (uint32_t)getppid(),
		.tick_khz = gw_clock_khz(),
		.start_ns = start_ns,
		.monotonic_ns = start_monotonic,
		.ticks = start_ticks,
	};
	static struct tail t;
	char text[256] = "";

	t.size = 0;
	if (gw_device_stand_in())
		r.flags |= GW_HEADER_STAND_IN;
	if (gw_injection_active())
		r.flags |= GW_HEADER_INJECTED;
	if (gw_options.mode == GW_MODE_AUDIT)
		r.flags |= GW_HEADER_WAITS | (gw_options_sample() ? GW_HEADER_COPIES : 0);
	gethostname(text, sizeof(text) - 1);
	add(&t, "host", text);
	add_file(&t, "boot_id", "/proc/sys/kernel/random/boot_id", true);
	add_exe(&t);
	add_file(&t, "command", "/proc/self/cmdline", gw_options.command_name);
	add(&t, "mode", gw_mode_name(gw_options.mode));
	if (gw_options_sum())
		add(&t, "sums", GW_TEXT(GW_SPAN_S) " s");
	add(&t, "build", GW_VERSION " " GW_COMMIT);
	add(&t, "rank", gw_log_rank());
	if (*gw_live_path())
		add(&t, "segment", gw_live_path());
	if (driver_version) {
		snprintf(text, sizeof(text), "%u", driver_version);
		add(&t, "driver", text);
	}
	if (gw_activity_version()) {
		snprintf(text, sizeof(text), "%u", gw_activity_version());
		add(&t, "cupti", text);
	}
	gw_log_write(GW_RECORD_HEADER, &r, sizeof(r), t.text, t.size);
}
