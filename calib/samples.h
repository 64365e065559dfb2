/* SPDX-License-Identifier: Apache-2.0 */
/* Raw samples: one CSV file a series, in the folder --samples names. */
#ifndef GW_CALIB_SAMPLES_H
#define GW_CALIB_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

/**
 * Write FOLDER/SERIES.csv: the line @p columns, then @p n_rows lines of @p n_columns numbers, each
 * with the fewest digits that read back to it. Returns false with why in @p error.
 */
bool gw_samples_write(const char *folder, const char *series, const char *columns,
                      const double *rows, size_t n_rows, size_t n_columns, char *error,
                      size_t size);

#endif
