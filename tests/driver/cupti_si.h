#ifndef GW_TESTS_DRIVER_CUPTI_SI_H
#define GW_TESTS_DRIVER_CUPTI_SI_H

#include "si_private.h"

#include <cupti.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <pthread.h>
#include <stdatomic.h>

/* What the two halves of the stand-in libcupti share. */

/* The driver's private table; NULL where the libcuda.so.1 found is not the stand-in's. */
const struct si_private *sc_driver(void);
extern struct si_cupti_hooks sc_hooks;
/* The version cuptiGetVersion reports, and with it the layout of the records. */
uint32_t sc_version(void);
/* A failure asked for by STANDIN_FAIL, traced; CUPTI_SUCCESS otherwise. */
CUptiResult sc_enter(const char *name);
/* A kernel was scheduled while activity is enabled: what PM sampling counts. */
void sc_pm_kernel(const struct si_execution *execution);
/* Kernels are counted from now on, whether they have activity records or not. */
void sc_watch_kernels(void);
/* They have. */
bool sc_activity_traces_kernels(void);
/* Held while records are delivered and the client's callbacks run (cupti_activity.c). */
extern pthread_mutex_t sc_delivery_lock;
/* The clock that records are reported in (cupti_clock.c): at one moment, and how fast it goes. */
struct sc_clock {
	uint64_t now, reported; /* the driver's time, and what is reported for it */
	double rate;
};
struct sc_clock sc_clock_look(void);
uint64_t sc_clock_reported(const struct sc_clock *clock, uint64_t ns);
int64_t sc_clock_offset(void); /* STANDIN_CLOCK_OFFSET, ns */
void sc_clock_forget(void);    /* cuptiFinalize's part */
void sc_activity_stop(void);   /* cuptiFinalize's half */

#define SC_ENTER() \
	do { \
		CUptiResult entered_ = sc_enter(__func__); \
		if (entered_ != CUPTI_SUCCESS) \
			return entered_; \
	} while (0)
#define SC_API SI_EXPORT CUptiResult CUPTIAPI

/* Metrics of the stand-in: what each is worth, and data collected of them. */

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
