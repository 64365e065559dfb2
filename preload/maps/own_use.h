/*
 * What gpuwatch's own threads take, and what mode watch does without where that is more than
 * GPUWATCH_CPU_MAX. CPU time is earned while the program runs and spent by our threads; a program
 * begins with GW_OWN_USE_AHEAD_MS of it, for its first answers. Where it is used up, one thing more
 * of predictor/log/shed.def is left every GW_OWN_USE_STEP_MS until that is enough, and taken up
 * again, the last one first, every GW_OWN_USE_BACK_MS once half of the advance is there again.
 */
#ifndef GW_OWN_USE_H
#define GW_OWN_USE_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_OWN_USE_AHEAD_MS = 3000, /**< of CPU, in advance, and the most that is saved or owed */
	GW_OWN_USE_STEP_MS = 5000,  /**< between one step and the next */
	GW_OWN_USE_BACK_MS = 20000, /**< between one step back and the next */
	GW_SHED_ONE_WINDOW_OF = 8,  /**< the pause between windows is so many times as long */
};

/** What is left, each with all before it. */
enum gw_shed {
	GW_SHED_NOTHING,
#define SHED(NAME, name) GW_SHED_##NAME,
#include "predictor/log/shed.def"
#undef SHED
	GW_SHEDS
};

/** Start with nothing shed. */
void gw_own_use_start(void);

/**
 * Until @p now_ns (gw_steady_ns()) all threads of gpuwatch have taken @p cpu_ns of CPU: shed what
 * is next or take it up again. Worker only, every second or so.
 */
void gw_own_use_tick(uint64_t now_ns, uint64_t cpu_ns);

/** Whether @p what is done without now. Any thread. */
bool gw_sheds(enum gw_shed what);

#endif
