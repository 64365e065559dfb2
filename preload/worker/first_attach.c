#include "preload/worker/first_attach.h"

#include "preload/cupti/attach.h"
#include "preload/cupti/windows.h"
#include "preload/runtime/await.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/hot.h"
#include "preload/runtime/options.h"
#include "preload/runtime/process.h"
#include "preload/worker/pipeline.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

enum attaching {
	NOT_YET,
	UNDER_WAY, /* the program's threads wait */
	LOADER,    /* they do, and the worker waits for the dynamic loader */
	ENDING,    /* it has worked, and they will not have to wait any longer */
	TRIED,
	GIVEN_UP, /* it takes too long: the threads that waited have launched meanwhile */
};

enum { LOADER_NS = 200000000 }; /* longer than most files take to load */

static _Atomic int attached; /* enum attaching */

void gw_first_attach_reset(bool tried)
{
	atomic_store(&attached, tried ? TRIED : NOT_YET);
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

	if (before == UNDER_WAY || before == LOADER || before == ENDING)
		gw_await_wake(&attached);
}

static void becomes(int from, int to)
{
	if (atomic_compare_exchange_strong(&attached, &from, to))
		gw_await_wake(&attached);
}

/*
 * libcupti is loaded under the dynamic loader's lock. A program's constructor that uses CUDA under
 * dlopen() holds that lock, and waits for us: so we say that we wait, before it takes long.
 */
static void pass_loader(void)
{
	void *program;

	becomes(UNDER_WAY, LOADER);
	program = dlopen(NULL, RTLD_LAZY | RTLD_NOLOAD);
	if (program)
		dlclose(program);
	becomes(LOADER, UNDER_WAY);
}

void gw_attach_first(void)
{
	if (!gw_injection_active())
		pass_loader();
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

static void give_up(int state, const char *why)
{
	if (atomic_compare_exchange_strong(&attached, &state, GIVEN_UP))
		gw_degrade_asked(GW_DEGRADED_NO_CUPTI, "%s: the first kernels have no times", why);
}

static void wait_until_attached(void)
{
	int state;

	while ((state = atomic_load(&attached)) == UNDER_WAY || state == LOADER) {
		if (state == UNDER_WAY && !gw_await(&attached, state))
			give_up(state, "attaching to libcupti takes too long");
		else if (state == LOADER && !gw_await_for(&attached, state, LOADER_NS))
			give_up(state, "libcupti cannot be loaded while a dlopen() is under way");
	}
	gw_await(&attached, ENDING);
}

void gw_first_attach_wait(void)
{
	int saved = errno, state = NOT_YET;
	uint64_t begin;

	if (gw_options.mode != GW_MODE_AUDIT || atomic_load(&attached) >= TRIED || gw_attach_here())
		return;
	begin = gw_ticks();
	if (atomic_compare_exchange_strong(&attached, &state, UNDER_WAY))
		attach();
	wait_until_attached();
	gw_attach_since(begin);
	errno = saved;
}
