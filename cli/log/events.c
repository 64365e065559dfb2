#include "cli/log/events.h"

#include "cli/common/memory.h"
#include "cli/window/window.h"
#include "predictor/code/digest.h"
#include "predictor/log/histogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const header_keys[GW_TEXTS] = {
#define KEY(name) #name,
	GW_HEADER_TEXTS(KEY)
#undef KEY
};

struct reading {
	struct gw_log *log;
	log_event_fn *take;
	void *arg;
	bool profile;                 /* the last record was a piece of one */
	struct gw_sketch time, ratio; /* of the aggregate at hand */
};

static uint32_t find(const struct log_ids *ids, uint32_t id)
{
	if (!ids->sparse)
		return id && id <= ids->count ? id - 1 : GW_INDEX_NONE;
	return id ? gw_index_find(&ids->index, id, NULL, NULL) : GW_INDEX_NONE;
}

/* @p id stands for the next position. */
static void add_id(struct log_ids *ids, uint32_t id)
{
	if (!ids->sparse && id == ids->count + 1) {
		ids->count++;
		return;
	}
	for (uint32_t i = 0; !ids->sparse && i < ids->count; i++)
		gw_index_add(&ids->index, i + 1, i);
	ids->sparse = true;
	gw_index_add(&ids->index, id, ids->count++);
}

static void emit(const struct reading *r, const struct log_event *event)
{
	if (r->take && !r->log->stop)
		r->take(r->arg, event);
}

/* Of a record of kind @p kind; nothing else is known of it yet. */
static struct log_event event_of(enum gw_record_kind kind, const struct gw_log_record *record)
{
	return (struct log_event){.kind = kind,
				  .record = record,
				  .config = GW_INDEX_NONE,
				  .of = GW_INDEX_NONE,
				  .gpu = GW_INDEX_NONE,
				  .stream = GW_INDEX_NONE,
				  .thread = GW_INDEX_NONE,
				  .node = GW_INDEX_NONE,
				  .stream_gpu = GW_INDEX_NONE};
}

static bool on_header(struct gw_log *log, const struct gw_log_record *record)
{
	log->header = *(const struct gw_record_header *)(const void *)record->head;
	for (unsigned i = 0; i < GW_TEXTS; i++) {
		free(log->text[i]);
		log->text[i] = gw_copy(gw_log_value(record, header_keys[i]));
	}
	return true;
}

static bool on_device(struct gw_log *log, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_device *d = (const void *)record->head;

	e->gpu = (uint32_t)log->gpu_count;
	GW_GROW(log->gpus, &log->gpu_room, log->gpu_count + 1);
	log->gpus[log->gpu_count++] = (struct log_gpu){
		.record = *d,
		.name = gw_copy(gw_log_text(record, 0)),
		.uuid = gw_copy(gw_log_text(record, 1)),
	};
	add_id(&log->gpu_ids, d->id);
	return true;
}

static bool on_module(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_module *m = (const void *)record->head;

	GW_GROW(log->modules, &log->module_room, log->module_count + 1);
	log->modules[log->module_count++] =
		(struct log_module){gw_copy(gw_log_text(record, 0)), m->origin};
	add_id(&log->module_ids, m->id);
	return true;
}

static bool on_kernel(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_kernel *k = (const void *)record->head;
	size_t at = log->kernel_count++;

	GW_GROW(log->names, &log->name_room, at + 1);
	log->names[at].mangled = gw_copy(gw_log_text(record, 0));
	GW_GROW(log->kernels, &log->kernel_room, at + 1);
	log->kernels[at].kernel = gw_recorded_kernel(k, log->names[at].mangled);
	log->kernels[at].module = find(&log->module_ids, k->module);
	add_id(&log->kernel_ids, k->id);
	return true;
}

static bool on_code(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_code *c = (const void *)record->head;
	uint32_t kernel = find(&log->kernel_ids, c->kernel);

	if (kernel == GW_INDEX_NONE)
		return false;
	log->kernels[kernel].code = c->digest;
	return true;
}

