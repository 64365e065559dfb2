/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/pm.h"

#include "preload/activity.h"
#include "preload/clock.h"
#include "preload/degrade.h"
#include "preload/exit_watch.h"
#include "preload/injection.h"
#include "preload/options.h"
#include "preload/pm_sets.h"
#include "preload/spawn.h"
#include "preload/state.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

enum {
	DEVICES = 64,
	SETUP_MS = 450,        /* of CPU before the first session, and … */
	SESSION_MS = 600,      /* … for one, at least (both on an H200) */
	SESSION_WINDOWS = 8,   /* of one set before the next has its turn: as dear as configuring it */
	GAP_MS = 15,           /* between them */
	IDLE_MS = 200,         /* without a launch or a kernel's end: nothing to sample */
	LOOK_MS = 20,          /* how often that is looked at */
	RETRY_MS = 500,        /* after the first failure; twice that after each further one … */
	RETRY_MAX_MS = 60000,  /* … up to here */
	FAILURES_SAID = 3,     /* of one kind in a row are worth a word */
	STOP_MS = 5000,
	WINDOW_SAMPLES = 240,  /* GW_PM_SAMPLES and some to spare */
	INTERVAL_NS = 20000,   /* shorter ones overflow */
	INTERVAL_MAX_NS = 200000,
	SAMPLES_A_KERNEL = 16, /* of a kernel so long that it needs no shorter interval */
};

/* Shared */
static struct {
	pthread_mutex_t lock; /* for the condition alone */
	pthread_cond_t wake;
	_Atomic int stop, running;
	pid_t process; /* that has the thread */
	_Atomic uint64_t busy_ns;              /* when something was last launched or ended */
	_Atomic uint64_t kernel_ns;            /* a typical kernel's time, by share of GPU time */
	_Atomic uint32_t device;               /* that the last kernel ran on */
	_Atomic uint64_t hz[DEVICES], hz_ns[DEVICES]; /* bits of a double */
	struct gw_pm_window window[GW_PM_WINDOWS];
} pm;

/* The worker's; what is set before the thread starts it may read. */
static struct {
	uint64_t first_ns; /* when the first launch was seen: from then on budget is earned */
	bool decided;      /* started, or never will be */
	double mean_ns, weight; /* of kernels' times, weighted by time */
} seen;

/* The thread's */
static struct {
	uint64_t session_ns; /* of CPU that the next session is expected to take */
	bool set_up;         /* one session was taken or tried */
	uint64_t retry_ms;
	unsigned failures;
	uint8_t *availability;
	const char *chip;
	uint32_t chip_device;
	struct gw_pm_sampler sampler;
	bool late[8]; /* stages whose exit handler is registered */
} own;

/* ---- stopping ------------------------------------------------------------------------------- */

static bool stopping(void)
{
	return atomic_load(&pm.stop) != 0;
}

/* Sleep until @p ns have passed or it is time to stop; true: stop. */
static bool doze(uint64_t ns)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += (time_t)(ns / 1000000000u);
	until.tv_nsec += (long)(ns % 1000000000u);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&pm.lock);
	while (!stopping() && !pthread_cond_timedwait(&pm.wake, &pm.lock, &until))
		;
	pthread_mutex_unlock(&pm.lock);
	return stopping();
}

void gw_pm_stop(void)
{
	const struct timespec pause = {0, 200000};
	int saved = errno;

	atomic_store(&pm.stop, 1);
	if (!atomic_load(&pm.running))
		return;
	if (pm.process != getpid()) { /* made by a bare clone(): our thread is not in here */
		atomic_store(&pm.running, 0);
	} else {
		pthread_mutex_lock(&pm.lock);
		pthread_cond_signal(&pm.wake);
		pthread_mutex_unlock(&pm.lock);
	}
	for (int i = 0; i < STOP_MS * 5 && atomic_load(&pm.running); i++)
		nanosleep(&pause, NULL);
	errno = saved;
}

