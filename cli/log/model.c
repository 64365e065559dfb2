/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/live/file.h"
#include "cli/log/model.h"

#include "cli/log/names.h"
#include "cli/log/reasons.h"
#include "cli/log/rows.h"
#include "cli/log/verdict.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A configuration of the file being read. */
struct config {
	uint32_t name, row, row_gpu;
	uint32_t kernel, device; /* position in reading.kernels; id in the log, 0: not known */
	struct gw_config config;
	uint64_t first_learnt; /* number of its first learnt record; 0: none yet */
	struct log_code code;
};

struct kernel {
	uint32_t name;
	uint64_t first_learnt;
};

/* State of the file being read: what its ids stand for. */
struct reading {
	struct gw_log_model *model;
	struct gw_file *file;
	struct gw_index devices, kernels, configs, streams;
	struct kernel *kernel;
	struct config *config;
	uint32_t *stream_gpu, *device_gpu;
	struct log_course *course; /* by device, as device_gpu */
	size_t kernels_used, kernel_room, configs_used, config_room;
	size_t streams_used, stream_room, devices_used, device_room, course_room;
	struct log_judge *judge;
	struct gw_order order;
	uint64_t results[GW_ORDER_LATER + 1];
	uint32_t violations; /* of the model, before this file */
	size_t names, slows; /* the same */
};

void gw_log_model_init(struct gw_log_model *model)
{
	*model = (struct gw_log_model){0};
	gw_row_clear(&model->all);
}

bool gw_gpu_matches(const struct gw_gpu *gpu, const char *text)
{
	char number[16];

	snprintf(number, sizeof(number), "%u", gpu->record.ordinal);
	return !strcmp(number, text) ||
	       (strlen(text) >= 4 && !strncasecmp(gpu->uuid, text, strlen(text))) ||
	       (text[strspn(text, "0123456789")] && strcasestr(gpu->name, text));
}

/* What tells rows apart; zeroed where the grouping does not look at it. */
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

static uint32_t row_of(struct gw_log_model *m, uint32_t name, uint32_t gpu,
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
	m->rows = gw_grow(m->rows, &m->row_room, ++m->row_count, sizeof(*m->rows));
	gw_row_clear(&m->rows[position]);
	m->rows[position].name = name;
	m->rows[position].device = key.device;
	m->rows[position].config = key.config;
	gw_index_add(&m->row_index, hash, position);
	return position;
}

static const char *const header_keys[GW_TEXTS] = {
#define KEY(name) #name,
        GW_HEADER_TEXTS(KEY)
#undef KEY
};

static void on_header(struct reading *r, const struct gw_log_record *record)
{
	struct gw_file *f = r->file;

	f->header = *(const struct gw_record_header *)(const void *)record->head;
	for (unsigned i = 0; i < GW_TEXTS; i++) {
		free(f->text[i]);
		f->text[i] = gw_copy(gw_log_value(record, header_keys[i]));
	}
	r->model->stand_in |= (f->header.flags & GW_HEADER_STAND_IN) != 0;
}

static void on_device(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_device *d = (const void *)record->head;
	const char *name = gw_log_text(record, 0), *uuid = gw_log_text(record, 1);
	struct gw_log_model *m = r->model;
	uint32_t i;

	for (i = 0; i < m->gpu_count; i++)
		if (*uuid ? !strcmp(m->gpus[i].uuid, uuid)
		          : !strcmp(m->gpus[i].name, name) &&
		                    m->gpus[i].record.ordinal == d->ordinal)
			break;
	if (i == m->gpu_count) {
		m->gpus = gw_grow(m->gpus, &m->gpu_room, ++m->gpu_count, sizeof(*m->gpus));
		m->gpus[i] =
		        (struct gw_gpu){.name = gw_copy(name), .uuid = gw_copy(uuid), .record = *d};
	}
	gw_index_add(&r->devices, d->id, (uint32_t)r->devices_used);
	r->device_gpu = gw_grow(r->device_gpu, &r->device_room, r->devices_used + 1,
	                        sizeof(*r->device_gpu));
	r->course = gw_grow(r->course, &r->course_room, r->devices_used + 1, sizeof(*r->course));
	r->device_gpu[r->devices_used++] = i;
}

static void on_kernel(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_kernel *k = (const void *)record->head;

	gw_index_add(&r->kernels, k->id, (uint32_t)r->kernels_used);
	r->kernel = gw_grow(r->kernel, &r->kernel_room, r->kernels_used + 1, sizeof(*r->kernel));
	r->kernel[r->kernels_used++].name = log_name_of(r->model, gw_log_text(record, 0));
	log_judge_kernel(r->judge, k);
}