static bool on_config(struct gw_log *log, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_config *c = (const void *)record->head;
	uint32_t kernel = find(&log->kernel_ids, c->kernel);

	if (kernel == GW_INDEX_NONE)
		return false;
	e->config = (uint32_t)log->config_count;
	GW_GROW(log->configs, &log->config_room, log->config_count + 1);
	log->configs[log->config_count++] = (struct log_config){
		.kernel = kernel,
		.ordinal = log->kernels[kernel].configs++,
		.device = c->device,
		.config = gw_recorded_config(c),
		.followed = GW_INDEX_NONE,
	};
	add_id(&log->config_ids, c->id);
	return true;
}

static bool on_stream(struct gw_log *log, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_stream *s = (const void *)record->head;

	e->gpu = gw_log_gpu(log, s->device);
	add_id(&log->stream_ids, s->id);
	GW_GROW(log->streams, &log->stream_room, log->stream_count + 1);
	log->streams[log->stream_count++] =
		(struct log_stream){e->gpu, s->cupti_id ? s->cupti_id : s->id, s->context};
	return true;
}

static bool on_thread(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_thread *t = (const void *)record->head;

	add_id(&log->thread_ids, t->id);
	GW_GROW(log->threads, &log->thread_room, log->thread_count + 1);
	log->threads[log->thread_count++] = t->tid;
	return true;
}

static bool on_node(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_node *n = (const void *)record->head;

	add_id(&log->node_ids, n->id);
	GW_GROW(log->nodes, &log->node_room, log->node_count + 1);
	log->nodes[log->node_count++] = (struct log_node){n->graph, n->node};
	return true;
}

static bool on_object(struct gw_log *log, const struct gw_log_record *record)
{
	add_id(&log->object_ids, ((const struct gw_record_object *)(const void *)record->head)->id);
	log_stacks_object(&log->stacks, gw_log_text(record, 0), gw_log_text(record, 1));
	return true;
}

static bool on_frame(struct gw_log *log, const struct gw_log_record *record)
{
	const struct gw_record_frame *f = (const void *)record->head;

	add_id(&log->frame_ids, f->id);
	log_stacks_frame(&log->stacks, f, find(&log->object_ids, f->object), gw_log_text(record, 0),
			 gw_log_text(record, 1));
	return true;
}

static bool on_stack(struct gw_log *log, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_stack *s = (const void *)record->head;
	uint32_t *frames;

	e->config = find(&log->config_ids, s->config);
	if (e->config == GW_INDEX_NONE)
		return false;
	frames = gw_alloc((s->count + 1) * sizeof(*frames));
	memcpy(frames, record->tail, s->count * sizeof(*frames));
	for (uint32_t i = 0; i < s->count; i++)
		frames[i] = find(&log->frame_ids, frames[i]);
	log_stacks_add(&log->stacks, s, e->config, frames);
	return true;
}

/* Of which GPU a launch of @p config on @p stream is; both may be unknown. */
static void find_gpu(const struct gw_log *log, uint32_t stream, struct log_event *e)
{
	e->stream = find(&log->stream_ids, stream);
	if (e->stream != GW_INDEX_NONE)
		e->gpu = e->stream_gpu = log->streams[e->stream].gpu;
	if (e->gpu == GW_INDEX_NONE && e->config != GW_INDEX_NONE)
		e->gpu = gw_log_gpu(log, log->configs[e->config].device);
	if (e->gpu == GW_INDEX_NONE && log->gpu_count == 1)
		e->gpu = 0;
}

/*
 * How much was known of a launch. A log of version 1 does not say it: there it is what stands
 * before the launch in the file. So it is where the header is lost and the launch says nothing.
 */
static enum gw_tier tier_of(const struct gw_log *log, const struct log_config *c,
			    const struct gw_record_launch *l)
{
	uint64_t kernel_first = log->kernels[c->kernel].first_learnt;

	if (log->header.version >= 2 || (!log->header.version && l->tier))
		return l->tier <= GW_TIER_STEADY ? (enum gw_tier)l->tier : GW_TIER_NONE;
	if (isnan(l->predicted))
		return GW_TIER_NONE;
	if (c->first_learnt && c->first_learnt <= l->known)
		return GW_TIER_STEADY;
	return kernel_first && kernel_first <= l->known ? GW_TIER_WARM : GW_TIER_COLD;
}

