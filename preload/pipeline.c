/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of things. A reader starts here: cycle() is what the worker does, again and
 * again, and every room it calls on is named in it.
 */
#include "preload/pipeline.h"

#include "preload/activity.h"
#include "preload/aggregate.h"
#include "preload/arguments.h"
#include "preload/cells.h"
#include "preload/clock.h"
#include "preload/code.h"
#include "preload/counted.h"
#include "preload/counters.h"
#include "preload/deep.h"
#include "preload/degrade.h"
#include "preload/digests.h"
#include "preload/drain.h"
#include "preload/episodes.h"
#include "preload/gpu_clock.h"
#include "preload/header.h"
#include "preload/join.h"
#include "preload/launches.h"
#include "preload/log.h"
#include "preload/options.h"
#include "preload/pm.h"
#include "preload/profile.h"
#include "preload/recycle.h"
#include "preload/spawn.h"
#include "preload/study.h"
#include "preload/summary.h"
#include "preload/tables.h"
#include "preload/threads.h"
#include "preload/windows.h"
#include "preload/work.h"
#include "predictor/predictor.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	/*
	 * How often rings are looked at, and how often when nothing was launched for a second.
	 * A ring of 16384 lasts 33 ms of back-to-back launches at 2 us, and a launch can't ask
	 * to be looked at: that would be a system call.
	 */
	WAKE_MS = 10,
	IDLE_MS = 20,
	BUSY_MS = 1,         /* pause between rounds of studies */
	FLUSH_MS = 100,      /* how often libcupti is asked for its records … */
	FLUSH_FIRST_MS = 10, /* … and at first, when there is everything to learn */
	WRITE_MS = 1000,     /* how often the log is written */
	FINISH_MS = 5000,    /* how long an exiting program waits for us at most, in all */
	ALONE_ROUNDS = 50,   /* idle rounds between looks whether any other thread is left */
};

static struct {
	pthread_mutex_t lock; /* for the condition alone; never taken by a launch */
	pthread_cond_t wake, done;
	_Atomic bool finish; /* written under the lock, looked at anywhere */
	bool finished;
	bool leaving, resting; /* exit() has begun; the worker calls nobody any more */
	uint64_t waited_ns;    /* by an exiting program, for us */
	uint64_t begun_ns, flushed_ns, written_ns;
	bool begun; /* the log's header is written: something was launched */
} worker;

