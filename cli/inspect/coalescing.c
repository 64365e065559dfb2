#include "cli/inspect/coalescing.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/inspect/access_file.h"
#include "cli/inspect/eval.h"
#include "cli/command.h"
#include "cli/common/number.h"
#include "cli/plot/plots.h"
#include "cli/common/paths.h"
#include "cli/message.h"
#include "cli/table.h"

enum { MEMORY = 256 << 20 /* most bytes of one kernel's analysis */ };

const char *coalescing_view_begin(struct coalescing_view *view, const char *kernel,
				  const struct gw_ir_program *program,
				  const struct gw_eval_launch *launch, struct gw_bytes ptx)
{
	const char *why;

	*view = (struct coalescing_view){
		.kernel = kernel, .from_sass = program->from_sass, .program = program};
	gw_arena_init(&view->arena, MEMORY);
	why = gw_extract(program, ptx, &view->arena, &view->extract);
	if (!why)
		why = gw_gather_run(program, launch, NULL, &view->arena, &view->gather);
	if (!why)
		view->has_graph = gw_locality_graph(view->gather.locality, &view->graph);
	return why;
}

void coalescing_view_end(struct coalescing_view *view)
{
	gw_arena_free(&view->arena);
}

/* The syntax tree of an access; NULL for one that has none (shared memory). */
static const struct gw_access *tree_of(const struct coalescing_view *v, uint32_t insn)
{
	for (uint32_t i = 0; i < v->extract.count; i++)
		if (v->extract.insn[i] == insn)
			return &v->extract.access[i];
	return NULL;
}

static const char *kind_of(const struct gw_gather_access *a)
{
	if (a->atomic)
		return a->space == IR_SPACE_SHARED ? "shared atomic" : "atomic";
	if (a->space == IR_SPACE_SHARED)
		return a->store ? "shared store" : "shared load";
	if (a->space == IR_SPACE_CONST)
		return "constant load";
	return a->store ? "store" : "load";
}

/* Its requests are counted in passes of shared memory, or words of constants. */
static bool is_by_words(const struct gw_gather_access *a)
{
	return a->space == IR_SPACE_SHARED || a->space == IR_SPACE_CONST;
}

static void cell(struct gw_table *table, const char *format, double value)
{
	char text[48];

	snprintf(text, sizeof(text), format, value);
	gw_table_cell(table, isfinite(value) ? text : "-");
}

static void access_row(struct gw_table *table, const struct coalescing_view *v,
		       const struct gw_gather_access *a)
{
	const struct gw_ir_insn *insn = &v->program->insns[a->insn];
	const struct gw_access *tree = tree_of(v, a->insn);
	const struct gw_coalescing *c = &a->coalescing;
	bool global = a->space != IR_SPACE_SHARED && c->requests > 0;
	char text[GW_ACCESS_TEXT_MAX] = "-";

	cell(table, "%.0f", insn->source);
	gw_table_cell(table, kind_of(a));
	cell(table, "%.0f", (double)insn->width * insn->elements);
	cell(table, "%.0f", gw_gather_mean(&a->runs));
	cell(table, "%.2f%%", global ? 100 * gw_coalescing_degree(c) : NAN);
	cell(table, "%.0f", global ? (double)gw_coalescing_range_sectors(c) : NAN);
	cell(table, "%.4g", global ? gw_coalescing_expectation(c) : NAN);
	cell(table, "%.4g",
	     global           ? gw_coalescing_sectors(c)
	     : is_by_words(a) ? a->wavefronts / a->requests
			      : NAN);
	cell(table, "%.0f%%", 100 * a->uncounted / (a->uncounted + a->requests));
	gw_table_cell(table, tree ? gw_access_expression(tree, text, sizeof(text)) : text);
}

static void print_accesses(const struct coalescing_view *v)
{
	const struct gw_table_column columns[] = {
		{v->from_sass ? "INSN" : "LINE", true, false, 0},
		{"ACCESS", false, false, 0},
		{"BYTES", true, false, 0},
		{"REQUESTS", true, false, 3},
		{"DEGREE", true, false, 0},
		{"IN RANGE", true, false, 4},
		{"EXPECTED", true, false, 2},
		{"PER REQUEST", true, false, 0},
		{"UNKNOWN", true, false, 5},
		{"ADDRESS", false, true, 1},
	};
	struct gw_table *table = gw_table_new(columns, sizeof(columns) / sizeof(*columns));

	for (uint32_t i = 0; table && i < v->gather.count; i++)
		access_row(table, v, &v->gather.access[i]);
	if (table)
		gw_table_show(table, 2);
}

/* How often a request of the sample stands for one of the grid. */
static double weight_of(const struct gw_gather_access *a)
{
	double runs = gw_gather_mean(&a->runs) / (a->requests + a->uncounted);

	return isfinite(runs) ? runs : 1;
}

/* All global loads together, or all that write. Kim's figures of a kernel are of its loads. */
static struct gw_coalescing whole(const struct coalescing_view *v, bool store)
{
	struct gw_coalescing sum = {0};

