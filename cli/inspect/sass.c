/* Machine code of a kernel: mix by depth of loops, basic blocks with their schedule, listing. */
#include "cli/inspect/inspect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/code/sass/cfg.h"
#include "predictor/code/timing/schedule.h"

enum {
	MEMORY = 1 << 29, /* bytes of the analysis of one kernel */
	DEPTHS = 4,       /* columns of the mix: 0, 1, 2, and 3 and more loops around */
};

/* Where global loads find their data; a schedule is made for each. */
static const struct {
	const char *name;
	enum gw_param latency;
} levels[] = {{"l1", GW_PARAM_lat_l1}, {"l2", GW_PARAM_lat_l2}, {"dram", GW_PARAM_lat_dram}};
enum { LEVELS = sizeof(levels) / sizeof(*levels) };

/** A kernel's code, analysed. */
struct sass {
	struct gw_arena arena;
	struct gw_cfg cfg;
	unsigned schedules; /* LEVELS, or 1 without any latency */
	struct gw_schedule schedule[LEVELS];
	const char *why; /* why it can't be; NULL when it is */
};

static bool schedules(struct sass *s, const struct gw_device *device)
{
	struct gw_waits waits;

	s->schedules = device ? LEVELS : 1;
	for (unsigned i = 0; i < s->schedules; i++) {
		gw_waits_clear(&waits);
		if (device)
			gw_waits_from_device(&waits, device, gw_param(device, levels[i].latency));
		if (!gw_schedule_build(&s->schedule[i], &s->cfg, &waits, &s->arena))
			return false;
	}
	return true;
}

static void sass_begin(struct sass *s, const struct gw_code_kernel *k,
		       const struct gw_device *device)
{
	struct gw_fault fault = {0};

	memset(s, 0, sizeof(*s));
	gw_arena_init(&s->arena, MEMORY);
	if (k->arch.number < 70)
		s->why = "machine code from before sm_70 is not decoded";
	else if (!gw_cfg_build(&s->cfg, k->code, k->arch.number, &s->arena, &fault))
		s->why = fault.what;
	else if (!schedules(s, device))
		s->why = "its analysis needs more memory than is allowed";
}

static void sass_end(struct sass *s)
{
	gw_arena_free(&s->arena);
}

static void mix_by_depth(const struct sass *s, struct gw_sass_mix mix[DEPTHS])
{
	memset(mix, 0, DEPTHS * sizeof(*mix));
	for (uint32_t b = 0; b < s->cfg.block_count; b++) {
		uint32_t depth = gw_cfg_depth(&s->cfg, b);

		gw_cfg_mix(&s->cfg, b, &mix[depth < DEPTHS ? depth : DEPTHS - 1]);
	}
}

/* A row of the mix, left out where there is none. */
static void mix_row(struct gw_table *table, const char *name, const uint32_t count[DEPTHS])
{
	struct gw_text text;
	uint32_t all = 0;

	for (unsigned d = 0; d < DEPTHS; d++)
		all += count[d];
	if (!all)
		return;
	gw_table_cell(table, name);
	gw_table_cell(table, gw_thousands(&text, all));
	for (unsigned d = 0; d < DEPTHS; d++)
		gw_table_cell(table, gw_thousands(&text, count[d]));
}

static void mix_text(const struct sass *s)
{
	static const struct gw_table_column columns[] = {
		{"INSTRUCTIONS", false, false, 0}, {"ALL", true, false, 0},
		{"IN NO LOOP", true, false, 0},    {"IN 1", true, false, 0},
		{"IN 2", true, false, 0},          {"IN 3 OR MORE", true, false, 0},
	};
	struct gw_table *table = gw_table_new(columns, 2 + DEPTHS);
	struct gw_sass_mix mix[DEPTHS];
	uint32_t count[DEPTHS];

	mix_by_depth(s, mix);
	for (unsigned c = 0; c < GW_SASS_CLASSES; c++) {
		for (unsigned d = 0; d < DEPTHS; d++)
			count[d] = mix[d].cls[c];
		mix_row(table, gw_sass_class_name(c), count);
	}
	for (unsigned d = 0; d < DEPTHS; d++)
		count[d] = mix[d].unknown;
	mix_row(table, "not known", count);
	gw_table_show(table, 4);
}

/* "B3 B5" of a block's successors. */
static void successors(const struct gw_cfg *cfg, const struct gw_cfg_block *b, char *out,
		       size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (uint32_t i = 0; i < b->succ_count && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%sB%u", i ? " " : "",
				      cfg->edges[b->succ_first + i]);
}

