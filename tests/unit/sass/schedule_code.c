/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/sass/schedule_code.h"

static struct listing listing;

int schedule_begin(void **state)
{
	(void)state;
	listing_read(&listing, GW_SCHEDULE_CODE);
	return 0;
}

int schedule_end(void **state)
{
	(void)state;
	listing_free(&listing);
	return 0;
}

const struct listing *schedule_code(void)
{
	return &listing;
}
