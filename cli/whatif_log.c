/* SPDX-License-Identifier: Apache-2.0 */
/* `gpuwatch whatif` on a log: what it holds, and what can't be told from it. */
#include "cli/whatif.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/estimate.h"
#include "cli/json.h"
#include "cli/say.h"
#include "cli/table.h"
#include "cli/whatif_rows.h"

static const char missing[] =
        "the log holds no counted work (instructions, memory traffic), only times; what these "
        "kernels "
        "need of a GPU, and so their time on another one, can't be told from it";
static const char remedy[] =
        "count the work with a profiler and describe the kernels in a launch file (docs/launch.md)";

bool whatif_is_log(const char *path)
{
	static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char begin[4] = {0};
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : NULL;
	size_t n = strlen(path);
	bool log = false;

	/* A log that was cut off before its first block is told by its name. */
	if (n > 4 && strcmp(path + n - 4, ".gwl") == 0)
		log = true;
	if (file) {
		if (fread(begin, 1, sizeof(begin), file) == sizeof(begin))
			log |= memcmp(begin, "GWB1", 4) == 0 || memcmp(begin, zstd, 4) == 0;
		fclose(file);
	}
	return log;
}

static void print_text(const struct whatif_rows *rows, const struct device_set *devices)
{
	static const struct gw_table_column columns[] = {
	        {"KERNEL", false, true, 0},
	        {"LAUNCHES", true, false, 0},
	        {"MEASURED", true, false, 0},
	        {"MEAN TIME", true, false, 0},
	};
	struct gw_table *table = gw_table_new(columns, 4);
	struct estimate_text t;
	char number[32];

	for (size_t i = 0; i < rows->count; i++) {
		const struct whatif_row *r = &rows->rows[i];

		gw_table_cell(table, r->name);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)r->launches);
		gw_table_cell(table, number);
		snprintf(number, sizeof(number), "%llu", (unsigned long long)r->measured);
		gw_table_cell(table, number);
		gw_table_cell(
		        table,
		        estimate_time(&t, r->measured ? r->seconds / (double)r->measured : NAN));
	}
	gw_table_print(table, stdout, gw_width(), 0);
	gw_table_free(table);
	printf("\nTime on");
	for (size_t d = 0; d < devices->count; d++)
		printf("%s %s", d ? "," : "", device_short_name(devices->profiles[d]));
	printf(": unknown. Reason: %s.\nRemedy: %s.\n", missing, remedy);
}

static void print_json(const struct whatif_rows *rows, const struct device_set *devices)
{
	json_t *kernels = json_array(), *names = json_array();

	for (size_t i = 0; i < rows->count; i++)
		json_array_append_new(
		        kernels,
		        json_pack("{s:o,s:o,s:o,s:o,s:n}", "name", gw_json_text(rows->rows[i].name),
		                  "launches", gw_json_count(rows->rows[i].launches), "measured",
		                  gw_json_count(rows->rows[i].measured), "measured_seconds",
		                  gw_json_number(rows->rows[i].measured ? rows->rows[i].seconds
		                                                        : NAN),
		                  "predicted_seconds"));
	for (size_t d = 0; d < devices->count; d++)
		json_array_append_new(names, gw_json_text(devices->profiles[d]->device.name));
	gw_json_print(json_pack("{s:o,s:o,s:o,s:o}", "kernels", kernels, "devices", names, "reason",
	                        gw_json_text(missing), "remedy", gw_json_text(remedy)));
}

int whatif_log(const char *path, const struct device_set *devices, bool json)
{
	struct whatif_rows rows;
	char error[512];

	if (!whatif_rows_read(&rows, path, error, sizeof(error)))
		return gw_error("%s: %s", path, error);
	if (json)
		print_json(&rows, devices);
	else
		print_text(&rows, devices);
	whatif_rows_free(&rows);
	return GW_EXIT_FINDINGS;
}
