/*
 * ptx_launch FILE KERNEL GX,GY,GZ BX,BY,BZ [ARGUMENT...]: what the evaluator says of one launch.
 * An argument is TYPE:VALUE, TYPE one of i32, i64, f32, f64, ptr; a line of output is
 * "name least most". For comparing counts with a device's counters.
 */
#include "predictor/code/ptx/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 << 20, ARGUMENTS_MAX = 4096 };

static uint8_t arguments[ARGUMENTS_MAX];
static size_t argument_bytes;

static bool extent(const char *text, struct gw_dim3 *d)
{
	*d = (struct gw_dim3){1, 1, 1};
	return sscanf(text, "%" SCNu32 ",%" SCNu32 ",%" SCNu32, &d->x, &d->y, &d->z) >= 1;
}

static bool put(const void *value, size_t size)
{
	argument_bytes = (argument_bytes + size - 1) / size * size;
	if (argument_bytes + size > ARGUMENTS_MAX)
		return false;
	memcpy(arguments + argument_bytes, value, size);
	argument_bytes += size;
	return true;
}

static bool argument(const char *text)
{
	const char *value = strchr(text, ':');
	float f;
	double d;
	uint64_t v;

	if (!value++)
		return false;
	v = strtoull(value, NULL, 0);
	d = strtod(value, NULL);
	f = (float)d;
	if (!strncmp(text, "i32", 3))
		return put(&v, 4);
	if (!strncmp(text, "i64", 3) || !strncmp(text, "ptr", 3))
		return put(&v, 8);
	if (!strncmp(text, "f32", 3))
		return put(&f, 4);
	return !strncmp(text, "f64", 3) && put(&d, 8);
}

static struct gw_bytes read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *text = f ? malloc(TEXT_MAX) : NULL;
	size_t size = text ? fread(text, 1, TEXT_MAX, f) : 0;

	if (f)
		fclose(f);
	return (struct gw_bytes){text, size};
}

static void print_counts(const struct gw_ptx_report *r)
{
	for (unsigned s = 0; s < GW_IR_SPACES; s++)
		for (unsigned k = 0; k < GW_ACCESS_KINDS; k++) {
			struct gw_eval_count c = r->counts.by[s][k];

			if (c.most > 0)
				printf("%s.%s %.0f %.0f\n", gw_ir_space_name((enum gw_ir_space)s),
				       gw_access_name((enum gw_access_kind)k), c.least, c.most);
		}
	for (unsigned n = 0; n < GW_IR_BARRIERS; n++)
		if (r->counts.barriers[n].most > 0)
			printf("barrier.%u %.0f %.0f\n", n, r->counts.barriers[n].least,
			       r->counts.barriers[n].most);
	printf("branches %.0f %.0f\n", r->eval.branches.least, r->eval.branches.most);
	printf("divergent %.0f %.0f\n", r->eval.divergent.least, r->eval.divergent.most);
}

static void print_eval(const struct gw_ptx_report *r)
{
	static const char *const covers[] = {"exact", "sampled", "none"};
	const struct gw_eval_report *e = &r->eval;

	printf("# %s: %s, control %s, %s; %" PRIu64 " of %" PRIu64 " warps run, %" PRIu64
	       " steps\n",
	       r->exact ? "exact" : "not exact", covers[e->coverage],
	       e->control_known ? "known" : "unknown", e->complete ? "complete" : "cut off",
	       e->warps_run, e->warps, e->steps);
	printf("# longest warp %g in block %u,%u,%u warp %u; mean %g\n", e->longest_cost,
	       e->longest_block.x, e->longest_block.y, e->longest_block.z, e->longest_warp,
	       e->mean_cost);
	for (uint32_t l = 0; l < r->program.loop_count; l++)
		printf("loop.%u %g %g # entries %g total %g%s%s\n", l, e->trips[l].least,
		       e->trips[l].most, e->trips[l].entries, e->trips[l].total,
		       e->trips[l].unknown ? " unknown" : "",
		       e->trips[l].extrapolated ? " extrapolated" : "");
	for (uint32_t n = 0; n < e->reason_count; n++)
		printf("# line %u: %s (line %d)\n", e->reasons[n].source,
		       gw_why_text(e->reasons[n].why), (int)e->reasons[n].origin);
}

int main(int argc, char **argv)
{
	struct gw_config config = {.cluster = {1, 1, 1}};
	static struct gw_ptx_report report;
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_bytes text;

	if (argc < 5 || !extent(argv[3], &config.grid) || !extent(argv[4], &config.block)) {
		fprintf(stderr, "ptx_launch FILE KERNEL GX,GY,GZ BX,BY,BZ [TYPE:VALUE...]\n");
		return 2;
	}
	for (int i = 5; i < argc; i++)
		if (!argument(argv[i])) {
			fprintf(stderr,
				"%s: an argument is i32:5, i64:5, f32:1.5, f64:1.5 or "
				"ptr:0x100\n",
				argv[i]);
			return 2;
		}
	text = read_file(argv[1]);
	gw_arena_init(&arena, (size_t)256 << 20);
	if (!gw_ptx_evaluate(text, *argv[2] == '-' ? NULL : argv[2], &config,
			     (struct gw_bytes){arguments, argument_bytes}, NULL, NULL, NULL, &arena,
			     &report, &fault)) {
		fprintf(stderr, "%s:%u:%u: %s (%s)\n", argv[1], fault.line, fault.column,
			fault.what, fault.near);
		return 2;
	}
	print_counts(&report);
	print_eval(&report);
	gw_arena_free(&arena);
	free((void *)(uintptr_t)text.data);
	return 0;
}