static bool on_launch(struct gw_log *log, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)record->head;
	struct log_config *c;

	e->config = find(&log->config_ids, l->config);
	c = e->config == GW_INDEX_NONE ? NULL : &log->configs[e->config];
	find_gpu(log, l->stream, e);
	e->thread = find(&log->thread_ids, l->thread);
	e->node = find(&log->node_ids, l->node);
	e->tier = c ? tier_of(log, c, l) : GW_TIER_NONE;
	e->work = l->work <= GW_SOURCE_COUNTED ? (enum gw_source)l->work : GW_SOURCE_NONE;
	if (!(l->flags & GW_LAUNCH_LEARNT))
		return true;
	log->learnt++;
	if (c && !c->first_learnt)
		c->first_learnt = log->learnt;
	if (c && !log->kernels[c->kernel].first_learnt)
		log->kernels[c->kernel].first_learnt = log->learnt;
	return true;
}

/* What the record says of sums and extremes belongs to a histogram, too. */
static void complete(struct gw_sketch *s, double sum, double low, double high)
{
	s->sum = sum;
	s->low = low;
	s->high = high;
}

/* Histograms that are not of the launches that the record counts are damaged: not known. */
static void read_histograms(struct reading *r, const struct gw_log_record *record,
			    struct log_event *e)
{
	const struct gw_record_aggregate *a = (const void *)record->head;
	const unsigned char *tail = (const unsigned char *)record->tail;
	size_t first;

	if (!a->histograms || a->histograms > record->tail_length)
		return;
	first = gw_histogram_unpack(tail, a->histograms, &r->time);
	if (!first || !gw_histogram_unpack(tail + first, a->histograms - first, &r->ratio))
		return;
	complete(&r->time, (double)a->total_ns, (double)a->min_ns, (double)a->max_ns);
	complete(&r->ratio, (double)a->ratio_sum, (double)a->ratio_min, (double)a->ratio_max);
	if (r->time.count == a->measured && gw_sketch_valid(&r->time))
		e->time = &r->time;
	if (e->time && r->ratio.count <= a->scored && gw_sketch_valid(&r->ratio))
		e->ratio = &r->ratio;
}

static bool on_aggregate(struct reading *r, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record_aggregate *a = (const void *)record->head;

	e->config = find(&r->log->config_ids, a->config);
	find_gpu(r->log, 0, e);
	read_histograms(r, record, e);
	return true;
}

static bool on_successor(struct gw_log *log, const struct gw_log_record *record,
			 struct log_event *e)
{
	const struct gw_record_successor *s = (const void *)record->head;
	struct log_config *of;

	e->config = find(&log->config_ids, s->config);
	e->of = find(&log->config_ids, s->of);
	if (e->config == GW_INDEX_NONE || e->of == GW_INDEX_NONE)
		return false;
	of = &log->configs[e->of];
	of->followed = of->once_followed ? GW_INDEX_NONE : e->config;
	of->once_followed = true;
	return true;
}

/* Of the configuration with @p id. */
static bool of_config(struct gw_log *log, uint32_t id, struct log_event *e)
{
	e->config = find(&log->config_ids, id);
	return e->config != GW_INDEX_NONE;
}

/* Of the GPU with @p id. */
static bool of_gpu(struct gw_log *log, uint32_t id, struct log_event *e)
{
	e->gpu = gw_log_gpu(log, id);
	return e->gpu != GW_INDEX_NONE;
}

static void emit_profile(const struct reading *r, uint32_t gpu)
{
	struct log_event e = event_of(GW_RECORD_PROFILE, NULL);

	e.gpu = gpu;
	emit(r, &e);
}

/* The pieces of a profile follow each other, so that any other record ends it. */
static void end_profiles(struct reading *r)
{
	const struct gw_log *log = r->log;

	for (size_t i = 0; r->profile && i < log->gpu_count; i++)
		if (log_profile_end(&log->gpus[i].known))
			emit_profile(r, (uint32_t)i);
	r->profile = false;
}

