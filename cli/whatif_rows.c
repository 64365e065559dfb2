/* SPDX-License-Identifier: Apache-2.0 */
/* What a log holds, copied out of the reader's own structures. */
#include "cli/whatif_rows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/log_model.h"
#include "cli/memory.h"

static int by_time(const void *a, const void *b)
{
	double left = ((const struct whatif_row *)a)->seconds;
	double right = ((const struct whatif_row *)b)->seconds;

	if (left != right)
		return left < right ? 1 : -1;
	return strcmp(((const struct whatif_row *)a)->name, ((const struct whatif_row *)b)->name);
}

static void copy(struct whatif_rows *out, const struct gw_log_model *log)
{
	out->rows = gw_alloc((log->row_count + 1) * sizeof(*out->rows));
	for (size_t i = 0; i < log->row_count; i++) {
		const struct gw_row *r = &log->rows[i];

		out->rows[out->count++] = (struct whatif_row){
		        .name = gw_copy(r->name < log->name_count ? log->names[r->name].plain
		                                                  : "?"),
		        .launches = r->launches,
		        .measured = r->measured,
		        .seconds = r->measured ? r->total / 1e9 : 0,
		};
	}
	qsort(out->rows, out->count, sizeof(*out->rows), by_time);
}

bool whatif_rows_read(struct whatif_rows *rows, const char *path, char *error, size_t size)
{
	struct gw_log_model log;
	bool ok;

	*rows = (struct whatif_rows){0};
	gw_log_model_init(&log);
	ok = gw_log_model_read(&log, path);
	if (ok)
		copy(rows, &log);
	else
		snprintf(error, size, "%s",
		         log.file_count ? log.files[log.file_count - 1].status.error
		                        : "can't be read");
	gw_log_model_free(&log);
	return ok;
}

void whatif_rows_free(struct whatif_rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->rows[i].name);
	free(rows->rows);
	*rows = (struct whatif_rows){0};
}
