/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/lifecycle.h"

#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/runtime/await.h"
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/cupti/other_profiler.h"
#include "preload/hook/hooks.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/worker/pipeline.h"
#include "preload/counters/pm.h"
#include "preload/runtime/process.h"
#include "preload/runtime/block_signals.h"
#include "preload/runtime/sandbox.h"
#include "preload/launch/threads.h"
#include "preload/launch/object_lifetime.h"
#include "preload/cupti/windows.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { UNTIMED = 7 }; /* of a thread's launches each eighth is timed in modes watch and count */

enum phase {
	UNSTARTED, /* the driver has not been used */
	STARTING,  /* one thread is at it; calls pass through */
	RUNNING,
	FINISHED, /* exit has begun: no more CUDA or CUPTI calls of ours */
	FORKED,   /* a child: nothing of the parent's is usable */
	OFF,
};

enum attaching {
	NOT_YET,
	UNDER_WAY, /* the program's threads wait */
	ENDING,    /* it has worked, and they will not have to wait any longer */
	TRIED,
	GIVEN_UP, /* it takes too long: who waited has launched meanwhile */
};

enum reading { UNREAD, READING, READ };

static _Atomic int phase;
static _Atomic int attached;      /* enum attaching */
static _Atomic int options_known; /* enum reading */
static _Atomic int closed;        /* the last word is written */
static pid_t owner;
static bool was_attached; /* by the parent of a forked child */
/* This thread reads the options or starts: a signal handler of it may be here, and must not wait.
 */
static _Thread_local bool at_it __attribute__((tls_model("initial-exec")));

static void options_once(void)
{
	int saved = errno, expected = UNREAD;
	bool before = at_it;

	if (atomic_load_explicit(&options_known, memory_order_acquire) == READ)
		return;
	if (!atomic_compare_exchange_strong(&options_known, &expected, READING) && !at_it)
		gw_await(&options_known, READING);
	/* Nobody else may ever do so: this may be a signal handler in the midst of it. The values
	 * are the same each time. */
	if (atomic_load_explicit(&options_known, memory_order_acquire) != READ) {
		at_it = true;
		gw_options_read();
		at_it = before;
		atomic_store_explicit(&options_known, READ, memory_order_release);
		gw_await_wake(&options_known);
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
	int p = atomic_load(&phase), reading = READING;

	gw_await_anew();
	atomic_compare_exchange_strong(&options_known, &reading, UNREAD);
	if (p != RUNNING && p != FINISHED && p != STARTING)
		return;
	atomic_store(&gw_hot.active, 0);
	atomic_store(&phase, FORKED);
	gw_self = NULL;
	was_attached = gw_attach_count() != 0;
	gw_attach_abandon();
	gw_activity_gone();
	gw_other_profiler_abandon();
	gw_pipeline_abandon();
}

/* Before the first thread of ours can be in the midst of anything. */
__attribute__((constructor)) static void at_load(void)
{
	pthread_atfork(NULL, NULL, in_child);
}

static bool still_ours(void)
{
	/* A child made by a bare clone() runs our handlers too: it must not touch the log. */
	return owner == getpid();
}

void gw_quiesce(void)
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
		gw_pipeline_finish();
	}
}

/* After every exit handler: write down what was launched since, without CUDA or CUPTI. */
__attribute__((destructor)) static void at_unload(void)
{
	if (atomic_load(&phase) == FINISHED && still_ours() && !atomic_exchange(&closed, 1)) {
		struct gw_blocked_signals quiet;

		gw_block_signals_begin(&quiet);
		gw_pipeline_close();
		gw_block_signals_end(&quiet);
	}
}

/*
 * A thread that launches on while exit() takes down libcupti and the driver under it may crash the
 * program until the very end: nothing of ours prolongs that which can be done now. What is
 * launched from here on is not in the log.
 */
void gw_shutdown_if_threads_remain(void)
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
	gw_hot.shared = gw_memory_reserve(sizeof(struct gw_shared));
	if (!gw_hot.shared)
		return false;
	gw_memory_fixed();
	gw_hot.untimed = gw_options.mode == GW_MODE_AUDIT ? 0 : UNTIMED;
	return true;
}

/* No reason: all is there. */
static const char *get_ready(void)
{
	static _Atomic int registered;

	if (!gw_driver_resolve())
		return "libcuda.so.1 is not among the loaded libraries: nothing is watched";
	if (!reserve())
		return "no memory for gpuwatch's tables: nothing is watched";
	gw_sandbox_prepare();
	gw_threads_init();
	if (gw_options.rejected[0])
		gw_degrade(GW_DEGRADED_OPTION, "%s", gw_options.rejected);
	if (!gw_pipeline_start(was_attached))
		return "no memory or no thread for gpuwatch's worker: nothing is watched";
	if (!atomic_exchange(&registered, 1)) {
		atexit(at_exit);
		at_quick_exit(at_quick);
	}
	return NULL;
}

