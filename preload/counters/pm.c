#include "preload/counters/pm.h"

#include "preload/counters/counter_attribution.h"
#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/cupti/other_profiler.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/maps/own_use.h"
#include "preload/counters/gpu_turn.h"
#include "preload/counters/pm_answers.h"
#include "preload/counters/pm_parts.h"
#include "preload/counters/pm_sets.h"
#include "preload/runtime/process.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/spawn.h"
#include "preload/live/live.h"
#include "preload/maps/state.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define MS GW_MS

enum {
	BEGIN_MS = 20,       /* after the first launch: programs of one moment need no sampler */
	SETUP_MS = 250,      /* of CPU before the first session, and … */
	SESSION_MS = 600,    /* … for one, at least (both on an H200) */
	SESSION_WINDOWS = 8, /* of one set in a row: as expensive as configuring it; … */
	FIRST_WINDOWS = 16,  /* … of the first set, where answers are missing */
	WATCH_WINDOWS = 6,   /* in mode watch: one in each window of records or event pairs */
	RECORDS_MS = 10000,  /* that a session waits for one of those */
	GAP_MS = 15,         /* between them, and … */
	GAP_ANSWERS_MS = 5,  /* … where answers are missing */
	BEHIND_MS = 1000,    /* that the worker is waited for */
	IDLE_MS = 200,       /* without a launch or a kernel's end: nothing to sample */
	LOOK_MS = 20,        /* how often that is looked at */
	STOP_MS = 5000,
	LOOK_NS = 200000, /* between looks of who waits for the thread */
};

/* Shared */
static struct {
	pthread_mutex_t lock; /* for the condition alone */
	pthread_cond_t wake;
	_Atomic int stop, running;
	_Atomic uint64_t stop_by; /* its end is waited for until then, by all; 0: nobody has yet */
	_Atomic int ending;       /* the program's end is held for the window under way: no other */
	_Atomic int paused; /* another tool has libcupti, or comes: the thread keeps out of it … */
	_Atomic int inside;          /* … and may be in it */
	_Atomic uint64_t busy_ns;    /* when something was last launched or ended */
	_Atomic int at_rest;         /* until then: the thread waits for the next */
	_Atomic uint32_t device;     /* that the last kernel ran on */
	_Atomic int placed;          /* a launch showed which GPU that is */
	_Atomic uint64_t first_ns;   /* when the first launch was seen, 0: there was none yet: from
					then on budget is earned */
	_Atomic int waits;           /* the thread waits for a window of records or pairs */
	_Atomic uint64_t records_ns; /* since when launches have records, 0: they have none */
	_Atomic uint64_t lag_ns;     /* by which kernels start after their launch was called */
} pm;

/* The worker's */
static struct {
	bool decided;       /* started, or never will be */
	uint64_t opened_ns; /* CLOCK_REALTIME of the window no kernel of which has come, or 0 */
} seen;

/* The thread's */
static struct {
	uint64_t session_ns; /* of CPU that the next session is expected to take */
	bool set_up;         /* one session was taken or tried */
	unsigned answers;    /* the set of the session under way, where the budget does not rule
				it; GW_PM_SETS: it does */
	int windows, ran;    /* of it, until now, that went well; in which kernels did */
	struct gw_pm_sampler sampler;
	uint64_t met_ns; /* pm.records_ns of the window that was last sampled in */
} own;

/* ---- stopping ---- */

static bool stopping(void)
{
	return atomic_load(&pm.stop) != 0;
}

/* Whether the thread is to be out of libcupti as soon as it can. */
static bool leaving(void)
{
	return stopping() || gw_sandboxed() ||
	       (atomic_load(&pm.inside) &&
		(atomic_load(&pm.paused) || (gw_options_watch() && gw_other_profiler_busy())));
}

/* Both sides say first what they do, then look for the other: see gw_pm_records_end. */
static bool enter(void)
{
	if (!gw_sandbox_enter())
		return false;
	atomic_store(&pm.inside, 1);
	if (!atomic_load(&pm.paused))
		return true;
	atomic_store(&pm.inside, 0);
	gw_sandbox_leave();
	return false;
}

/* Under the lock, as gw_deadline_wait(). A thread that enters a sandbox or takes libcupti wakes
 * nobody, and may wait for us: inside, the thread looks whether it is to leave. */
