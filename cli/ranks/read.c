#include "cli/ranks/read.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"
#include "cli/log/events.h"
#include "cli/message.h"
#include "cli/spent/spent.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	STAGED_LEAST =
		4096, /* bytes: smaller copies to the host are results that a program reads */
	COPIES_HELD = 16384, /* runs: a copy that is not brought back by then never is */
};

/* A collective that NCCL reported. */
struct reported {
	uint64_t call, key, symbol;
	uint32_t thread;
	bool together;
};

struct communicator {
	uint32_t id, ranks;
	uint64_t hash;
};

struct reading {
	struct gw_log log;
	struct ranks_log *out;
	struct ranks_shapes *shapes;
	uint32_t *shape; /* by configuration; 0: not looked up yet */
	uint32_t *gpu;   /* by run */
	double *time;    /* by GPU, of kernels */
	struct reported *reported;
	struct communicator *communicators;
	size_t shape_room, gpu_room, time_room, reported_count, reported_room, communicator_count,
		communicator_room;
};

/* ---- records ---- */

static bool same_shape(const void *arg, uint32_t position)
{
	const struct {
		const struct ranks_shapes *s;
		uint64_t hash;
	} *a = arg;

	return a->s->hash[position] == a->hash;
}

/* The same for a kernel in one configuration, whichever log it is in. */
static uint32_t shape_of(struct reading *r, uint32_t config)
{
	const struct log_config *c = &r->log.configs[config];
	const char *name = r->log.names[c->kernel].mangled;
	struct ranks_shapes *s = r->shapes;
	struct {
		const struct ranks_shapes *s;
		uint64_t hash;
	} a = {s, 0};
	const struct gw_config *g = &c->config;
	const uint32_t words[] = {
		g->grid.x,  g->grid.y,    g->grid.z,    g->block.x,   g->block.y,
		g->block.z, g->cluster.x, g->cluster.y, g->cluster.z, (uint32_t)g->dynamic_shared,
		g->digest};

	r->shape = gw_grow(r->shape, &r->shape_room, config + 1u, sizeof(*r->shape));
	if (r->shape[config])
		return r->shape[config] - 1;
	a.hash = gw_hash(gw_hash(0, name, strlen(name)), words, sizeof(words));
	r->shape[config] = gw_index_find(&s->index, a.hash, same_shape, &a);
	if (r->shape[config] == GW_INDEX_NONE) {
		s->hash = gw_grow(s->hash, &s->room, s->count + 1, sizeof(*s->hash));
		s->hash[s->count] = a.hash;
		gw_index_add(&s->index, a.hash, (uint32_t)s->count);
		r->shape[config] = (uint32_t)s->count++;
	}
	return r->shape[config]++;
}

static void add(struct reading *r, const struct ranks_run *run, uint32_t gpu)
{
	struct ranks_log *out = r->out;

	if (gpu == GW_INDEX_NONE)
		gpu = 0;
	out->runs = gw_grow(out->runs, &out->run_room, out->run_count + 1, sizeof(*out->runs));
	r->gpu = gw_grow(r->gpu, &r->gpu_room, out->run_count + 1, sizeof(*r->gpu));
	r->time = gw_grow(r->time, &r->time_room, gpu + 1u, sizeof(*r->time));
	r->gpu[out->run_count] = gpu;
	out->runs[out->run_count++] = *run;
	if (run->kind < RANKS_RUN_FROM_HOST)
		r->time[gpu] += (double)(run->end - run->start);
}

static void on_launch(struct reading *r, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct ranks_run run = {.start = l->start_ns,
				.call = l->call_ns,
				.thread = e->thread,
				.predicted = l->predicted};
	const char *name;

	if (!gw_log_measured(l->flags, l->duration_ns) || !l->start_ns ||
	    e->config == GW_INDEX_NONE || l->duration_ns > UINT64_MAX - l->start_ns) {
		r->out->untimed++;
		return;
	}
	run.end = l->start_ns + l->duration_ns;
	name = r->log.names[r->log.configs[e->config].kernel].mangled;
	run.kind = log_communicates(name) ? RANKS_RUN_COMMUNICATION : RANKS_RUN_KERNEL;
	run.shape = shape_of(r, e->config);
	if (run.kind == RANKS_RUN_COMMUNICATION && !strstr(name, "SendRecv")) {
		run.symbol = gw_hash(0, name, strlen(name));
		run.together = strstr(name, "AllReduce") || strstr(name, "AllGather") ||
			       strstr(name, "ReduceScatter");
	}
	add(r, &run, e->gpu);
}

static void on_copy(struct reading *r, const struct log_event *e)
{
	const struct gw_record_copy *c = (const void *)e->record->head;
	struct ranks_run run = {.start = c->start_ns,
				.thread = GW_INDEX_NONE,
				.predicted = NAN,
				.bytes = c->bytes,
				.shape = GW_INDEX_NONE};

	if (!c->start_ns || c->duration_ns > UINT64_MAX - c->start_ns)
		return;
	run.end = c->start_ns + c->duration_ns;
	run.kind = c->direction == GW_DIRECTION_TO_DEVICE ? RANKS_RUN_FROM_HOST
		   : c->direction == GW_DIRECTION_TO_HOST ? RANKS_RUN_TO_HOST
		   : c->direction == GW_DIRECTION_PEER    ? RANKS_RUN_COMMUNICATION
							  : RANKS_RUN_KERNEL;
	add(r, &run, e->gpu);
}