static void count_cpu(void)
{
	struct timespec t;

	if (!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t))
		atomic_store(&gw_counters[GW_COUNTER_worker_cpu_ns],
		             (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
}

static void write_counters(void)
{
	struct {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} r = {.head = {.count = GW_COUNTERS, .ns = gw_now_ns()}};

	gw_counters_sum(r.value);
	gw_log_write(GW_RECORD_COUNTERS, &r, sizeof(r), NULL, 0);
}

/* The log begins with the first launch, so that programs that launch nothing leave none. */
static void begin(void)
{
	worker.begun = true;
	worker.begun_ns = gw_now_ns();
	if (gw_log_open())
		gw_header_write();
}

/* A flush costs the worker some 0.1 ms: rare in the long run, often while little is known. */
static bool flush_due(uint64_t now)
{
	uint64_t pause = (now - worker.begun_ns) / 8;

	if (pause < FLUSH_FIRST_MS * UINT64_C(1000000))
		pause = FLUSH_FIRST_MS * UINT64_C(1000000);
	if (pause > FLUSH_MS * UINT64_C(1000000))
		pause = FLUSH_MS * UINT64_C(1000000);
	return (gw_join_waiting() || gw_counted_waits()) && now - worker.flushed_ns >= pause;
}

/* What a long piece of work may not keep from being done; false: the program ends. */
static bool look_after(void)
{
	gw_drain(gw_launch_event);
	gw_tables_write_news();
	return !atomic_load_explicit(&worker.finish, memory_order_relaxed);
}

static void take_times(uint64_t now, bool last)
{
	if (last || flush_due(now)) {
		gw_activity_flush(last);
		worker.flushed_ns = now;
	}
	gw_activity_take(gw_launch_record); /* also what came before another tool took over */
	gw_launches_measured(last);
}

/* One round. @p last: the program is at its end and the driver still there. */
static uint32_t cycle(bool last)
{
	uint64_t now = gw_now_ns();
	uint32_t events;
	bool ended;

	atomic_fetch_add_explicit(&gw_hot.round, 1, memory_order_relaxed);
	gw_clock_update();
	gw_threads_spare();
	if (!worker.begun && gw_drain_pending())
		begin();
	if (!worker.begun) {
		if (gw_windows_tick(false))
			gw_windows_close();
		return 0;
	}
	/* Launches first: they are predicted from what is known before the next records. */
	events = gw_drain(gw_launch_event);
	gw_gpu_clock_tick(now);
	gw_tables_write_news();
	/* Then code: what it tells is known before any measurement of these launches is. */
	gw_study_run(look_after, last);
	gw_deep_tick();
	gw_work_publish();
	gw_pm_tick(now, events);
	ended = !last && gw_windows_tick(events != 0);
	if (last || ended || !gw_study_holds(gw_join_waiting()))
		take_times(now, last || ended);
	if (ended)
		gw_windows_close();
	gw_counted_tick(now, worker.flushed_ns, last);
	gw_work_publish();
	gw_cells_publish();
	gw_recycle();
	gw_aggregate_tick(now, last);
	if (last || now - worker.written_ns > WRITE_MS * UINT64_C(1000000)) {
		count_cpu();
		write_counters();
		gw_log_flush();
		worker.written_ns = now;
	}
	return events;
}

static struct timespec in_ms(long ms)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void wait_for(long ms)
{
	const struct timespec until = in_ms(ms);

	pthread_cond_timedwait(&worker.wake, &worker.lock, &until);
}

/*
 * A program whose main thread has called pthread_exit() ends with its last thread; that must
 * not be one of ours. /proc/self/stat: "pid (name) state …", the number of threads is field 20; the
 * main thread, which stays as a zombie, counts.
 */
static bool last_one_left(void)
{
	char text[512], *at;
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	at = strrchr(text, ')');
	if (!at || strncmp(at, ") Z ", 4) != 0)
		return false;
	for (int field = 2; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	return at && strtol(at, NULL, 10) == 1 + (long)gw_spawned();
}

/* Until the handler of ours, or for long enough: who still runs after exit() has begun is served.
 */
static void rest(void)
{
	struct timespec until;

	pthread_mutex_unlock(&worker.lock);
	gw_gpu_clock_stop();
	gw_windows_away(true);
	until = in_ms(FINISH_MS);
	pthread_mutex_lock(&worker.lock);
	worker.resting = true;
	pthread_cond_signal(&worker.done);
	while (!worker.finish && !pthread_cond_timedwait(&worker.wake, &worker.lock, &until))
		;
	worker.leaving = false;
	gw_windows_away(false);
}

static void run(void)
{
	unsigned idle = 0;

	pthread_mutex_lock(&worker.lock);
	while (!worker.finish) {
		pthread_mutex_unlock(&worker.lock);
		idle = cycle(false) ? 0 : idle + 1;
		pthread_mutex_lock(&worker.lock);
		if (worker.leaving)
			rest();
		else if (!worker.finish)
			wait_for(gw_windows_pause(gw_study_waits() ? BUSY_MS
			                          : idle > 100     ? IDLE_MS
			                                           : WAKE_MS));
		if (idle % ALONE_ROUNDS == ALONE_ROUNDS - 1 && last_one_left())
			worker.finish = true;
	}
	pthread_mutex_unlock(&worker.lock);
	gw_pm_stop(); /* exit() did so first, but there is none where nobody is left to call it */
	gw_gpu_clock_stop();
	gw_pm_over();
	gw_deep_over();
	cycle(true);
	gw_windows_over();
	if (worker.begun) {
		uint64_t totals[GW_COUNTERS];

		gw_counters_sum(totals);
		gw_summary_print(gw_launches_score(), totals);
	}
	pthread_mutex_lock(&worker.lock);
	worker.finished = true;
	pthread_cond_signal(&worker.done);
	pthread_mutex_unlock(&worker.lock);
}

bool gw_pipeline_start(bool forbidden)
{
	memset(&worker, 0, sizeof(worker));
	pthread_mutex_init(&worker.lock, NULL);
	pthread_cond_init(&worker.wake, NULL);
	pthread_cond_init(&worker.done, NULL);
	if (!gw_tables_start() || !gw_launches_start())
		return false;
	gw_aggregate_start();
	gw_arguments_start();
	gw_code_start();
	gw_gpu_clock_start();
	gw_episodes_start();
	gw_deep_start();
	gw_study_start();
	gw_digests_start();
	gw_work_start();
	gw_pm_start();
	gw_counted_start();
	gw_device_profile_start();
	gw_header_start();
	gw_windows_start(forbidden);
	return gw_spawn("gpuwatch", run);
}

void gw_pipeline_wake(void)
{
	pthread_cond_signal(&worker.wake);
}

/* Under the lock: wake the worker and wait until it has done as asked. */
static void wait_for_worker(const bool *done)
{
	const uint64_t begin = gw_steady_ns(), most = FINISH_MS * UINT64_C(1000000);
	const uint64_t left = most - (worker.waited_ns < most ? worker.waited_ns : most);
	const struct timespec until = in_ms((long)(left / 1000000));

	pthread_cond_signal(&worker.wake);
	while (!*done && !worker.finished &&
	       !pthread_cond_timedwait(&worker.done, &worker.lock, &until))
		;
	worker.waited_ns += gw_steady_ns() - begin;
}

void gw_pipeline_leave(void)
{
	pthread_mutex_lock(&worker.lock);
	worker.leaving |= !worker.resting;
	wait_for_worker(&worker.resting);
	pthread_mutex_unlock(&worker.lock);
}

void gw_pipeline_finish(void)
{
	pthread_mutex_lock(&worker.lock);
	worker.finish = true;
	wait_for_worker(&worker.finished);
	pthread_mutex_unlock(&worker.lock);
}

void gw_pipeline_close(void)
{
	struct gw_record_end r = {.ns = gw_now_ns()};

	if (!worker.finished) /* the worker may still be at it: leave the file to it */
		return;
	gw_tables_driver_gone();
	if (!worker.begun && gw_drain_pending())
		begin();
	if (!worker.begun)
		return;
	gw_drain(gw_launch_event);
	gw_tables_write_news();
	gw_launches_measured(true);
	gw_aggregate_tick(gw_now_ns(), true);
	gw_episodes_finish();
	gw_study_finish();
	write_counters();
	r.records = atomic_load(&gw_counters[GW_COUNTER_log_records]) + 1;
	gw_log_write(GW_RECORD_END, &r, sizeof(r), NULL, 0);
	gw_log_close();
}

void gw_pipeline_abandon(void)
{
	gw_threads_abandon();
	gw_spawn_forget();
	gw_pm_abandon();
	gw_log_abandon();
}
