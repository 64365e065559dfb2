/* The order of things. A reader starts here: cycle() is what the worker does, again and again,
 * and every room it calls on is named in it. */
#include "preload/worker/pipeline.h"

#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/live/aggregate.h"
#include "preload/live/graph_sums.h"
#include "preload/worker/parts.h"
#include "preload/launch/arguments.h"
#include "preload/runtime/bell.h"
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/analysis/code.h"
#include "preload/counters/counter_attribution.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/analysis/digests.h"
#include "preload/control/control.h"
#include "preload/worker/drain.h"
#include "preload/worker/slow_episodes.h"
#include "preload/counters/gpu_clock.h"
#include "preload/worker/host_time.h"
#include "preload/join/join.h"
#include "preload/worker/launches.h"
#include "preload/worker/first_attach.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/maps/memory.h"
#include "preload/maps/own_use.h"
#include "preload/counters/pm.h"
#include "preload/worker/profile.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/spawn.h"
#include "preload/analysis/analysis_jobs.h"
#include "preload/analysis/analyze.h"
#include "preload/worker/registry.h"
#include "preload/launch/module_reports.h"
#include "preload/launch/threads.h"
#include "preload/launch/waits.h"
#include "preload/stack/stack_log.h"
#include "preload/cupti/windows.h"
#include "preload/analysis/known_work.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	/* How often rings are looked at: one of 16384 lasts 33 ms of launches at 2 us. The
	 * first launch after a pause wakes the worker (bell.h): where nothing is under way it
	 * sleeps, longer outside mode audit, whose causes of gaps have spans. */
	WAKE_MS = 10,
	WAKE_FAR_MS = 20, /* outside mode audit, while no window is near … */
	WAKE_FEW = 4096,  /* … and a round has fewer launches */
	IDLE_MS = 20,
	SLEEP_MS = 250,
	DOZE_MS = 1000,
	DOZE_AFTER_MS = 10000,
	IDLE_AFTER_MS = 1000, /* without a launch */
	BUSY_MS = 1,          /* pause between rounds in which the worker itself analyses code */
	FLUSH_MS = 100,       /* how often libcupti is asked for its records … */
	FLUSH_FIRST_MS = 10,  /* … and at first, when there is everything to learn */
	WRITE_MS = 1000,      /* how often the log is written … */
	COUNTERS_MS = 60000,  /* … with counters at least so often */
	FINISH_MS = 5000,     /* how long an exiting program waits for us at most, in all */
	HOLD_PART = 10,       /* of its run time is what it may be held for answers */
	ALONE_MS = 1000,      /* between looks of an idle one whether any other thread is left */
};

static struct {
	pthread_mutex_t lock; /* for the condition alone; never taken by a launch */
	pthread_cond_t done;
	_Atomic bool finish; /* written under the lock, looked at anywhere */
	bool finished;
	_Atomic bool attach;  /* the first context is about to be made; likewise */
	_Atomic bool leaving; /* exit() has begun; likewise */
	_Atomic bool holding; /* it is held for what is unfinished; likewise */
	bool held;            /* nothing is any more */
	bool resting;         /* the worker calls nobody any more */
	uint64_t waited_ns;   /* by an exiting program, for us */
	uint64_t started_ns, begun_ns, flushed_ns, written_ns;
	uint64_t busy_ns, alone_ns;   /* when there was something to do; looked who is left */
	uint64_t counted, counted_ns; /* what counters_due() went by */
	uint32_t losses;              /* of the log, as work was last written again for */
	uint32_t came;                /* launches of the next round that were taken in this one */
	uint32_t took;                /* by the last round, with those */
	bool span_over;               /* sums were written since the log was */
	bool begun;                   /* the log's header is written: something was launched */
	bool alone, closed;           /* no thread but ours is left; the last word is written */
	_Atomic bool close;           /* it is to be, now */
} worker;

static void count_cpu(uint64_t now)
{
	uint64_t all = gw_spawned_cpu_ns();

	atomic_store(&gw_counters[GW_COUNTER_worker_cpu_ns], gw_thread_cpu_ns());
	atomic_store(&gw_counters[GW_COUNTER_own_cpu_ns], all);
	gw_own_use_tick(now, all);
}

