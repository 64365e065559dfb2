#include "preload/worker/host_time.h"

#include "preload/counters/counter_attribution.h"
#include "preload/launch/collectives.h"
#include "preload/launch/ranges.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"
#include "preload/worker/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Between windows nothing says what the GPU did, and sums say nothing of gaps. */
static bool recorded(void)
{
	return gw_options.mode == GW_MODE_AUDIT && !gw_log_sums();
}

void gw_copy_ran(const struct gw_copy *copy)
{
	struct gw_record_copy r = {
		.direction = copy->direction,
		.stream = copy->stream,
		.bytes = copy->bytes,
		.start_ns = copy->start,
		.duration_ns = copy->end - copy->start,
	};

	gw_counter_attribution_copy(copy->device, copy->start, copy->end);
	if (copy->start && copy->end > copy->start)
		gw_live_copied(copy->device, copy->start, copy->end);
	if (!recorded() || !copy->start || copy->end <= copy->start || gw_clock_ahead(copy->start))
		return;
	gw_device_meet((int)copy->device);
	r.device = gw_device_id((int)copy->device);
	gw_log_write(GW_RECORD_COPY, &r, sizeof(r), NULL, 0);
	gw_count(GW_COUNTER_copies, 1);
}

void gw_wait_event(struct gw_thread *t, const struct gw_event *e)
{
	struct gw_record_wait r = {.call = e->block_x, .start_ns = gw_clock_ns(e->ticks)};

	if (gw_options.mode != GW_MODE_AUDIT || gw_clock_ahead(r.start_ns))
		return;
	r.thread = gw_intern_thread(t);
	r.duration_ns = gw_clock_ns(e->ticks + gw_event_wait_ticks(e)) - r.start_ns;
	gw_live_waited(r.thread, r.start_ns, r.start_ns + r.duration_ns);
	if (!recorded())
		return;
	gw_log_write(GW_RECORD_WAIT, &r, sizeof(r), NULL, 0);
	gw_count(GW_COUNTER_waits, 1);
}

/* ---- collectives ---- */

static bool communicator_logged[GW_COMMUNICATORS];

static void log_communicator(uint32_t id)
{
	struct gw_record_communicator r = {.id = id};

	communicator_logged[id - 1] = true;
	gw_communicator(id, &r.hash, &r.rank, &r.ranks);
	gw_log_write(GW_RECORD_COMMUNICATOR, &r, sizeof(r), NULL, 0);
}

void gw_collective_event(struct gw_thread *t, const struct gw_event *e)
{
	struct gw_record_collective r = {.communicator = e->grid[2],
					 .function = e->block_x,
					 .datatype = e->block_y,
					 .sequence = (uint64_t)e->grid[1] << 32 | e->grid[0],
					 .count = (uint64_t)e->digest << 32 | e->shared,
					 .call_ns = gw_clock_ns(e->ticks)};

	if (!recorded() || gw_clock_ahead(r.call_ns) || r.communicator - 1 >= GW_COMMUNICATORS)
		return;
	if (!communicator_logged[r.communicator - 1])
		log_communicator(r.communicator);
	r.thread = gw_intern_thread(t);
	gw_log_write(GW_RECORD_COLLECTIVE, &r, sizeof(r), NULL, 0);
	gw_count(GW_COUNTER_collectives, 1);
}

/* ---- ranges ---- */

enum { DEEPEST = 64 }; /* ranges beyond count as the one at this depth */

/* Those that a thread is in. */
struct gw_thread_ranges {
	uint32_t serial; /* of the thread that they are of */
	uint32_t name[DEEPEST];
};

/* Those that the process is in, in order of their beginnings. */
static struct {
	uint64_t number[DEEPEST];
	uint32_t name[DEEPEST], count;
} of_process;

static uint32_t record_id[GW_RANGE_FIRST + GW_RANGE_NAMES]; /* in the log, by name; 0: none yet */
static uint32_t record_count;

void gw_host_time_start(void)
{
	memset(communicator_logged, 0, sizeof(communicator_logged));
	memset(&of_process, 0, sizeof(of_process));
	memset(record_id, 0, sizeof(record_id));
	record_count = 0;
}

