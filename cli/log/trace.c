/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/trace.h"

#include "cli/common/demangle.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What the ids of the log stand for while it is read. */
struct reading {
	struct trace *trace;
	struct gw_index gpus, kernels, configs, streams;
	uint32_t *stream_gpu;
	size_t stream_count, stream_room;
};

static void add_event(struct trace *t, enum trace_kind kind, size_t index)
{
	t->events = gw_grow(t->events, &t->event_room, t->event_count + 1, sizeof(*t->events));
	t->events[t->event_count++] = (struct trace_event){(uint32_t)kind, (uint32_t)index};
}

static void on_header(struct reading *r, const struct gw_log_record *record)
{
	struct trace *t = r->trace;

	t->header = *(const struct gw_record_header *)(const void *)record->head;
	free(t->command);
	free(t->build);
	free(t->replayed);
	t->command = gw_copy(gw_log_value(record, "command"));
	t->build = gw_copy(gw_log_value(record, "build"));
	t->replayed = gw_copy(gw_log_value(record, "replay"));
}

static void on_device(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_device *d = (const void *)record->head;
	struct trace *t = r->trace;

	gw_index_add(&r->gpus, d->id, (uint32_t)t->gpu_count);
	t->gpus = gw_grow(t->gpus, &t->gpu_room, t->gpu_count + 1, sizeof(*t->gpus));
	t->gpus[t->gpu_count++] =
	        (struct trace_gpu){.id = d->id, .name = gw_copy(gw_log_text(record, 0))};
}

static void on_profile(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_profile *p = (const void *)record->head;
	uint32_t gpu = gw_index_find(&r->gpus, p->device, NULL, NULL);

	if (gpu != GW_INDEX_NONE)
		log_profile_piece(&r->trace->gpus[gpu].known, record);
}

/* The pieces of a profile follow each other, so that any other record ends it. */
static void end_profiles(struct reading *r)
{
	for (size_t i = 0; i < r->trace->gpu_count; i++)
		if (log_profile_end(&r->trace->gpus[i].known))
			add_event(r->trace, TRACE_PROFILE, i);
}

static void on_kernel(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_kernel *k = (const void *)record->head;
	struct trace *t = r->trace;

	gw_index_add(&r->kernels, k->id, (uint32_t)t->kernel_count);
	t->kernels = gw_grow(t->kernels, &t->kernel_room, t->kernel_count + 1, sizeof(*t->kernels));
	t->kernels[t->kernel_count++] = (struct trace_kernel){
	        .kernel = gw_recorded_kernel(k, NULL),
	        .mangled = gw_copy(gw_log_text(record, 0)),
	};
}

static void on_config(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_config *c = (const void *)record->head;
	uint32_t kernel = gw_index_find(&r->kernels, c->kernel, NULL, NULL);
	struct trace *t = r->trace;

	if (kernel == GW_INDEX_NONE)
		return;
	gw_index_add(&r->configs, c->id, (uint32_t)t->config_count);
	t->configs = gw_grow(t->configs, &t->config_room, t->config_count + 1, sizeof(*t->configs));
	add_event(t, TRACE_CONFIG, t->config_count);
	t->configs[t->config_count++] = (struct trace_config){
	        .kernel = kernel,
	        .ordinal = t->kernels[kernel].configs++,
	        .device = c->device,
	        .launch.config = gw_recorded_config(c),
	};
}

static void on_successor(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_successor *s = (const void *)record->head;
	uint32_t config = gw_index_find(&r->configs, s->config, NULL, NULL);
	uint32_t of = gw_index_find(&r->configs, s->of, NULL, NULL);

	if (config == GW_INDEX_NONE || of == GW_INDEX_NONE)
		return;
	r->trace->configs[config].predecessor = of + 1;
	add_event(r->trace, TRACE_SUCCESSOR, config);
}

static void on_stream(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_stream *s = (const void *)record->head;

	gw_index_add(&r->streams, s->id, (uint32_t)r->stream_count);
	r->stream_gpu = gw_grow(r->stream_gpu, &r->stream_room, r->stream_count + 1,
	                        sizeof(*r->stream_gpu));
	r->stream_gpu[r->stream_count++] = gw_index_find(&r->gpus, s->device, NULL, NULL);
}

static void on_work(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_work *w = (const void *)record->head;
	uint32_t config = gw_index_find(&r->configs, w->config, NULL, NULL);
	struct trace *t = r->trace;

	if (config == GW_INDEX_NONE)
		return;
	t->works = gw_grow(t->works, &t->work_room, t->work_count + 1, sizeof(*t->works));
	t->works[t->work_count] = (struct trace_work){config, t->configs[config].last_work,
	                                              (uint32_t)t->part_count, w->count, w->known};
	t->parts = gw_grow(t->parts, &t->part_room, t->part_count + w->count, sizeof(*t->parts));
	if (w->count)
		memcpy(t->parts + t->part_count, record->tail, w->count * sizeof(*t->parts));
	t->part_count += w->count;
	add_event(t, TRACE_WORK, t->work_count);
	t->configs[config].last_work = (uint32_t)++t->work_count;
}

