/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/lifecycle.h"

#include "preload/activity.h"
#include "preload/attach.h"
#include "preload/call.h"
#include "preload/clock.h"
#include "preload/deep.h"
#include "preload/degrade.h"
#include "preload/dl.h"
#include "preload/foreign.h"
#include "preload/hooks.h"
#include "preload/injection.h"
#include "preload/options.h"
#include "preload/pipeline.h"
#include "preload/pm.h"
#include "preload/quiet.h"
#include "preload/threads.h"
#include "preload/watch.h"
#include "preload/windows.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { UNTIMED = 7 }; /* of a thread's launches each eighth is timed in modes watch and count */

struct gw_hot gw_hot;
_Atomic uint64_t gw_counters[GW_COUNTERS];

enum phase {
	UNSTARTED, /* the driver has not been used */
	STARTING,  /* one thread is at it; calls pass through */
	RUNNING,
	FINISHED, /* exit has begun: no more CUDA or CUPTI calls of ours */
	FORKED,   /* a child: nothing of the parent's is usable */
	OFF,
};

enum attaching { NOT_YET, UNDER_WAY, TRIED };

static _Atomic int phase;
static _Atomic int attached; /* enum attaching */
static _Atomic pid_t busy;   /* the thread that is at STARTING or UNDER_WAY, 0 for none */
static _Atomic int options_known;
static _Atomic int closed; /* the last word is written */
static pid_t owner;
static bool was_attached; /* by the parent of a forked child */

/*
 * Another thread, @p busy_one, is about to leave @p value behind in @p state: its launches and ours
 * must not pass unseen meanwhile. Never for long, and never for ourselves: a signal handler may be
 * here.
 */
static void wait_while(_Atomic int *state, int value, const _Atomic pid_t *busy_one)
{
	const struct timespec pause = {0, 50000};
	pid_t self = (pid_t)syscall(SYS_gettid);

	for (int i = 0; i < 10000 && atomic_load(state) == value && atomic_load(busy_one) != self;
	     i++)
		nanosleep(&pause, NULL);
}

static void options_once(void)
{
	static _Atomic pid_t reader;
	int saved = errno, expected = 0;

	if (atomic_load_explicit(&options_known, memory_order_acquire) == 2)
		return;
	if (atomic_compare_exchange_strong(&options_known, &expected, 1))
		atomic_store(&reader, (pid_t)syscall(SYS_gettid));
	else if (expected == 1)
		wait_while(&options_known, 1, &reader);
	/* Nobody else may ever do so: this may be a signal handler in the midst of it, or a child
	 * that was forked then. The values are the same each time. */
	if (atomic_load_explicit(&options_known, memory_order_acquire) != 2) {
		gw_options_read();
		atomic_store_explicit(&options_known, 2, memory_order_release);
	}
	errno = saved;
}

bool gw_hooking(void)
{
	options_once();
	return gw_options.mode != GW_MODE_OFF && !gw_injection_active();
}

/* A child of fork(): the worker and the parent's mappings of the driver are gone. */
static void in_child(void)
{
	int p = atomic_load(&phase);

	if (p != RUNNING && p != FINISHED && p != STARTING)
		return;
	atomic_store(&gw_hot.active, 0);
	atomic_store(&phase, FORKED);
	gw_self = NULL;
	was_attached = gw_attach_count() != 0;
	gw_attach_abandon();
	gw_activity_gone(false);
	gw_foreign_abandon();
	gw_pipeline_abandon();
}

static bool still_ours(void)
{
	/* A child made by a bare clone() runs our handlers too: it must not touch the log. */
	return owner == getpid();
}

void gw_leave(void)
{
	int saved = errno;

	if (still_ours() && atomic_load(&phase) == RUNNING)
		gw_pipeline_leave();
	errno = saved;
}

static void at_exit(void)
{
	int expected = RUNNING;

	if (still_ours() && atomic_compare_exchange_strong(&phase, &expected, FINISHED)) {
		gw_pm_stop();
		gw_deep_stop();
		gw_pipeline_finish();
	}
}

/* After every exit handler: write down what was launched since, without CUDA or CUPTI. */
__attribute__((destructor)) static void at_unload(void)
{
	if (atomic_load(&phase) == FINISHED && still_ours() && !atomic_exchange(&closed, 1)) {
		struct gw_quiet quiet;

		gw_quiet_begin(&quiet);
		gw_pipeline_close();
		gw_quiet_end(&quiet);
	}
}

/*
 * A thread that launches on while exit() takes down libcupti and the driver under it may crash the
 * program until the very end: nothing of ours prolongs that which can be done now. What is
 * launched from here on is not in the log.
 */
void gw_exit_among_others(void)
{
	if (atomic_load(&phase) != RUNNING || !still_ours() || !gw_threads_others())
		return;
	at_exit();
	at_unload();
}

/* quick_exit() runs neither exit handlers nor destructors. */
static void at_quick(void)
{
	at_exit();
	at_unload();
}

