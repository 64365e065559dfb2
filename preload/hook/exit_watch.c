#include "preload/hook/exit_watch.h"

#include "preload/lifecycle.h"
#include "preload/counters/pm.h"
#include "preload/runtime/process.h"

#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *library);
extern void *__dso_handle;

void gw_exit_begins(void)
{
	if (!gw_process_ours()) /* a child of vfork(): its memory is the parent's */
		return;
	gw_hold_exit();
	gw_quiesce();
	gw_pm_stop();
	gw_shutdown_if_threads_remain();
}

static void leaving(void *unused)
{
	(void)unused;
	gw_exit_begins();
}

/*
 * As the library is loaded: by the loader on the main thread, or, injected, on the thread that
 * initialised the driver, which most often is the main one too.
 */
__attribute__((constructor)) static void watch(void)
{
	if (syscall(SYS_gettid) != getpid())
		return;
	if (!__cxa_thread_atexit_impl(leaving, NULL, &__dso_handle))
		gw_process_exit_watched();
}
