#include "predictor/models/inputs.h"

#include <stdio.h>

void gw_estimate_refuse(struct gw_estimate *e, const char *reason)
{
	e->seconds = NAN;
	snprintf(e->reason, sizeof(e->reason), "%s", reason);
}

void gw_estimate_settle(struct gw_estimate *e, double seconds)
{
	if (e->reason[0])
		return;
	if (!(seconds >= 0 && seconds <= DBL_MAX)) {
		gw_estimate_refuse(e,
				   "the inputs are too extreme: the time is not a finite number");
		return;
	}
	e->seconds = seconds;
}