static void on_communicator(struct reading *r, const struct gw_record_communicator *c)
{
	r->communicators = gw_grow(r->communicators, &r->communicator_room,
				   r->communicator_count + 1, sizeof(*r->communicators));
	r->communicators[r->communicator_count++] = (struct communicator){c->id, c->ranks, c->hash};
}

static void on_collective(struct reading *r, const struct log_event *e)
{
	const struct gw_record_collective *c = (const void *)e->record->head;
	const struct communicator *of = NULL;

	for (size_t i = 0; i < r->communicator_count && !of; i++)
		if (r->communicators[i].id == c->communicator)
			of = &r->communicators[i];
	if (!of || of->ranks < 2)
		return;
	r->reported = gw_grow(r->reported, &r->reported_room, r->reported_count + 1,
			      sizeof(*r->reported));
	r->reported[r->reported_count++] = (struct reported){
		.call = c->call_ns,
		.key = gw_hash(of->hash, (const uint64_t[]){c->function, c->sequence}, 16) | 1,
		.symbol = gw_hash(of->hash, (const uint64_t[]){c->function, c->datatype, c->count},
				  24),
		.thread = e->thread,
		.together = c->function == GW_COLLECTIVE_ALL_REDUCE ||
			    c->function == GW_COLLECTIVE_ALL_GATHER ||
			    c->function == GW_COLLECTIVE_REDUCE_SCATTER,
	};
}

static void take(void *arg, const struct log_event *e)
{
	struct reading *r = arg;

	switch (e->kind) {
	case GW_RECORD_HEADER: {
		const struct gw_record_header *h = (const void *)e->record->head;

		r->out->waits = (h->flags & GW_HEADER_COPIES) != 0;
		free(r->out->boot);
		r->out->boot = gw_copy(gw_log_value(e->record, "boot_id"));
		break;
	}
	case GW_RECORD_LAUNCH:
		on_launch(r, e);
		break;
	case GW_RECORD_AGGREGATE:
		r->out->summed +=
			((const struct gw_record_aggregate *)(const void *)e->record->head)
				->launches;
		break;
	case GW_RECORD_COPY:
		on_copy(r, e);
		break;
	case GW_RECORD_COMMUNICATOR:
		on_communicator(r, (const void *)e->record->head);
		break;
	case GW_RECORD_COLLECTIVE:
		on_collective(r, e);
		break;
	default:
		break;
	}
}

/* ---- collectives ---- */

static int by_start(const void *a, const void *b)
{
	const struct ranks_run *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int by_thread_and_call(const void *a, const void *b)
{
	const struct ranks_run *x = *(struct ranks_run *const *)a,
			       *y = *(struct ranks_run *const *)b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->call < y->call ? -1 : x->call > y->call;
}

static struct ranks_run **communication(struct ranks_log *log, size_t *count)
{
	struct ranks_run **list = gw_alloc(log->run_count * sizeof(struct ranks_run *));

	*count = 0;
	for (size_t i = 0; i < log->run_count; i++)
		if (log->runs[i].symbol)
			list[(*count)++] = &log->runs[i];
	return list;
}

/* The thread's latest kernel of NCCL called by then. */
static struct ranks_run *kernel_of(struct ranks_run **list, size_t count, const struct reported *c)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ranks_run *run = list[middle];

		if (run->thread < c->thread || (run->thread == c->thread && run->call <= c->call))
			low = middle + 1;
		else
			high = middle;
	}
	return low && list[low - 1]->thread == c->thread ? list[low - 1] : NULL;
}

/* Where a kernel has several collectives, the first stands for all. */
static void join_numbers(struct reading *r)
{
	size_t count;
	struct ranks_run **list = communication(r->out, &count);

	qsort(list, count, sizeof(*list), by_thread_and_call);
	for (size_t i = 0; i < r->reported_count; i++) {
		const struct reported *c = &r->reported[i];
		struct ranks_run *run = kernel_of(list, count, c);

		if (!run || run->key)
			continue;
		run->key = c->key;
		run->symbol = c->symbol;
		run->together = c->together;
		r->out->by = RANKS_BY_NUMBER;
	}
	free(list);
}

/* How many there were of each symbol. */
struct seen {
	struct {
		uint64_t symbol, count;
	} * list;
	size_t count, room;
};

/* The n-th collective of a symbol is the same in each rank. */
static uint64_t key_of(struct seen *seen, uint64_t symbol)
{
	size_t k = 0;

	while (k < seen->count && seen->list[k].symbol != symbol)
		k++;
	if (k == seen->count) {
		seen->list = gw_grow(seen->list, &seen->room, ++seen->count, sizeof(*seen->list));
		seen->list[k].symbol = symbol;
	}
	seen->list[k].count++;
	return gw_hash(symbol, &seen->list[k].count, sizeof(seen->list[k].count)) | 1;
}

