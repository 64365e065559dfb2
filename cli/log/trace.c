#include "cli/log/trace.h"

#include "cli/common/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_event(struct trace *t, enum trace_kind kind, size_t index)
{
	GW_GROW(t->events, &t->event_room, t->event_count + 1);
	t->events[t->event_count++] = (struct trace_event){(uint32_t)kind, (uint32_t)index};
}

static void on_config(struct trace *t, uint32_t config)
{
	GW_GROW(t->configs, &t->config_room, config + 1u);
	add_event(t, TRACE_CONFIG, config);
}

static void on_successor(struct trace *t, const struct log_event *e)
{
	t->configs[e->config].predecessor = e->of + 1;
	add_event(t, TRACE_SUCCESSOR, e->config);
}

static void on_work(struct trace *t, const struct log_event *e)
{
	const struct gw_record_work *w = (const void *)e->record->head;
	struct trace_config *c = &t->configs[e->config];
	struct log_work *all;
	struct gw_work work;

	gw_work_clear(&work);
	if (c->last_work)
		trace_work_of(t, c->last_work - 1, &work);
	log_work_put((const void *)e->record->tail, w->count, &work);
	all = log_work_pack(&work);
	GW_GROW(t->works, &t->work_room, t->work_count + 1);
	t->works[t->work_count] = (struct trace_work){
		e->config, c->last_work, (uint32_t)t->part_count, all->count, w->known};
	GW_GROW(t->parts, &t->part_room, t->part_count + all->count);
	if (all->count)
		memcpy(t->parts + t->part_count, all->parts, all->count * sizeof(*t->parts));
	t->part_count += all->count;
	log_work_drop(all);
	add_event(t, TRACE_WORK, t->work_count);
	c->last_work = (uint32_t)++t->work_count;
}

static void on_launch(struct trace *t, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct trace_launch *out;

	if (e->config == GW_INDEX_NONE) {
		t->nameless++;
		return;
	}
	GW_GROW(t->launches, &t->launch_room, t->launch_count + 1);
	add_event(t, TRACE_LAUNCH, t->launch_count);
	out = &t->launches[t->launch_count++];
	*out = (struct trace_launch){
		.config = e->config,
		.flags = l->flags,
		.known = l->known,
		.gpu = e->gpu,
		.stream_gpu = e->stream_gpu,
		.predicted = l->predicted,
		.low = l->low,
		.high = l->high,
		.tier = (uint8_t)e->tier,
		.work = (uint8_t)e->work,
		.start = l->start_ns ? l->start_ns : l->call_ns,
		.duration = l->duration_ns,
	};
	if (trace_measured(out)) {
		t->configs[e->config].measured++;
		t->configs[e->config].time_ns += l->duration_ns;
	}
}

static void on_published(struct trace *t, const struct log_event *e)
{
	const struct gw_record_published *p = (const void *)e->record->head;

	GW_GROW(t->published, &t->published_room, t->published_count + 1);
	add_event(t, TRACE_PUBLISHED, t->published_count);
	t->published[t->published_count++] = p->known;
}

static void on_clock(struct trace *t, const struct log_event *e)
{
	const struct gw_record_clock *c = (const void *)e->record->head;

	GW_GROW(t->clocks, &t->clock_room, t->clock_count + 1);
	add_event(t, TRACE_CLOCK, t->clock_count);
	t->clocks[t->clock_count++] = (struct trace_clock){
		e->gpu,
		{.ns = c->ns,
		 .sm_khz = c->sm_khz,
		 .mem_khz = c->mem_khz,
		 .reasons = c->reasons,
		 .others = c->others},
	};
}

static void on_aggregate(struct trace *t, const struct log_event *e)
{
	struct trace_config *c;

	t->aggregated +=
		((const struct gw_record_aggregate *)(const void *)e->record->head)->launches;
	if (e->config == GW_INDEX_NONE || !e->time || !e->time->count)
		return;
	c = &t->configs[e->config];
	if (!c->sums)
		c->sums = gw_alloc(sizeof(*c->sums));
	gw_sketch_merge(c->sums, e->time);
}

static void take(void *arg, const struct log_event *e)
{
	struct trace *t = arg;

	switch (e->kind) {
	case GW_RECORD_PROFILE:
		add_event(t, TRACE_PROFILE, e->gpu);
		break;
	case GW_RECORD_CONFIG:
		on_config(t, e->config);
		break;
	case GW_RECORD_SUCCESSOR:
		on_successor(t, e);
		break;
	case GW_RECORD_WORK:
		on_work(t, e);
		break;
	case GW_RECORD_LAUNCH:
		on_launch(t, e);
		break;
	case GW_RECORD_PUBLISHED:
		on_published(t, e);
		break;
	case GW_RECORD_CLOCK:
		on_clock(t, e);
		break;
	case GW_RECORD_HEADER:
		t->watched |= !strcmp(t->log.text[GW_TEXT_mode], gw_mode_name(GW_MODE_WATCH));
		break;
	case GW_RECORD_MODE:
		t->watched |=
			((const struct gw_record_mode *)(const void *)e->record->head)->mode ==
			GW_MODE_WATCH;
		break;
	case GW_RECORD_AGGREGATE:
		on_aggregate(t, e);
		break;
	default: /* what the log itself has, or nothing the learner goes by */
		break;
	}
}

