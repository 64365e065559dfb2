/*
 * How models read their inputs: what is not a usable number is unknown (NaN), and the first missing
 * input that a model needs becomes the estimate's reason.
 */
#ifndef GW_INPUTS_H
#define GW_INPUTS_H

#include "model.h"

#include <float.h>
#include <math.h>

/**
 * @p v when it is 0 or more, NaN otherwise (a file may hold anything). Infinity passes:
 * gw_estimate_settle refuses an answer from it, and one comparison less matters where this runs
 * dozens of times per launch.
 */
static inline double gw_usable(double v)
{
	return v >= 0 ? v : NAN;
}

/** Amount of work @p f of the launch; NaN when unknown or unusable. */
static inline double gw_work_value(const struct gw_work *work, enum gw_work_field f)
{
	return gw_usable(work->q[f].value);
}

/** Parameter @p p of the device; NaN when unknown or not above zero. */
static inline double gw_param_value(const struct gw_device *device, enum gw_param p)
{
	double v = gw_param(device, p);

	return v > 0 ? v : NAN;
}

/** A share from 0 to 1, NaN otherwise. */
static inline double gw_share(double v)
{
	return v >= 0 && v <= 1 ? v : NAN;
}

/** @p v, noting @p name as the missing input when it is NaN and nothing else is noted yet. */
static inline double gw_need(struct gw_estimate *e, double v, const char *name)
{
	if (isnan(v) && !e->reason[0])
		gw_estimate_missing(e, name);
	return v;
}

static inline double gw_need_work(struct gw_estimate *e, const struct gw_work *work,
				  enum gw_work_field f)
{
	double v = gw_work_value(work, f);

	return isnan(v) ? gw_need(e, v, gw_work_info(f).name) : v;
}

static inline double gw_need_param(struct gw_estimate *e, const struct gw_device *device,
				   enum gw_param p)
{
	double v = gw_param_value(device, p);

	return isnan(v) ? gw_need(e, v, gw_param_info(p).name) : v;
}

/** The first known of two. */
static inline double gw_either(double a, double b)
{
	return isnan(a) ? b : a;
}

/** Give up with a whole sentence (static or not) instead of the name of an input. */
void gw_estimate_refuse(struct gw_estimate *e, const char *reason);

/** Set the answer; one that is not finite becomes a refusal. Does nothing after a refusal. */
void gw_estimate_settle(struct gw_estimate *e, double seconds);

/** Blocks and threads of a launch as numbers that cannot overflow. */
static inline double gw_dim3_size(struct gw_dim3 d)
{
	return (double)d.x * (double)d.y * (double)d.z;
}

#endif