bool trace_measured(const struct trace_launch *launch)
{
	return (launch->flags & GW_LAUNCH_MEASURED) && !(launch->flags & GW_LAUNCH_INVALID) &&
	       launch->duration > 0;
}

static uint32_t stream_gpu(const struct reading *r, uint32_t stream)
{
	uint32_t s = stream ? gw_index_find(&r->streams, stream, NULL, NULL) : GW_INDEX_NONE;

	return s == GW_INDEX_NONE ? GW_INDEX_NONE : r->stream_gpu[s];
}

/* Where the stream does not tell, that of the configuration, or the only one there is. */
static uint32_t gpu_of(const struct reading *r, uint32_t stream, uint32_t config)
{
	uint32_t gpu = stream_gpu(r, stream);

	if (gpu == GW_INDEX_NONE)
		gpu = gw_index_find(&r->gpus, r->trace->configs[config].device, NULL, NULL);
	return gpu == GW_INDEX_NONE && r->trace->gpu_count == 1 ? 0 : gpu;
}

static void on_launch(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_launch *l = (const void *)record->head;
	uint32_t config = gw_index_find(&r->configs, l->config, NULL, NULL);
	struct trace *t = r->trace;
	struct trace_launch *out;

	if (config == GW_INDEX_NONE) {
		t->nameless++;
		return;
	}
	t->launches =
	        gw_grow(t->launches, &t->launch_room, t->launch_count + 1, sizeof(*t->launches));
	add_event(t, TRACE_LAUNCH, t->launch_count);
	out = &t->launches[t->launch_count++];
	*out = (struct trace_launch){
	        .config = config,
	        .flags = l->flags,
	        .known = l->known,
	        .gpu = gpu_of(r, l->stream, config),
	        .predicted = l->predicted,
	        .low = l->low,
	        .high = l->high,
	        .tier = l->tier <= GW_TIER_STEADY ? l->tier : (uint8_t)GW_TIER_NONE,
	        .work = l->work <= GW_SOURCE_COUNTED ? l->work : (uint8_t)GW_SOURCE_NONE,
	        .stream_gpu = stream_gpu(r, l->stream),
	        .start = l->start_ns ? l->start_ns : l->call_ns,
	        .duration = l->duration_ns,
	};
	t->learnt += (l->flags & GW_LAUNCH_LEARNT) != 0;
	if (trace_measured(out)) {
		t->configs[config].measured++;
		t->configs[config].time_ns += l->duration_ns;
	}
}

static void on_published(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_published *p = (const void *)record->head;
	struct trace *t = r->trace;

	t->published = gw_grow(t->published, &t->published_room, t->published_count + 1,
	                       sizeof(*t->published));
	add_event(t, TRACE_PUBLISHED, t->published_count);
	t->published[t->published_count++] = p->known;
}

static void on_clock(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_clock *c = (const void *)record->head;
	uint32_t gpu = gw_index_find(&r->gpus, c->device, NULL, NULL);
	struct trace *t = r->trace;

	if (gpu == GW_INDEX_NONE)
		return;
	t->clocks = gw_grow(t->clocks, &t->clock_room, t->clock_count + 1, sizeof(*t->clocks));
	add_event(t, TRACE_CLOCK, t->clock_count);
	t->clocks[t->clock_count++] = (struct trace_clock){
	        gpu,
	        {.ns = c->ns,
	         .sm_khz = c->sm_khz,
	         .mem_khz = c->mem_khz,
	         .reasons = c->reasons,
	         .others = c->others},
	};
}

static bool take(void *arg, const struct gw_log_record *record)
{
	struct reading *r = arg;

	if (record->head->kind != GW_RECORD_PROFILE)
		end_profiles(r);
	switch (record->head->kind) {
	case GW_RECORD_HEADER:
		on_header(r, record);
		break;
	case GW_RECORD_DEVICE:
		on_device(r, record);
		break;
	case GW_RECORD_PROFILE:
		on_profile(r, record);
		break;
	case GW_RECORD_KERNEL:
		on_kernel(r, record);
		break;
	case GW_RECORD_CONFIG:
		on_config(r, record);
		break;
	case GW_RECORD_SUCCESSOR:
		on_successor(r, record);
		break;
	case GW_RECORD_STREAM:
		on_stream(r, record);
		break;
	case GW_RECORD_WORK:
		on_work(r, record);
		break;
	case GW_RECORD_LAUNCH:
		on_launch(r, record);
		break;
	case GW_RECORD_PUBLISHED:
		on_published(r, record);
		break;
	case GW_RECORD_CLOCK:
		on_clock(r, record);
		break;
	case GW_RECORD_AGGREGATE:
		r->trace->aggregated +=
		        ((const struct gw_record_aggregate *)(const void *)record->head)->launches;
		break;
	default: /* nothing the learner goes by */
		break;
	}
	return true;
}

