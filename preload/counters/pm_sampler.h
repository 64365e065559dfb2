/*
 * Samples of a GPU's counters, while its kernels run and without disturbing them (CUPTI PM
 * sampling). One thread only. A GPU has one sampler at a time, whichever process opened it.
 */
#ifndef GW_PM_SAMPLER_H
#define GW_PM_SAMPLER_H

#include "preload/cupti/cupti_host.h"
#include "predictor/counters/attribute.h"

enum { GW_PM_SAMPLES = 256 /**< most samples of a window */ };

/** A sampler of one device. */
struct gw_pm_sampler {
	size_t device;                   /**< ordinal */
	CUpti_PmSampling_Object *object; /**< NULL: not open */
	const struct gw_cupti_set *set;  /**< what it is configured with */
	uint8_t *data;                   /**< decoded samples, @p size bytes */
	size_t size;
	bool started;
};

/** Whether the libcupti that was found can sample. */
bool gw_pm_usable(void);

/** What of the GPU's counters others leave us; malloc'd, NULL with the reason in @p why. */
uint8_t *gw_pm_availability(size_t device, CUptiResult *why);

/** Open the sampler of a device; some 10 ms. */
CUptiResult gw_pm_open(struct gw_pm_sampler *s, size_t device);

/** Have it collect @p set every @p interval_ns; some 0.1 s. @p set must outlive the use. */
CUptiResult gw_pm_configure(struct gw_pm_sampler *s, const struct gw_cupti_set *set,
			    uint64_t interval_ns);

/** Begin to sample. */
CUptiResult gw_pm_begin(struct gw_pm_sampler *s);

/** Stop. */
CUptiResult gw_pm_end(struct gw_pm_sampler *s);

/**
 * What was sampled since gw_pm_begin: at most @p room samples in @p out, their number in @p count,
 * whether some were lost in @p overflow. After an overflow the sampler has to be closed.
 */
CUptiResult gw_pm_read(struct gw_pm_sampler *s, struct gw_sample *out, size_t room, size_t *count,
		       bool *overflow);

/** Stop what runs and give all back; harmless on one that is not open. */
void gw_pm_close(struct gw_pm_sampler *s);

#endif