static bool start_outside(void)
{
	const char *why;

	if (gw_options.mode == GW_MODE_OFF || !gw_sandbox_enter())
		return false;
	why = get_ready();
	gw_sandbox_leave();
	if (why)
		gw_degrade(GW_DEGRADED_OTHER, "%s", why);
	return !why;
}

/*
 * Neither a signal handler nor pthread_cancel() takes the thread away in the midst of it: no
 * function of the driver is called here, so signals wait for a moment only. Those of a fault do
 * not: some programs handle faults and go on.
 */
static void start(void)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
	bool running;
	sigset_t most, before;
	int cancel;

	sigfillset(&most);
	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		sigdelset(&most, faults[i]);
	pthread_sigmask(SIG_BLOCK, &most, &before);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	at_it = true;
	owner = getpid();
	options_once();
	running = start_outside();
	/* In this order: who waits for RUNNING must find it active. */
	if (running)
		atomic_store_explicit(&gw_hot.active, 1, memory_order_release);
	atomic_store(&phase, running ? RUNNING : OFF);
	gw_await_wake(&phase);
	at_it = false;
	pthread_setcancelstate(cancel, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gw_on_driver_ready(void)
{
	int saved = errno, expected = UNSTARTED;

	if (atomic_compare_exchange_strong(&phase, &expected, STARTING))
		start();
	else if (expected == STARTING && !at_it)
		gw_await(&phase, STARTING);
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
	gw_memory_start();
	gw_degraded_reset();
	atomic_store(&attached, NOT_YET);
	if (was_attached) {
		/* The parent's CUPTI state is in this process, its threads are not. */
		atomic_store(&attached, TRIED);
		gw_degrade(GW_DEGRADED_FORK,
		           "forked while the GPU was in use: launches are counted, not timed");
	}
	start();
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
		gw_on_driver_ready();
		break;
	case STARTING:
		gw_on_driver_ready();
		break;
	case FORKED:
		start_over();
		break;
	default:
		break;
	}
	return atomic_load(&gw_hot.active) != 0;
}

/* Attached: the program's threads will not go on before this is done, unless they have already. */
static bool in_time(void)
{
	int expected = UNDER_WAY;

	return atomic_compare_exchange_strong(&attached, &expected, ENDING);
}

void gw_attach_tried(void)
{
	int before = atomic_exchange(&attached, TRIED);

	if (before == UNDER_WAY || before == ENDING)
		gw_await_wake(&attached);
}

void gw_attach_first(void)
{
	gw_windows_first(in_time);
	gw_attach_tried();
}

/*
 * The worker attaches: libcupti and the driver may take long, and whoever waits for them may be
 * cancelled or leave by siglongjmp(), which must not happen in the midst of libcupti. Injected, we
 * are in a callback of libcupti's, and only this thread may go on.
 */
static void attach(void)
{
	int cancel;

	if (!gw_injection_active()) {
		if (!gw_pipeline_attach())
			gw_attach_tried();
		return;
	}
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	gw_attach_first();
	pthread_setcancelstate(cancel, NULL);
}

void gw_before_context_create(void)
{
	int saved = errno, state = NOT_YET;
	uint64_t begin;

	if (gw_options.mode != GW_MODE_AUDIT || atomic_load(&phase) != RUNNING ||
	    atomic_load(&attached) >= TRIED || gw_attach_here())
		return;
	begin = gw_ticks();
	if (atomic_compare_exchange_strong(&attached, &state, UNDER_WAY))
		attach();
	state = UNDER_WAY;
	if (!gw_await(&attached, UNDER_WAY) &&
	    atomic_compare_exchange_strong(&attached, &state, GIVEN_UP))
		gw_degrade_asked(GW_DEGRADED_NO_CUPTI, "attaching to libcupti takes too long: the "
		                                       "first kernels have no times");
	gw_await(&attached, ENDING);
	gw_attach_since(begin);
	errno = saved;
}

bool gw_launch_allowed(void)
{
	int p;

	gw_on_driver_ready(); /* waits while another thread starts */
	p = atomic_load(&phase);
	if (p == RUNNING)
		gw_before_context_create();
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
	gw_degrade(GW_DEGRADED_TABLE_FULL,
	           "more than %d green contexts at a time: streams of the others may be taken for "
	           "those of ended ones",
	           GREENS);
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