/* Arrays move while they grow: what points into them is set when all is there. */
static void connect(struct trace *t)
{
	const char **mangled = gw_alloc(t->kernel_count * sizeof(*mangled));
	char **plain = gw_alloc(t->kernel_count * sizeof(*plain));

	for (size_t i = 0; i < t->kernel_count; i++)
		t->kernels[i].kernel.name = mangled[i] = t->kernels[i].mangled;
	for (size_t i = 0; i < t->config_count; i++)
		t->configs[i].launch.kernel = &t->kernels[t->configs[i].kernel].kernel;
	gw_demangle_many(mangled, plain, t->kernel_count);
	for (size_t i = 0; i < t->kernel_count; i++)
		t->kernels[i].plain = plain[i];
	free(mangled);
	free(plain);
}

/*
 * A log of version 1 does not say how much was known of a launch: that is what stands before it in
 * the file.
 */
static void derive_tiers(struct trace *t)
{
	uint64_t *config_first = gw_alloc(t->config_count * sizeof(uint64_t));
	uint64_t *kernel_first = gw_alloc(t->kernel_count * sizeof(uint64_t)), learnt = 0;

	for (size_t i = 0; i < t->launch_count; i++) {
		struct trace_launch *l = &t->launches[i];
		uint64_t *c = &config_first[l->config];
		uint64_t *k = &kernel_first[t->configs[l->config].kernel];

		l->work = GW_SOURCE_NONE;
		l->tier = isnan(l->predicted)    ? GW_TIER_NONE
		          : *c && *c <= l->known ? GW_TIER_STEADY
		          : *k && *k <= l->known ? GW_TIER_WARM
		                                 : GW_TIER_COLD;
		if (!(l->flags & GW_LAUNCH_LEARNT))
			continue;
		learnt++;
		*c = *c ? *c : learnt;
		*k = *k ? *k : learnt;
	}
	free(config_first);
	free(kernel_first);
}

static bool read_trace(struct trace *trace, const char *path, const void *data, size_t length)
{
	struct reading r = {.trace = trace};
	bool good;

	*trace = (struct trace){.path = path,
	                        .command = gw_copy(""),
	                        .build = gw_copy(""),
	                        .replayed = gw_copy("")};
	good = data ? gw_log_read_memory(data, length, take, &r, &trace->status)
	            : gw_log_read(path, take, &r, &trace->status);
	end_profiles(&r);
	connect(trace);
	if (trace->header.version < 2)
		derive_tiers(trace);
	free(r.stream_gpu);
	gw_index_free(&r.gpus);
	gw_index_free(&r.kernels);
	gw_index_free(&r.configs);
	gw_index_free(&r.streams);
	return good;
}

bool trace_read(struct trace *trace, const char *path)
{
	return read_trace(trace, path, NULL, 0);
}

bool trace_read_memory(struct trace *trace, const char *name, const void *data, size_t length)
{
	return read_trace(trace, name, data, length);
}

void trace_free(struct trace *t)
{
	for (size_t i = 0; i < t->gpu_count; i++) {
		free(t->gpus[i].name);
		log_profile_free(&t->gpus[i].known);
	}
	for (size_t i = 0; i < t->kernel_count; i++) {
		free(t->kernels[i].mangled);
		free(t->kernels[i].plain);
	}
	free(t->command);
	free(t->build);
	free(t->replayed);
	free(t->gpus);
	free(t->kernels);
	free(t->configs);
	free(t->works);
	free(t->parts);
	free(t->launches);
	free(t->published);
	free(t->clocks);
	free(t->events);
	*t = (struct trace){0};
}

void trace_work_of(const struct trace *trace, uint32_t index, struct gw_work *out)
{
	const struct trace_work *w = &trace->works[index];

	log_work_unpack(trace->parts + w->first, w->count, out);
}

uint32_t trace_work_known(const struct trace *trace, uint32_t config, uint64_t known)
{
	uint32_t at = trace->configs[config].last_work;

	while (at && trace->works[at - 1].known > known)
		at = trace->works[at - 1].before;
	return at;
}

const struct gw_device *trace_device(const struct trace *trace, uint32_t gpu)
{
	const struct gw_profile *only = NULL;

	if (gpu != GW_INDEX_NONE)
		return trace->gpus[gpu].known.profile ? &trace->gpus[gpu].known.profile->device
		                                      : NULL;
	for (size_t i = 0; i < trace->gpu_count; i++) {
		if (only && trace->gpus[i].known.profile)
			return NULL;
		if (trace->gpus[i].known.profile)
			only = trace->gpus[i].known.profile;
	}
	return only ? &only->device : NULL;
}
