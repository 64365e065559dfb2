/* What the models share to build an estimate. */
#include "predictor/models/model.h"

#include <math.h>
#include <stdio.h>

void gw_estimate_clear(struct gw_estimate *e)
{
	e->seconds = NAN;
	e->reason[0] = '\0';
	e->bound = GW_BOUND_UNKNOWN;
	e->binding = NULL;
	e->term_count = 0;
	e->warning_count = 0;
}

void gw_estimate_term(struct gw_estimate *e, const char *name, double value, const char *unit)
{
	if (e->term_count < GW_TERMS_MAX)
		e->terms[e->term_count++] =
			(struct gw_term){.name = name, .value = value, .unit = unit};
}

void gw_estimate_resource(struct gw_estimate *e, const char *name, double seconds)
{
	if (e->term_count < GW_TERMS_MAX)
		e->terms[e->term_count++] = (struct gw_term){
			.name = name, .value = seconds, .unit = "s", .resource = true};
}

void gw_estimate_warn(struct gw_estimate *e, const char *warning)
{
	if (e->warning_count < GW_WARNINGS_MAX)
		e->warnings[e->warning_count++] = warning;
}

void gw_estimate_missing(struct gw_estimate *e, const char *missing)
{
	e->seconds = NAN;
	e->bound = GW_BOUND_UNKNOWN;
	e->binding = NULL;
	snprintf(e->reason, sizeof(e->reason), "not known: %s", missing);
}