/* The name's id in the log; 0 where its thread has not yet finished writing it. */
static uint32_t name_id(uint32_t name)
{
	struct gw_record_range_name r = {0};
	uint32_t domain;
	const char *text;

	if (!name || name >= GW_RANGE_FIRST + GW_RANGE_NAMES)
		return 0;
	if (record_id[name])
		return record_id[name];
	text = gw_range_text(name, &domain);
	if (!text)
		return 0;
	if (name == GW_RANGE_OTHER || gw_range_names_full())
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d names of NVTX ranges: further ones count together",
			   GW_RANGE_NAMES);
	r.domain = domain == name ? 0 : name_id(domain);
	r.id = record_id[name] = ++record_count;
	gw_log_write(GW_RECORD_RANGE_NAME, &r, sizeof(r), text, strlen(text) + 1);
	return r.id;
}

static struct gw_thread_ranges *ranges_of(struct gw_thread *t)
{
	if (!t->ranges)
		t->ranges = gw_memory_new(GW_MEMORY_rings, 1, sizeof(*t->ranges));
	if (t->ranges && t->ranges->serial != t->serial)
		*t->ranges = (struct gw_thread_ranges){.serial = t->serial};
	return t->ranges;
}

/* What was missed on the way to the depth that the thread knows has no name. */
static bool change_thread(struct gw_thread *t, const struct gw_event *e, struct gw_record_range *r)
{
	struct gw_thread_ranges *all = ranges_of(t);
	uint32_t top;

	if (!all)
		return false;
	r->thread = gw_intern_thread(t);
	r->depth = e->grid[1];
	top = (r->depth < DEEPEST ? r->depth : DEEPEST) - 1;
	if (r->depth && e->block_x == GW_RANGE_PUSHED)
		all->name[top] = e->grid[0];
	for (uint32_t i = r->depth; i < DEEPEST; i++)
		all->name[i] = 0;
	r->name = r->depth ? name_id(all->name[top]) : 0;
	return r->thread != 0;
}

static void change_process(const struct gw_event *e, struct gw_record_range *r)
{
	uint64_t number = (uint64_t)e->grid[2] << 32 | e->grid[1];
	uint32_t kept = 0;

	if (e->block_x == GW_RANGE_STARTED && of_process.count < DEEPEST) {
		of_process.number[of_process.count] = number;
		of_process.name[of_process.count++] = e->grid[0];
	} else if (e->block_x == GW_RANGE_ENDED) {
		for (uint32_t i = 0; i < of_process.count; i++) {
			if (of_process.number[i] == number)
				continue;
			of_process.number[kept] = of_process.number[i];
			of_process.name[kept++] = of_process.name[i];
		}
		of_process.count = kept;
	}
	r->depth = of_process.count;
	r->name = r->depth ? name_id(of_process.name[r->depth - 1]) : 0;
}

void gw_range_event(struct gw_thread *t, const struct gw_event *e)
{
	struct gw_record_range r = {.ns = gw_clock_ns(e->ticks)};

	if (e->block_x >= GW_RANGE_STARTED)
		change_process(e, &r);
	else if (!change_thread(t, e, &r))
		return;
	if (!recorded() || gw_clock_ahead(r.ns))
		return;
	gw_log_write(GW_RECORD_RANGE, &r, sizeof(r), NULL, 0);
	gw_count(GW_COUNTER_ranges, 1);
}

/* ---- child processes ---- */

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

	memcpy(before, at_work.thread, sizeof(before));
	at_work.threads = 0;
	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (!t || atomic_load(&t->state) != GW_SLOT_USED || !t->tid)
			continue;
		if (at_work.threads == MOST)
			return false;
		keep(at_work.thread, &at_work.threads, t->tid, before, before_count);
	}
	return true;
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

/* Asked without opening a file, for which a thread is made (own_files.h). */
static bool any_children(void)
{
	siginfo_t unused;

	return waitid(P_ALL, 0, &unused, WEXITED | WNOHANG | WNOWAIT | __WALL) == 0;
}

/* Those that the main thread or one that launches has started. */
static void look_for_children(void *unused)
{
	struct used before[MOST];
	const uint32_t before_count = at_work.children;

	(void)unused;
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
	gw_live_children(r.start_ns, r.start_ns + took, r.threads_ns);
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
		if (any_children())
			gw_apart(look_for_children, NULL);
		else
			at_work.children = 0;
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