static void block_row(struct gw_table *table, const struct sass *s, uint32_t index)
{
	const struct gw_cfg_block *b = &s->cfg.blocks[index];
	const struct gw_schedule_block *t = &s->schedule[0].blocks[index];
	struct gw_text number;
	char text[128];

	gw_table_cellf(table, "B%u", index);
	gw_table_cellf(table, "0x%x", b->first * GW_SASS_BYTES);
	gw_table_cell(table, gw_thousands(&number, b->count));
	gw_table_cell(table, gw_thousands(&number, gw_cfg_depth(&s->cfg, index)));
	gw_table_cell(table, gw_thousands(&number, t->issue));
	gw_table_cell(table, gw_thousands(&number, t->loads));
	gw_table_cell(table, gw_thousands(&number, t->waits));
	if (isnan(t->in_flight))
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), "%.1f", t->in_flight);
	gw_table_cell(table, text);
	gw_table_cell(table, gw_thousands(&number, t->chain));
	for (unsigned i = 0; s->schedules > 1 && i < LEVELS; i++)
		gw_table_cell(table,
			      gw_thousands(&number, s->schedule[i].blocks[index].cycles.value));
	successors(&s->cfg, b, text, sizeof(text));
	gw_table_cell(table, text);
}

/* Latencies that cycles lack, each once. */
static void missing_text(const struct sass *s)
{
	bool shown[GW_WAITS] = {false};

	for (unsigned i = 0; s->schedules > 1 && i < LEVELS; i++)
		for (uint32_t b = 0; b < s->cfg.block_count; b++) {
			const struct gw_schedule_block *t = &s->schedule[i].blocks[b];

			if (!t->unknown || shown[t->missing])
				continue;
			shown[t->missing] = true;
			printf("    cycles are not known without a latency that the profile "
			       "lacks: %s\n",
			       gw_wait_meaning(t->missing));
		}
}

static void blocks_text(const struct sass *s)
{
	static const struct gw_table_column columns[] = {
		{"BLOCK", false, false, 0},       {"AT", true, false, 0},
		{"INSTRUCTIONS", true, false, 0}, {"LOOPS", true, false, 0},
		{"ISSUE CYCLES", true, false, 0}, {"LOADS", true, false, 1},
		{"LOAD WAITS", true, false, 2},   {"IN FLIGHT", true, false, 3},
		{"CHAIN", true, false, 4},        {"NEXT", false, true, 0},
	};
	static const struct gw_table_column timed[] = {
		{"BLOCK", false, false, 0},       {"AT", true, false, 0},
		{"INSTRUCTIONS", true, false, 0}, {"LOOPS", true, false, 0},
		{"ISSUE CYCLES", true, false, 0}, {"LOADS", true, false, 1},
		{"LOAD WAITS", true, false, 2},   {"IN FLIGHT", true, false, 3},
		{"CHAIN", true, false, 4},        {"CYCLES BY L1", true, false, 0},
		{"BY L2", true, false, 0},        {"BY DRAM", true, false, 0},
		{"NEXT", false, true, 0},
	};
	struct gw_table *table =
		s->schedules > 1 ? gw_table_new(timed, 13) : gw_table_new(columns, 10);

	for (uint32_t b = 0; b < s->cfg.block_count; b++)
		block_row(table, s, b);
	printf("\n");
	gw_table_show(table, 4);
	missing_text(s);
	if (s->cfg.unknown_jumps)
		printf("    the targets of an indirect jump are not known: all that nothing else "
		       "reaches\n");
	if (s->cfg.irreducible)
		printf("    a cycle has several ways in: it is not among the loops\n");
}

/* "012" of a mask of scoreboards. */
static void scoreboards(unsigned mask, char out[GW_SASS_BARRIERS + 1])
{
	unsigned n = 0;

	for (unsigned i = 0; i < GW_SASS_BARRIERS; i++)
		if (mask >> i & 1)
			out[n++] = (char)('0' + i);
	out[n] = '\0';
	if (!n)
		strcpy(out, "-");
}

static unsigned one(uint8_t scoreboard)
{
	return scoreboard < GW_SASS_BARRIERS ? 1u << scoreboard : 0;
}

static const char *op_name(const struct gw_sass_insn *insn)
{
	return insn->op == GW_SASS_OP_UNKNOWN ? "not known" : gw_sass_op_name(insn->op);
}

static void instruction_row(struct gw_table *table, uint32_t index, const struct gw_sass_insn *insn)
{
	char text[32];

	gw_table_cellf(table, "0x%x", index * GW_SASS_BYTES);
	gw_table_cell(table, op_name(insn));
	gw_table_cell(table, gw_sass_class_name(insn->cls));
	gw_table_cell(table, gw_sass_pipe_name(insn->pipe));
	gw_table_cellf(table, "%u", insn->stall);
	scoreboards(one(insn->write_barrier), text);
	gw_table_cell(table, text);
	scoreboards(one(insn->read_barrier), text);
	gw_table_cell(table, text);
	scoreboards(insn->wait_mask, text);
	gw_table_cell(table, text);
	if (insn->has_target)
		snprintf(text, sizeof(text), "0x%" PRIx64,
			 (uint64_t)((int64_t)(index + 1) * GW_SASS_BYTES + insn->target));
	else
		snprintf(text, sizeof(text), "-");
	gw_table_cell(table, text);
}