/* Take what a record defines, and find what it is of; false where that is in a lost part. */
static bool resolve(struct reading *r, const struct gw_log_record *record, struct log_event *e)
{
	const struct gw_record *head = record->head;
	struct gw_log *log = r->log;

	switch (e->kind) {
	case GW_RECORD_HEADER:
		return on_header(log, record);
	case GW_RECORD_DEVICE:
		return on_device(log, record, e);
	case GW_RECORD_MODULE:
		return on_module(log, record);
	case GW_RECORD_KERNEL:
		return on_kernel(log, record);
	case GW_RECORD_CODE:
		return on_code(log, record);
	case GW_RECORD_CONFIG:
		return on_config(log, record, e);
	case GW_RECORD_STREAM:
		return on_stream(log, record, e);
	case GW_RECORD_THREAD:
		return on_thread(log, record);
	case GW_RECORD_NODE:
		return on_node(log, record);
	case GW_RECORD_OBJECT:
		return on_object(log, record);
	case GW_RECORD_FRAME:
		return on_frame(log, record);
	case GW_RECORD_STACK:
		return on_stack(log, record, e);
	case GW_RECORD_LAUNCH:
		return on_launch(log, record, e);
	case GW_RECORD_AGGREGATE:
		return on_aggregate(r, record, e);
	case GW_RECORD_SUCCESSOR:
		return on_successor(log, record, e);
	case GW_RECORD_WORK:
		return of_config(log, ((const struct gw_record_work *)(const void *)head)->config,
				 e);
	case GW_RECORD_SLOW: /* of a graph where it names no configuration */
		return of_config(log, ((const struct gw_record_slow *)(const void *)head)->config,
				 e) ||
		       ((const struct gw_record_slow *)(const void *)head)->graph;
	case GW_RECORD_GRAPH: /* of a device that is not known where it names none */
		of_gpu(log, ((const struct gw_record_graph *)(const void *)head)->device, e);
		return true;
	case GW_RECORD_CLOCK:
		return of_gpu(log, ((const struct gw_record_clock *)(const void *)head)->device, e);
	case GW_RECORD_COPY:
		return of_gpu(log, ((const struct gw_record_copy *)(const void *)head)->device, e);
	case GW_RECORD_WAIT:
		e->thread = find(&log->thread_ids,
				 ((const struct gw_record_wait *)(const void *)head)->thread);
		return e->thread != GW_INDEX_NONE;
	case GW_RECORD_RANGE: /* of the process where it names no thread */
		e->thread = find(&log->thread_ids,
				 ((const struct gw_record_range *)(const void *)head)->thread);
		return e->thread != GW_INDEX_NONE ||
		       !((const struct gw_record_range *)(const void *)head)->thread;
	case GW_RECORD_COLLECTIVE:
		e->thread = find(&log->thread_ids,
				 ((const struct gw_record_collective *)(const void *)head)->thread);
		return e->thread != GW_INDEX_NONE;
	case GW_RECORD_ANALYSIS: /* of all configurations where it names none */
		return of_config(log,
				 ((const struct gw_record_analysis *)(const void *)head)->config,
				 e) ||
		       !((const struct gw_record_analysis *)(const void *)head)->config;
	default:
		return true;
	}
}

/* A sum is where the middle of its span is: they last ten seconds to a minute. */
static uint64_t middle(uint64_t start_ns, uint64_t end_ns)
{
	return end_ns > start_ns ? start_ns + (end_ns - start_ns) / 2 : start_ns;
}

/* By when it began; what has no time of its own is in every window. */
static bool in_window(const struct gw_log_record *record)
{
	const void *head = record->head;
	const struct gw_record_launch *l = head;
	const struct gw_record_aggregate *a = head;
	const struct gw_record_graph *g = head;
	const struct gw_record_slow *s = head;

	switch (record->head->kind) {
	case GW_RECORD_LAUNCH:
		if (!log_window_has(l->start_ns ? l->start_ns : l->call_ns))
			return false;
		log_window_count(1);
		return true;
	case GW_RECORD_AGGREGATE:
		if (!log_window_has(middle(a->start_ns, a->end_ns)))
			return false;
		log_window_count(a->launches);
		return true;
	case GW_RECORD_GRAPH:
		return log_window_has(middle(g->start_ns, g->end_ns));
	case GW_RECORD_CLOCK:
		return log_window_has(((const struct gw_record_clock *)head)->ns);
	case GW_RECORD_SLOW:
		return log_window_has(s->since_ns);
	case GW_RECORD_COPY:
		return log_window_has(((const struct gw_record_copy *)head)->start_ns);
	case GW_RECORD_WAIT:
		return log_window_has(((const struct gw_record_wait *)head)->start_ns);
	case GW_RECORD_CHILDREN:
		return log_window_has(((const struct gw_record_children *)head)->start_ns);
	case GW_RECORD_COLLECTIVE:
		return log_window_has(((const struct gw_record_collective *)head)->call_ns);
	default:
		return true;
	}
}