	for (uint32_t i = 0; i < v->gather.count; i++)
		if (v->gather.access[i].store == store)
			gw_coalescing_merge(&sum, &v->gather.access[i].coalescing,
					    weight_of(&v->gather.access[i]));
	return sum;
}

static void print_whole(const struct coalescing_view *v, const char *what, bool store)
{
	struct gw_coalescing sum = whole(v, store);

	if (sum.requests > 0)
		printf("  %s: degree of coalescing %.2f%%, sector expectation %.4g, sectors per "
		       "request %.4g\n",
		       what, 100 * gw_coalescing_degree(&sum), gw_coalescing_expectation(&sum),
		       gw_coalescing_sectors(&sum));
}

static void print_locality(const struct coalescing_view *v)
{
	struct gw_locality_grid grid;
	struct gw_locality_hits hits;
	struct gw_text t;

	printf("\n");
	print_whole(v, "loads", false);
	print_whole(v, "stores", true);
	gw_locality_grid(v->gather.locality, GW_LOCALITY_ALL, &grid);
	if (isnan(grid.footprint.sectors))
		printf("  footprint of the grid unknown: an address is not known before the "
		       "launch\n");
	else
		printf("  footprint of the grid %s, %s\n",
		       gw_bytes(&t, grid.footprint.sectors * GW_SECTOR_BYTES),
		       grid.counted ? "counted" : "estimated from chosen blocks");
	gw_locality_l1(v->gather.locality, &hits);
	if (!isnan(hits.rate))
		printf("  a block asks for %.5g sectors, %.5g of them different: %.1f%% can hit "
		       "L1\n",
		       hits.demanded, hits.distinct, 100 * hits.rate);
	if (v->has_graph && v->graph.blocks > 1)
		printf("  blocks: SpScore %.4g, degree of sharing %.1f%% (%u blocks looked at)\n",
		       v->graph.sp_score, 100 * v->graph.degree_of_sharing, v->graph.blocks);
}

void coalescing_text(const struct coalescing_view *view)
{
	char name[256];

	printf("%sCoalescing of %s%s\n", gw_ink(stdout, GW_INK_BOLD),
	       gw_printable(name, sizeof(name), view->kernel), gw_ink(stdout, GW_INK_OFF));
	if (!view->gather.count) {
		printf("  no access to global or shared memory\n");
		return;
	}
	print_accesses(view);
	print_locality(view);
}

static json_t *measures_json(const struct gw_coalescing *c)
{
	json_t *o = json_object();

	gw_set_number(o, "degree_of_coalescing", gw_coalescing_degree(c));
	json_object_set_new(o, "sector_accesses_per_warp",
			    json_integer(gw_coalescing_range_sectors(c)));
	gw_set_number(o, "sector_expectation", gw_coalescing_expectation(c));
	gw_set_number(o, "sectors_per_request", gw_coalescing_sectors(c));
	return o;
}

static json_t *access_json(const struct coalescing_view *v, const struct gw_gather_access *a)
{
	const struct gw_ir_insn *insn = &v->program->insns[a->insn];
	const struct gw_access *tree = tree_of(v, a->insn);
	char text[GW_ACCESS_TEXT_MAX];
	json_t *o = json_object();

	json_object_set_new(o, "source", json_integer(insn->source));
	gw_set_text(o, "access", kind_of(a));
	json_object_set_new(o, "bytes", json_integer(insn->width * insn->elements));
	gw_set_number(o, "requests", gw_gather_mean(&a->runs));
	gw_set_number(o, "unknown_share", a->uncounted / (a->uncounted + a->requests));
	if (tree)
		gw_set_text(o, "address", gw_access_expression(tree, text, sizeof(text)));
	if (a->space == IR_SPACE_SHARED) {
		gw_set_number(o, "wavefronts_per_request", a->wavefronts / a->requests);
		gw_set_number(o, "bank_conflicts_per_request", a->conflicts / a->requests);
	} else if (a->space == IR_SPACE_CONST) {
		gw_set_number(o, "words_per_request", a->wavefronts / a->requests);
	} else if (a->coalescing.requests > 0) {
		json_object_update_new(o, measures_json(&a->coalescing));
	}
	return o;
}

json_t *coalescing_json(const struct coalescing_view *view)
{
	struct gw_coalescing loads = whole(view, false), stores = whole(view, true);
	json_t *root = json_object(), *accesses = json_array();
	struct gw_locality_grid grid;
	struct gw_locality_hits hits;

	gw_locality_grid(view->gather.locality, GW_LOCALITY_ALL, &grid);
	gw_locality_l1(view->gather.locality, &hits);
	for (uint32_t i = 0; i < view->gather.count; i++)
		json_array_append_new(accesses, access_json(view, &view->gather.access[i]));
	json_object_set_new(root, "loads", measures_json(&loads));
	json_object_set_new(root, "stores", measures_json(&stores));
	json_object_set_new(root, "accesses", accesses);
	gw_set_number(root, "footprint_bytes", grid.footprint.sectors * GW_SECTOR_BYTES);
	gw_set_bool(root, "footprint_counted", grid.counted);
	gw_set_number(root, "l1_hit_rate_of_a_block", hits.rate);
	if (view->has_graph) {
		gw_set_number(root, "sp_score", view->graph.sp_score);
		gw_set_number(root, "degree_of_sharing", view->graph.degree_of_sharing);
	}
	json_object_set_new(root, "syntax_trees",
			    access_file_json(view->extract.access, view->extract.count));
	return root;
}