static void listing_text(const struct sass *s)
{
	static const struct gw_table_column columns[] = {
		{"AT", true, false, 0},         {"OPERATION", false, false, 0},
		{"CLASS", false, false, 0},     {"PIPE", false, false, 0},
		{"STALL", true, false, 0},      {"RESULT SETS", false, false, 0},
		{"READ SETS", false, false, 0}, {"WAITS FOR", false, false, 0},
		{"TO", true, false, 0},
	};
	struct gw_table *table = gw_table_new(columns, 9);
	struct gw_sass_insn insn;

	for (uint32_t i = 0; i < s->cfg.insn_count; i++) {
		gw_cfg_insn(&s->cfg, i, &insn);
		instruction_row(table, i, &insn);
	}
	printf("\n");
	gw_table_show(table, 4);
}

void inspect_sass_text(const struct gw_code_kernel *kernel, const struct gw_device *device)
{
	struct sass s;

	sass_begin(&s, kernel, device);
	if (s.why) {
		printf("    %s\n", s.why);
	} else {
		mix_text(&s);
		blocks_text(&s);
		listing_text(&s);
	}
	sass_end(&s);
}

static json_t *mix_json(const struct sass *s)
{
	struct gw_sass_mix mix[DEPTHS];
	json_t *list = json_array();

	mix_by_depth(s, mix);
	for (unsigned d = 0; d < DEPTHS; d++) {
		json_t *classes = json_object();

		for (unsigned c = 0; c < GW_SASS_CLASSES; c++)
			if (mix[d].cls[c])
				gw_set_count(classes, gw_sass_class_name(c), mix[d].cls[c]);
		json_array_append_new(
			list, json_pack("{s:i, s:I, s:I, s:o}", "loops_around", (int)d,
					"instructions", (json_int_t)mix[d].insns, "not_known",
					(json_int_t)mix[d].unknown, "classes", classes));
	}
	return list;
}

static json_t *block_json(const struct sass *s, uint32_t index)
{
	const struct gw_cfg_block *b = &s->cfg.blocks[index];
	const struct gw_schedule_block *t = &s->schedule[0].blocks[index];
	json_t *o = json_object(), *next = json_array();

	for (uint32_t i = 0; i < b->succ_count; i++)
		json_array_append_new(next, gw_json_count(s->cfg.edges[b->succ_first + i]));
	gw_set_count(o, "first", b->first);
	gw_set_count(o, "instructions", b->count);
	gw_set_count(o, "loops_around", gw_cfg_depth(&s->cfg, index));
	gw_set_number(o, "issue_cycles", t->issue);
	gw_set_count(o, "loads", t->loads);
	gw_set_count(o, "load_waits", t->waits);
	gw_set_number(o, "loads_in_flight", t->in_flight);
	gw_set_count(o, "chain", t->chain);
	json_object_set_new(o, "next", next);
	if (s->schedules > 1) {
		json_t *cycles = json_object();

		for (unsigned i = 0; i < LEVELS; i++)
			gw_set_number(cycles, levels[i].name,
				      s->schedule[i].blocks[index].cycles.value);
		json_object_set_new(o, "cycles", cycles);
	}
	return o;
}

static json_t *scoreboard_json(uint8_t scoreboard)
{
	return scoreboard < GW_SASS_BARRIERS ? json_integer(scoreboard) : json_null();
}

static json_t *instruction_json(uint32_t index, const struct gw_sass_insn *insn)
{
	json_t *o = json_object();

	gw_set_count(o, "at", (uint64_t)index * GW_SASS_BYTES);
	json_object_set_new(o, "operation",
			    insn->op == GW_SASS_OP_UNKNOWN ? json_null()
							   : gw_json_text(op_name(insn)));
	gw_set_text(o, "class", gw_sass_class_name(insn->cls));
	gw_set_text(o, "pipe", gw_sass_pipe_name(insn->pipe));
	json_object_set_new(o, "stall", json_integer(insn->stall));
	json_object_set_new(o, "result_sets", scoreboard_json(insn->write_barrier));
	json_object_set_new(o, "read_sets", scoreboard_json(insn->read_barrier));
	json_object_set_new(o, "waits_for", json_integer(insn->wait_mask));
	return o;
}

json_t *inspect_sass_json(const struct gw_code_kernel *kernel, const struct gw_device *device)
{
	json_t *o = json_object(), *blocks = json_array(), *insns = json_array();
	struct sass s;

	sass_begin(&s, kernel, device);
	gw_set_text(o, "why_not", s.why);
	if (!s.why) {
		for (uint32_t b = 0; b < s.cfg.block_count; b++)
			json_array_append_new(blocks, block_json(&s, b));
		for (uint32_t i = 0; i < s.cfg.insn_count; i++) {
			struct gw_sass_insn insn;

			gw_cfg_insn(&s.cfg, i, &insn);
			json_array_append_new(insns, instruction_json(i, &insn));
		}
		json_object_set_new(o, "mix", mix_json(&s));
	}
	json_object_set_new(o, "blocks", blocks);
	json_object_set_new(o, "instructions", insns);
	sass_end(&s);
	return o;
}
