/* Apache Parquet: launches by row.def, or a table of tables.def. */
#include "cli/parquet/parquet.h"

#include "cli/export/totals.h"

#include <stdlib.h>

#define WRITER "gpuwatch version " GW_VERSION

#define TYPE_COUNT PARQUET_COUNT
#define TYPE_TIME  PARQUET_TIME
#define TYPE_REAL  PARQUET_DOUBLE
#define TYPE_TEXT  PARQUET_TEXT

static const struct parquet_column launch_columns[] = {
#define COLUMN(name, kind, known, value) {#name, TYPE_##kind},
#include "cli/export/row.def"
};

#define TABLE(name, rows, meaning) static const struct parquet_column name##_columns[] = {
#define TABLE_END(name) \
	} \
	;
#include "cli/export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

#define SET_COUNT(v, value) (v)->count = (value)
#define SET_TIME(v, value)  (v)->count = (value)
#define SET_REAL(v, value)  (v)->real = (value)
#define SET_TEXT(v, value)  (v)->text = (value)

/* What a row of a table is made from. */
#define FROM_total const struct export_total *t
#define FROM_graph const struct log_graph *g
#define FROM_gap   const struct export_process *p, enum gw_gap why, uint64_t from, uint64_t until
#define FROM_sample \
	const struct export_process *p, const struct gw_record_clock *c

#define TABLE(name, rows, meaning) \
	static void put_##name(struct export *e, struct parquet *table, const struct gw_gpu *gpu, \
			       FROM_##rows) \
	{ \
		struct parquet_value values[sizeof(name##_columns) / sizeof(*name##_columns)]; \
		struct parquet_value *v = values; \
												   \
		(void)e;
#define COLUMN(name, kind, is_known, value) \
	*v = (struct parquet_value){.known = (is_known)}; \
	if (v->known) \
		SET_##kind(v, value); \
	v++;
#define TABLE_END(name) \
	parquet_row(table, values); \
	}
#include "cli/export/tables.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

static void sink(void *arg, const void *data, size_t size)
{
	export_write(arg, data, size);
}

static void begin_launches(struct export *e)
{
	e->state = parquet_begin(launch_columns, EXPORT_COLUMNS, sink, e->out);
}

static void launch(struct export *e, const struct export_row *row)
{
	struct export_value from[EXPORT_COLUMNS];
	struct parquet_value values[EXPORT_COLUMNS];

	export_values(row, from);
	for (unsigned i = 0; i < EXPORT_COLUMNS; i++)
		values[i] = (struct parquet_value){from[i].known, from[i].count, from[i].real,
						   from[i].text};
	parquet_row(e->state, values);
}

static bool end(struct export *e)
{
	if (e->state)
		parquet_end(e->state, WRITER);
	return true;
}

static const struct gw_gpu *gpu_of(const struct export *e, uint32_t gpu)
{
	return gpu == GW_INDEX_NONE ? NULL : &e->model->gpus[gpu];
}

static bool end_kernels(struct export *e)
{
	struct export_totals *t = e->state;
	struct parquet *table;

	if (!t)
		return true;
	table = parquet_begin(kernels_columns, sizeof(kernels_columns) / sizeof(*kernels_columns),
			      sink, e->out);
	for (size_t i = 0; i < t->count; i++)
		put_kernels(e, table, gpu_of(e, t->list[i].gpu), &t->list[i]);
	parquet_end(table, WRITER);
	export_totals_free(t);
	return true;
}

static bool end_graphs(struct export *e)
{
	const struct log_graphs *graphs = &e->model->graphs;
	struct parquet *table = parquet_begin(
		graphs_columns, sizeof(graphs_columns) / sizeof(*graphs_columns), sink, e->out);
	double ns[GW_BOUND_LAUNCH + 1];

	e->graphs_ns = log_graphs_by_bound(graphs, ns);
	for (size_t i = 0; i < graphs->count; i++)
		put_graphs(e, table, gpu_of(e, graphs->list[i].gpu), &graphs->list[i]);
	parquet_end(table, WRITER);
	return true;
}

static void begin_idle(struct export *e)
{
	e->state = parquet_begin(idle_columns, sizeof(idle_columns) / sizeof(*idle_columns), sink,
				 e->out);
}

static void idle(struct export *e, const struct export_process *p, uint32_t gpu, enum gw_gap why,
		 uint64_t from_ns, uint64_t until_ns)
{
	put_idle(e, e->state, gpu_of(e, gpu), p, why, from_ns, until_ns);
}

static void begin_clocks(struct export *e)
{
	e->state = parquet_begin(clocks_columns, sizeof(clocks_columns) / sizeof(*clocks_columns),
				 sink, e->out);
}

static void clock_sample(struct export *e, const struct export_process *p, uint32_t gpu,
			 const struct gw_record_clock *c)
{
	put_clocks(e, e->state, gpu_of(e, gpu), p, c);
}

/* No launch is in the table, so none is left out. */
static void no_sum(struct export *e, const struct export_config *config, uint32_t gpu,
		   const struct gw_record_aggregate *sum)
{
	(void)e;
	(void)config;
	(void)gpu;
	(void)sum;
}

const struct export_format export_parquet = {
	.begin = begin_launches, .launch = launch, .end = end, .binary = true};
const struct export_format export_table_kernels = {.begin = export_totals_begin,
						   .launch = export_totals_launch,
						   .sum = export_totals_sum,
						   .end = end_kernels,
						   .binary = true};
const struct export_format export_table_graphs = {.sum = no_sum, .end = end_graphs, .binary = true};
const struct export_format export_table_idle = {
	.begin = begin_idle, .idle = idle, .end = end, .binary = true};
const struct export_format export_table_clocks = {
	.begin = begin_clocks, .sum = no_sum, .clock = clock_sample, .end = end, .binary = true};