static bool wait_until(uint64_t deadline)
{
	const uint64_t look = gw_deadline_in(LOOK_MS * MS);

	if (!atomic_load(&pm.inside) || deadline <= look)
		return gw_deadline_wait(&pm.wake, &pm.lock, deadline);
	gw_deadline_wait(&pm.wake, &pm.lock, look);
	return true;
}

/* Sleep until @p ns have passed or it is time to leave; true: leave. */
static bool doze(uint64_t ns)
{
	const uint64_t deadline = gw_deadline_in(ns);

	pthread_mutex_lock(&pm.lock);
	while (!leaving() && wait_until(deadline))
		;
	pthread_mutex_unlock(&pm.lock);
	return leaving();
}

static void wake(void)
{
	pthread_mutex_lock(&pm.lock);
	pthread_cond_signal(&pm.wake);
	pthread_mutex_unlock(&pm.lock);
}

void gw_pm_stop(void)
{
	int saved = errno;
	uint64_t none = 0;

	if (!gw_process_ours())
		return;
	atomic_store(&pm.stop, 1);
	if (!atomic_load(&pm.running))
		return;
	atomic_compare_exchange_strong(&pm.stop_by, &none, gw_deadline_in(STOP_MS * MS));
	wake();
	gw_pause_while(&pm.running, LOOK_NS, atomic_load(&pm.stop_by));
	errno = saved;
}

void gw_pm_finish(uint64_t deadline)
{
	atomic_store(&pm.ending, 1);
	while (atomic_load(&pm.running) && gw_pm_window_in(GW_PM_OPEN) && gw_steady_ns() < deadline)
		gw_pause(MS);
}

void gw_pm_records_begin(void)
{
	atomic_store(&pm.paused, 0);
	if (atomic_load(&gw_hot.exact))
		gw_counter_attribution_exact();
	seen.opened_ns = gw_wall_ns();
	atomic_store(&pm.records_ns, gw_steady_ns());
	if (atomic_load(&pm.running))
		wake();
}

void gw_pm_records_end(void)
{
	atomic_store(&pm.records_ns, 0);
	gw_counter_attribution_exact_end();
	/* A tool that comes later finds us held (cupti/windows.c), and has this called again. */
	if (gw_options_watch() && !gw_other_profiler_busy())
		return;
	atomic_store(&pm.paused, 1);
	if (!atomic_load(&pm.running))
		return;
	wake();
	gw_pause_while(&pm.inside, LOOK_NS, gw_deadline_in(STOP_MS * MS));
}

void gw_pm_records_ran(uint64_t ns)
{
	const uint64_t lag = ns - seen.opened_ns;

	if (seen.opened_ns) /* the clock may have been set meanwhile */
		atomic_store(&pm.lag_ns, lag < RECORDS_MS * MS ? lag : 0);
	seen.opened_ns = 0;
}

void gw_pm_abandon(void)
{
	atomic_store(&pm.stop, 1);
	atomic_store(&pm.running, 0);
	atomic_store(&pm.inside, 0);
}

/* ---- what the thread spends ---- */

static uint64_t cpu_ns(void)
{
	uint64_t ns = gw_thread_cpu_ns();

	atomic_store(&gw_counters[GW_COUNTER_pm_cpu_ns], ns);
	return ns;
}

/* How long to wait until the next session fits the budget, ns; answers come before it. */
static uint64_t debt(void)
{
	const uint64_t budget = gw_options.budget; /* it may become 0 at any time */
	uint64_t lived = gw_steady_ns() - atomic_load(&pm.first_ns);
	uint64_t needed;

	if (!gw_options_sample() || gw_sheds(GW_SHED_COUNTERS)) /* the mode may have changed */
		return UINT64_MAX;
	if (gw_pm_answers_wanted())
		return 0;
	needed = cpu_ns() - gw_pm_answers_cpu() + own.session_ns;
	needed = budget ? needed / budget * 100 : UINT64_MAX;
	return needed > lived ? needed - lived : 0;
}

/* ---- windows ---- */

static bool busy(void)
{
	return gw_steady_ns() - atomic_load(&pm.busy_ns) < IDLE_MS * MS;
}