static void on_config(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_config *c = (const void *)record->head;
	uint32_t kernel = gw_index_find(&r->kernels, c->kernel, NULL, NULL);

	if (kernel == GW_INDEX_NONE)
		return; /* its kernel was in a lost part: its launches count as without a name */
	gw_index_add(&r->configs, c->id, (uint32_t)r->configs_used);
	r->config = gw_grow(r->config, &r->config_room, r->configs_used + 1, sizeof(*r->config));
	r->config[r->configs_used++] = (struct config){
	        .name = r->kernel[kernel].name,
	        .kernel = kernel,
	        .row = GW_INDEX_NONE,
	        .device = c->device,
	        .config = gw_recorded_config(c),
	};
	log_judge_config(r->judge, kernel, &r->config[r->configs_used - 1].config);
}

static void on_work(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_work *w = (const void *)record->head;
	uint32_t config = gw_index_find(&r->configs, w->config, NULL, NULL);

	if (config == GW_INDEX_NONE)
		return;
	log_judge_work(r->judge, config, record);
	log_analysis_work(&r->config[config].code, record);
}

static void on_profile(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_profile *p = (const void *)record->head;
	uint32_t device = gw_index_find(&r->devices, p->device, NULL, NULL);

	if (device != GW_INDEX_NONE)
		log_judge_profile(r->judge, r->device_gpu[device], record);
}

static void on_clock(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_clock *c = (const void *)record->head;
	uint32_t device = gw_index_find(&r->devices, c->device, NULL, NULL);

	if (device != GW_INDEX_NONE)
		log_clock_add(&r->model->gpus[r->device_gpu[device]].clocks, c);
}

static void on_slow(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_slow *s = (const void *)record->head;
	uint32_t at = gw_index_find(&r->configs, s->config, NULL, NULL);

	if (at != GW_INDEX_NONE)
		log_slow_add(&r->model->slows, (uint32_t)(r->file - r->model->files),
		             &(struct log_slow){.name = r->config[at].name,
		                                .row = r->config[at].row,
		                                .config = r->config[at].config,
		                                .record = *s});
}

static void on_stream(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_stream *s = (const void *)record->head;
	uint32_t device = gw_index_find(&r->devices, s->device, NULL, NULL);

	gw_index_add(&r->streams, s->id, (uint32_t)r->streams_used);
	r->stream_gpu = gw_grow(r->stream_gpu, &r->stream_room, r->streams_used + 1,
	                        sizeof(*r->stream_gpu));
	r->stream_gpu[r->streams_used++] =
	        device == GW_INDEX_NONE ? GW_INDEX_NONE : r->device_gpu[device];
}

/* The GPU of @p stream; where that is lost or 0, that of @p c (may be NULL), or the file's only
 * one. */
static uint32_t gpu_of(const struct reading *r, uint32_t stream, const struct config *c)
{
	uint32_t s = stream ? gw_index_find(&r->streams, stream, NULL, NULL) : GW_INDEX_NONE;
	uint32_t d = c ? gw_index_find(&r->devices, c->device, NULL, NULL) : GW_INDEX_NONE;

	if (s != GW_INDEX_NONE && r->stream_gpu[s] != GW_INDEX_NONE)
		return r->stream_gpu[s];
	d = d == GW_INDEX_NONE && r->devices_used == 1 ? 0 : d;
	return d == GW_INDEX_NONE ? d : r->device_gpu[d];
}

static bool wanted(const struct gw_log_model *m, uint32_t gpu)
{
	return !m->device || (gpu != GW_INDEX_NONE && gw_gpu_matches(&m->gpus[gpu], m->device));
}

/* The row of a configuration; rows move as they grow, so only their positions are kept. */
static struct gw_row *row_for(struct reading *r, struct config *c, uint32_t gpu)
{
	if (c->row == GW_INDEX_NONE || c->row_gpu != gpu) {
		c->row = row_of(r->model, c->name, gpu, &c->config);
		c->row_gpu = gpu;
	}
	return &r->model->rows[c->row];
}

/* How much was known of a launch; of version 1, how much could be by what stands before it. */
static enum gw_tier tier_of(const struct reading *r, const struct config *c,
                            const struct gw_record_launch *l)
{
	const struct kernel *k = &r->kernel[c->kernel];

	if (r->file->header.version >= 2)
		return l->tier <= GW_TIER_STEADY ? (enum gw_tier)l->tier : GW_TIER_NONE;
	if (c->first_learnt && c->first_learnt <= l->known)
		return GW_TIER_STEADY;
	return k->first_learnt && k->first_learnt <= l->known ? GW_TIER_WARM : GW_TIER_COLD;
}

static void keep_violation(struct reading *r, const struct gw_log_record *record,
                           const struct gw_record_launch *l, const struct config *c,
                           enum gw_order_result result, uint64_t learnt, uint64_t latest)
{
	struct gw_log_model *m = r->model;

