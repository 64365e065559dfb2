/*
 * Sets of metrics, by name, as CUPTI's profilers take them: what a chip is configured to collect
 * together, and what collected data says. All that is here works on the CPU and touches no GPU.
 *
 * libcupti opens libnvperf_host and libnvperf_target for this, whose static objects are destroyed
 * in exit(), some of them made as late as by the first use: a thread that is in here then crashes
 * the program. Call only from a thread that has stopped before (exit_watch.h).
 */
#ifndef GW_CUPTI_HOST_H
#define GW_CUPTI_HOST_H

#include "preload/cupti/cupti.h"

#include <stdbool.h>

/** A set of metrics, ready to be collected and evaluated. */
struct gw_cupti_set {
	CUpti_Profiler_Host_Object *host; /**< NULL: not made */
	const char *const *names;         /**< the caller's, @p count of them */
	size_t count;
	uint8_t *image; /**< what CUPTI is configured with */
	size_t size;    /**< of the image, bytes */
	size_t passes;  /**< how often a kernel would have to run for all of them */
};

/** Name of the chip of device @p device (ordinal); NULL with the reason in @p why. */
const char *gw_cupti_chip(size_t device, CUptiResult *why);

/**
 * Make @p set from @p count names for PM sampling. @p availability: the image of what this GPU can
 * count just now, NULL for all its chip has. Costs about 10 ms of CPU. Where a name is
 * unknown on the chip or refused for this profiler, the error, and nothing is made; a set that
 * takes several passes is made, and says so.
 */
CUptiResult gw_cupti_set_make(struct gw_cupti_set *set, const char *chip,
			      const uint8_t *availability, const char *const *names, size_t count);

/** The metrics' values in sample @p index of collected @p data, one per name. */
CUptiResult gw_cupti_set_values(const struct gw_cupti_set *set, const uint8_t *data, size_t size,
				size_t index, double *values);

/** Give back what was made; harmless on a set that was not. */
void gw_cupti_set_free(struct gw_cupti_set *set);

#endif
