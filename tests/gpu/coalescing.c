/*
 * What the code shows of each launch of the coalescing test, beside what ncu counted:
 *   coalescing_compare PTX RESULTS PROFILE
 * PTX is the runner's kernels, RESULTS the folder with launches.json and counted.csv. Prints the
 * launches whose addresses are known and that are not as counted; ends with 1 when there is one.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/memory.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/code/static_work.h"
#include "predictor/profile/profile.h"

enum { MOST = 1024, COLUMNS = 64, LINE = 8192 };
/* Launches that must be reported exactly for the comparison to mean anything. */
enum { EXACT_LEAST = 144 };
/* Two misses on one sector that are on their way at once may both be counted as one. */
static const double hits_within = 0.002;

enum counted {
	LOAD_REQUESTS,
	LOAD_SECTORS,
	LOAD_HITS,
	SHARED_LOADS,
	SHARED_WAVEFRONTS,
	COUNTED,
};

static const char *const columns[COUNTED] = {
	[LOAD_REQUESTS] = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
	[LOAD_SECTORS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
	[LOAD_HITS] = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
	[SHARED_LOADS] = "smsp__inst_executed_op_shared_ld.sum",
	[SHARED_WAVEFRONTS] = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
};

/** A launch with what was counted of it. */
struct launched {
	char label[64], kernel[64];
	struct gw_config config;
	uint8_t arguments[256];
	size_t argument_bytes;
	double value[COUNTED]; /**< NaN: not counted */
};

/** What the code shows of it. */
struct reported {
	struct gw_work work;
	double sectors;    /**< a request of the loads whose addresses are known */
	double wavefronts; /**< of shared loads, a request */
	bool exact;        /**< counts are exact, addresses all known */
};

static void give_up(const char *what, const char *path)
{
	fprintf(stderr, "compare: %s: %s\n", path, what);
	exit(2);
}

static struct gw_bytes read_whole(const char *path)
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

/* The counters of a table, whose lines are the launches in their order. */
static void read_counters(const char *path, struct launched *l, size_t count)
{
	char title_line[LINE], line[LINE], *title[COLUMNS], *part[COLUMNS];
	FILE *file = fopen(path, "r");
	unsigned titles;

	if (!file || !fgets(title_line, sizeof(title_line), file))
		give_up("cannot be read", path);
	titles = split(title_line, title);
	for (size_t i = 0; i < count; i++) {
		if (!fgets(line, sizeof(line), file) || split(line, part) != titles ||
		    strcmp(part[0], l[i].label) != 0)
			give_up("is not of these launches", path);
		for (unsigned c = 0; c < titles; c++)
			for (unsigned k = 0; k < COUNTED; k++)
				if (strcmp(title[c], columns[k]) == 0)
					l[i].value[k] = strtod(part[c], NULL);
	}
	fclose(file);
}

static struct launched *read_launches(const char *folder, size_t *count)
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
	snprintf(path, sizeof(path), "%s/counted.csv", folder);
	read_counters(path, l, *count);
	return l;
}

static void sum_loads(const struct gw_gather *g, struct reported *out)
{
	double runs = 0, unknown = 0, shared = 0, sectors = 0;

	out->wavefronts = 0;
	out->exact = g->complete && g->report.coverage == GW_COVER_EXACT &&
		     g->blocks == gw_dim3_count(g->locality->grid);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct gw_gather_access *a = &g->access[i];
		double known = a->requests / (a->requests + a->uncounted);

		if (a->store || a->atomic || !(gw_gather_mean(&a->runs) > 0))
			continue;
		if (a->space == IR_SPACE_SHARED) {
			shared += a->requests;
			out->wavefronts += a->wavefronts;
			continue;
		}
		runs += gw_gather_mean(&a->runs);
		unknown += gw_gather_mean(&a->runs) * (isnan(known) ? 1 : 1 - known);
		if (a->requests > 0)
			sectors += gw_gather_mean(&a->runs) * known *
				   gw_coalescing_sectors(&a->coalescing);
		out->exact &= a->runs.least == a->runs.most && known == 1 && a->assumed == 0;
	}
	out->sectors = sectors / (runs - unknown);
	out->wavefronts /= shared;
}

