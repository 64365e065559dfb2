/* How many blocks of the grid each block that was looked at stands for. */
#include "predictor/code/memory/locality.h"

#include <math.h>

enum { ROUNDS = 50 };
static const double NEAR = 1e-3; /* relative; closer makes no difference */

/* What the blocks' executions of instruction @p access have to be multiplied by; 1: nothing is
 * known, or nothing was seen. */
static double correction(const struct gw_locality *l, uint32_t access, double runs)
{
	double sum = 0;

	for (uint32_t b = 0; b < l->block_count; b++)
		if (l->cell[b][access])
			sum += l->weight[b] * l->cell[b][access]->requests;
	return isfinite(runs) && runs > 0 && sum > 0 ? runs / sum : 1;
}

/* Each block by the corrections of what it runs, as much of each as it runs of it. */
static void correct(struct gw_locality *l, const double *logarithm)
{
	for (uint32_t b = 0; b < l->block_count; b++) {
		double sum = 0, requests = 0;

		for (uint32_t i = 0; i < l->access_count; i++) {
			if (!l->cell[b][i])
				continue;
			sum += l->cell[b][i]->requests * logarithm[i];
			requests += l->cell[b][i]->requests;
		}
		if (requests > 0)
			l->weight[b] *= exp(sum / requests);
	}
}

void gw_locality_weigh(struct gw_locality *l, const double *runs)
{
	double logarithm[GW_LOCALITY_ACCESSES], worst = INFINITY;

	for (uint32_t b = 0; b < l->block_count; b++)
		l->weight[b] = (double)gw_dim3_count(l->grid) / l->block_count;
	for (unsigned round = 0; round < ROUNDS && worst > NEAR; round++) {
		worst = 0;
		for (uint32_t i = 0; i < l->access_count; i++) {
			logarithm[i] = log(correction(l, i, runs[i]));
			worst = fmax(worst, fabs(logarithm[i]));
		}
		correct(l, logarithm);
	}
}
