/*
 * prctl() and syscall(), stood in for: by these a program enters a sandbox. Every call goes on to
 * the next library's function by a jump, with all registers and the stack as they came, because
 * both take any number of arguments. Exported under their names by the linker (CMakeLists.txt).
 * They may be called in any state of the process: before our constructor has run, in signal
 * handlers, in a child of vfork().
 */
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/linker/real_dl.h"
#include "preload/runtime/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/syscall.h>

__attribute__((visibility("hidden"))) void *gw_next_prctl, *gw_next_syscall;

/* Where they go before the constructor has run. */
__attribute__((visibility("hidden"))) long gw_raw_syscall(long number, long a, long b, long c,
							  long d, long e, long f);
__attribute__((visibility("hidden"))) int gw_raw_prctl(int option, long b, long c, long d, long e);
/* The calls that a sandbox may follow; the others are not looked at. */
__attribute__((visibility("hidden"))) void gw_seen_prctl(int option, unsigned long mode,
							 unsigned long filter);
__attribute__((visibility("hidden"))) void gw_seen_syscall(long number, unsigned long a,
							   unsigned long b, unsigned long c);

/* 22: PR_SET_SECCOMP, 38: PR_SET_NO_NEW_PRIVS */
GW_ASM_PASS_ON("gw_prctl", "22", "38", "gw_seen_prctl", "gw_next_prctl", "gw_raw_prctl");
GW_ASM_PASS_ON("gw_syscall", GW_TEXT(__NR_prctl), GW_TEXT(__NR_seccomp), "gw_seen_syscall",
	       "gw_next_syscall", "gw_raw_syscall");

__attribute__((constructor)) static void resolve(void)
{
	gw_dl_init();
	gw_next_prctl = gw_real_dlsym(RTLD_NEXT, "prctl");
	gw_next_syscall = gw_real_dlsym(RTLD_NEXT, "syscall");
}

long gw_raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	long result = gw_raw_call(number, a, b, c, d, e, f);

	if (result < 0 && result > -4096) {
		errno = (int)-result;
		return -1;
	}
	return result;
}

int gw_raw_prctl(int option, long b, long c, long d, long e)
{
	return (int)gw_raw_syscall(SYS_prctl, option, b, c, d, e, 0);
}

void gw_seen_prctl(int option, unsigned long mode, unsigned long filter)
{
	gw_sandbox_prctl(option, mode, filter);
}

void gw_seen_syscall(long number, unsigned long a, unsigned long b, unsigned long c)
{
	if (number == SYS_prctl)
		gw_sandbox_prctl((int)a, b, c);
	else
		gw_sandbox_seccomp((unsigned)a, (const void *)c);
}
