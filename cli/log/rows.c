#include "cli/log/rows.h"

#include "cli/log/reasons.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "predictor/core/hash.h"

#include "cli/log/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gw_row_clear(struct gw_row *row)
{
	*row = (struct gw_row){.device = GW_INDEX_NONE, .min = NAN, .max = NAN};
}

void gw_row_free(struct gw_row *row)
{
	gw_quantile_free(&row->time);
	gw_quantile_free(&row->predicted);
	gw_quantile_free(&row->error);
	gw_quantile_free(&row->least);
	gw_bound_free(row->bound);
}

bool gw_launch_measured(const struct gw_record_launch *launch)
{
	return gw_log_measured(launch->flags, launch->duration_ns);
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* Mean and spread in one pass (Welford). */
static void add_time(struct gw_row *row, double time)
{
	double delta = time - row->mean;

	row->single++;
	row->mean += delta / (double)row->single;
	row->m2 += delta * (time - row->mean);
	if (!(row->min <= time)) /* nor of NaN */
		row->min = time;
	if (!(row->max >= time))
		row->max = time;
	gw_quantile_add(&row->time, time);
}

static void add_score(struct gw_row *row, const struct gw_record_launch *l, enum gw_tier tier)
{
	double time = (double)l->duration_ns, error = fabs((double)l->predicted - time) / time;

	row->scored++;
	row->scored_single++;
	row->tiers[tier]++;
	row->works[l->work <= GW_SOURCE_COUNTED ? l->work : GW_SOURCE_NONE]++;
	row->late += (l->flags & GW_LAUNCH_LATE) != 0;
	row->error_sum += error;
	row->within10 += error <= 0.10;
	row->within25 += error <= 0.25;
	gw_quantile_add(&row->error, error);
	if (isfinite(l->low) && isfinite(l->high)) {
		row->intervals++;
		row->covered += time >= (double)l->low && time <= (double)l->high;
	}
}

static bool has_least(const struct gw_record_launch *l)
{
	return !isfinite(l->predicted) && l->low > 0 && isfinite(l->low);
}

void gw_row_sum(struct gw_row *row, const struct gw_record_launch *l, enum gw_tier tier)
{
	row->launches++;
	row->from_graph += (l->flags & GW_LAUNCH_GRAPH) != 0;
	row->by_events += (l->flags & GW_LAUNCH_EVENTS) != 0;
	row->overlapped += (l->flags & GW_LAUNCH_OVERLAPPED) != 0;
	row->multimodal += (l->flags & GW_LAUNCH_MULTIMODAL) != 0;
	row->cooperative += (l->flags & GW_LAUNCH_COOPERATIVE) != 0;
	row->no_call += (l->flags & GW_LAUNCH_NO_CALL) != 0;
	if (!gw_launch_measured(l)) {
		row->invalid += (l->flags & (GW_LAUNCH_INVALID | GW_LAUNCH_MEASURED)) != 0;
		return;
	}
	row->measured++;
	row->total += (double)l->duration_ns;
	row->at_least += has_least(l);
	if (isfinite(l->predicted))
		add_score(row, l, tier);
}

void gw_row_launch(struct gw_row *row, const struct gw_record_launch *l, enum gw_tier tier)
{
	gw_row_sum(row, l, tier);
	if (!gw_launch_measured(l))
		return;
	add_time(row, (double)l->duration_ns);
	if (isfinite(l->predicted))
		gw_quantile_add(&row->predicted, (double)l->predicted);
	else if (has_least(l))
		gw_quantile_add(&row->least, (double)l->low);
}

/* No writer makes scores that contradict one another; what a damaged log says of them is left out.
 */
static bool has_scores(const struct gw_record_aggregate *a)
{
	return a->scored && a->scored <= a->measured && a->covered <= a->scored &&
	       isfinite(a->error_sum) && a->error_sum >= 0;
}

void gw_row_aggregate(struct gw_row *row, const struct gw_record_aggregate *a)
{
	row->launches += a->launches;
	row->aggregated += a->launches;
	if (!a->measured)
		return;
	row->measured += a->measured;
	row->total += (double)a->total_ns;
	row->min = fmin(row->min, (double)a->min_ns);
	row->max = fmax(row->max, (double)a->max_ns);
	if (!has_scores(a))
		return;
	row->scored += a->scored;
	row->intervals += a->scored;
	row->covered += a->covered;
	row->error_sum += (double)a->error_sum;
}

/* The values of bucket @p i, as one. */
static double middle(const struct gw_sketch *s, int i)
{
	const double value =
		gw_sketch_bound(s->schema, s->first + i) / (1 + gw_sketch_error(s->schema));

	return fmin(fmax(value, s->low), s->high);
}

void gw_row_sketches(struct gw_row *row, const struct gw_sketch *time,
		     const struct gw_sketch *ratio)
{
	for (int i = 0; time && i < GW_SKETCH_BUCKETS; i++)
		if (time->bucket[i])
			gw_quantile_add_times(&row->time, middle(time, i), time->bucket[i]);
	for (int i = 0; ratio && i < GW_SKETCH_BUCKETS; i++)
		if (ratio->bucket[i])
			gw_quantile_add_times(&row->error, fabs(1 / middle(ratio, i) - 1),
					      ratio->bucket[i]);
}

double gw_row_mean(const struct gw_row *row)
{
	return share(row->total, (double)row->measured);
}

double gw_row_deviation(const struct gw_row *row)
{
	return row->single > 1 ? sqrt(row->m2 / (double)(row->single - 1)) : NAN;
}

double gw_row_known(const struct gw_row *row)
{
	return share((double)row->scored, (double)row->measured);
}

double gw_row_coverage(const struct gw_row *row)
{
	return share((double)row->covered, (double)row->intervals);
}

double gw_row_mape(const struct gw_row *row)
{
	return share(row->error_sum, (double)row->scored);
}

bool gw_row_exact(const struct gw_row *row)
{
	return !row->aggregated && gw_quantile_exact(&row->error);
}

/* The key of a row; parts that the grouping ignores are zero. */
struct row_key {
	uint32_t name, device;
	struct gw_config config;
};

struct row_search {
	const struct gw_log_model *model;
	const struct row_key *key;
};

static bool same_row(const void *arg, uint32_t position)
{
	const struct row_search *s = arg;
	const struct gw_row *row = &s->model->rows[position];

	return row->name == s->key->name && row->device == s->key->device &&
	       !memcmp(&row->config, &s->key->config, sizeof(row->config));
}

uint32_t gw_row_find(struct gw_log_model *m, uint32_t name, uint32_t gpu,
		     const struct gw_config *config)
{
	struct row_key key = {.name = name, .device = m->by == GW_BY_DEVICE ? gpu : GW_INDEX_NONE};
	uint64_t hash;
	uint32_t position;

	if (m->by == GW_BY_CONFIG)
		key.config = *config;
	hash = gw_hash(0, &key, sizeof(key));
	position = gw_index_find(&m->row_index, hash, same_row, &(struct row_search){m, &key});
	if (position != GW_INDEX_NONE)
		return position;
	position = (uint32_t)m->row_count;
	GW_GROW(m->rows, &m->row_room, ++m->row_count);
	gw_row_clear(&m->rows[position]);
	m->rows[position].name = name;
	m->rows[position].device = key.device;
	m->rows[position].config = key.config;
	gw_index_add(&m->row_index, hash, position);
	return position;
}

uint32_t gw_row_rank(struct gw_log_model *m, const char *rank)
{
	char name[64] = LOG_NO_RANK;

	if (*rank)
		snprintf(name, sizeof(name), "rank %s", rank);
	return gw_log_model_name(m, name);
}

/* Whether two stacks look the same; those of different files are not compared. */
static bool same_stack(const struct gw_log_model *m, const struct gw_row_stack *a, uint32_t file,
		       uint32_t stack)
{
	return a->file == file && log_stack_same(&m->files[file].stacks, a->stack, stack);
}

void gw_row_stack(const struct gw_log_model *m, struct gw_row *row, uint32_t file, uint32_t stack,
		  uint64_t launches)
{
	struct gw_row_stack *s = row->stacks, one = {file, stack, launches};
	unsigned at = 0;

	if (stack == GW_INDEX_NONE || !launches)
		return;
	while (at < GW_ROW_STACKS && s[at].launches && !same_stack(m, &s[at], file, stack))
		at++;
	if (at < GW_ROW_STACKS && s[at].launches) {
		s[at].launches += launches;
	} else {
		at = at < GW_ROW_STACKS ? at : GW_ROW_STACKS - 1;
		if (s[at].launches >= launches)
			return;
		s[at] = one;
	}
	for (; at && s[at].launches > s[at - 1].launches; at--) {
		one = s[at];
		s[at] = s[at - 1];
		s[at - 1] = one;
	}
}

void gw_log_model_init(struct gw_log_model *model)
{
	*model = (struct gw_log_model){0};
	gw_row_clear(&model->all);
}

static bool same_name(const void *arg, uint32_t position)
{
	const void *const *pair = arg;
	const struct gw_log_model *m = pair[0];

	return !strcmp(m->names[position].mangled, pair[1]);
}

uint32_t gw_log_model_name(struct gw_log_model *m, const char *mangled)
{
	const void *pair[] = {m, mangled};
	uint64_t key = gw_hash(0, mangled, strlen(mangled));
	uint32_t position = gw_index_find(&m->name_index, key, same_name, pair);

	if (position != GW_INDEX_NONE)
		return position;
	position = (uint32_t)m->name_count;
	GW_GROW(m->names, &m->name_room, ++m->name_count);
	m->names[position].mangled = gw_copy(mangled);
	gw_index_add(&m->name_index, key, position);
	return position;
}

char **gw_log_model_short_names(const struct gw_log_model *m)
{
	struct gw_kernel_names *names = gw_alloc((m->name_count + 1) * sizeof(*names));
	char **out = gw_alloc((m->name_count + 1) * sizeof(*out));

	for (size_t i = 0; i < m->name_count; i++)
		names[i] = (struct gw_kernel_names){m->names[i].mangled, m->names[i].plain};
	gw_kernel_names(names, m->name_count, out);
	free(names);
	return out;
}

void gw_log_model_free(struct gw_log_model *m)
{
	for (size_t i = 0; i < m->row_count; i++)
		gw_row_free(&m->rows[i]);
	gw_row_free(&m->all);
	for (size_t i = 0; i < m->gpu_count; i++) {
		free(m->gpus[i].name);
		free(m->gpus[i].uuid);
		log_clocks_free(&m->gpus[i].clocks);
	}
	log_reasons_free(m);
	for (size_t i = 0; i < m->file_count; i++) {
		free(m->files[i].path);
		log_stacks_free(&m->files[i].stacks);
		for (unsigned k = 0; k < GW_TEXTS; k++)
			free(m->files[i].text[k]);
	}
	log_slows_free(&m->slows);
	log_graphs_free(&m->graphs);
	log_tally_free(&m->ranges);
	log_tally_free(&m->lines);
	gw_index_free(&m->row_index);
	gw_index_free(&m->name_index);
	free(m->rows);
	log_names_free(m->names, m->name_count);
	free(m->gpus);
	free(m->files);
}
