/*
 * Which process this memory belongs to, and how the library came into it. A child of vfork(),
 * posix_spawn() or clone(CLONE_VM) runs in its parent's memory until it calls exec or ends, and may
 * end by exit(), whose handlers are the parent's. Nothing of the parent's may change there.
 */
#ifndef GW_PROCESS_H
#define GW_PROCESS_H

#include <stdbool.h>

/** False in a child that runs in its parent's memory, or was made by a bare clone(). */
bool gw_process_ours(void);

/** The library came through CUDA_INJECTION64_PATH: from here on launches come from callbacks. */
void gw_injection_begin(void);

/** Whether launches come from callbacks in this process. */
bool gw_injection_active(void);

/** The main thread, which calls this, will notice its exit() before any exit handler. */
void gw_process_exit_watched(void);

/** Whether it will, in this process: a forked child may have another main thread. */
bool gw_exit_watched(void);

#endif
