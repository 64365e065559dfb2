/*
 * A program that puts itself into a sandbox (seccomp) decides which system calls its process makes
 * from then on, and a filter may kill the process for any other. A filter applies to all threads
 * where the program says so, gpuwatch's included. So the calls that come before one, prctl() and
 * syscall(), pass through the library (sandbox_hook.c), and from then on gpuwatch makes the calls
 * of sandbox.def alone: no file is opened, no thread started, no library loaded, nothing said.
 */
#ifndef GW_SANDBOX_H
#define GW_SANDBOX_H

#include <stdbool.h>

/** Whether the process is, or is about to be, in a sandbox of its own making. Never false again. */
bool gw_sandboxed(void);

/** As few calls are to be made from the start on: not all of ours go to functions. */
void gw_sandbox_from_start(void);

/** Have libc make now what system calls it makes once in a process, at the first use of a function.
 */
void gw_sandbox_prepare(void);

/**
 * Before and after system calls that are not in sandbox.def, on any thread. False: they must not be
 * made. A program that is about to enter a sandbox waits for those who are inside, bounded, so be
 * brief. Nests.
 */
bool gw_sandbox_enter(void);
void gw_sandbox_leave(void);

/** prctl() and seccomp() with these arguments are about to be called. Keeps errno. */
void gw_sandbox_prctl(int option, unsigned long mode, unsigned long filter);
void gw_sandbox_seccomp(unsigned operation, const void *filter);

#endif
