#include "cli/live/file.h"
#include "cli/log/model.h"

#include "cli/log/reasons.h"
#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/spent/ranges.h"
#include "cli/window/window.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <stdlib.h>
#include <string.h>

/* A configuration of the file being read: where its launches are counted. */
struct place {
	uint32_t row, row_gpu; /* GW_INDEX_NONE: none of its launches was counted yet */
	struct log_code code;
	uint64_t launches; /* as code.launches, and their measured time, ns */
	double total;
};

/* State of the file being read. */
struct reading {
	struct gw_log_model *model;
	struct gw_log log;
	struct gw_file *file;
	struct place *place;           /* by configuration of the log */
	uint32_t *name;                /* by kernel of the log: position in gw_log_model.names */
	uint32_t *gpu;                 /* by GPU of the log: position in gw_log_model.gpus */
	struct log_timeline *timeline; /* the same */
	bool *communication;           /* by kernel of the log */
	struct log_waits waits;
	struct log_ranges ranges; /* where rows are by range */
	struct gw_log ahead;      /* the same by line, configuration: read beforehand */
	size_t place_room, name_room, gpu_room, timeline_room, communication_room;
	struct log_judge *judge;
	struct gw_order order;
	uint64_t results[GW_ORDER_LATER + 1];
	bool said[LOG_REASONS_MAX]; /* the model's reasons that the log has given */
	uint32_t violations;        /* of the model, before this file */
	size_t names, slows;        /* the same */
};

static bool same_gpu(const struct gw_gpu *gpu, const struct log_gpu *g)
{
	return *g->uuid ? !strcmp(gpu->uuid, g->uuid)
			: !strcmp(gpu->name, g->name) && gpu->record.ordinal == g->record.ordinal;
}

static void on_device(struct reading *r, uint32_t at)
{
	const struct log_gpu *g = &r->log.gpus[at];
	struct gw_log_model *m = r->model;
	uint32_t i = 0;

	while (i < m->gpu_count && !same_gpu(&m->gpus[i], g))
		i++;
	if (i == m->gpu_count) {
		GW_GROW(m->gpus, &m->gpu_room, ++m->gpu_count);
		m->gpus[i] = (struct gw_gpu){
			.name = gw_copy(g->name), .uuid = gw_copy(g->uuid), .record = g->record};
	}
	GW_GROW(r->gpu, &r->gpu_room, at + 1u);
	GW_GROW(r->timeline, &r->timeline_room, at + 1u);
	r->gpu[at] = i;
	if (r->log.header.flags & GW_HEADER_WAITS) {
		struct log_spent *spent = &m->gpus[i].gaps.spent;
		bool copies = (r->log.header.flags & GW_HEADER_COPIES) != 0;

		spent->copies = copies && (spent->copies || !spent->recorded);
		spent->recorded = true;
		r->timeline[at].waits = &r->waits;
	}
	if (m->watch)
		r->timeline[at].sink = (struct log_span_sink){m->watch->span, m->watch->arg, i};
}

static void on_kernel(struct reading *r)
{
	size_t at = r->log.kernel_count - 1;

	GW_GROW(r->name, &r->name_room, at + 1);
	r->name[at] = gw_log_model_name(r->model, r->log.names[at].mangled);
	GW_GROW(r->communication, &r->communication_room, at + 1);
	r->communication[at] = log_communicates(r->log.names[at].mangled);
}

static void on_config(struct reading *r, uint32_t config)
{
	GW_GROW(r->place, &r->place_room, config + 1u);
	r->place[config].row = GW_INDEX_NONE;
}

/* The model's name of a configuration's kernel; GW_INDEX_NONE where that is not known. */
static uint32_t name_of_config(const struct reading *r, uint32_t config)
{
	return config == GW_INDEX_NONE ? config : r->name[r->log.configs[config].kernel];
}

static void on_work(struct reading *r, const struct log_event *e)
{
	log_judge_work(r->judge, e->config, e->record);
	log_analysis_work(&r->place[e->config].code, e->record);
}

static void on_slow(struct reading *r, const struct log_event *e)
{
	struct log_slow slow = {
		.name = GW_INDEX_NONE,
		.row = GW_INDEX_NONE,
		.record = *(const struct gw_record_slow *)(const void *)e->record->head};

	if (e->config != GW_INDEX_NONE) {
		slow.name = name_of_config(r, e->config);
		slow.config = r->log.configs[e->config].config;
		if (r->model->by != GW_BY_RANGE)
			slow.row = r->place[e->config].row;
	}
	log_slow_add(&r->model->slows, (uint32_t)(r->file - r->model->files), &slow);
}