/* Until something is launched, or it is time to leave. Both sides say first what they do. */
static void wait_for_launches(void)
{
	pthread_mutex_lock(&pm.lock);
	atomic_store(&pm.at_rest, 1);
	while (!leaving() && !busy())
		pthread_cond_wait(&pm.wake, &pm.lock);
	atomic_store(&pm.at_rest, 0);
	pthread_mutex_unlock(&pm.lock);
}

/* After a pause of @p gap ms, and when one is free: the worker keeps them until it knows what ran
 * meanwhile. */
static bool wait_for_window(int gap)
{
	for (int waited = 0; waited < BEHIND_MS; waited += gap) {
		if (gap ? doze((uint64_t)gap * MS) : leaving())
			return false;
		gap = gap ? gap : GAP_ANSWERS_MS;
		if (gw_pm_window_in(GW_PM_FREE))
			return true;
	}
	return false;
}

/* Since when launches have records that had none in the window that was last sampled in; 0: they
 * have none. */
static uint64_t records_anew(void)
{
	uint64_t since = atomic_load(&pm.records_ns);

	return since != own.met_ns ? since : 0;
}

/* In mode watch: until kernels run that have records or event pairs, those launched in a window,
 * behind what was queued when it was opened. False: there was no such window for long. */
static bool wait_for_records(void)
{
	const uint64_t until = gw_deadline_in(RECORDS_MS * MS);
	uint64_t now, start, since = 0;

	pthread_mutex_lock(&pm.lock);
	atomic_store(&pm.waits, 1);
	while (!leaving() && !(since = records_anew()) && wait_until(until))
		;
	atomic_store(&pm.waits, 0);
	pthread_mutex_unlock(&pm.lock);
	if (!since || leaving())
		return false;
	own.met_ns = since;
	start = since + atomic_load(&pm.lag_ns);
	now = gw_steady_ns();
	return start <= now || !doze(start - now);
}

/* The set to be sampled next: where answers are missing, or the next in turn. */
static const struct gw_cupti_set *choose(unsigned *set)
{
	const struct gw_cupti_set *cupti;

	if (!gw_pm_answers_wanted())
		return gw_pm_sets_next(gw_pm_chip_name(), gw_pm_chip_availability(), set);
	cupti = gw_pm_sets_best(gw_pm_chip_name(), gw_pm_chip_availability(), gw_pm_answers_worth,
				set);
	if (cupti)
		own.answers = *set;
	return cupti;
}

static CUptiResult configure(uint32_t device, const struct gw_cupti_set *set, uint64_t every,
			     const char **what)
{
	CUptiResult r;

	*what = "cuptiPmSamplingEnable";
	r = gw_pm_open(&own.sampler, device);
	if (r != CUPTI_SUCCESS || leaving())
		return r;
	*what = "cuptiPmSamplingSetConfig";
	r = gw_pm_configure(&own.sampler, set, every);
	gw_pm_used(3);
	return r;
}

/* Setting up is costly, a window is cheap: in mode watch, where windows come one by one, more. */
static int windows_of_session(void)
{
	if (gw_options_watch())
		return WATCH_WINDOWS;
	return own.answers == 0 ? FIRST_WINDOWS : SESSION_WINDOWS;
}

static CUptiResult session(const char **what)
{
	uint32_t device = atomic_load(&pm.device);
	const struct gw_cupti_set *cupti;
	uint64_t every = gw_pm_interval();
	unsigned set;
	CUptiResult r;
	int gap = 0; /* the first window of a session needs none */

	*what = "cuptiDeviceGetChipName";
	r = gw_pm_chip_know(device);
	gw_pm_used(0);
	if (r != CUPTI_SUCCESS || leaving())
		return r;
	*what = "cuptiProfilerHostConfigAddMetrics";
	cupti = choose(&set);
	gw_pm_used(2);
	if (!cupti) /* what was missing may be what the chip does not collect */
		return gw_pm_sets_any() ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
	if (leaving())
		return CUPTI_SUCCESS;
	r = configure(device, cupti, every, what);
	for (int i = 2 * windows_of_session(); /* in case no kernel runs in some */
	     r == CUPTI_SUCCESS && i-- && own.ran < windows_of_session();) {
		if (!wait_for_window(gap) || atomic_load(&pm.ending))
			break;
		if (gw_options_watch() && !wait_for_records())
			break;
		if (!gw_options_sample() || gw_sheds(GW_SHED_COUNTERS) || gw_gpu_turn_over())
			break; /* changed meanwhile, or others' turn */
		gap = own.answers < GW_PM_SETS ? GAP_ANSWERS_MS : GAP_MS;
		if (!busy())
			continue;
		r = gw_pm_window_take(&own.sampler, set, every, doze, what, &own.ran);
		own.windows += r == CUPTI_SUCCESS;
	}
	gw_pm_close(&own.sampler);
	gw_pm_used(6);
	if (!leaving() && gw_pm_chip_refused(r))
		r = CUPTI_SUCCESS; /* the next session has sets for what is left */
	gw_pm_used(1);
	return r;
}