static void join_names(struct ranks_log *log)
{
	struct seen seen = {0};

	for (size_t i = 0; i < log->run_count; i++)
		if (log->runs[i].symbol) {
			log->runs[i].key = key_of(&seen, log->runs[i].symbol);
			log->by = RANKS_BY_NAME;
		}
	free(seen.list);
}

/* The earliest copy to the host, from @p first on, that @p back may bring back; NULL: there is
 * none. */
static struct ranks_run *copy_of(struct ranks_log *log, size_t first, const struct ranks_run *back)
{
	for (struct ranks_run *run = &log->runs[first]; run < back; run++)
		if (run->kind == RANKS_RUN_TO_HOST && run->bytes == back->bytes &&
		    run->end <= back->start)
			return run;
	return NULL;
}

/*
 * A copy to the host and the next copy back of as many bytes stand for a collective between them;
 * what they take themselves is communication, too.
 */
static void join_copies(struct ranks_log *log)
{
	size_t runs = log->run_count, first = 0;
	struct seen seen = {0};

	for (size_t i = 0; i < runs; i++) {
		struct ranks_run *back, *there;
		uint64_t symbol;

		log->runs =
			gw_grow(log->runs, &log->run_room, log->run_count + 1, sizeof(*log->runs));
		back = &log->runs[i];
		while (first + COPIES_HELD < i ||
		       (first < i && (log->runs[first].kind != RANKS_RUN_TO_HOST ||
				      log->runs[first].bytes < STAGED_LEAST)))
			first++;
		if (back->kind != RANKS_RUN_FROM_HOST || back->bytes < STAGED_LEAST)
			continue;
		there = copy_of(log, first, back);
		if (!there)
			continue;
		symbol = gw_hash(1, &back->bytes, sizeof(back->bytes));
		there->kind = back->kind = RANKS_RUN_COMMUNICATION;
		log->runs[log->run_count++] = (struct ranks_run){.start = there->end,
								 .end = back->start,
								 .kind = RANKS_RUN_COMMUNICATION,
								 .thread = GW_INDEX_NONE,
								 .shape = GW_INDEX_NONE,
								 .predicted = NAN,
								 .symbol = symbol,
								 .key = key_of(&seen, symbol),
								 .together = true};
		log->by = RANKS_BY_COPIES;
	}
	free(seen.list);
	qsort(log->runs, log->run_count, sizeof(*log->runs), by_start);
}

/* ---- all of it ---- */

/* Runs of the GPU with most kernel time alone. */
static void choose_gpu(struct reading *r)
{
	struct ranks_log *log = r->out;
	uint32_t best = 0;
	size_t kept = 0;

	for (uint32_t g = 1; g < r->time_room; g++)
		if (r->time[g] > r->time[best])
			best = g;
	for (size_t i = 0; i < log->run_count; i++)
		if (r->gpu[i] == best)
			log->runs[kept++] = log->runs[i];
	log->run_count = kept;
	log->gpu = gw_copy(best < r->log.gpu_count ? r->log.gpus[best].uuid : "");
}

/* Gives back what the array grew too far by: thousands of logs are held at once. */
static void fit(struct ranks_log *log)
{
	struct ranks_run *runs =
		log->run_count ? realloc(log->runs, log->run_count * sizeof(*runs)) : NULL;

	if (!runs)
		return;
	log->runs = runs;
	log->run_room = log->run_count;
}

static void name_rank(struct ranks_log *log, const char *text)
{
	char *end;

	log->label = gw_copy(text);
	errno = 0;
	log->number = strtoul(text, &end, 10);
	if (end == text || *end || errno)
		log->number = ULONG_MAX;
}

bool ranks_log_read(struct ranks_log *log, struct ranks_shapes *shapes, const char *path,
		    const void *data, size_t length)
{
	struct reading r = {.out = log, .shapes = shapes};
	bool good;

	*log = (struct ranks_log){.path = gw_copy(path), .boot = gw_copy("")};
	good = gw_log_events(&r.log, path, data, length, take, &r);
	if (!good)
		gw_error("ranks: %s: %s", path, r.log.status.error);
	log->host = gw_copy(r.log.text[GW_TEXT_host]);
	name_rank(log, r.log.text[GW_TEXT_rank]);
	choose_gpu(&r);
	if (log->run_count)
		qsort(log->runs, log->run_count, sizeof(*log->runs), by_start);
	join_numbers(&r);
	if (log->by == RANKS_BY_NOTHING)
		join_names(log);
	if (log->by == RANKS_BY_NOTHING && log->run_count)
		join_copies(log);
	fit(log);
	gw_log_free(&r.log);
	free(r.shape);
	free(r.gpu);
	free(r.time);
	free(r.reported);
	free(r.communicators);
	return good;
}

void ranks_log_free(struct ranks_log *log)
{
	free(log->path);
	free(log->host);
	free(log->boot);
	free(log->label);
	free(log->gpu);
	free(log->runs);
}

void ranks_shapes_free(struct ranks_shapes *shapes)
{
	gw_index_free(&shapes->index);
	free(shapes->hash);
}