static bool wanted(const struct reading *r, uint32_t gpu)
{
	const struct gw_log_model *m = r->model;

	return !m->device ||
	       (gpu != GW_INDEX_NONE && gw_gpu_matches(&m->gpus[r->gpu[gpu]], m->device));
}

/* The model's name of the line that a configuration came from. */
static uint32_t line_of_config(struct reading *r, uint32_t config)
{
	char line[LOG_LINE];

	log_stack_line(&r->ahead.stacks, config, line, sizeof(line));
	return gw_log_model_name(r->model, line);
}

/* The model's name of the file that a configuration's kernel was loaded from. */
static uint32_t module_of_config(const struct reading *r, uint32_t config)
{
	uint32_t module = r->log.kernels[r->log.configs[config].kernel].module;
	const char *path =
		module == GW_INDEX_NONE ? LOG_MODULE_UNKNOWN : r->log.modules[module].path;

	return gw_log_model_name(r->model, *path ? path : LOG_MODULE_MEMORY);
}

/* The row of a configuration; rows move as they grow, so only their positions are kept. */
static struct gw_row *row_for(struct reading *r, uint32_t config, uint32_t gpu)
{
	struct place *p = &r->place[config];

	if (p->row == GW_INDEX_NONE || p->row_gpu != gpu) {
		p->row = gw_row_find(
			r->model,
			r->model->by == GW_BY_MODULE ? module_of_config(r, config)
			: r->model->by == GW_BY_LINE ? line_of_config(r, config)
			: r->model->by == GW_BY_RANK
				? gw_row_rank(r->model, r->log.text[GW_TEXT_rank])
				: name_of_config(r, config),
			gpu == GW_INDEX_NONE ? gpu : r->gpu[gpu],
			gw_log_known_as(r->ahead.configs ? &r->ahead : &r->log, config));
		p->row_gpu = gpu;
	}
	return &r->model->rows[p->row];
}

/* The row of a launch: that of its configuration, or of the range that it was called in. */
static struct gw_row *row_of_launch(struct reading *r, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct place *p = &r->place[e->config];

	if (r->model->by != GW_BY_RANGE)
		return row_for(r, e->config, e->gpu);
	p->row = gw_row_find(
		r->model,
		gw_log_model_name(r->model, log_range_at(&r->ranges, e->thread, l->call_ns)),
		GW_INDEX_NONE, NULL);
	return &r->model->rows[p->row];
}

static void keep_violation(struct reading *r, const struct log_event *e,
			   enum gw_order_result result, uint64_t learnt, uint64_t latest)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct gw_log_model *m = r->model;

	if (result < GW_ORDER_SELF || m->violation_count == GW_VIOLATIONS)
		return;
	m->violations[m->violation_count++] = (struct gw_violation){
		.file = (uint32_t)(r->file - m->files),
		.name = name_of_config(r, e->config),
		.offset = e->record->offset,
		.result = result,
		.known = l->known,
		.learnt = learnt,
		.call_ns = l->call_ns,
		.latest_ns = latest,
	};
}

static struct log_caller caller_of(const struct reading *r, const struct log_event *e)
{
	return (struct log_caller){.thread = e->thread,
				   .communication =
					   e->config != GW_INDEX_NONE &&
					   r->communication[r->log.configs[e->config].kernel]};
}

/* @p call: 0 where that is not known, as of sums. */
static void tally(struct reading *r, const struct log_event *e, uint64_t call, uint64_t launches,
		  double total)
{
	struct place *p = &r->place[e->config];

	if (!r->model->tallied)
		return;
	p->launches += launches;
	p->total += total;
	log_tally_add(&r->model->ranges, log_range_at(&r->ranges, e->thread, call), launches,
		      total);
}

