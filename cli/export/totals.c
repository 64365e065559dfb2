#include "cli/export/totals.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>

static bool same(const void *arg, uint32_t position)
{
	const void *const *pair = arg;
	const struct export_total *a = &((const struct export_totals *)pair[0])->list[position];
	const struct export_total *b = pair[1];

	return a->name == b->name && a->gpu == b->gpu && a->bound == b->bound && a->log == b->log &&
	       a->stack == b->stack;
}

static struct export_total *total_of(struct export_totals *t, const struct export_config *config,
				     uint32_t gpu)
{
	const bool stack = t->by_stack && config->stack != GW_INDEX_NONE;
	struct export_total key = {.name = config->kernel->name,
				   .gpu = gpu,
				   .bound = config->bound,
				   .log = stack ? config->log : 0,
				   .stack = stack ? config->stack : GW_INDEX_NONE};
	uint32_t parts[] = {key.name, key.gpu, (uint32_t)key.bound, key.log, key.stack};
	uint64_t hash = gw_hash(0, parts, sizeof(parts));
	uint32_t position = gw_index_find(&t->index, hash, same, (const void *[]){t, &key});

	if (position == GW_INDEX_NONE) {
		position = (uint32_t)t->count;
		GW_GROW(t->list, &t->room, ++t->count);
		t->list[position] = key;
		gw_index_add(&t->index, hash, position);
	}
	return &t->list[position];
}

void export_totals_begin(struct export *e)
{
	e->state = gw_alloc(sizeof(struct export_totals));
}

void export_totals_launch(struct export *e, const struct export_row *row)
{
	struct export_totals *t = e->state;
	struct export_total *total = total_of(t, row->config, row->gpu_number);

	total->launches++;
	if (!row->measured)
		return;
	total->measured++;
	total->ns += row->launch.duration_ns;
	if (!isfinite(row->launch.predicted))
		return;
	total->scored++;
	total->predicted += (double)row->launch.predicted;
	total->scored_ns += row->launch.duration_ns;
}

void export_totals_sum(struct export *e, const struct export_config *config, uint32_t gpu,
		       const struct gw_record_aggregate *sum)
{
	struct export_total *total = total_of(e->state, config, gpu);

	total->launches += sum->launches;
	total->measured += sum->measured;
	total->ns += sum->total_ns;
}

const char *export_total_name(const struct export *e, const struct export_total *total)
{
	const struct gw_name *name =
		total->name == GW_INDEX_NONE ? NULL : &e->model->names[total->name];

	return !name ? "(unknown)" : name->plain ? name->plain : name->mangled;
}

void export_totals_free(struct export_totals *t)
{
	gw_index_free(&t->index);
	free(t->list);
	free(t);
}