static void tell(const struct gw_ptx *ptx, const struct launched *l, const struct gw_device *device,
		 struct reported *out)
{
	struct gw_kernel kernel = {.name = l->kernel, .registers = 32, .max_threads = 1024};
	struct gw_launch launch = {.kernel = &kernel, .config = l->config};
	struct gw_eval_launch eval = {.config = l->config,
				      .arguments = {l->arguments, l->argument_bytes}};
	struct gw_gather_limits limits = {.blocks = 64, .steps = 20000000};
	struct gw_ptx_fault fault;
	struct gw_ir_program program;
	struct gw_gather gather;
	struct gw_arena arena;
	const char *why = "lowering failed";

	gw_arena_init(&arena, (size_t)1 << 30);
	gw_work_clear(&out->work);
	if (gw_ptx_lower(ptx, gw_ptx_find(ptx, l->kernel), &arena, &program, &fault))
		why = gw_gather_run(&program, &eval, &limits, &arena, &gather);
	if (why) {
		fprintf(stderr, "compare: %s: %s\n", l->label, why);
		exit(2);
	}
	kernel.static_shared = program.static_shared;
	gw_static_memory(&(struct gw_static_in){.program = &program,
						.gather = &gather,
						.device = device,
						.launch = &launch},
			 &out->work);
	sum_loads(&gather, out);
	gw_arena_free(&arena);
}

/* Known exactly and yet not as counted. */
static bool wrong(const struct reported *t, const struct launched *l)
{
	double requests = l->value[LOAD_REQUESTS], sectors = l->value[LOAD_SECTORS];
	double shared = l->value[SHARED_LOADS];

	if (!t->exact)
		return false;
	if (requests > 0 && fabs(t->sectors - sectors / requests) > 1e-6 * t->sectors)
		return true;
	if (requests > 0 && fabs(t->work.q[GW_WORK_l1_hit_rate].value -
				 l->value[LOAD_HITS] / sectors) > hits_within)
		return true;
	/* Compilers keep some loads and drop others: shapes are compared, by request. */
	return requests == 0 && shared > 0 &&
	       fabs(t->wavefronts * shared - l->value[SHARED_WAVEFRONTS]) > 0.5;
}

static void print_wrong(const struct reported *t, const struct launched *l)
{
	double sectors = l->value[LOAD_SECTORS];

	printf("%s is not as counted: sectors a request %.3f, counted %.3f; hits %.4f, counted "
	       "%.4f; "
	       "passes of shared loads %.3f, counted %.3f\n",
	       l->label, t->sectors, sectors / l->value[LOAD_REQUESTS],
	       t->work.q[GW_WORK_l1_hit_rate].value, l->value[LOAD_HITS] / sectors, t->wavefronts,
	       l->value[SHARED_WAVEFRONTS] / l->value[SHARED_LOADS]);
}

int main(int argc, char **argv)
{
	static struct gw_profile profile;
	struct launched *launched;
	struct gw_profile_error error;
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_bytes text;
	struct gw_ptx ptx;
	unsigned exact = 0, bad = 0;
	size_t count;

	if (argc < 4) {
		fprintf(stderr, "usage: compare PTX RESULTS PROFILE\n");
		return 2;
	}
	text = read_whole(argv[1]);
	launched = read_launches(argv[2], &count);
	gw_arena_init(&arena, (size_t)256 << 20);
	if (gw_profile_read(argv[3], &profile, &error) ||
	    !gw_ptx_parse(text, &arena, &ptx, &fault)) {
		fprintf(stderr, "compare: %s or %s cannot be read\n", argv[1], argv[3]);
		return 2;
	}
	/* As ncu reads it off the device; a profile learns it by calibration. */
	if (isnan(gw_param(&profile.device, GW_PARAM_l2_size)))
		gw_device_set(&profile.device, GW_PARAM_l2_size, 62914560, GW_METHOD_VENDOR);
	for (size_t i = 0; i < count; i++) {
		struct reported reported;

		tell(&ptx, &launched[i], &profile.device, &reported);
		exact += reported.exact;
		if (wrong(&reported, &launched[i])) {
			print_wrong(&reported, &launched[i]);
			bad++;
		}
	}
	printf("%zu launches, %u with counts and addresses reported exactly; of these %u not as "
	       "counted\n",
	       count, exact, bad);
	free(launched);
	free((void *)(uintptr_t)text.data);
	gw_arena_free(&arena);
	return bad || exact < EXACT_LEAST;
}