void gw_pm_abandon(void)
{
	atomic_store(&pm.stop, 1);
	atomic_store(&pm.running, 0);
	gw_exit_watch_forked();
}

/*
 * libcupti makes static objects as late as by the first use of a function. Where exit() is not
 * called by the main thread, the handlers registered here, after each first use, come before
 * their destructors.
 */
static void used(unsigned stage)
{
	if (own.late[stage])
		return;
	own.late[stage] = true;
	atexit(gw_pm_stop);
}

/* ---- what the thread spends ----------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	atomic_store(&gw_counters[GW_COUNTER_pm_cpu_ns],
	             (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The time in which the budget allows for @p cpu of CPU, both ns. */
static uint64_t earned_in(uint64_t cpu)
{
	return cpu / gw_options.budget * 100;
}

/* How long to wait until the next session fits the budget, ns. */
static uint64_t debt(void)
{
	uint64_t lived = gw_now_ns() - seen.first_ns;
	uint64_t needed = earned_in(cpu_ns() + own.session_ns);

	return needed > lived ? needed - lived : 0;
}

/* ---- failures ------------------------------------------------------------------------------- */

static const char *text_of(CUptiResult r)
{
	const char *text = NULL;

	gw_cupti.cuptiGetResultString(r, &text);
	return text ? text : "unknown error";
}

/* What failed, and whether trying again can help. */
static bool failed(const char *what, CUptiResult r)
{
	gw_count(GW_COUNTER_pm_failed, 1);
	own.failures++;
	switch (r) {
	case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
		gw_degrade(GW_DEGRADED_COUNTERS,
		           "no counters: %s: %s (the administrator of this machine can allow "
		           "them: NVreg_RestrictProfilingToAdminUsers=0)",
		           what, text_of(r));
		return false;
	case CUPTI_ERROR_NOT_SUPPORTED:
	case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
	case CUPTI_ERROR_INVALID_DEVICE:
		gw_degrade(GW_DEGRADED_COUNTERS, "no counters on this GPU: %s: %s", what, text_of(r));
		return false;
	default:
		break;
	}
	if (own.failures == FAILURES_SAID)
		gw_degrade(GW_DEGRADED_COUNTERS, "counters are not to be had for now: %s: %s", what,
		           text_of(r));
	own.retry_ms = own.retry_ms ? own.retry_ms * 2 : RETRY_MS;
	if (own.retry_ms > RETRY_MAX_MS)
		own.retry_ms = RETRY_MAX_MS;
	return !doze(own.retry_ms * MS);
}

/* ---- windows -------------------------------------------------------------------------------- */

static bool busy(void)
{
	return gw_now_ns() - atomic_load(&pm.busy_ns) < IDLE_MS * MS;
}

/* Long kernels need no short interval; a coarser one sees more of them for the same cost. */
static uint64_t interval(void)
{
	uint64_t ns = atomic_load(&pm.kernel_ns) / SAMPLES_A_KERNEL;

	if (ns < INTERVAL_NS)
		return INTERVAL_NS;
	return ns < INTERVAL_MAX_NS ? ns : INTERVAL_MAX_NS;
}

static struct gw_pm_window *window_free(void)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		if (atomic_load(&pm.window[i].state) == GW_PM_FREE)
			return &pm.window[i];
	return NULL;
}

/* Cycles over time, in the sets that count them. */
static void note_clock(const struct gw_pm_window *w)
{
	const struct gw_pm_set *set = gw_pm_set(w->set);
	double cycles = 0, ns = 0;
	bool told = false;

	for (unsigned m = 0; m < set->count; m++) {
#define METRIC(set, name, field, factor, idle)
#define CLOCK(number, name) told |= set->row[m] == GW_PM_CLOCK_##number;
#include "preload/pm_metric.def"
#undef METRIC
#undef CLOCK
		for (size_t i = 1; told && i < w->count; i++) {
			cycles += w->sample[i].value[m];
			ns += (double)(w->sample[i].end - w->sample[i].begin);
		}
		if (told)
			break;
	}
	if (ns > 0 && cycles > 0 && w->device < DEVICES) {
		double hz = cycles / ns * 1e9;
		uint64_t bits;

		memcpy(&bits, &hz, sizeof(bits));
		atomic_store(&pm.hz[w->device], bits);
		atomic_store(&pm.hz_ns[w->device], w->end);
	}
}