static void on_launch(struct reading *r, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	uint64_t learnt = r->order.learnt, latest = r->order.latest;
	enum gw_order_result order = gw_order_check(&r->order, l, e->record->gaps);
	struct gw_log_model *m = r->model;
	struct gw_row *row;

	if (!wanted(r, e->gpu))
		return;
	r->results[order]++;
	keep_violation(r, e, order, learnt, latest);
	gw_file_launch(r->file, l);
	if (e->gpu != GW_INDEX_NONE) {
		struct gw_gpu *gpu = &m->gpus[r->gpu[e->gpu]];

		gpu->launches++;
		if (!m->names_only)
			log_gaps_add(&gpu->gaps, &r->timeline[e->gpu], l, caller_of(r, e));
	}
	if (!m->names_only)
		gw_row_sum(&m->all, l, e->tier);
	if (e->config == GW_INDEX_NONE) {
		*(l->config ? &r->file->lost_names : &r->file->without_place) += 1;
		return;
	}
	row = row_of_launch(r, e);
	if (!m->names_only)
		gw_row_launch(row, l, e->tier);
	if (m->watch)
		m->watch->launch(m->watch->arg, r->place[e->config].row,
				 e->gpu == GW_INDEX_NONE ? e->gpu : r->gpu[e->gpu], l, e->tier);
	r->place[e->config].code.launches++;
	tally(r, e, l->call_ns, 1, gw_launch_measured(l) ? (double)l->duration_ns : 0);
	if (gw_launch_measured(l))
		log_judge_time(r->judge, e->config, r->place[e->config].row, e->gpu, 1,
			       l->duration_ns);
}

/* Sums do not say in which ranges their launches were. */
static struct gw_row *row_of_sum(struct reading *r, uint32_t config)
{
	r->place[config].row =
		gw_row_find(r->model, gw_log_model_name(r->model, log_range_at(&r->ranges, 0, 0)),
			    GW_INDEX_NONE, NULL);
	return &r->model->rows[r->place[config].row];
}

static void on_aggregate(struct reading *r, const struct log_event *e)
{
	const struct gw_record_aggregate *a = (const void *)e->record->head;
	struct gw_row *row;

	if (!wanted(r, e->gpu))
		return;
	r->order.summed = true;
	r->file->launches += a->launches;
	if (e->gpu != GW_INDEX_NONE)
		r->model->gpus[r->gpu[e->gpu]].launches += a->launches;
	gw_row_aggregate(&r->model->all, a);
	gw_row_sketches(&r->model->all, e->time, e->ratio);
	if (e->config == GW_INDEX_NONE) {
		*(a->config ? &r->file->lost_names : &r->file->without_place) += a->launches;
		return;
	}
	row = r->model->by == GW_BY_RANGE ? row_of_sum(r, e->config)
					  : row_for(r, e->config, e->gpu);
	gw_row_aggregate(row, a);
	gw_row_sketches(row, e->time, e->ratio);
	r->place[e->config].code.launches += a->launches;
	tally(r, e, 0, a->launches, (double)a->total_ns);
	if (a->measured)
		log_judge_time(r->judge, e->config, r->place[e->config].row, e->gpu, a->measured,
			       a->total_ns);
}

static void on_analysis(struct reading *r, const struct log_event *e)
{
	log_analysis_add(r->model, e->config == GW_INDEX_NONE ? NULL : &r->place[e->config].code,
			 (const void *)e->record->head, gw_log_text(e->record, 0));
}

static void on_counters(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_counters *c = (const void *)record->head;
	size_t count = c->count < GW_COUNTERS ? c->count : GW_COUNTERS;

	memset(r->file->counters, 0, sizeof(r->file->counters));
	memcpy(r->file->counters, record->tail, count * sizeof(uint64_t));
	r->file->counted = true;
	r->file->until_ns = c->ns;
}

static void end_timelines(struct reading *r)
{
	for (size_t i = 0; i < r->log.gpu_count; i++)
		log_gaps_end(&r->model->gpus[r->gpu[i]].gaps, &r->timeline[i]);
}

static void on_degraded(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_degraded *d = (const void *)record->head;

	log_degraded_add(r->model, d, gw_log_text(record, 0), r->said);
	if (d->code != GW_DEGRADED_CLOCK_SET)
		return;
	gw_order_clock_set(&r->order);
	end_timelines(r);
}

static void on_clock(struct reading *r, uint32_t gpu, const struct gw_record_clock *clock)
{
	log_clock_add(&r->model->gpus[gpu].clocks, clock);
	if (r->model->watch)
		r->model->watch->clock(r->model->watch->arg, gpu, clock);
}