static void write_counters(void)
{
	struct {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} r = {.head = {.count = GW_COUNTERS, .ns = gw_wall_ns()}};

	gw_totals_sum(r.value);
	gw_log_write(GW_RECORD_COUNTERS, &r, sizeof(r), NULL, 0);
}

/* While nothing is launched they hardly change. */
static bool counters_due(uint64_t now)
{
	uint64_t totals[GW_COUNTERS], sum = 0;

	gw_totals_sum(totals);
	sum = totals[GW_COUNTER_launches] + totals[GW_COUNTER_graph_launches] +
	      totals[GW_COUNTER_activity] + totals[GW_COUNTER_log_lost];
	if (sum == worker.counted && now - worker.counted_ns < COUNTERS_MS * UINT64_C(1000000))
		return false;
	worker.counted = sum;
	worker.counted_ns = now;
	return true;
}

/* The log begins with the first launch, so that programs that launch nothing leave none. */
static void begin(void)
{
	worker.begun = true;
	worker.begun_ns = gw_steady_ns();
	if (!gw_sandbox_enter()) /* a log can't be opened any more */
		return;
	gw_live_clock();
	if (gw_log_open())
		gw_header_write();
	gw_control_logged();
	gw_log_flush(); /* a killed process has a log that names its segment */
	gw_sandbox_leave();
}

/* A flush costs the worker some 0.1 ms: rare in the long run, often while little is known. */
static bool flush_due(uint64_t now)
{
	uint64_t pause = (now - worker.begun_ns) / 8;

	if (pause < FLUSH_FIRST_MS * GW_MS)
		pause = FLUSH_FIRST_MS * GW_MS;
	if (pause > FLUSH_MS * GW_MS)
		pause = FLUSH_MS * GW_MS;
	return (gw_join_waiting() || gw_counter_attribution_waits()) &&
	       now - worker.flushed_ns >= pause;
}

/* What a long piece of work may not keep from being done; false: the program ends. */
static bool look_after(void)
{
	gw_drain(gw_launch_event);
	gw_registry_write_news();
	return !atomic_load_explicit(&worker.finish, memory_order_relaxed);
}

/* @p forced: what libcupti still holds is to come; another tool would be handed it. */
static void take_times(uint64_t now, bool last, bool forced)
{
	if (forced || flush_due(now)) {
		gw_activity_flush(forced);
		worker.flushed_ns = now;
	}
	gw_launches_take_records(); /* also what came before another tool took over */
	gw_launches_measured(last);
}

/* Times before and after a step of the wall clock do not compare. */
static void look_at_clock(void)
{
	struct gw_record_degraded r = {.code = GW_DEGRADED_CLOCK_SET};
	char text[128];
	int64_t by = gw_clock_update();
	int length;

	gw_waits_clock(gw_clock_khz());
	if (!by)
		return;
	gw_launches_clock_set(by);
	gw_counter_attribution_clock_set();
	if (!worker.begun || gw_log_sums())
		return;
	r.ns = gw_wall_ns();
	length =
		snprintf(text, sizeof(text),
			 "the wall clock was set by %+.3f s: times before and after do not compare",
			 (double)by * 1e-9);
	gw_log_write(GW_RECORD_DEGRADED, &r, sizeof(r), text, (size_t)length + 1);
}

static void note_sandbox(void)
{
	if (gw_sandboxed())
		gw_degrade_asked(
			GW_DEGRADED_SANDBOX,
			"the program has entered a sandbox (seccomp): from then on no file "
			"is read, and neither clocks nor counters");
}

/* In mode watch what is written goes with the sums: small blocks hardly pack. Launches that
 * wait for that are in the live segment. */
static bool write_due(void)
{
	return !gw_options_sum() || worker.span_over;
}

static void show_totals(void)
{
	uint64_t totals[GW_COUNTERS];

	gw_totals_sum(totals);
	gw_live_totals(totals);
}

/* Modes watch and count need the predictions of launches that are timed: others are read here,
 * on another core. They stand as they are meanwhile, for nothing is learnt between windows. */
