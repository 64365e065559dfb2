#include "cli/inspect/eval.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/demangle.h"
#include "cli/inspect/launch.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/code/ptx/report.h"
#include "predictor/code/sass/lower.h"
#include "predictor/code/sass/work.h"
#include "predictor/code/timing/timing.h"

/** A kernel at the launch. */
struct evaluated {
	const struct inspect_job *job;
	char *plain; /* its demangled name */
	struct gw_arena arena;
	struct inspect_arguments arguments;
	struct gw_eval_launch launch;
	struct gw_ir_program program;
	struct gw_eval_report report;
	struct gw_access_counts counts;
	struct gw_kernel kernel;           /**< what the models ask of it */
	struct gw_cfg *cfg;                /**< of machine code; NULL for PTX */
	struct gw_eval_count instructions; /**< of machine code; most 0 for PTX */
	const char
		*open; /**< what it calls, or jumps to, that is not in the program; NULL: nothing */
	bool exact;
	char refused[96]; /* why the driver refuses such a launch; empty: nothing is known against
			     it */
	const char *why;  /* why it is unknown; NULL: it is not */
};

/* Begin: its arguments laid out. False where they don't fit, by e->arguments.fault. Takes @p plain.
 */
static bool begin(struct evaluated *e, const struct inspect_job *job, char *plain,
		  const struct gw_ir_param *param, uint32_t count)
{
	*e = (struct evaluated){.job = job,
				.plain = plain,
				.kernel = {plain, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
					   UINT32_MAX, UINT32_MAX}};
	gw_arena_init(&e->arena, INSPECT_MEMORY);
	if (!inspect_arguments_make(&e->arguments, job->launch, param, count))
		return false;
	e->launch = (struct gw_eval_launch){
		.config = job->launch->config,
		.arguments = {e->arguments.bytes, e->arguments.size},
		.argument_known = e->arguments.known,
	};
	return true;
}

/* What the kernel's launch bounds and registers say against the launch. */
static void refuse(struct evaluated *e, const struct gw_code_kernel *k)
{
	enum { REGISTERS = 65536 }; /* of a block, on all GPUs whose code is decoded */
	const struct gw_dim3 *b = &e->launch.config.block;
	const uint32_t *r = k->required_threads, *m = k->max_threads;
	uint64_t threads = gw_dim3_count(*b), warps = (threads + 31) / 32;
	char *out = e->refused;
	size_t size = sizeof(e->refused);

	if (r[0] != GW_CODE_UNKNOWN && (b->x != r[0] || b->y != r[1] || b->z != r[2]))
		snprintf(out, size, "it is compiled for blocks of %u x %u x %u threads", r[0], r[1],
			 r[2]);
	else if (m[0] != GW_CODE_UNKNOWN && threads > (uint64_t)m[0] * m[1] * m[2])
		snprintf(out, size, "it is compiled for at most %" PRIu64 " threads a block",
			 (uint64_t)m[0] * m[1] * m[2]);
	else if (k->registers != GW_CODE_UNKNOWN &&
		 warps * 32 * ((k->registers + 7) / 8 * 8) > REGISTERS)
		snprintf(out, size, "%" PRIu64 " threads of %u registers are more than a block has",
			 threads, k->registers);
}

/* Machine instructions, over the grid: each block's as often as the block runs, and those at its
 * head, where lanes meet again, once more for each further part of a warp. The block that stands
 * for the end of a thread is none of the code's. */
static void count_instructions(struct evaluated *e)
{
	for (uint32_t b = 0; e->program.from_sass && b < e->program.block_count; b++) {
		const struct gw_ir_block *block = &e->program.blocks[b];
		struct gw_eval_count parts;
		uint32_t head = 0;

		if (!block->sources || block->tag == GW_CFG_NONE)
			continue;
		e->instructions.least += block->sources * e->report.blocks[b].runs.least;
		e->instructions.most += block->sources * e->report.blocks[b].runs.most;
		if (e->cfg && block->tag < e->cfg->block_count)
			head = gw_sass_head(e->cfg, block->tag);
		if (!head)
			continue;
		parts = gw_sass_parts(&e->program, &e->report, b);
		e->instructions.least += head * parts.least;
		e->instructions.most += head * parts.most;
	}
}

