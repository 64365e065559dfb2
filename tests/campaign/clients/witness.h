/* What a process that will be killed leaves in a file it maps; tests/campaign/kills reads it. */
#ifndef GW_TESTS_CAMPAIGN_WITNESS_H
#define GW_TESTS_CAMPAIGN_WITNESS_H

#include <stdint.h>

enum { WITNESS_THREADS = 8, WITNESS_GRIDS = 7 };

struct witness {
	volatile uint64_t returned[WITNESS_THREADS]; /**< launches whose call returned, by thread */
	volatile uint64_t inside; /**< 1 + where in our code it ended, a record begun; 0: unknown */
	volatile uint64_t torn;   /**< bytes of a block that were written before the end */
};

#endif