static void on_mode(struct reading *r, const struct gw_record_mode *m)
{
	struct gw_file *f = r->file;

	r->order.summed |= m->mode == GW_MODE_WATCH;
	/* Only mode audit sees each launch and wait: between others' launches nothing is a gap. */
	end_timelines(r);
	for (size_t i = 0; i < r->log.gpu_count; i++)
		r->timeline[i].waits =
			m->mode == GW_MODE_AUDIT && r->log.header.flags & GW_HEADER_WAITS
				? &r->waits
				: NULL;
	if (f->mode_count++ < GW_FILE_MODES)
		f->modes[f->mode_count - 1] = *m;
}

static void take(void *arg, const struct log_event *e)
{
	struct reading *r = arg;

	switch (e->kind) {
	case GW_RECORD_DEVICE:
		on_device(r, e->gpu);
		break;
	case GW_RECORD_KERNEL:
		on_kernel(r);
		break;
	case GW_RECORD_CONFIG:
		on_config(r, e->config);
		break;
	case GW_RECORD_LAUNCH:
		on_launch(r, e);
		break;
	case GW_RECORD_AGGREGATE:
		on_aggregate(r, e);
		break;
	case GW_RECORD_GRAPH:
		if (wanted(r, e->gpu))
			log_graphs_add(&r->model->graphs, &r->log.header, r->log.text[GW_TEXT_host],
				       (const void *)e->record->head,
				       e->gpu == GW_INDEX_NONE ? GW_INDEX_NONE : r->gpu[e->gpu]);
		break;
	case GW_RECORD_GRAPH_WORK:
		log_graphs_work(&r->model->graphs, &r->log.header, r->log.text[GW_TEXT_host],
				e->record);
		break;
	case GW_RECORD_DEGRADED:
		on_degraded(r, e->record);
		break;
	case GW_RECORD_ANALYSIS:
		on_analysis(r, e);
		break;
	case GW_RECORD_COUNTERS:
		on_counters(r, e->record);
		break;
	case GW_RECORD_WORK:
		on_work(r, e);
		break;
	case GW_RECORD_CLOCK:
		on_clock(r, r->gpu[e->gpu], (const void *)e->record->head);
		break;
	case GW_RECORD_COPY:
		if (wanted(r, e->gpu))
			log_gaps_copy(&r->model->gpus[r->gpu[e->gpu]].gaps, &r->timeline[e->gpu],
				      (const void *)e->record->head);
		break;
	case GW_RECORD_RANGE_NAME:
		if (r->model->by == GW_BY_RANGE || r->model->tallied)
			log_range_name(&r->ranges, (const void *)e->record->head,
				       gw_log_text(e->record, 0));
		break;
	case GW_RECORD_RANGE:
		if (r->model->by == GW_BY_RANGE || r->model->tallied)
			log_range_change(&r->ranges, e->thread, (const void *)e->record->head);
		break;
	case GW_RECORD_WAIT:
		log_waits_add(&r->waits, e->thread, (const void *)e->record->head);
		break;
	case GW_RECORD_CHILDREN:
		log_children_add(&r->waits, (const void *)e->record->head);
		break;
	case GW_RECORD_SLOW:
		on_slow(r, e);
		break;
	case GW_RECORD_HEADER:
		r->order.summed |= log_window_there();
		r->order.summed |= *gw_log_value(e->record, "sums") != 0;
		break;
	case GW_RECORD_MODE:
		on_mode(r, (const void *)e->record->head);
		break;
	default: /* what the log itself has, or what is in no report */
		break;
	}
}

static void new_file(struct gw_log_model *m, const char *path)
{
	struct gw_file *f;

	GW_GROW(m->files, &m->file_room, ++m->file_count);
	f = &m->files[m->file_count - 1];
	f->path = gw_copy(path);
}

/*
 * Records that could not be written break the numbering that `known` refers to: then nothing
 * is proven, and nothing is a violation either.
 */
static void add_order(struct reading *r)
{
	struct gw_log_model *m = r->model;

	if (r->file->counters[GW_COUNTER_log_lost]) {
		for (unsigned i = GW_ORDER_PROVEN; i <= GW_ORDER_LATER; i++)
			m->order[GW_ORDER_UNPROVEN] += r->results[i];
		m->violation_count = r->violations;
		return;
	}
	for (unsigned i = 0; i <= GW_ORDER_LATER; i++)
		m->order[i] += r->results[i];
}

