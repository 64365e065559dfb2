/* SPDX-License-Identifier: Apache-2.0 */
/* The loops that tests/gpu/schedule timed on an H200, as machine code: what several tests read. */
#ifndef GW_SCHEDULE_CODE_H
#define GW_SCHEDULE_CODE_H

#include "tests/unit/sass/listing.h"

/** Set-up and tear-down of a group of tests; the listing between them. */
int schedule_begin(void **state);
int schedule_end(void **state);
const struct listing *schedule_code(void);

#endif