static void evaluate(struct evaluated *e)
{
	e->why = gw_eval_grid(&e->program, &e->launch, NULL, NULL, NULL, &e->arena, &e->report);
	if (e->why)
		return;
	gw_access_count(&e->program, &e->report, &e->counts);
	count_instructions(e);
	if (!e->open && e->program.open_calls)
		e->open = "it calls functions whose code is not followed";
	e->exact = e->report.coverage == GW_COVER_EXACT && e->report.control_known &&
		   e->report.complete && !e->report.awaits && !e->open;
}

static bool evaluate_ptx(struct evaluated *e, const struct inspect_job *job,
			 const struct gw_ptx *ptx, uint32_t index, char *plain,
			 const struct gw_code_kernel *declared)
{
	const struct gw_ptx_kernel *k = &ptx->kernels[index];
	struct gw_ptx_fault fault;

	if (!begin(e, job, plain, k->params, k->param_count))
		return false;
	refuse(e, declared);
	if (gw_ptx_lower(ptx, index, &e->arena, &e->program, &fault))
		evaluate(e);
	else
		e->why = fault.what;
	return true;
}

/* Machine code reads parameters by their place; trees name them by their number. */
static void name_params(struct evaluated *e, const struct gw_code_kernel *k)
{
	uint32_t count = k->param_count == GW_CODE_UNKNOWN ? 0 : k->param_count;
	struct gw_ir_param *param = gw_arena_array(&e->arena, count, sizeof(*param));

	if (!count || !param)
		return;
	for (uint32_t i = 0; i < count; i++)
		param[i] = (struct gw_ir_param){.offset = k->param[i].offset,
						.size = k->param[i].size};
	e->program.params = param;
	e->program.param_count = count;
}

/* Lower a kernel's machine code. NULL, or why not. */
static const char *lower_code(struct evaluated *e, const struct gw_code_kernel *k)
{
	const struct gw_sass_kernel kernel = gw_sass_kernel_of(k);
	struct gw_sass_lowered lowered;
	struct gw_fault fault;
	const char *why;
	struct gw_cfg *cfg = gw_arena_array(&e->arena, 1, sizeof(*cfg));

	if (k->arch.number < 70)
		return "machine code from before sm_70 is not decoded";
	if (!cfg || !gw_cfg_build(cfg, k->code, k->arch.number, &e->arena, &fault))
		return cfg ? fault.what : "out of memory";
	why = gw_sass_lower(&lowered, cfg, &kernel, &e->arena);
	if (why)
		return why;
	e->cfg = cfg;
	e->program = lowered.program;
	name_params(e, k);
	e->open = lowered.calls ? lowered.calls : gw_sass_indirect(&lowered);
	return NULL;
}

static bool evaluate_code(struct evaluated *e, const struct inspect_job *job,
			  const struct gw_code_kernel *k, char *plain)
{
	uint32_t count = k->param_count == GW_CODE_UNKNOWN ? 0 : k->param_count;
	struct gw_ir_param *param = gw_alloc((count + 1) * sizeof(*param));
	bool good;

	for (uint32_t i = 0; i < count; i++)
		param[i] = (struct gw_ir_param){.offset = k->param[i].offset,
						.size = k->param[i].size};
	good = begin(e, job, plain, param, count);
	free(param);
	if (!good)
		return false;
	e->kernel.registers = k->registers;
	e->kernel.static_shared = k->static_shared;
	e->kernel.local = k->frame;
	e->kernel.binary_version = k->arch.number;
	refuse(e, k);
	e->why = lower_code(e, k);
	if (!e->why)
		evaluate(e);
	return true;
}

static void evaluated_end(struct evaluated *e)
{
	gw_arena_free(&e->arena);
	inspect_arguments_free(&e->arguments);
	free(e->plain);
}

/* "1,024", or "512 to 1,024", or "at least 512". */
static const char *range(const struct gw_eval_count *c, char out[100])
{
	struct gw_text least, most;

	gw_thousands(&least, c->least);
	gw_thousands(&most, c->most);
	if (c->least == c->most)
		snprintf(out, 100, "%s", least.s);
	else if (isfinite(c->most))
		snprintf(out, 100, "%s to %s", least.s, most.s);
	else
		snprintf(out, 100, "at least %s", least.s);
	return out;
}

static void row(struct gw_table *table, const char *what, const struct gw_eval_count *c)
{
	char text[100];

	if (c->most == 0)
		return;
	gw_table_cell(table, what);
	gw_table_cell(table, range(c, text));
}

