/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/worker/host_time.h"

#include "preload/live/log.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/options.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/small_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, LOOK_MS = 1000 };
static const uint64_t UNKNOWN = UINT64_MAX;

/* CPU time of a process or thread when it was last looked at. */
struct used {
	pid_t id;
	uint64_t ns; /* UNKNOWN: not looked at yet */
};

static struct {
	struct used child[MOST], thread[MOST];
	uint32_t children, threads;
	uint64_t looked_ns; /* for children, CLOCK_MONOTONIC */
	uint64_t since_ns;  /* of the span under way, likewise; 0: there is none */
	uint64_t wall_ns;   /* when it began, as the log has times */
} at_work;

void gw_children_start(void)
{
	memset(&at_work, 0, sizeof(at_work));
}

/* The number by which Linux knows the clock of the CPU time of a process, or of a thread of ours.
 */
static clockid_t cpu_clock(pid_t id, bool thread)
{
	return (clockid_t)(~(unsigned)id << 3 | (thread ? 6u : 2u));
}

/* What it has used since it was last looked at, ns; UNKNOWN at first, and where it has ended. */
static uint64_t used_since(struct used *u, bool thread)
{
	const uint64_t before = u->ns;
	struct timespec t;

	u->ns = UNKNOWN;
	if (clock_gettime(cpu_clock(u->id, thread), &t))
		return UNKNOWN;
	u->ns = (uint64_t)t.tv_sec * UINT64_C(1000000000) + (uint64_t)t.tv_nsec;
	return before == UNKNOWN || u->ns < before ? UNKNOWN : u->ns - before;
}

/* Put @p id into the list, with what is known of it from @p before. */
static void keep(struct used *list, uint32_t *count, pid_t id, const struct used *before,
                 uint32_t before_count)
{
	for (uint32_t i = 0; i < *count; i++)
		if (list[i].id == id)
			return;
	if (*count == MOST)
		return;
	list[*count] = (struct used){id, UNKNOWN};
	for (uint32_t i = 0; i < before_count; i++)
		if (before[i].id == id)
			list[*count].ns = before[i].ns;
	++*count;
}

/* False where there are more than can be looked at. */
static bool look_for_threads(void)
{
	struct used before[MOST];
	const uint32_t before_count = at_work.threads,
	               count = atomic_load(&gw_hot.shared->thread_count);
	uint32_t met = 0;

	memcpy(before, at_work.thread, sizeof(before));
	at_work.threads = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (!t || atomic_load(&t->state) != GW_SLOT_USED || !t->tid)
			continue;
		keep(at_work.thread, &at_work.threads, t->tid, before, before_count);
		met++;
	}
	return met <= MOST;
}

static void children_of(pid_t thread, const struct used *before, uint32_t before_count)
{
	char path[64], text[1024], *at = text, *end;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)thread);
	gw_small_file(path, text, sizeof(text));
	for (;;) {
		const unsigned long id = strtoul(at, &end, 10);

		/* A number that ends where the text does may have been cut. */
		if (end == at || *end != ' ' || !id || id > INT32_MAX)
			return;
		keep(at_work.child, &at_work.children, (pid_t)id, before, before_count);
		at = end;
	}
}

/* Those that the main thread or one that launches has started. */
static void look_for_children(void)
{
	struct used before[MOST];
	const uint32_t before_count = at_work.children;

	memcpy(before, at_work.child, sizeof(before));
	at_work.children = 0;
	children_of(getpid(), before, before_count);
	for (uint32_t i = 0; i < at_work.threads; i++)
		if (at_work.thread[i].id != getpid())
			children_of(at_work.thread[i].id, before, before_count);
}

/* By all of @p list, ns; UNKNOWN where that of one is and @p all must be known. */
static uint64_t sum(struct used *list, uint32_t count, bool thread, bool all)
{
	uint64_t total = 0;
	bool known = true;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t ns = used_since(&list[i], thread);

		known = known && ns != UNKNOWN;
		total += ns == UNKNOWN ? 0 : ns;
	}
	return known || !all ? total : UNKNOWN;
}

static void end_span(uint64_t now)
{
	const uint64_t took = now - at_work.since_ns;
	struct gw_record_children r = {.start_ns = at_work.wall_ns, .duration_ns = took};

	r.children_ns = sum(at_work.child, at_work.children, false, false);
	r.threads_ns = sum(at_work.thread, at_work.threads, true, true);
	if (!at_work.since_ns || r.threads_ns == UNKNOWN || r.children_ns < took / 2 ||
	    r.threads_ns >= took / 2 || gw_clock_ahead(r.start_ns))
		return;
	gw_log_write(GW_RECORD_CHILDREN, &r, sizeof(r), NULL, 0);
}

void gw_children_tick(uint64_t now)
{
	bool whole;

	if (gw_options.mode != GW_MODE_AUDIT || gw_log_sums() || !gw_sandbox_enter()) {
		at_work.since_ns = 0;
		return;
	}
	whole = look_for_threads();
	if (now - at_work.looked_ns >= LOOK_MS * UINT64_C(1000000)) {
		look_for_children();
		at_work.looked_ns = now;
	}
	if (at_work.children && whole) {
		end_span(now);
		at_work.since_ns = now;
		at_work.wall_ns = gw_clock_ns(gw_ticks());
	} else {
		at_work.since_ns = 0;
	}
	gw_sandbox_leave();
}
