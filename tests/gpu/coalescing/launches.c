/* SPDX-License-Identifier: Apache-2.0 */
/* Reads launches.json, counted.csv and cold.csv. */
#include "tests/gpu/coalescing/compare.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"

enum { MOST = 1024, COLUMNS = 64, LINE = 8192 };

static const char *const columns[COUNTED] = {
	[COUNTED_LOAD_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
	[COUNTED_LOAD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
	[COUNTED_LOAD_HITS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
	[COUNTED_STORE_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
	[COUNTED_STORE_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
	[COUNTED_SHARED_LOADS] = "smsp__inst_executed_op_shared_ld.sum",
	[COUNTED_SHARED_WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
	[COLD_DRAM_READ] = "dram__bytes_read.sum",
	[COLD_DRAM_WRITE] = "dram__bytes_write.sum",
};

static void give_up(const char *what, const char *path)
{
	fprintf(stderr, "compare: %s: %s\n", path, what);
	exit(2);
}

struct gw_bytes read_whole(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = NULL;
	size_t size = 0, room = 0;

	if (!file)
		give_up("cannot be read", path);
	do {
		data = gw_grow(data, &room, size + 65536, 1);
		size += fread(data + size, 1, 65536, file);
	} while (!feof(file) && !ferror(file));
	fclose(file);
	return (struct gw_bytes){data, size};
}

static struct gw_dim3 extent(const json_t *array)
{
	return (struct gw_dim3){(uint32_t)json_integer_value(json_array_get(array, 0)),
				(uint32_t)json_integer_value(json_array_get(array, 1)),
				(uint32_t)json_integer_value(json_array_get(array, 2))};
}

static bool read_launch(const char *line, struct launched *out)
{
	json_t *json = json_loads(line, 0, NULL);
	const char *hex = json_string_value(json_object_get(json, "args"));
	unsigned byte;

	*out = (struct launched){0};
	for (unsigned i = 0; i < COUNTED; i++)
		out->value[i] = NAN;
	if (!json || !hex)
		return false;
	snprintf(out->label, sizeof(out->label), "%s",
		 json_string_value(json_object_get(json, "label")));
	snprintf(out->kernel, sizeof(out->kernel), "%s",
		 json_string_value(json_object_get(json, "kernel")));
	out->config = (struct gw_config){.grid = extent(json_object_get(json, "grid")),
					 .block = extent(json_object_get(json, "block")),
					 .cluster = {1, 1, 1}};
	for (; hex[0] && hex[1] && out->argument_bytes < sizeof(out->arguments); hex += 2) {
		sscanf(hex, "%2x", &byte);
		out->arguments[out->argument_bytes++] = (uint8_t)byte;
	}
	json_decref(json);
	return true;
}

/* The parts of a line between commas; how many. */
static unsigned split(char *line, char *part[COLUMNS])
{
	unsigned count = 0;

	line[strcspn(line, "\r\n")] = '\0';
	for (char *at = line; at && count < COLUMNS;) {
		part[count++] = at;
		at = strchr(at, ',');
		if (at)
			*at++ = '\0';
	}
	return count;
}

/* Counters first to before @p end from one table, whose lines are the launches in their order. */
static void read_counters(const char *folder, const char *name, struct launched *l, size_t count,
			  unsigned first, unsigned end)
{
	char path[1024], title_line[LINE], line[LINE], *title[COLUMNS], *part[COLUMNS];
	unsigned titles;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "r");
	if (!file || !fgets(title_line, sizeof(title_line), file))
		give_up("cannot be read", path);
	titles = split(title_line, title);
	for (size_t i = 0; i < count; i++) {
		if (!fgets(line, sizeof(line), file) || split(line, part) != titles ||
		    strcmp(part[0], l[i].label) != 0)
			give_up("is not of these launches", path);
		for (unsigned c = 0; c < titles; c++)
			for (unsigned k = first; k < end; k++)
				if (strcmp(title[c], columns[k]) == 0)
					l[i].value[k] = strtod(part[c], NULL);
	}
	fclose(file);
}

struct launched *read_launches(const char *folder, size_t *count)
{
	struct launched *l = gw_alloc(MOST * sizeof(*l));
	char path[1024], line[LINE];
	FILE *file;

	snprintf(path, sizeof(path), "%s/launches.json", folder);
	file = fopen(path, "r");
	if (!file)
		give_up("cannot be read", path);
	*count = 0;
	while (*count < MOST && fgets(line, sizeof(line), file))
		if (!read_launch(line, &l[(*count)++]))
			give_up("holds a line that is no launch", path);
	fclose(file);
	read_counters(folder, "counted.csv", l, *count, 0, COLD_DRAM_READ);
	read_counters(folder, "cold.csv", l, *count, COLD_DRAM_READ, COUNTED);
	return l;
}
