#include "calib/bench_state.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void number(FILE *out, double v)
{
	char digits[40];

	for (int n = 6; n <= 17; n++) {
		snprintf(digits, sizeof(digits), "%.*g", n, v);
		if (n == 17 || strtod(digits, NULL) == v)
			break;
	}
	fputs(digits, out);
}

static bool write_rows(FILE *out, const char *columns, const double *rows, size_t n_rows,
		       size_t n_columns)
{
	fprintf(out, "%s\n", columns);
	for (size_t i = 0; i < n_rows; i++)
		for (size_t k = 0; k < n_columns; k++) {
			number(out, rows[i * n_columns + k]);
			fputc(k + 1 < n_columns ? ',' : '\n', out);
		}
	return !ferror(out);
}

bool gw_samples_write(const char *folder, const char *series, const char *columns,
		      const double *rows, size_t n_rows, size_t n_columns, char *error, size_t size)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof(path), "%s/%s.csv", folder, series);
	FILE *out = NULL;
	bool good;

	if (length > 0 && (size_t)length < sizeof(path))
		out = fopen(path, "we");
	else
		errno = ENAMETOOLONG;
	good = out && write_rows(out, columns, rows, n_rows, n_columns);
	if (out && fclose(out) != 0)
		good = false;
	if (!good)
		snprintf(error, size, "%s: can't write the samples: %s", path, strerror(errno));
	return good;
}