	if (result < GW_ORDER_SELF || m->violation_count == GW_VIOLATIONS)
		return;
	m->violations[m->violation_count++] = (struct gw_violation){
	        .file = (uint32_t)(r->file - m->files),
	        .name = c ? c->name : GW_INDEX_NONE,
	        .offset = record->offset,
	        .result = result,
	        .known = l->known,
	        .learnt = learnt,
	        .call_ns = l->call_ns,
	        .latest_ns = latest,
	};
}

static void add_to_gpu(struct reading *r, uint32_t gpu, const struct gw_record_launch *l)
{
	size_t device = 0;

	while (r->device_gpu[device] != gpu)
		device++;
	r->model->gpus[gpu].launches++;
	log_gaps_add(&r->model->gpus[gpu].gaps, &r->course[device], l);
}

static void on_launch(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_launch *l = (const void *)record->head;
	uint32_t position = gw_index_find(&r->configs, l->config, NULL, NULL);
	struct config *c = position == GW_INDEX_NONE ? NULL : &r->config[position];
	uint64_t learnt = r->order.learnt, latest = r->order.latest;
	enum gw_order_result order = gw_order_check(&r->order, l, record->gaps);
	enum gw_tier tier = c ? tier_of(r, c, l) : GW_TIER_NONE;
	uint32_t gpu = gpu_of(r, l->stream, c);
	struct gw_file *f = r->file;

	if (c && r->order.learnt > learnt) {
		if (!c->first_learnt)
			c->first_learnt = r->order.learnt;
		if (!r->kernel[c->kernel].first_learnt)
			r->kernel[c->kernel].first_learnt = r->order.learnt;
	}
	if (!wanted(r->model, gpu))
		return;
	r->results[order]++;
	keep_violation(r, record, l, c, order, learnt, latest);
	f->launches++;
	if (l->call_ns && (!f->first_ns || l->call_ns < f->first_ns))
		f->first_ns = l->call_ns;
	if (l->call_ns > f->last_ns)
		f->last_ns = l->call_ns;
	if (gpu != GW_INDEX_NONE)
		add_to_gpu(r, gpu, l);
	gw_row_launch(&r->model->all, l, tier);
	if (!c) {
		*(l->config ? &f->lost_names : &f->without_place) += 1;
		return;
	}
	c->code.launches++;
	gw_row_launch(row_for(r, c, gpu), l, tier);
	if (gw_launch_measured(l))
		log_judge_time(r->judge, position, c->row, gpu, 1, l->duration_ns);
}

static void on_aggregate(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_aggregate *a = (const void *)record->head;
	uint32_t position = gw_index_find(&r->configs, a->config, NULL, NULL);
	struct config *c = position == GW_INDEX_NONE ? NULL : &r->config[position];
	uint32_t gpu = gpu_of(r, 0, c);

	if (!wanted(r->model, gpu))
		return;
	r->file->launches += a->launches;
	if (gpu != GW_INDEX_NONE)
		r->model->gpus[gpu].launches += a->launches;
	gw_row_aggregate(&r->model->all, a);
	if (!c) {
		*(a->config ? &r->file->lost_names : &r->file->without_place) += a->launches;
		return;
	}
	c->code.launches += a->launches;
	gw_row_aggregate(row_for(r, c, gpu), a);
	if (a->measured)
		log_judge_time(r->judge, position, c->row, gpu, a->measured, a->total_ns);
}

static void on_analysis(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_analysis *s = (const void *)record->head;
	uint32_t config = gw_index_find(&r->configs, s->config, NULL, NULL);

	if (!s->config || config != GW_INDEX_NONE)
		log_analysis_add(r->model, s->config ? &r->config[config].code : NULL, s,
		                 gw_log_text(record, 0));
}

static void on_counters(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_counters *c = (const void *)record->head;
	size_t count = c->count < GW_COUNTERS ? c->count : GW_COUNTERS;

	memset(r->file->counters, 0, sizeof(r->file->counters));
	memcpy(r->file->counters, record->tail, count * sizeof(uint64_t));
	r->file->counted = true;
}

static void end_courses(struct reading *r)
{
	for (size_t i = 0; i < r->devices_used; i++)
		log_gaps_end(&r->model->gpus[r->device_gpu[i]].gaps, &r->course[i]);
}

static void on_degraded(struct reading *r, const struct gw_log_record *record, bool *told)
{
	const struct gw_record_degraded *d = (const void *)record->head;

	log_degraded_add(r->model, d, gw_log_text(record, 0), told);
	if (d->code != GW_DEGRADED_CLOCK_SET)
		return;
	gw_order_clock_set(&r->order);
	end_courses(r);
}

struct taking {
	struct reading reading;
	bool told[LOG_REASONS_MAX];
};

