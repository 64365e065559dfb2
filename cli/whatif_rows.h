/* SPDX-License-Identifier: Apache-2.0 */
/* What a log holds, kernel by kernel, as far as `gpuwatch whatif` shows it. */
#ifndef GW_WHATIF_ROWS_H
#define GW_WHATIF_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A kernel of the log. */
struct whatif_row {
	char *name; /**< demangled */
	uint64_t launches, measured;
	double seconds; /**< sum of the measured times */
};

struct whatif_rows {
	size_t count;
	struct whatif_row *rows; /**< longest time first */
};

/** Read the log at @p path; on failure returns false with the reason, without the path, in @p
 * error. */
bool whatif_rows_read(struct whatif_rows *rows, const char *path, char *error, size_t size);
void whatif_rows_free(struct whatif_rows *rows);

#endif