/* Of libcupti's nothing is kept for later where another tool may end it (cuptiFinalize). A set
 * that is ready holds 1 MiB, and is made in 4 ms. */
static void leave(void)
{
	if (atomic_load(&pm.paused) || gw_other_profiler_busy())
		gw_pm_chip_forget();
	gw_pm_sets_release();
	gw_gpu_turn_give();
	atomic_store(&pm.inside, 0);
	gw_sandbox_leave();
}

/* libcupti opens its libraries (0.1 s of CPU on an H200) while the program makes its context and
 * copies its data. What fails is tried again, and reported, by the first session. */
static void prepare(void)
{
	if (!enter())
		return;
	gw_pm_chip_know(atomic_load(&pm.device));
	gw_pm_used(0);
	leave();
}

/* Where another process has its turn with the GPU's sampler, ours comes later. */
static bool may_begin(void)
{
	if (!gw_pm_window_in(GW_PM_FREE) || !enter())
		return false;
	if (gw_gpu_turn_take(atomic_load(&pm.device)))
		return true;
	leave();
	doze(GW_GPU_TURN_TRY_MS * MS);
	return false;
}

/* A session took @p cost ns of CPU: what the next may take. */
static void expect(uint64_t cost)
{
	own.session_ns = own.set_up && cost > SESSION_MS * MS ? cost : SESSION_MS * MS;
	own.set_up = true;
}

/* A session; false: no more of them. */
static bool turn(void)
{
	const char *what = "";
	uint64_t before = cpu_ns(), cost, wait;
	CUptiResult r;

	own.answers = GW_PM_SETS;
	own.windows = own.ran = 0;
	r = session(&what);
	leave();
	cost = cpu_ns() - before;
	expect(cost);
	if (own.answers < GW_PM_SETS)
		gw_pm_answers_took(own.answers, cost, own.windows * 2 >= windows_of_session(),
				   own.ran * 2 >= own.windows);
	if (r != CUPTI_SUCCESS && r != CUPTI_ERROR_MAX_LIMIT_REACHED) {
		wait = gw_pm_failed(what, r);
		doze(wait);
		return wait && !stopping();
	}
	gw_pm_failure_over();
	return true;
}

/* Until the program has launched for a while; false: it ends before. */
static bool wait_for_beginning(void)
{
	while (!leaving()) {
		const uint64_t first = atomic_load(&pm.first_ns), now = gw_steady_ns();

		if (!first)
			wait_for_launches();
		else if (now - first < BEGIN_MS * MS || !atomic_load(&pm.placed))
			doze(LOOK_MS * MS);
		else
			return true;
	}
	return !stopping();
}

/* Once it is known which GPU the program uses. */
static bool begin(void)
{
	const char *why;

	if (!wait_for_beginning())
		return false;
	gw_gpu_turn_start(gw_live_path());
	why = gw_pm_against(atomic_load(&pm.device));
	if (why)
		gw_degrade(GW_DEGRADED_COUNTERS, "no counters: %s", why);
	return !why;
}

static void take_turns(void)
{
	while (!stopping() && !gw_sandboxed() && !atomic_load(&pm.ending)) {
		uint64_t wait = debt();

		if (!busy())
			wait_for_launches();
		else if (wait)
			doze(wait < 500 * MS ? wait : 500 * MS);
		else if (!may_begin())
			doze(LOOK_MS * MS);
		else if (!turn())
			break;
	}
}

static void run(void)
{
	own.session_ns = (SETUP_MS + SESSION_MS) * MS;
	prepare();
	if (begin())
		take_turns();
	cpu_ns();
	if (*gw_pm_failure_last() && !gw_pm_sampled())
		gw_degrade_asked(GW_DEGRADED_COUNTERS, "no counters: %s", gw_pm_failure_last());
	atomic_store(&pm.running, 0);
}