static const char *const barrier_names[GW_IR_BARRIERS] = {
	"block barrier", "warp barrier", "cluster barrier", "wait for copies", "mbarrier"};

static void counts_text(const struct evaluated *e)
{
	static const struct gw_table_column columns[] = {{"OPERATION", false, false, 0},
							 {"EXECUTED BY A WARP", true, false, 0}};
	struct gw_table *table = gw_table_new(columns, 2);
	char what[64];

	for (unsigned s = 0; s < GW_IR_SPACES; s++)
		for (unsigned k = 0; k < GW_ACCESS_KINDS; k++) {
			snprintf(what, sizeof(what), "%s %s", gw_ir_space_name(s),
				 gw_access_name(k));
			row(table, what, &e->counts.by[s][k]);
		}
	for (unsigned b = 0; b < GW_IR_BARRIERS; b++)
		row(table, barrier_names[b], &e->counts.barriers[b]);
	row(table, "machine instruction", &e->instructions);
	row(table, "conditional branch", &e->report.branches);
	row(table, "of these divergent", &e->report.divergent);
	gw_table_show(table, 4);
}

/** The time of a thread in the loops of a program (Kleimenov and Popova 2021, fig. 3). */
struct loop_times {
	struct gw_arena arena;
	struct gw_timing timing;
	struct gw_time_costs costs;
	bool valued; /* costs are those of a device */
	char text[2000];
};

static void loop_times_begin(struct loop_times *t, const struct evaluated *e)
{
	*t = (struct loop_times){.valued = e->job->device != NULL};
	gw_arena_init(&t->arena, INSPECT_MEMORY);
	if (gw_timing_of(&e->program, &t->arena, &t->timing))
		t->timing.count = 0;
	if (t->valued)
		gw_time_costs_of(e->job->device, &t->costs);
}

/* Of the loop that @p block heads; NULL where it has inner loops, or there was no room. */
static const struct gw_time *loop_time(const struct loop_times *t, uint32_t block)
{
	for (uint32_t i = 0; i < t->timing.count; i++)
		if (t->timing.part[i].loop && t->timing.part[i].block == block)
			return &t->timing.part[i].time;
	return NULL;
}

/* Cycles of an iteration at the device's costs; NaN without a device. */
static double loop_cycles(const struct loop_times *t, const struct gw_time *time)
{
	return t->valued ? gw_time_value(time, &t->costs, NULL) / 2 : NAN;
}

static void loop_time_text(struct loop_times *t, uint32_t block)
{
	const struct gw_time *time = loop_time(t, block);
	double cycles;

	if (!time)
		return;
	cycles = loop_cycles(t, time);
	printf("      two iterations of a thread take %s%s",
	       gw_time_text(time, t->text, sizeof(t->text)),
	       time->incomplete ? ", or sums left out for their number" : "");
	if (!isnan(cycles))
		printf("; one %.4g cycles", cycles);
	printf("\n");
}

static void loops_text(const struct evaluated *e)
{
	struct loop_times times;

	loop_times_begin(&times, e);
	for (uint32_t i = 0; i < e->program.loop_count; i++) {
		const struct gw_eval_trips *t = &e->report.trips[i];
		const struct gw_eval_count trips = {t->least, t->most, t->least};
		struct gw_text entries;
		char text[100];

		if (!(t->entries > 0))
			continue;
		printf("    a loop of depth %u: entered %s times by a warp, its head run %s times "
		       "each\n",
		       e->program.loops[i].depth, gw_thousands(&entries, t->entries),
		       range(&trips, text));
		loop_time_text(&times, e->program.loops[i].header);
	}
	gw_arena_free(&times.arena);
}

static const char *coverage(const struct gw_eval_report *r)
{
	static const char *const names[] = {
		[GW_COVER_EXACT] = "every warp is covered",
		[GW_COVER_SAMPLED] = "scaled up from chosen warps",
		[GW_COVER_NONE] = "no warp could be run to its end",
	};

	return names[r->coverage];
}