static void choose_reader(uint64_t now)
{
	const uint32_t wanted = atomic_load_explicit(&gw_hot.arguments, memory_order_relaxed);
	const bool lack = gw_configure_lacks_arguments(now);
	const bool launches =
		gw_options.mode == GW_MODE_AUDIT || gw_windows_open() || (wanted && lack);
	const uint32_t reads = launches ? GW_HOT_READS | wanted : 0;

	if (reads != atomic_load_explicit(&gw_hot.reads, memory_order_relaxed))
		atomic_store(&gw_hot.reads, reads);
}

/* One round. @p last: the program is at its end and the driver still there. */
static uint32_t cycle(bool last)
{
	uint64_t now = gw_steady_ns(), round = gw_ticks();
	uint32_t events;
	bool ended;

	atomic_fetch_add_explicit(&gw_hot.round, 1, memory_order_relaxed);
	note_sandbox();
	look_at_clock();
	gw_threads_spare();
	gw_threads_tend(now);
	gw_sample_tick(now);
	gw_copies_look(now);
	gw_control_tick(now);
	if (!worker.begun && gw_drain_pending())
		begin();
	if (!worker.begun) {
		gw_recycle(round);
		gw_pm_tick(now, 0);
		if (gw_windows_tick(0, 0))
			gw_windows_close();
		return 0;
	}
	/* Launches first: they are predicted from what is known before the next records. */
	gw_live_clock();
	gw_live_log(gw_log_name());
	gw_live_tick(gw_log_written());
	gw_children_tick(now);
	events = worker.came + gw_drain(gw_launch_event);
	gw_gpu_clock_tick(now);
	gw_registry_write_news();
	gw_stacks_log(now);
	/* Then code analysis: results that are there precede any measurement of these launches. */
	gw_analysis_run(look_after, last);
	gw_work_publish(gw_launches_predictors());
	gw_pm_tick(now, events);
	ended = !last && gw_windows_tick(events, gw_drain_fullest());
	if (last || ended || !gw_analysis_defers_join(gw_join_waiting()))
		take_times(now, last || ended, last || (ended && !gw_attach_stays()));
	if (ended)
		gw_windows_close();
	worker.came = gw_drain(gw_launch_event); /* meanwhile: rings are to be as empty as can be */
	gw_counter_attribution_tick(now, worker.flushed_ns, last);
	gw_work_publish(gw_launches_predictors());
	/* Work may fill a file of a ring, so that it has a new one: once a span. */
	if (gw_aggregate_due(now, last) || !gw_log_ring())
		worker.losses = gw_log_losses();
	gw_work_repeat(gw_launches_predictors(), worker.losses);
	gw_publish_predictions();
	choose_reader(now);
	gw_recycle(round);
	if (gw_aggregate_due(now, last) || now - worker.written_ns > WRITE_MS * GW_MS)
		gw_launch_graphs_show();
	if (gw_aggregate_tick(now, last)) {
		worker.span_over = true;
		gw_graph_sums_write();
	}
	if (last || now - worker.written_ns > WRITE_MS * GW_MS) {
		count_cpu(now);
		show_totals();
		if (last || (write_due() && counters_due(now)))
			write_counters();
		if (last || write_due() || gw_log_urgent())
			gw_log_flush();
		worker.span_over = false;
		worker.written_ns = now;
	}
	worker.took = events + worker.came;
	return worker.took;
}

/* Nothing was launched or ended for long, and no window is under way. */
static bool at_rest(uint64_t quiet_ns)
{
	return quiet_ns > IDLE_AFTER_MS * GW_MS && !gw_counter_attribution_waits() &&
	       gw_windows_pause(IDLE_MS) == IDLE_MS;
}

/* Whether there were launches or kernels' ends in a round. */
static bool busy_round(void)
{
	uint64_t joined = atomic_load(&gw_counters[GW_COUNTER_joined]);

	return cycle(false) || atomic_load(&gw_counters[GW_COUNTER_joined]) != joined;
}

static uint64_t rest_ms(uint64_t quiet_ns)
{
	return quiet_ns > DOZE_AFTER_MS * GW_MS && gw_options.mode != GW_MODE_AUDIT ? DOZE_MS
										    : SLEEP_MS;
}