static bool take(void *arg, const struct gw_log_record *record)
{
	struct taking *t = arg;
	struct reading *r = &t->reading;

	switch (record->head->kind) {
	case GW_RECORD_HEADER:
		on_header(r, record);
		break;
	case GW_RECORD_DEVICE:
		on_device(r, record);
		break;
	case GW_RECORD_KERNEL:
		on_kernel(r, record);
		break;
	case GW_RECORD_CONFIG:
		on_config(r, record);
		break;
	case GW_RECORD_STREAM:
		on_stream(r, record);
		break;
	case GW_RECORD_LAUNCH:
		on_launch(r, record);
		break;
	case GW_RECORD_AGGREGATE:
		on_aggregate(r, record);
		break;
	case GW_RECORD_DEGRADED:
		on_degraded(r, record, t->told);
		break;
	case GW_RECORD_ANALYSIS:
		on_analysis(r, record);
		break;
	case GW_RECORD_COUNTERS:
		on_counters(r, record);
		break;
	case GW_RECORD_WORK:
		on_work(r, record);
		break;
	case GW_RECORD_PROFILE:
		on_profile(r, record);
		break;
	case GW_RECORD_CLOCK:
		on_clock(r, record);
		break;
	case GW_RECORD_SLOW:
		on_slow(r, record);
		break;
	default: /* modules, threads, nodes: not in a report */
		break;
	}
	return true;
}

static void new_file(struct gw_log_model *m, const char *path)
{
	struct gw_file *f;

	m->files = gw_grow(m->files, &m->file_room, ++m->file_count, sizeof(*m->files));
	f = &m->files[m->file_count - 1];
	f->path = gw_copy(path);
	for (unsigned i = 0; i < GW_TEXTS; i++)
		f->text[i] = gw_copy("");
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
	for (size_t i = 0; i < r->configs_used; i++)
		if (r->config[i].row != GW_INDEX_NONE)
			log_analysis_end(r->model, &r->model->rows[r->config[i].row],
			                 r->config[i].name, &r->config[i].code,
			                 r->file->status.ended);
}

static void end_reading(struct reading *r)
{
	r->file->untimed = r->order.untimed;
	end_courses(r);
	log_judge_end(r->judge, r->model);
	add_slow(r);
	add_codes(r);
	add_order(r);
	for (unsigned i = 0; i < GW_COUNTERS; i++)
		r->model->counters[i] += r->file->counters[i];
	log_names_demangle(r->model, r->names);
	gw_order_free(&r->order);
	gw_index_free(&r->devices);
	gw_index_free(&r->kernels);
	gw_index_free(&r->configs);
	gw_index_free(&r->streams);
	free(r->kernel);
	free(r->config);
	free(r->stream_gpu);
	free(r->device_gpu);
	free(r->course);
}

static bool read_log(struct gw_log_model *m, const char *path, const void *data, size_t length)
{
	struct taking t = {.reading = {.model = m,
	                               .judge = log_judge_new(),
	                               .violations = m->violation_count,
	                               .names = m->name_count,
	                               .slows = m->slows.count}};
	struct gw_file *f;

	new_file(m, path);
	f = t.reading.file = &m->files[m->file_count - 1];
	f->skipped = data ? !gw_log_read_memory(data, length, take, &t, &f->status)
	                  : !gw_log_read(path, take, &t, &f->status);
	end_reading(&t.reading);
	return !f->skipped;
}

bool gw_log_model_read(struct gw_log_model *model, const char *path)
{
	struct gw_live_rest rest;
	bool good;

	if (!gw_live_rest_of(path, &rest))
		return read_log(model, path, NULL, 0);
	good = read_log(model, path, rest.log, rest.size);
	free(rest.log);
	return good;
}

bool gw_log_model_read_memory(struct gw_log_model *model, const char *name, const void *data,
                              size_t length)
{
	return read_log(model, name, data, length);
}

void gw_log_model_free(struct gw_log_model *m)
{
	for (size_t i = 0; i < m->row_count; i++)
		gw_row_free(&m->rows[i]);
	gw_row_free(&m->all);
	for (size_t i = 0; i < m->name_count; i++) {
		free(m->names[i].mangled);
		free(m->names[i].plain);
	}
	for (size_t i = 0; i < m->gpu_count; i++) {
		free(m->gpus[i].name);
		free(m->gpus[i].uuid);
		log_clocks_free(&m->gpus[i].clocks);
	}
	log_reasons_free(m);
	for (size_t i = 0; i < m->file_count; i++) {
		free(m->files[i].path);
		for (unsigned k = 0; k < GW_TEXTS; k++)
			free(m->files[i].text[k]);
	}
	log_slows_free(&m->slows);
	gw_index_free(&m->row_index);
	gw_index_free(&m->name_index);
	free(m->rows);
	free(m->names);
	free(m->gpus);
	free(m->files);
}