/* ---- the worker's side ---- */

void gw_pm_start(void)
{
	memset(&pm, 0, sizeof(pm));
	gw_pm_windows_start();
	memset(&seen, 0, sizeof(seen));
	memset(&own, 0, sizeof(own));
	pthread_mutex_init(&pm.lock, NULL);
	pthread_cond_init(&pm.wake, NULL);
	gw_pm_failure_start();
	gw_pm_chip_start();
	gw_pm_interval_start();
	gw_pm_sets_start();
	gw_pm_answers_start();
	if (gw_options.counters != GW_COUNT_PM)
		return;
	/* Mode count promises launches only. */
	if ((gw_options.mode == GW_MODE_AUDIT || gw_options_watch()) && !gw_options.budget)
		gw_degrade_asked(GW_DEGRADED_COUNTERS, "no counters: %s", "GPUWATCH_BUDGET is 0");
}

void gw_pm_tick(uint64_t now_ns, uint32_t launches)
{
	char missing[256];
	const uint64_t first = atomic_load(&pm.first_ns);
	const char *why;

	if (launches)
		atomic_store(&pm.busy_ns, now_ns);
	if (launches &&
	    !first) /* from then on budget is earned, also while another tool is there */
		atomic_store(&pm.first_ns, now_ns);
	if (launches && atomic_load(&pm.at_rest))
		wake();
	if (seen.decided || !gw_options_sample() ||
	    !(gw_activity_on() || atomic_load(&pm.records_ns)))
		return;
	if (!launches && !first && gw_pm_against(atomic_load(&pm.device)))
		return; /* said with the first launch */
	seen.decided = true;
	if (!gw_cupti_open(missing, sizeof(missing))) {
		gw_degrade_asked(GW_DEGRADED_COUNTERS, "no counters: %s", missing);
		return;
	}
	why = gw_pm_against(atomic_load(&pm.device));
	if (why) {
		gw_degrade(GW_DEGRADED_COUNTERS, "no counters: %s", why);
		return;
	}
	atomic_store(&pm.running, 1);
	if (stopping() || !gw_spawn("gpuwatch-pm", run))
		atomic_store(&pm.running, 0);
}

bool gw_pm_sampling(void)
{
	return atomic_load_explicit(&pm.running, memory_order_relaxed) != 0;
}

enum gw_sampler gw_pm_sampler(void)
{
	const bool running = atomic_load(&pm.running);

	if (!gw_options_sample() || stopping() ||
	    (!running && (seen.decided || !gw_pm_answers_earned(atomic_load(&pm.first_ns)))))
		return GW_SAMPLER_NONE;
	if (!running || atomic_load(&pm.paused))
		return GW_SAMPLER_START;
	if (gw_pm_window_in(GW_PM_OPEN))
		return GW_SAMPLER_SAMPLES;
	return atomic_load(&pm.waits) ? GW_SAMPLER_WAITS : GW_SAMPLER_RESTS;
}

void gw_pm_over(void)
{
	const uint64_t first = atomic_load(&pm.first_ns);

	if (!gw_options_sample() || gw_sandboxed() ||
	    (gw_pm_sampled() && (atomic_load(&gw_counters[GW_COUNTER_counted]) ||
				 !atomic_load(&gw_counters[GW_COUNTER_pm_other_profiler]))) ||
	    (seen.decided && gw_pm_against(atomic_load(&pm.device))))
		return;
	gw_pm_never(!gw_activity_on() && !gw_options_watch(), first);
}

/* Records wait behind a kernel that does not end: until the first one has come, launches show the
 * GPU. */
void gw_pm_launched(int device)
{
	if (device < 0 || gw_pm_interval_known())
		return;
	atomic_store_explicit(&pm.placed, 1, memory_order_relaxed);
	atomic_store_explicit(&pm.device, (uint32_t)device, memory_order_relaxed);
}

void gw_pm_ran(uint32_t device, uint64_t ns)
{
	gw_pm_interval_ran(ns);
	atomic_store_explicit(&pm.placed, 1, memory_order_relaxed);
	atomic_store_explicit(&pm.device, device, memory_order_relaxed);
}