/* One window, from beginning to hand-over. The sampler is configured. */
static CUptiResult take_window(unsigned set, uint64_t every, const char **what)
{
	struct gw_pm_window *w = window_free();
	bool overflow = false;
	CUptiResult r;

	if (!w) /* the worker is behind */
		return CUPTI_SUCCESS;
	w->device = (uint32_t)own.sampler.device;
	w->set = set;
	w->count = 0;
	w->end = 0;
	atomic_store(&w->begin, gw_now_ns());
	atomic_store(&w->state, GW_PM_OPEN);
	*what = "cuptiPmSamplingStart";
	r = gw_pm_begin(&own.sampler);
	if (r == CUPTI_SUCCESS) {
		used(4);
		doze(every * WINDOW_SAMPLES);
		*what = "cuptiPmSamplingStop";
		r = gw_pm_end(&own.sampler);
	}
	if (r == CUPTI_SUCCESS && !stopping()) {
		*what = "cuptiPmSamplingDecodeData";
		r = gw_pm_read(&own.sampler, w->sample, GW_PM_SAMPLES, &w->count, &overflow);
		used(5);
	}
	if (w->count)
		w->end = w->sample[w->count - 1].end;
	if (w->count)
		note_clock(w);
	gw_count(GW_COUNTER_pm_windows, w->count != 0);
	gw_count(GW_COUNTER_pm_samples, w->count);
	atomic_store(&w->state, GW_PM_READY);
	if (r == CUPTI_SUCCESS && overflow) {
		gw_count(GW_COUNTER_pm_overflows, 1);
		r = CUPTI_ERROR_MAX_LIMIT_REACHED; /* this sampler does not start again */
	}
	return r;
}

/* Ask once which chip it is and what of it is left to us. */
static CUptiResult know_chip(uint32_t device, const char **what)
{
	CUptiResult r = CUPTI_SUCCESS;

	if (own.chip && own.chip_device == device)
		return r;
	*what = "cuptiDeviceGetChipName";
	own.chip = gw_cupti_chip(device, &r);
	used(0);
	if (!own.chip)
		return r;
	own.chip_device = device;
	free(own.availability);
	*what = "cuptiPmSamplingGetCounterAvailability";
	own.availability = gw_pm_availability(device, &r);
	used(1);
	if (!own.availability)
		own.chip = NULL;
	return r;
}

/* Some windows of the next set in turn. */
static CUptiResult session(const char **what)
{
	uint32_t device = atomic_load(&pm.device);
	const struct gw_cupti_set *cupti;
	uint64_t every = interval();
	unsigned set;
	CUptiResult r = know_chip(device, what);

	if (r != CUPTI_SUCCESS || stopping())
		return r;
	*what = "cuptiProfilerHostConfigAddMetrics";
	cupti = gw_pm_sets_next(own.chip, own.availability, &set);
	used(2);
	if (!cupti)
		return CUPTI_ERROR_NOT_SUPPORTED;
	if (stopping())
		return CUPTI_SUCCESS;
	*what = "cuptiPmSamplingEnable";
	r = gw_pm_open(&own.sampler, device);
	if (r == CUPTI_SUCCESS && !stopping()) {
		*what = "cuptiPmSamplingSetConfig";
		r = gw_pm_configure(&own.sampler, cupti, every);
		used(3);
	}
	gw_activity_copies(true);
	for (int i = 0; r == CUPTI_SUCCESS && i < SESSION_WINDOWS && !doze(GAP_MS * MS); i++)
		if (busy())
			r = take_window(set, every, what);
	gw_activity_copies(false);
	gw_pm_close(&own.sampler);
	used(6);
	return r;
}

