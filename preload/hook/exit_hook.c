/*
 * exit() itself, stood in for: its caller may be any thread, and glibc destroys thread-local
 * objects of that thread alone. Exported as `exit` by the linker (CMakeLists.txt), so that tests
 * which link these files keep libc's.
 */
#include "preload/runtime/linker/real_dl.h"
#include "preload/hook/exit_watch.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static void (*next)(int status);

__attribute__((noreturn, visibility("default"))) void gw_exit(int status);

__attribute__((constructor)) static void resolve(void)
{
	gw_dl_init();
	*(void **)&next = gw_real_dlsym(RTLD_NEXT, "exit");
}

void gw_exit(int status)
{
	if (!next) /* another library's constructor calls it */
		resolve();
	gw_exit_begins();
	if (next)
		next(status);
	_exit(status); /* a libc without exit() */
}
