/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prctl() and syscall(), stood in for: by these a program enters a sandbox. Every call goes on to
 * the next library's function by a jump, with all registers and the stack as they came, because
 * both take any number of arguments. Exported under their names by the linker (CMakeLists.txt).
 * They may be called in any state of the process: before our constructor has run, in signal
 * handlers, in a child of vfork().
 */
#include "preload/hook/dl.h"
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

#define SAVE(seen)                                                                                 \
	"	pushq %rdi\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rsi\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rdx\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rcx\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %r8\n"                                                                             \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %r9\n"                                                                             \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	pushq %rax\n"                                                                            \
	"	.cfi_adjust_cfa_offset 8\n"                                                              \
	"	call " seen "\n"                                                                   \
	"	popq %rax\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %r9\n"                                                                              \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %r8\n"                                                                              \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rcx\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rdx\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rsi\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"                                                             \
	"	popq %rdi\n"                                                                             \
	"	.cfi_adjust_cfa_offset -8\n"
/* @p test jumps to 1 for the calls to be looked at. */
#define STAND_IN(name, test, seen, next, raw)                                                      \
	".text\n"                                                                                  \
	".globl " name "\n"                                                                        \
	".type " name ", @function\n" name ":\n"                                                   \
	"	.cfi_startproc\n"                                                                        \
	"	endbr64\n" test "0:\n"                                                             \
	"	movq " next "(%rip), %r11\n"                                                       \
	"	testq %r11, %r11\n"                                                                      \
	"	je " raw "\n"                                                                      \
	"	jmp *%r11\n"                                                                             \
	"1:\n" SAVE(seen) "	jmp 0b\n"                                                              \
	                  "	.cfi_endproc\n"                                                        \
	                  ".size " name ", .-" name "\n"
#define TEXT(x)  TEXT_(x)
#define TEXT_(x) #x

/* 22: PR_SET_SECCOMP, 38: PR_SET_NO_NEW_PRIVS */
__asm__(STAND_IN("gw_prctl",
                 "	cmpl $22, %edi\n"
                 "	je 1f\n"
                 "	cmpl $38, %edi\n"
                 "	je 1f\n",
                 "gw_seen_prctl", "gw_next_prctl", "gw_raw_prctl")
                STAND_IN("gw_syscall",
                         "	cmpl $" TEXT(__NR_prctl) ", %edi\n"
                                                         "	je 1f\n"
                                                         "	cmpl $" TEXT(
                                                                 __NR_seccomp) ", %edi\n"
                                                                               "	je 1f\n",
                         "gw_seen_syscall", "gw_next_syscall", "gw_raw_syscall"));

__attribute__((constructor)) static void resolve(void)
{
	gw_dl_init();
	gw_next_prctl = gw_real_dlsym(RTLD_NEXT, "prctl");
	gw_next_syscall = gw_real_dlsym(RTLD_NEXT, "syscall");
}

long gw_raw_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d, r8 __asm__("r8") = e, r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
	                 : "=a"(result)
	                 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
	                 : "rcx", "r11", "memory");
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