static void reasons_text(const struct evaluated *e)
{
	struct gw_text warps;

	printf("    %s%s; %s of %" PRIu64 " warps were run\n", e->exact ? "exact: " : "",
	       coverage(&e->report), gw_thousands(&warps, (double)e->report.warps_run),
	       e->report.warps);
	if (e->open)
		printf("    not exact: %s\n", e->open);
	for (uint32_t i = 0; i < e->report.reason_count; i++)
		printf(e->program.from_sass ? "    not exact: at 0x%" PRIx32 ": %s\n"
					    : "    not exact: line %" PRIu32 ": %s\n",
		       e->report.reasons[i].source * (e->program.from_sass ? GW_SASS_BYTES : 1),
		       gw_why_text(e->report.reasons[i].why));
}

static int coalescing(const struct evaluated *e, const struct inspect_view *view, json_t **json)
{
	struct gw_bytes none = {0};

	return inspect_coalescing(e->job, e->plain, &e->program, &e->launch,
				  view->image->kind == GW_IMAGE_PTX ? view->bytes : none, json);
}

static json_t *work(const struct evaluated *e)
{
	const struct gw_static_code code = {
		.program = &e->program, .cfg = e->cfg, .calls = e->open, .at = &e->launch};

	return inspect_work(e->job, &e->kernel, &code);
}

static int one_text(const struct evaluated *e, const struct inspect_view *view)
{
	const struct gw_config *c = &e->job->launch->config;
	char name[1024], code[24];

	printf("\n%s%s%s as %s, grid %u x %u x %u, block %u x %u x %u\n\n",
	       gw_ink(stdout, GW_INK_BOLD), gw_printable(name, sizeof(name), e->plain),
	       gw_ink(stdout, GW_INK_OFF), inspect_code(view->image, code), c->grid.x, c->grid.y,
	       c->grid.z, c->block.x, c->block.y, c->block.z);
	if (e->why) {
		printf("    unknown: %s\n", e->why);
		return 0;
	}
	if (*e->refused)
		printf("    the driver refuses this launch: %s\n\n", e->refused);
	counts_text(e);
	loops_text(e);
	reasons_text(e);
	if (e->cfg ? e->job->sass : e->job->ptx)
		inspect_blocks_text(&e->program, &e->report, e->cfg);
	if (e->job->device)
		work(e);
	if (!e->job->coalescing)
		return 0;
	printf("\n");
	return coalescing(e, view, NULL);
}

static json_t *count_json(const struct gw_eval_count *c)
{
	return json_pack("{s:o, s:o}", "least", gw_json_number(c->least), "most",
			 gw_json_number(c->most));
}

static json_t *counts_json(const struct evaluated *e)
{
	json_t *o = json_object();
	char what[64];

	for (unsigned s = 0; s < GW_IR_SPACES; s++)
		for (unsigned k = 0; k < GW_ACCESS_KINDS; k++) {
			snprintf(what, sizeof(what), "%s %s", gw_ir_space_name(s),
				 gw_access_name(k));
			if (e->counts.by[s][k].most > 0)
				json_object_set_new(o, what, count_json(&e->counts.by[s][k]));
		}
	for (unsigned b = 0; b < GW_IR_BARRIERS; b++)
		if (e->counts.barriers[b].most > 0)
			json_object_set_new(o, barrier_names[b],
					    count_json(&e->counts.barriers[b]));
	return o;
}

static json_t *loops_json(const struct evaluated *e)
{
	json_t *list = json_array();
	struct loop_times times;

	loop_times_begin(&times, e);
	for (uint32_t i = 0; i < e->program.loop_count; i++) {
		const struct gw_eval_trips *t = &e->report.trips[i];
		const struct gw_time *time = loop_time(&times, e->program.loops[i].header);

		json_array_append_new(
			list,
			json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "depth",
				  (json_int_t)e->program.loops[i].depth, "entries",
				  gw_json_number(t->entries), "least", gw_json_number(t->least),
				  "most", gw_json_number(t->most), "two_iterations",
				  time ? gw_json_text(
						 gw_time_text(time, times.text, sizeof(times.text)))
				       : json_null(),
				  "iteration_cycles",
				  gw_json_number(time ? loop_cycles(&times, time) : NAN)));
	}
	gw_arena_free(&times.arena);
	return list;
}

static json_t *reasons_json(const struct evaluated *e)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < e->report.reason_count; i++)
		json_array_append_new(
			list, json_pack("{s:I, s:o}", e->program.from_sass ? "instruction" : "line",
					(json_int_t)e->report.reasons[i].source, "why",
					gw_json_text(gw_why_text(e->report.reasons[i].why))));
	return list;
}

