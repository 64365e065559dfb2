/* What ran on a GPU in this hour, by program, build and configuration, in bounded memory. */
#ifndef GW_AGENT_WORK_H
#define GW_AGENT_WORK_H

#include "cli/agent/store/hours.h"

enum {
	WORK_PLACES = 512, /**< configurations of a GPU that are followed; others are in the sum */
	WORK_ROWS = 24,    /**< rows with their own sums, those with the most GPU time */
};

struct agent_work;

struct agent_work *agent_work_new(void);
void agent_work_free(struct agent_work *work);

/**
 * Add launches: all but the times, the GPU and the clock of @p row are set; @p gpu_ns and the
 * others come from @p d, the clock in Hz from @p sm_hertz (0: unknown).
 */
void agent_work_add(struct agent_work *work, const struct hours_work *row,
		    const struct agent_sum *d, double sm_hertz);

/** The rows so far into @p out, WORK_ROWS + 1 at most; returns how many. */
size_t agent_work_rows(const struct agent_work *work, struct hours_work *out);

/** An hour has ended: there are none. */
void agent_work_clear(struct agent_work *work);

/**
 * The build of the program of process @p pid, OWNER_TEXT bytes; "" where it can't be read.
 * @p proc: where /proc is.
 */
void agent_build_of(const char *proc, uint32_t pid, char *out);

/** Take service.version from @p text, the value of OTEL_RESOURCE_ATTRIBUTES. */
void agent_build_version(const char *text, char *out);

#endif
