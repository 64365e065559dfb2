/*
 * Measures a GPU: opens it, runs the groups of groups.def in order, and stores their results in a
 * profile. Never changes clocks or power, and never prints: it calls a listener.
 */
#ifndef GW_CALIBRATE_H
#define GW_CALIBRATE_H

#include "predictor/profile/profile.h"

/** Listener; any function may be NULL. Strings are valid for the call. */
struct gw_calibration_listener {
	void *arg;
	/** Progress of group @p group (@p done, 0 to 1) and of the whole (@p all). */
	void (*progress)(void *arg, const char *group, double done, double all);
	/** A remark for the user: a value refused, the clock throttled. */
	void (*note)(void *arg, const char *group, const char *text);
	/** A group has ended. */
	void (*ended)(void *arg, const struct gw_group_run *run, unsigned published,
		      unsigned refused);
};

/** Options of a calibration. */
struct gw_calibration_options {
	unsigned device;          /**< the driver's number of the GPU */
	bool quick;               /**< the short run */
	bool busy;                /**< measure although another process uses the GPU */
	const char *only;         /**< one group; NULL: all */
	const char *samples;      /**< folder for raw samples, must exist; NULL: none */
	const volatile int *stop; /**< set to non-zero to stop; or NULL */
	struct gw_calibration_listener listener;
};

struct gw_calibration;

/** The names of the groups in their order; NULL past the last. */
const char *gw_calibration_group(unsigned i);

/**
 * Open the GPU and check that it can be measured: a driver, embedded kernels, no other user. @p
 * options must outlive the result. NULL with the reason and the remedy in @p error.
 */
struct gw_calibration *gw_calibration_open(const struct gw_calibration_options *options,
					   char *error, size_t size);

/** The GPU as its driver names it. */
const char *gw_calibration_device(const struct gw_calibration *c);

/**
 * Measure into @p profile: values of the groups that run are replaced, all others kept. Returns
 * false with the reason in @p error when nothing may be saved: stopped by the user, or the GPU was
 * lost.
 */
bool gw_calibration_run(struct gw_calibration *c, struct gw_profile *profile, char *error,
			size_t size);

void gw_calibration_close(struct gw_calibration *c);

#endif
