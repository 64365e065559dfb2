/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of reading the clock (000, chapter 6). */
#include "calib/bench.h"

bool gw_group_clock(struct gw_bench *b)
{
	return gw_bench_kernel(b, "gw_clock_cost") != NULL;
}