static bool take(void *arg, const struct gw_log_record *record)
{
	struct reading *r = arg;
	struct log_event e = event_of((enum gw_record_kind)record->head->kind, record);

	if (e.kind == GW_RECORD_PROFILE) {
		const struct gw_record_profile *p = (const void *)record->head;

		if (of_gpu(r->log, p->device, &e))
			log_profile_piece(&r->log->gpus[e.gpu].known, record);
		r->profile = true;
		return true;
	}
	end_profiles(r);
	if (resolve(r, record, &e) && in_window(record))
		emit(r, &e);
	return !r->log->stop;
}

bool gw_log_events(struct gw_log *log, const char *path, const void *data, size_t length,
		   log_event_fn *event, void *arg)
{
	struct reading r = {.log = log, .take = event, .arg = arg};
	bool good;

	*log = (struct gw_log){0};
	for (unsigned i = 0; i < GW_TEXTS; i++)
		log->text[i] = gw_copy("");
	good = data ? gw_log_read_memory(data, length, take, &r, &log->status)
		    : gw_log_read(path, take, &r, &log->status);
	end_profiles(&r);
	return good;
}

void gw_log_free(struct gw_log *log)
{
	for (unsigned i = 0; i < GW_TEXTS; i++)
		free(log->text[i]);
	for (size_t i = 0; i < log->gpu_count; i++) {
		free(log->gpus[i].name);
		free(log->gpus[i].uuid);
		log_profile_free(&log->gpus[i].known);
	}
	for (size_t i = 0; i < log->module_count; i++)
		free(log->modules[i].path);
	log_names_free(log->names, log->kernel_count);
	gw_index_free(&log->gpu_ids.index);
	gw_index_free(&log->module_ids.index);
	gw_index_free(&log->kernel_ids.index);
	gw_index_free(&log->config_ids.index);
	gw_index_free(&log->stream_ids.index);
	gw_index_free(&log->thread_ids.index);
	gw_index_free(&log->node_ids.index);
	gw_index_free(&log->object_ids.index);
	gw_index_free(&log->frame_ids.index);
	log_stacks_free(&log->stacks);
	free(log->gpus);
	free(log->modules);
	free(log->kernels);
	free(log->configs);
	free(log->streams);
	free(log->threads);
	free(log->nodes);
	*log = (struct gw_log){0};
}

const struct gw_config *gw_log_known_as(const struct gw_log *log, uint32_t config)
{
	const struct log_config *c = &log->configs[config];

	return c->config.digest & GW_DIGEST_IS_PROVISIONAL && c->followed != GW_INDEX_NONE
		       ? &log->configs[c->followed].config
		       : &c->config;
}

uint32_t gw_log_gpu(const struct gw_log *log, uint32_t id)
{
	return find(&log->gpu_ids, id);
}

struct gw_launch gw_log_launch(const struct gw_log *log, uint32_t config)
{
	const struct log_config *c = &log->configs[config];

	return (struct gw_launch){.kernel = &log->kernels[c->kernel].kernel, .config = c->config};
}

const struct gw_device *gw_log_device(const struct gw_log *log, uint32_t gpu)
{
	const struct gw_profile *only = NULL;

	if (gpu != GW_INDEX_NONE)
		return log->gpus[gpu].known.profile ? &log->gpus[gpu].known.profile->device : NULL;
	for (size_t i = 0; i < log->gpu_count; i++) {
		if (only && log->gpus[i].known.profile)
			return NULL;
		if (log->gpus[i].known.profile)
			only = log->gpus[i].known.profile;
	}
	return only ? &only->device : NULL;
}

bool gw_log_measured(uint32_t flags, uint64_t duration)
{
	return (flags & GW_LAUNCH_MEASURED) && !(flags & GW_LAUNCH_INVALID) && duration > 0;
}
