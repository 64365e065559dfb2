#include "preload/lifecycle.h"

#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/runtime/await.h"
#include "preload/launch/call.h"
#include "preload/runtime/degrade.h"
#include "preload/cupti/other_profiler.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/driver.h"
#include "preload/worker/first_attach.h"
#include "preload/worker/pipeline.h"
#include "preload/counters/pm.h"
#include "preload/runtime/process.h"
#include "preload/runtime/sandbox.h"
#include "preload/launch/threads.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum phase {
	UNSTARTED, /* the driver has not been used */
	STARTING,  /* one thread is at it; calls pass through */
	RUNNING,
	FINISHED, /* exit has begun: no more CUDA or CUPTI calls of ours */
	FORKED,   /* a child: nothing of the parent's is usable */
	OFF,
};

enum reading { UNREAD, READING, READ };

static _Atomic int phase;
static _Atomic int options_known; /* enum reading */
static _Atomic int closed;        /* the last word is written */
static pid_t owner;
static bool forked;       /* this is a child */
static bool was_attached; /* by the parent of a forked child */
/* This thread reads the options or starts: a signal handler of it may be here, and must not wait.
 */
static _Thread_local bool at_it __attribute__((tls_model("initial-exec")));

static void options_once(void)
{
	int saved = errno, expected = UNREAD;
	bool before = at_it;

	/* Pairs with the release below: the options are read. */
	if (atomic_load_explicit(&options_known, memory_order_acquire) == READ)
		return;
	if (!atomic_compare_exchange_strong(&options_known, &expected, READING) && !at_it)
		gw_await(&options_known, READING);
	/* Nobody else may ever do so: this may be a signal handler in the midst of it. The values
	 * are the same each time. */
	if (atomic_load_explicit(&options_known, memory_order_acquire) != READ) {
		at_it = true;
		if (gw_sandboxed()) /* they take system calls to read */
			gw_options.mode = GW_MODE_OFF;
		else
			gw_options_read();
		at_it = before;
		/* Pairs with the acquires above. */
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

	forked = true;
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

void gw_hold_exit(void)
{
	static _Atomic int held;
	int saved = errno;

	if (gw_options.mode == GW_MODE_AUDIT && gw_options.exit_wait && !forked && still_ours() &&
	    atomic_load(&phase) == RUNNING && !gw_sandboxed() && !atomic_exchange(&held, 1))
		gw_pipeline_hold(gw_options.exit_wait * GW_MS);
	errno = saved;
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
	if (atomic_load(&phase) == FINISHED && still_ours() && !atomic_exchange(&closed, 1))
		gw_pipeline_close();
}

/*
 * A thread that still launches while exit() takes down libcupti and the driver may crash the
 * program, so the remaining work is done now and not during teardown. What is launched from here
 * on is not in the log.
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
	atomic_store(&gw_hot.untimed, gw_options.mode == GW_MODE_AUDIT ? 0 : GW_UNTIMED);
	atomic_store(&gw_hot.reads, GW_HOT_READS);
	return true;
}

static bool launch_allowed(void);

/* No reason: all is there. */
static const char *get_ready(void)
{
	static _Atomic int registered;

	if (!gw_driver_resolve())
		return "libcuda.so.1 is not among the loaded libraries: gpuwatch is off";
	if (!gw_libm_find())
		return "libm.so.6 is not as it should be: gpuwatch is off";
	if (!reserve())
		return "no memory for gpuwatch's tables: gpuwatch is off";
	gw_environment_copy();
	gw_sandbox_prepare();
	gw_threads_init(launch_allowed);
	if (gw_options.rejected[0])
		gw_degrade(GW_DEGRADED_OPTION, "%s", gw_options.rejected);
	if (!gw_pipeline_start(was_attached))
		return "no memory or no thread for gpuwatch's worker: gpuwatch is off";
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
	/* In this order: a thread that waits for RUNNING must find it active. */
	if (running)
		/* Pairs with the acquires in the wrappers (hook/hooks.c) and called()
		 * (hook/injection.c). */
		atomic_store_explicit(&gw_hot.active,
				      gw_options.mode == GW_MODE_IDLE ? GW_HOT_UNSEEN : GW_HOT_ON,
				      memory_order_release);
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
	/* The parent's CUPTI state is in this process, its threads are not. */
	gw_first_attach_reset(was_attached);
	if (was_attached)
		gw_degrade(GW_DEGRADED_FORK,
			   "forked while the GPU was in use: launches are counted, not timed");
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

void gw_before_context_create(void)
{
	if (atomic_load(&phase) == RUNNING)
		gw_first_attach_wait();
}

static bool launch_allowed(void)
{
	int p;

	gw_on_driver_ready(); /* waits while another thread starts */
	p = atomic_load(&phase);
	if (p == RUNNING)
		gw_before_context_create();
	return p == RUNNING || p == FINISHED;
}