/* A session took @p cost ns of CPU: what the next may take. */
static void expect(uint64_t cost)
{
	own.session_ns = own.set_up && cost > SESSION_MS * MS ? cost : SESSION_MS * MS;
	own.set_up = true;
}

static void run(void)
{
	own.session_ns = (SETUP_MS + SESSION_MS) * MS;
	while (!stopping()) {
		const char *what = "";
		uint64_t wait = debt(), before;
		CUptiResult r;

		if (wait && doze(wait < 500 * MS ? wait : 500 * MS))
			break;
		if (wait)
			continue;
		if (!busy()) {
			doze(LOOK_MS * MS);
			continue;
		}
		before = cpu_ns();
		r = session(&what);
		expect(cpu_ns() - before);
		if (r == CUPTI_SUCCESS || r == CUPTI_ERROR_MAX_LIMIT_REACHED) {
			own.failures = 0;
			own.retry_ms = 0;
		} else if (!failed(what, r)) {
			break;
		}
	}
	gw_pm_close(&own.sampler);
	cpu_ns();
	atomic_store(&pm.running, 0);
}

/* ---- the worker's side ---------------------------------------------------------------------- */

void gw_pm_start(void)
{
	memset(&pm, 0, sizeof(pm));
	memset(&seen, 0, sizeof(seen));
	memset(&own, 0, sizeof(own));
	pthread_mutex_init(&pm.lock, NULL);
	pthread_cond_init(&pm.wake, NULL);
	gw_pm_sets_start();
}

/* Why there are to be no counters in this process; NULL: there may be. */
static const char *against(void)
{
	if (!gw_pm_usable())
		return "the libcupti found has no PM sampling (it came with CUDA 12.6)";
	if (!gw_exit_watched())
		return "the program's exit can't be seen in time (loaded by another thread than "
		       "the main one)";
	return NULL;
}

void gw_pm_tick(uint64_t now_ns, uint32_t launches)
{
	const char *why;

	if (launches)
		atomic_store(&pm.busy_ns, now_ns);
	if (seen.decided || gw_options.mode != GW_MODE_AUDIT ||
	    gw_options.counters != GW_COUNT_PM || !gw_options.budget || !gw_activity_on())
		return;
	if (!seen.first_ns)
		seen.first_ns = launches ? now_ns : 0;
	if (!seen.first_ns || now_ns - seen.first_ns < earned_in((SETUP_MS + SESSION_MS) * MS) ||
	    !busy() || seen.weight <= 0)
		return;
	seen.decided = true;
	why = against();
	if (why) {
		gw_degrade(GW_DEGRADED_COUNTERS, "no counters: %s", why);
		return;
	}
	pm.process = getpid();
	atomic_store(&pm.running, 1);
	if (stopping() || !gw_spawn("gpuwatch-pm", run))
		atomic_store(&pm.running, 0);
}

void gw_pm_ran(uint32_t device, uint64_t ns)
{
	const double memory = 1e10; /* about the last ten seconds of GPU time */
	double weight = (double)ns;

	seen.weight = fmin(seen.weight, memory) + weight;
	seen.mean_ns += ((double)ns - seen.mean_ns) * weight / seen.weight;
	atomic_store_explicit(&pm.kernel_ns, (uint64_t)seen.mean_ns, memory_order_relaxed);
	atomic_store_explicit(&pm.device, device, memory_order_relaxed);
}

struct gw_pm_window *gw_pm_window(unsigned index)
{
	return &pm.window[index];
}

double gw_pm_sm_hz(uint32_t device, uint64_t *when_ns)
{
	uint64_t bits = device < DEVICES ? atomic_load(&pm.hz[device]) : 0;
	double hz = NAN;

	if (when_ns)
		*when_ns = bits ? atomic_load(&pm.hz_ns[device]) : 0;
	if (bits)
		memcpy(&hz, &bits, sizeof(hz));
	return hz;
}
