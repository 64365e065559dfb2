/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the stand-in: what each is worth, and data collected of them. */
#ifndef GW_TESTS_DRIVER_CUPTI_COUNTERS_H
#define GW_TESTS_DRIVER_CUPTI_COUNTERS_H

#include "cupti_si.h"
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

enum { SC_CONFIG_MAGIC = 0x43434647, SC_NAMES = 64 };

/* A configuration image: what to collect. */
struct sc_config {
	uint32_t magic, passes;
	uint32_t count;           /* of sampled metrics … */
	uint8_t metric[SC_NAMES]; /* … and which, rows of cupti_pm.def */
};

/* Row of cupti_pm.def; -1 where the chip has no such metric for sampling. */
int sc_pm_metric(const char *name);
/* What sample @index of @data says of a metric; false where @data holds no samples, or not it. */
bool sc_pm_value(const uint8_t *data, size_t index, const char *name, double *value);

#endif