static int one_json(const struct evaluated *e, const struct inspect_view *view, json_t *list)
{
	json_t *o = json_object(), *accesses = NULL;
	int status = 0;

	gw_set_text(o, "kernel", e->plain);
	json_object_set_new(o, "refused", *e->refused ? gw_json_text(e->refused) : json_null());
	gw_set_text(o, "why_not", e->why);
	if (!e->why) {
		gw_set_bool(o, "exact", e->exact);
		gw_set_text(o, "coverage", coverage(&e->report));
		gw_set_count(o, "warps", e->report.warps);
		json_object_set_new(o, "warp_executions", counts_json(e));
		json_object_set_new(o, "machine_instructions",
				    e->program.from_sass ? count_json(&e->instructions)
							 : json_null());
		json_object_set_new(o, "branches", count_json(&e->report.branches));
		json_object_set_new(o, "divergent", count_json(&e->report.divergent));
		json_object_set_new(o, "loops", loops_json(e));
		json_object_set_new(o, "blocks",
				    inspect_blocks_json(&e->program, &e->report, e->cfg));
		gw_set_text(o, "left_out", e->open);
		json_object_set_new(o, "reasons", reasons_json(e));
		if (e->job->device)
			json_object_set_new(o, "static", work(e));
		if (e->job->coalescing) {
			status = coalescing(e, view, &accesses);
			json_object_set_new(o, "coalescing", accesses);
		}
	}
	json_array_append_new(list, o);
	return status;
}

/* Its parameters are not those of the launch: one of several kernels may not be meant, a lone one
 * is. */
static int misfit(const struct evaluated *e, const struct inspect_view *view, json_t *list)
{
	const char *fault = e->arguments.fault;

	if (view->count == 1) {
		gw_error("inspect: --launch: %s: %s", e->plain, fault);
		return -1;
	}
	if (list)
		json_array_append_new(list,
				      json_pack("{s:o,s:n,s:o}", "kernel", gw_json_text(e->plain),
						"refused", "why_not", gw_json_text(fault)));
	else
		printf("\n%s is left out: %s\n", e->plain, fault);
	return 0;
}

/* Show what was found; @p count grows, or becomes -1 after a message. Ends @p e. */
static void show(struct evaluated *e, bool good, const struct inspect_view *view, json_t *list,
		 int *count)
{
	int status = !good  ? misfit(e, view, list)
		     : list ? one_json(e, view, list)
			    : one_text(e, view);

	*count = status ? -1 : *count + good;
	evaluated_end(e);
}

static int all_of_ptx(const struct inspect_view *view, json_t *list)
{
	size_t at = 0; /* of the selected kernels: those of the view */
	struct gw_ptx_fault fault;
	struct gw_arena arena;
	struct gw_ptx ptx;
	int count = 0;

	gw_arena_init(&arena, INSPECT_MEMORY);
	if (!gw_ptx_parse(view->bytes, &arena, &ptx, &fault)) {
		gw_error("%s: image %zu: PTX line %" PRIu32 ": %s", view->job->path, view->number,
			 fault.line, fault.what);
		count = -1;
	}
	for (uint32_t i = 0; count >= 0 && i < ptx.kernel_count; i++) {
		char *plain = gw_demangle(ptx.kernels[i].name);
		struct evaluated e;

		if (inspect_kernel_wanted(view->job, ptx.kernels[i].name, plain))
			show(&e, evaluate_ptx(&e, view->job, &ptx, i, plain, &view->kernel[at++]),
			     view, list, &count);
		else
			free(plain);
	}
	gw_arena_free(&arena);
	return count;
}

static int all_of_code(const struct inspect_view *view, json_t *list)
{
	int count = 0;

	for (size_t i = 0; count >= 0 && i < view->count; i++) {
		struct evaluated e;

		show(&e, evaluate_code(&e, view->job, &view->kernel[i], gw_copy(view->plain[i])),
		     view, list, &count);
	}
	return count;
}

/* Each selected kernel of the image; as text where @p list is NULL. */
static int all(const struct inspect_view *view, json_t *list)
{
	if (view->image->kind == GW_IMAGE_PTX)
		return all_of_ptx(view, list);
	return all_of_code(view, list);
}

int inspect_eval_text(const struct inspect_view *view)
{
	return all(view, NULL);
}

int inspect_eval_json(const struct inspect_view *view, json_t **out)
{
	*out = json_array();
	return all(view, *out);
}
