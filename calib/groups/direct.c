/* SPDX-License-Identifier: Apache-2.0 */
/* What the driver tells (000, 5.1). */
#include "calib/bench.h"

bool gw_group_direct(struct gw_bench *b)
{
	int value = 0;

	if (b->cu->cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
	                                b->device))
		return false;
	gw_bench_publish_told(b, GW_PARAM_sm_count, value, "cuDeviceGetAttribute");
	return true;
}
