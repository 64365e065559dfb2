#include "calib/groups/rate.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "calib/stats.h"

enum { MOST_BLOCKS = 2048, MOST_BATCHES = 12 };

static const double SETTLED = 0.01;

unsigned gw_rate_sms(const struct gw_bench *b)
{
	return (unsigned)gw_param(b->known, GW_PARAM_sm_count);
}

size_t gw_rate_samples(struct gw_bench *b, const struct gw_rate *r, double *rates)
{
	size_t n = r->kernel ? gw_bench_time(b, r->kernel, r->shape, r->args, r->launches, rates,
					     GW_RATE_SAMPLES)
			     : 0;

	for (size_t i = 0; i < n; i++)
		rates[i] = r->amount / rates[i];
	return n;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= SETTLED * fabs(b);
}

size_t gw_rate_settled(struct gw_bench *b, const struct gw_rate *r, double *rates)
{
	const size_t third = GW_RATE_SAMPLES / 3;
	double before = NAN;

	for (unsigned i = 0; i < MOST_BATCHES; i++) {
		size_t n = gw_rate_samples(b, r, rates);
		double middle = gw_median(rates, n);

		if (n < GW_RATE_SAMPLES ||
		    (near(before, middle) &&
		     near(gw_median(rates, third), gw_median(rates + n - third, third))))
			return n;
		before = middle;
	}
	return GW_RATE_SAMPLES;
}

double gw_rate_of(struct gw_bench *b, const struct gw_rate *r)
{
	double rates[GW_RATE_SAMPLES];

	return gw_median(rates, gw_rate_samples(b, r, rates));
}

/* Cycles of the slowest block of one launch; NaN: noted. */
static double slowest_block(struct gw_bench *b, const struct gw_rate *r, CUdeviceptr spans)
{
	uint64_t cycles[MOST_BLOCKS], most = 0;

	if (r->shape.grid > MOST_BLOCKS || !gw_bench_run(b, r->kernel, r->shape, r->args) ||
	    !gw_bench_read(b, cycles, spans, r->shape.grid * sizeof(*cycles)))
		return NAN;
	for (unsigned i = 0; i < r->shape.grid; i++)
		most = cycles[i] > most ? cycles[i] : most;
	return (double)most;
}

bool gw_rate_publish_cycles(struct gw_bench *b, const struct gw_rate *r, CUdeviceptr spans,
			    enum gw_param p, const char *how)
{
	double rates[GW_RATE_SAMPLES];
	double scale = r->amount * gw_rate_sms(b) * gw_param(b->known, GW_PARAM_sm_clock);

	for (unsigned i = 0; i < GW_RATE_SAMPLES; i++) {
		double cycles = r->kernel ? slowest_block(b, r, spans) : NAN;

		if (isnan(cycles))
			return false;
		rates[i] = scale / cycles;
	}
	gw_bench_publish(b, p, rates, GW_RATE_SAMPLES, how);
	return true;
}