static void sleep_between_rounds(void)
{
	uint64_t quiet = gw_steady_ns() - worker.busy_ns, ms = WAKE_MS;

	if (gw_analysis_waits()) /* threads that have nothing left to do ring */
		ms = gw_analysis_inline() ? BUSY_MS : WAKE_MS;
	else if (at_rest(quiet))
		return gw_bell_sleep_until_launch(gw_deadline_in(rest_ms(quiet) * GW_MS),
						  gw_drain_pending);
	else if (quiet > IDLE_AFTER_MS * GW_MS)
		ms = IDLE_MS;
	else if (gw_options.mode != GW_MODE_AUDIT && worker.took < WAKE_FEW &&
		 gw_windows_rest() > WAKE_FAR_MS * GW_MS)
		ms = WAKE_FAR_MS; /* waking up takes the worker as long as a hundred launches */
	gw_bell_sleep(gw_deadline_in(gw_windows_pause(ms) * GW_MS));
}

static void say(bool *what)
{
	pthread_mutex_lock(&worker.lock);
	*what = true;
	pthread_cond_signal(&worker.done);
	pthread_mutex_unlock(&worker.lock);
}

/* Serve threads that still run after exit() has begun, until our exit handler, or long enough. */
static void rest(void)
{
	uint64_t until;

	gw_attach_tried();
	gw_gpu_clock_stop();
	gw_windows_suspend(true);
	until = gw_deadline_in(FINISH_MS * GW_MS);
	say(&worker.resting);
	while (!worker.finish && gw_steady_ns() < until)
		gw_bell_sleep(until);
	pthread_mutex_lock(&worker.lock);
	worker.leaving = false;
	pthread_mutex_unlock(&worker.lock);
	gw_windows_suspend(false);
}

static bool alone(void)
{
	uint64_t now = gw_steady_ns();

	if (now - worker.alone_ns < ALONE_MS * GW_MS)
		return false;
	worker.alone_ns = now;
	return gw_alone();
}

/* In a round that began after an exiting program asked. */
static void look_what_is_unfinished(void)
{
	if (!gw_analysis_unfinished())
		say(&worker.held);
}

static void write_last_word(void)
{
	struct gw_record_end r = {.ns = gw_wall_ns()};

	gw_registry_driver_gone();
	if (!worker.begun && gw_drain_pending())
		begin();
	if (!worker.begun)
		return gw_live_end();
	gw_drain(gw_launch_event);
	gw_registry_write_news();
	gw_stacks_log(gw_steady_ns());
	gw_launches_measured(true);
	gw_launch_graphs_show();
	gw_aggregate_tick(gw_steady_ns(), true);
	gw_graph_sums_write();
	gw_episodes_finish();
	gw_analysis_finish();
	write_counters();
	r.records = gw_log_ring() ? 0 : atomic_load(&gw_counters[GW_COUNTER_log_records]) + 1;
	gw_log_write(GW_RECORD_END, &r, sizeof(r), NULL, 0);
	gw_aggregate_copy();
	gw_log_close();
	if (gw_log_written() == gw_log_block() + 1) /* a disk that stalls: it has the rest */
		gw_live_end();
}

static void run(void)
{
	bool holding;

	gw_registry_ask_driver();
	gw_header_ask_driver();
	worker.busy_ns = worker.alone_ns = gw_steady_ns();
	while (!worker.finish) {
		if (atomic_exchange(&worker.attach, false))
			gw_attach_first();
		holding = atomic_load(&worker.holding);
		if (busy_round())
			worker.busy_ns = worker.alone_ns = gw_steady_ns();
		if (holding)
			look_what_is_unfinished();
		if (worker.leaving)
			rest();
		else if (!worker.finish && !worker.attach)
			sleep_between_rounds();
		if (alone())
			worker.finish = worker.alone = true;
	}
	gw_attach_tried();
	gw_pm_stop(); /* exit() did so first, but there is none where nobody is left to call it */
	gw_gpu_clock_stop();
	gw_pm_over();
	cycle(true);
	gw_analysis_stop();
	gw_windows_stop();
	if (worker.begun) {
		uint64_t totals[GW_COUNTERS];

		gw_log_settle(); /* which file it is */
		gw_totals_sum(totals);
		gw_summary_print(gw_launches_score(), totals);
	}
	say(&worker.finished);
	/* The process may end with our last thread, where a handler of exit() ended the last other
	 * one: the log's must end, too. */
	while (!worker.alone && !worker.close && !(worker.alone = alone()))
		gw_bell_sleep(gw_deadline_in(ALONE_MS * GW_MS));
	write_last_word();
	say(&worker.closed);
}