/* Each episode once, by the last that was said of it. */
static void add_slow(struct reading *r)
{
	struct gw_log_model *m = r->model;

	for (size_t i = r->slows; i < m->slows.count; i++) {
		const struct log_slow *s = &m->slows.list[i];

		m->all.slow += s->record.slow;
		if (s->row != GW_INDEX_NONE)
			m->rows[s->row].slow += s->record.slow;
	}
}

static void add_codes(struct reading *r)
{
	for (uint32_t i = 0; r->model->by != GW_BY_RANGE && i < r->log.config_count; i++)
		if (r->place[i].row != GW_INDEX_NONE)
			log_analysis_end(r->model, &r->model->rows[r->place[i].row],
					 name_of_config(r, i), &r->place[i].code,
					 r->log.status.ended);
}

/* The log's stacks go over to the file, and with their launches to the rows. */
static void add_stacks(struct reading *r)
{
	struct gw_log_model *m = r->model;

	log_stacks_settle(&r->log.stacks, &r->log);
	r->file->stacks = r->log.stacks;
	r->log.stacks = (struct log_stacks){0};
	for (uint32_t i = 0; m->by != GW_BY_RANGE && i < r->file->stacks.config_count; i++)
		if (r->place[i].row != GW_INDEX_NONE)
			gw_row_stack(m, &m->rows[r->place[i].row], (uint32_t)(r->file - m->files),
				     r->file->stacks.of_config[i], r->place[i].code.launches);
}

static void tally_lines(struct reading *r)
{
	char line[LOG_LINE];

	for (uint32_t i = 0; r->model->tallied && i < r->log.config_count; i++) {
		if (!r->place[i].launches)
			continue;
		log_stack_line(&r->file->stacks, i, line, sizeof(line));
		log_tally_add(&r->model->lines, line, r->place[i].launches, r->place[i].total);
	}
}

/* What the log says of its process: its texts go over to the file. */
static void add_header(struct reading *r)
{
	r->file->header = r->log.header;
	r->file->status = r->log.status;
	for (unsigned i = 0; i < GW_TEXTS; i++) {
		r->file->text[i] = r->log.text[i];
		r->log.text[i] = NULL;
	}
	r->file->untimed = r->order.untimed;
	r->model->summed |= r->order.summed;
	r->model->stand_in |= (r->log.header.flags & GW_HEADER_STAND_IN) != 0;
	for (size_t i = 0; i < r->log.gpu_count; i++)
		r->model->profiles += r->log.gpus[i].known.profile != NULL;
	gw_log_model_count(r->model, r->file);
}

static void end_reading(struct reading *r)
{
	struct gw_log_model *m = r->model;

	add_header(r);
	end_timelines(r);
	log_judge_end(r->judge, m);
	for (uint32_t i = 0; i < r->log.gpu_count; i++)
		log_graphs_judge(&m->graphs, r->gpu[i], gw_log_device(&r->log, i));
	add_slow(r);
	add_codes(r);
	add_stacks(r);
	tally_lines(r);
	add_order(r);
	log_names_demangle(m->names + r->names, m->name_count - r->names);
	gw_order_free(&r->order);
	gw_log_free(&r->log);
	free(r->place);
	free(r->name);
	free(r->gpu);
	free(r->timeline);
	free(r->communication);
	log_waits_free(&r->waits);
	log_ranges_free(&r->ranges);
	gw_log_free(&r->ahead);
}

static bool read_log(struct gw_log_model *m, const char *path, const void *data, size_t length)
{
	struct reading r = {.model = m,
			    .violations = m->violation_count,
			    .names = m->name_count,
			    .slows = m->slows.count};
	bool good;

	new_file(m, path);
	r.file = &m->files[m->file_count - 1];
	if (m->by == GW_BY_LINE || m->by == GW_BY_CONFIG)
		gw_log_events(&r.ahead, path, data, length, NULL, NULL);
	log_stacks_settle(&r.ahead.stacks, &r.ahead);
	r.judge = log_judge_new(&r.log);
	good = gw_log_events(&r.log, path, data, length, take, &r);
	r.file->skipped = !good;
	end_reading(&r);
	return good;
}

bool gw_log_model_read(struct gw_log_model *model, const char *path)
{
	struct gw_live_rest rest;
	bool good;

	gw_live_rest_of(path, &rest);
	good = read_log(model, path, rest.log, rest.size);
	free(rest.log);
	return good;
}

bool gw_log_model_read_memory(struct gw_log_model *model, const char *name, const void *data,
			      size_t length)
{
	return read_log(model, name, data, length);
}
