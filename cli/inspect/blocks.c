/* How often a launch's warps run each basic block. */
#include "cli/inspect/eval.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/code/sass/work.h"

/* A block of the code; of a function that is taken in at several calls, all of them together. */
struct runs {
	uint32_t at; /* byte of machine code, line of PTX */
	uint32_t instructions;
	struct gw_eval_count grid;  /* over all warps */
	double longest;             /* of the costliest warp, surely */
	uint32_t head;              /* instructions that each part of a warp runs; 0: none */
	struct gw_eval_count parts; /* that run them beside those counted in `grid` */
	bool shown;
};

static uint32_t place(const struct gw_ir_program *p, const struct gw_cfg *cfg, uint32_t block)
{
	const struct gw_ir_block *b = &p->blocks[block];

	if (cfg)
		return cfg->blocks[b->tag].first * GW_SASS_BYTES;
	return b->count ? p->insns[b->first].source : 0;
}

static void add_parts(struct runs *r, const struct gw_ir_program *p,
		      const struct gw_eval_report *report, uint32_t block)
{
	struct gw_eval_count more;

	if (!r->head)
		return;
	more = gw_sass_parts(p, report, block);
	r->parts.least += more.least;
	r->parts.most += more.most;
}

/* By the blocks of the graph, or of the program where there is none; the caller frees them. */
static struct runs *runs_of(const struct gw_ir_program *p, const struct gw_eval_report *report,
			    const struct gw_cfg *cfg, uint32_t *count)
{
	struct runs *out;

	*count = cfg ? cfg->block_count : p->block_count;
	out = gw_alloc((*count + 1) * sizeof(*out));
	for (uint32_t b = 0; b < p->block_count; b++) {
		struct runs *r = &out[cfg ? p->blocks[b].tag : b];

		if (cfg && p->blocks[b].tag >= cfg->block_count)
			continue; /* the end of a thread */
		r->at = place(p, cfg, b);
		r->instructions = cfg ? cfg->blocks[p->blocks[b].tag].count : p->blocks[b].sources;
		r->grid.least += report->blocks[b].runs.least;
		r->grid.most += report->blocks[b].runs.most;
		r->longest += report->longest[b].runs.least;
		r->head = cfg ? gw_sass_head(cfg, p->blocks[b].tag) : 0;
		add_parts(r, p, report, b);
		r->shown = r->instructions > 0 && (cfg || r->at); /* some stand for no line */
	}
	return out;
}

void inspect_blocks_text(const struct gw_ir_program *program, const struct gw_eval_report *report,
			 const struct gw_cfg *cfg)
{
	static const struct gw_table_column columns[] = {{"BLOCK AT", true, false, 0},
							 {"INSTRUCTIONS", true, false, 1},
							 {"RUN BY WARPS", true, false, 0},
							 {"BY THE LONGEST", true, false, 2}};
	struct gw_table *table = gw_table_new(columns, 4);
	uint32_t count;
	struct runs *runs = runs_of(program, report, cfg, &count);

	for (uint32_t i = 0; i < count; i++) {
		char text[100], least[40];
		struct gw_text n;

		if (!runs[i].shown || runs[i].grid.most <= 0)
			continue;
		gw_table_cellf(table, cfg ? "0x%" PRIx32 : "line %" PRIu32, runs[i].at);
		gw_table_cell(table, gw_thousands(&n, runs[i].instructions));
		snprintf(least, sizeof(least), "%s", gw_thousands(&n, runs[i].grid.least));
		if (runs[i].grid.most > runs[i].grid.least)
			snprintf(text, sizeof(text), "%s to %s", least,
				 gw_thousands(&n, runs[i].grid.most));
		else
			snprintf(text, sizeof(text), "%s", least);
		gw_table_cell(table, text);
		gw_table_cell(table, gw_thousands(&n, runs[i].longest));
	}
	printf("\n");
	gw_table_show(table, 4);
	free(runs);
}

static json_t *block_json(const struct runs *r, const char *place)
{
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", place, gw_json_count(r->at),
			      "instructions", gw_json_count(r->instructions), "least",
			      gw_json_number(r->grid.least), "most", gw_json_number(r->grid.most),
			      "longest_warp", gw_json_number(r->longest), "meeting", json_null());

	if (r->head)
		json_object_set_new(
			o, "meeting",
			json_pack("{s:o, s:o, s:o}", "instructions", gw_json_count(r->head),
				  "least", gw_json_number(r->grid.least + r->parts.least), "most",
				  gw_json_number(r->grid.most + r->parts.most)));
	return o;
}

json_t *inspect_blocks_json(const struct gw_ir_program *program,
			    const struct gw_eval_report *report, const struct gw_cfg *cfg)
{
	json_t *list = json_array();
	uint32_t count;
	struct runs *runs = runs_of(program, report, cfg, &count);

	for (uint32_t i = 0; i < count; i++)
		if (runs[i].shown)
			json_array_append_new(list, block_json(&runs[i], cfg ? "at" : "line"));
	free(runs);
	return list;
}