static int save(struct svg *svg, const char *folder, const char *what, const char *kernel)
{
	char path[1024], error[1280], name[128];
	int status = GW_EXIT_OK;
	size_t i = 0;

	for (; kernel[i] && i + 1 < sizeof(name); i++)
		name[i] = isalnum((unsigned char)kernel[i]) ? kernel[i] : '_';
	name[i] = '\0';
	snprintf(path, sizeof(path), "%s/%s-%s.svg", folder, what, name);
	if (!svg_save(svg, path, error, sizeof(error)))
		status = gw_error("%s", error);
	svg_free(svg);
	return status;
}

static struct svg *draw_coalescing(const struct coalescing_view *v)
{
	struct gw_coalescing sum = whole(v, false);
	struct plot_coalescing data = {.kernel = v->kernel,
				       .bytes = sum.bytes,
				       .outside = sum.lanes / sum.requests,
				       .degree = gw_coalescing_degree(&sum),
				       .expectation = gw_coalescing_expectation(&sum),
				       .sectors = gw_coalescing_sectors(&sum)};

	for (unsigned i = 0; i < GW_REQUEST_LANES; i++) {
		data.lanes[i] = sum.graph[i] / sum.requests;
		data.outside -= data.lanes[i];
	}
	data.outside = fmax(data.outside, 0);
	return plot_coalescing(&data);
}

static bool starts_before(struct gw_dim3 a, struct gw_dim3 b)
{
	if (a.z != b.z)
		return a.z < b.z;
	return a.y != b.y ? a.y < b.y : a.x < b.x;
}

/* Places of the blocks looked at, in the order in which blocks are started. */
static void order_blocks(const struct gw_locality *l, uint32_t order[GW_LOCALITY_BLOCKS])
{
	for (uint32_t i = 0; i < l->block_count; i++) {
		uint32_t at = i;

		for (; at && starts_before(l->block[i], l->block[order[at - 1]]); at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

static struct svg *draw_sharing(const struct coalescing_view *v)
{
	static char text[GW_LOCALITY_BLOCKS][40];
	static double shared[GW_LOCALITY_BLOCKS * GW_LOCALITY_BLOCKS];
	const struct gw_locality *l = v->gather.locality;
	uint32_t order[GW_LOCALITY_BLOCKS], blocks = v->graph.blocks;
	const char *names[GW_LOCALITY_BLOCKS];
	struct plot_sharing data = {.kernel = v->kernel,
				    .blocks = blocks,
				    .shared = shared,
				    .names = names,
				    .sp_score = v->graph.sp_score,
				    .degree_of_sharing = v->graph.degree_of_sharing};

	order_blocks(l, order);
	for (uint32_t i = 0; i < blocks; i++) {
		struct gw_dim3 b = l->block[order[i]];

		snprintf(text[i], sizeof(text[i]), "(%u, %u, %u)", b.x, b.y, b.z);
		names[i] = text[i];
		for (uint32_t k = 0; k < blocks; k++)
			shared[i * blocks + k] = v->graph.shared[order[i] * blocks + order[k]];
	}
	return plot_sharing(&data);
}

int coalescing_plot(const struct coalescing_view *view, const char *folder)
{
	int status = GW_EXIT_OK;

	if (!gw_folder_make(folder))
		return GW_EXIT_USAGE;
	if (whole(view, false).requests > 0)
		status = save(draw_coalescing(view), folder, "coalescing", view->kernel);
	if (status == GW_EXIT_OK && view->has_graph)
		status = save(draw_sharing(view), folder, "locality", view->kernel);
	return status;
}

int inspect_coalescing(const struct inspect_job *job, const char *name,
		       const struct gw_ir_program *program, const struct gw_eval_launch *launch,
		       struct gw_bytes ptx, json_t **json)
{
	struct coalescing_view c;
	const char *why = coalescing_view_begin(&c, name, program, launch, ptx);
	int status = 0;

	if (json)
		*json = why ? json_pack("{s:o}", "why_not", gw_json_text(why))
			    : coalescing_json(&c);
	else if (why)
		printf("    accesses unknown: %s\n", why);
	else
		coalescing_text(&c);
	if (!why && job->plot)
		status = coalescing_plot(&c, job->plot);
	coalescing_view_end(&c);
	return status ? -1 : 0;
}