bool gw_pipeline_start(bool forbidden)
{
	static const struct gw_windows_calls calls = {.sampler = gw_pm_sampler,
						      .waiting = gw_join_waiting,
						      .opened = gw_pm_records_begin,
						      .ending = gw_pm_records_end};

	memset(&worker, 0, sizeof(worker));
	pthread_mutex_init(&worker.lock, NULL);
	pthread_cond_init(&worker.done, NULL);
	worker.started_ns = gw_steady_ns();
	gw_bell_start();
	gw_own_use_start();
	if (!gw_registry_start() || !gw_launches_start())
		return false;
	gw_aggregate_start();
	gw_sample_start();
	gw_arguments_start();
	gw_code_start();
	gw_gpu_clock_start();
	gw_episodes_start();
	gw_host_time_start();
	gw_children_start();
	gw_stacks_log_start(gw_launches_config);
	gw_analysis_start(gw_options.analyze_code ? gw_analysis_threads_usual() : 0);
	gw_digests_start();
	gw_work_start();
	gw_pm_start();
	gw_counter_attribution_start();
	gw_device_profile_start(gw_launches_predictors());
	gw_header_start();
	gw_attach_start(gw_ring_correlate);
	gw_attach_reports(gw_module_reports_wanted,
			  gw_module_reports_start() ? gw_module_reported : NULL);
	gw_windows_start(forbidden, &calls);
	gw_control_start(forbidden);
	return gw_memory_tables() && gw_spawn("gpuwatch", run);
}

bool gw_pipeline_attach(void)
{
	sigset_t all, before;
	bool there;

	/* A signal handler that does not return must not leave with the lock. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&worker.lock);
	there = !worker.leaving && !worker.resting && !worker.finish;
	worker.attach = there;
	gw_bell_ring();
	pthread_mutex_unlock(&worker.lock);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return there;
}

/* Under the lock: wake the worker and wait until it has done as asked. */
static void wait_for_worker(const bool *done)
{
	const uint64_t begin = gw_steady_ns(), most = FINISH_MS * GW_MS;
	const uint64_t left = most - (worker.waited_ns < most ? worker.waited_ns : most);

	gw_bell_ring();
	while (!*done && !worker.finished &&
	       gw_deadline_wait(&worker.done, &worker.lock, begin + left))
		;
	worker.waited_ns += gw_steady_ns() - begin;
}

/* Of launches that the exiting thread has in flight none will end. */
static void settle_own(void)
{
	if (gw_self)
		gw_ring_settle(gw_self);
}

void gw_pipeline_hold(uint64_t most)
{
	const uint64_t begin = gw_steady_ns(), part = (begin - worker.started_ns) / HOLD_PART,
		       deadline = begin + (most < part ? most : part);

	settle_own();
	gw_pm_finish(deadline);
	pthread_mutex_lock(&worker.lock);
	worker.held = false;
	worker.holding = true;
	gw_bell_ring();
	while (!worker.held && !worker.finished &&
	       gw_deadline_wait(&worker.done, &worker.lock, deadline))
		;
	worker.holding = false;
	pthread_mutex_unlock(&worker.lock);
	gw_count(GW_COUNTER_exit_wait_ns, gw_steady_ns() - begin);
}

void gw_pipeline_leave(void)
{
	settle_own();
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
	const uint64_t deadline = gw_deadline_in(2 * FINISH_MS * GW_MS);

	settle_own();
	pthread_mutex_lock(&worker.lock);
	worker.close = true;
	gw_bell_ring();
	while (worker.finished && !worker.closed &&
	       gw_deadline_wait(&worker.done, &worker.lock, deadline))
		;
	pthread_mutex_unlock(&worker.lock);
}

void gw_pipeline_abandon(void)
{
	gw_live_abandon();
	gw_threads_abandon();
	gw_spawn_forget();
	gw_pm_abandon();
	gw_log_abandon();
}
