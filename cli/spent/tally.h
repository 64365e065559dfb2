/* Launches and their GPU time by a name that is no kernel's: a range, a line of the program. */
#ifndef GW_SPENT_TALLY_H
#define GW_SPENT_TALLY_H

#include "cli/common/index.h"

#include <stddef.h>
#include <stdint.h>

/** Zero-initialised is empty. */
struct log_tally {
	struct log_tally_row {
		char *name;
		uint64_t launches;
		double total; /**< of those that were measured, ns */
	} * rows;
	size_t count, room;
	struct gw_index index;
	uint32_t last; /**< position of the row that was added to last */
};

void log_tally_add(struct log_tally *tally, const char *name, uint64_t launches, double total);
/** Most time first; nothing is added after it. */
void log_tally_sort(struct log_tally *tally);
void log_tally_free(struct log_tally *tally);

#endif