static bool read_trace(struct trace *t, const char *path, const void *data, size_t length)
{
	bool good;

	*t = (struct trace){.path = path};
	good = gw_log_events(&t->log, path, data, length, take, t);
	log_names_demangle(t->log.names, t->log.kernel_count);
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

enum { SPREAD_MOST = 1000, SPREAD_ROUNDS = 8, CONFIGS_MANY = 4096 }; /* of many only the rounds */

/* The share of the times below number @p i: any first few lie all over them. */
static double share(uint32_t i)
{
	const double golden = 0.61803398874989485;

	return fmod(0.5 + i * golden, 1);
}

static void spread_config(struct trace *t, uint32_t config, size_t *first)
{
	struct trace_config *c = &t->configs[config];
	const uint64_t most = t->log.config_count < CONFIGS_MANY ? SPREAD_MOST : SPREAD_ROUNDS;

	*first = t->launch_count;
	c->measured = c->sums->count < most ? c->sums->count : most;
	c->time_ns = 0;
	GW_GROW(t->launches, &t->launch_room, t->launch_count + c->measured);
	for (uint32_t i = 0; i < c->measured; i++) {
		const double ns = gw_sketch_quantile(c->sums, share(i));

		t->launches[t->launch_count++] = (struct trace_launch){
			.config = config,
			.flags = GW_LAUNCH_MEASURED | GW_LAUNCH_LEARNT,
			.gpu = gw_log_gpu(&t->log, t->log.configs[config].device),
			.stream_gpu = GW_INDEX_NONE,
			.predicted = NAN,
			.low = NAN,
			.high = NAN,
			.tier = GW_TIER_NONE,
			.work = GW_SOURCE_NONE,
			.duration = ns > 1 ? (uint64_t)ns : 1,
		};
		c->time_ns += t->launches[t->launch_count - 1].duration;
	}
}

bool trace_spread(struct trace *t)
{
	size_t *first = gw_alloc((t->log.config_count + 1) * sizeof(*first)), events = 0, kept = 0;
	bool any = false;

	for (size_t i = 0; i < t->event_count; i++)
		if (t->events[i].kind != TRACE_LAUNCH && t->events[i].kind != TRACE_PUBLISHED)
			t->events[events++] = t->events[i];
	t->event_count = events;
	for (size_t i = 0; i < t->launch_count; i++)
		if (!t->configs[t->launches[i].config].sums)
			t->launches[kept++] = t->launches[i];
	t->launch_count = kept;
	for (size_t i = 0; i < kept; i++)
		add_event(t, TRACE_LAUNCH, i);
	for (uint32_t i = 0; i < t->log.config_count; i++)
		if (t->configs[i].sums) {
			spread_config(t, i, &first[i]);
			any = true;
		}
	for (size_t round = 0; round < SPREAD_ROUNDS; round++) {
		for (uint32_t i = 0; i < t->log.config_count; i++) {
			if (t->configs[i].sums && round < t->configs[i].measured)
				add_event(t, TRACE_LAUNCH, first[i] + round);
		}
		add_event(t, TRACE_PUBLISHED, 0);
	}
	free(first);
	return any;
}

void trace_free(struct trace *t)
{
	for (size_t i = 0; i < t->config_room; i++)
		free(t->configs[i].sums);
	gw_log_free(&t->log);
	free(t->configs);
	free(t->works);
	free(t->parts);
	free(t->launches);
	free(t->published);
	free(t->clocks);
	free(t->events);
	*t = (struct trace){0};
}

bool trace_measured(const struct trace_launch *launch)
{
	return gw_log_measured(launch->flags, launch->duration);
}

void trace_work_of(const struct trace *trace, uint32_t index, struct gw_work *out)
{
	const struct trace_work *w = &trace->works[index];

	gw_work_clear(out);
	log_work_put(trace->parts + w->first, w->count, out);
}

uint32_t trace_work_known(const struct trace *trace, uint32_t config, uint64_t known)
{
	uint32_t at = trace->configs[config].last_work;

	while (at && trace->works[at - 1].known > known)
		at = trace->works[at - 1].before;
	return at;
}