static bool reserve(void)
{
	void *at = mmap(NULL, sizeof(struct gw_shared), PROT_READ | PROT_WRITE,
	                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (at == MAP_FAILED)
		return false;
	gw_hot.shared = at;
	gw_hot.untimed = gw_options.mode == GW_MODE_AUDIT ? 0 : UNTIMED;
	return true;
}

static void start(void)
{
	static _Atomic int registered;

	owner = getpid();
	options_once();
	if (gw_options.mode == GW_MODE_OFF) {
		atomic_store(&phase, OFF);
		return;
	}
	if (!gw_driver_resolve() || !reserve()) {
		gw_degrade(GW_DEGRADED_OTHER,
		           "no memory for gpuwatch's tables: nothing is watched");
		atomic_store(&phase, OFF);
		return;
	}
	gw_threads_init();
	if (gw_options.rejected[0])
		gw_degrade(GW_DEGRADED_OPTION, "%s", gw_options.rejected);
	if (!gw_pipeline_start(was_attached)) {
		gw_degrade(GW_DEGRADED_OTHER,
		           "no thread for gpuwatch's worker: nothing is watched");
		atomic_store(&phase, OFF);
		return;
	}
	if (!atomic_exchange(&registered, 1)) {
		pthread_atfork(NULL, NULL, in_child);
		atexit(at_exit);
		at_quick_exit(at_quick);
	}
	/* In this order: who waits for RUNNING must find it active. */
	atomic_store_explicit(&gw_hot.active, 1, memory_order_release);
	atomic_store(&phase, RUNNING);
}

static void start_here(void)
{
	atomic_store(&busy, (pid_t)syscall(SYS_gettid));
	start();
	atomic_store(&busy, 0);
}

void gw_driver_used(void)
{
	int saved = errno, expected = UNSTARTED;

	if (atomic_compare_exchange_strong(&phase, &expected, STARTING))
		start_here();
	else if (expected == STARTING)
		wait_while(&phase, STARTING, &busy);
	errno = saved;
}

/* A forked child that launches after all: its own tables, worker and log. */
static void start_over(void)
{
	int saved = errno, expected = FORKED;

	if (!atomic_compare_exchange_strong(&phase, &expected, STARTING))
		return;
	memset(gw_counters, 0, sizeof(gw_counters));
	atomic_store(&closed, 0);
	memset(&gw_hot, 0, sizeof(gw_hot));
	gw_degraded_reset();
	atomic_store(&attached, NOT_YET);
	if (was_attached) {
		/* The parent's CUPTI state is in this process, its threads are not. */
		atomic_store(&attached, TRIED);
		gw_degrade(GW_DEGRADED_FORK,
		           "forked while the GPU was in use: launches are counted, not timed");
	}
	start_here();
	errno = saved;
}

bool gw_activate(bool init)
{
	switch (atomic_load(&phase)) {
	case UNSTARTED:
		options_once();
		if (gw_options.mode == GW_MODE_OFF) {
			atomic_store(&phase, OFF);
			return false;
		}
		if (init) /* driver_ready begins, once cuInit has succeeded */
			return true;
		gw_driver_used();
		break;
	case STARTING:
		gw_driver_used();
		break;
	case FORKED:
		start_over();
		break;
	default:
		break;
	}
	return atomic_load(&gw_hot.active) != 0;
}

void gw_context_soon(void)
{
	int saved = errno, expected = NOT_YET;

	if (gw_options.mode != GW_MODE_AUDIT || atomic_load(&phase) != RUNNING ||
	    atomic_load(&attached) == TRIED)
		return;
	if (atomic_compare_exchange_strong(&attached, &expected, UNDER_WAY)) {
		uint64_t begin = gw_ticks();

		atomic_store(&busy, (pid_t)syscall(SYS_gettid));
		gw_windows_first();
		atomic_store(&busy, 0);
		gw_attach_since(begin);
		atomic_store(&attached, TRIED);
	} else if (expected == UNDER_WAY) {
		wait_while(&attached, UNDER_WAY, &busy);
	}
	errno = saved;
}

bool gw_launch_allowed(void)
{
	int p;

	gw_driver_used(); /* waits while another thread starts */
	p = atomic_load(&phase);
	if (p == RUNNING)
		gw_context_soon();
	return p == RUNNING || p == FINISHED;
}

static _Atomic uintptr_t primaries[64];

void gw_primary_set(int device, void *context)
{
	if (device >= 0 && device < 64)
		atomic_store(&primaries[device], (uintptr_t)context);
}

void gw_primary_changed(int device)
{
	unsigned flags;
	int in_use = 0;
	uintptr_t context;

	if (device < 0 || device >= 64)
		return;
	if (gw_driver.cuDevicePrimaryCtxGetState &&
	    gw_driver.cuDevicePrimaryCtxGetState(device, &flags, &in_use) == CUDA_SUCCESS && in_use)
		return;
	context = atomic_load(&primaries[device]);
	if (!context)
		return;
	gw_deep_context_gone((CUcontext)context, false);
	gw_context_gone((CUcontext)context);
}

enum { GREENS = 64 }; /* green contexts at a time; of more, stale streams may be taken for new */
static struct {
	_Atomic uintptr_t green, context;
} greens[GREENS];

/* Each is told often, and by several threads: the same each time. */
void gw_green_set(void *green, void *context)
{
	uintptr_t key = (uintptr_t)green;

	for (int i = 0; i < GREENS; i++) {
		uintptr_t free_place = 0;

		if (atomic_load(&greens[i].green) != key &&
		    !atomic_compare_exchange_strong(&greens[i].green, &free_place, key))
			continue;
		atomic_store(&greens[i].context, (uintptr_t)context);
		return;
	}
}

/* In more than one place, where several threads were told at once. */
void *gw_green_take(void *green)
{
	uintptr_t context = 0;

	for (int i = 0; green && i < GREENS; i++)
		if (atomic_load(&greens[i].green) == (uintptr_t)green) {
			uintptr_t here = atomic_exchange(&greens[i].context, 0);

			context = here ? here : context;
			atomic_store(&greens[i].green, 0);
		}
	return (void *)context;
}
