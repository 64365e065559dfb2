/* What a segment and its log come to: a log. */
#include "cli/common/index.h"
#include "cli/live/launches.h"
#include "cli/live/tables.h"
#include "cli/log/block.h"
#include "cli/log/reader.h"
#include "cli/common/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 256 << 10, IDS = 1 << 20, BLOCKS_MOST = 1 << 26, ANY_DEVICE = -1 };

struct rest {
	struct gw_live_left left;
	/* The log's ids, and those that are added. */
	struct gw_index kernels, configs, threads;
	uint32_t *kernel_id, *config_id, *thread_id;
	size_t kernel_room, config_room, thread_room;
	uint32_t kernel_count, config_count, thread_count;
	uint32_t last_kernel, last_config, last_thread;
	uint32_t logged_configs; /* the last one of the log's own */
	uint32_t *of_slot;       /* ids of the kernels in slots, plus one; 0: not looked for yet */
	bool header, ended, foreign;
	/* The log's kernels and configurations from their records, by id. */
	uint64_t *kernel_like, *config_like;
	size_t kernel_likes, config_likes, slot_likes, slots;
	/* Streams: of the log's ids their GPU, plus one; of the segment's ids their slot. */
	uint32_t *stream_device, *stream_slot;
	size_t stream_devices, stream_slots;
	uint64_t devices;    /* the log's ids below 64 that it has */
	uint64_t *slot_like; /* of the kernels in slots; 0: not looked for yet, 1: not known */
	struct counters {
		struct gw_record_counters head;
		uint64_t value[GW_COUNTERS];
	} counters; /* the log's last; ns 0: none */
	/* The blocks that are written. */
	unsigned char *out;
	size_t size, out_room, block_at;
	uint32_t sequence;
};

/* ---- what the log has ---- */

static uint64_t kernel_key(const char *name, uint32_t registers, uint32_t shared, uint32_t local,
			   uint32_t max_threads)
{
	const uint32_t rest[] = {registers, shared, local, max_threads};

	return gw_hash(gw_hash(1, name, strlen(name)), rest, sizeof(rest));
}

/* @p device: the log's id, ANY_DEVICE for the first of those that differ in that alone. */
static uint64_t config_key(uint32_t kernel, uint32_t device, const uint32_t shape[11])
{
	const uint32_t on[] = {kernel, device};

	return gw_hash(gw_hash(2, on, sizeof(on)), shape, 11 * sizeof(*shape));
}

static void add_id(struct gw_index *index, uint32_t **ids, size_t *room, uint32_t *count,
		   uint64_t key, uint32_t id)
{
	*ids = gw_grow(*ids, room, *count + 1, sizeof(**ids));
	(*ids)[*count] = id;
	gw_index_add(index, key, (*count)++);
}

#define ADD_ID(r, kind, key, id) \
	add_id(&(r)->kind##s, &(r)->kind##_id, &(r)->kind##_room, &(r)->kind##_count, key, id)

/* By the fields of a record: name, grid, block, shared memory. */
static uint64_t config_like(uint64_t kernel, const uint32_t shape[11])
{
	const uint32_t identity[] = {shape[0], shape[1], shape[2], shape[3],
				     shape[4], shape[5], shape[9]};

	return gw_hash(gw_hash(3, &kernel, sizeof(kernel)), identity, sizeof(identity)) &
	       ~UINT64_C(1);
}

/* A log's ids begin at 1 and are dense; damaged ones are left out. */
static void note_like(uint64_t **of, size_t *room, uint32_t id, uint64_t like)
{
	if (id >= IDS)
		return;
	*of = gw_grow(*of, room, (size_t)id + 1, sizeof(**of));
	(*of)[id] = like;
}

static uint64_t noted_like(const uint64_t *of, size_t room, uint32_t id)
{
	return id < room ? of[id] : 0;
}

static void add_config(struct rest *r, uint32_t kernel, uint32_t device, const uint32_t shape[11],
		       uint32_t id)
{
	ADD_ID(r, config, config_key(kernel, device, shape), id);
	ADD_ID(r, config, config_key(kernel, (uint32_t)ANY_DEVICE, shape), id);
}

static void note_stream(struct rest *r, uint32_t id, uint32_t device)
{
	if (id >= IDS)
		return;
	r->stream_device =
		gw_grow(r->stream_device, &r->stream_devices, (size_t)id + 1, sizeof(uint32_t));
	r->stream_device[id] = device + 1;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static bool note(void *arg, const struct gw_log_record *record)
{
	struct rest *r = arg;

	if (record->head->kind == GW_RECORD_HEADER) {
		const struct gw_live_head *h = r->left.file->head;

		r->header = true;
		r->foreign = ((const struct gw_record_header *)(const void *)record->head)->pid !=
				     h->pid ||
			     strcmp(gw_log_value(record, "boot_id"), h->boot_id) != 0;
	} else if (record->head->kind == GW_RECORD_END) {
		r->ended = true;
	} else if (record->head->kind == GW_RECORD_COUNTERS) {
		const struct gw_record_counters *c = (const void *)record->head;
		const uint32_t most = c->count < GW_COUNTERS ? c->count : GW_COUNTERS;

		memcpy(&r->counters.head, c, sizeof(*c));
		memcpy(r->counters.value, record->tail, most * sizeof(uint64_t));
	} else if (record->head->kind == GW_RECORD_KERNEL) {
		const struct gw_record_kernel *k = (const void *)record->head;

		r->last_kernel = larger(r->last_kernel, k->id);
		note_like(&r->kernel_like, &r->kernel_likes, k->id,
			  gw_hash(1, gw_log_text(record, 0), strlen(gw_log_text(record, 0))));
		ADD_ID(r, kernel,
		       kernel_key(gw_log_text(record, 0), k->registers, k->static_shared, k->local,
				  k->max_threads),
		       k->id);
	} else if (record->head->kind == GW_RECORD_CONFIG) {
		const struct gw_record_config *c = (const void *)record->head;
		const uint32_t shape[11] = {c->grid_x,         c->grid_y,    c->grid_z,
					    c->block_x,        c->block_y,   c->block_z,
					    c->cluster_x,      c->cluster_y, c->cluster_z,
					    c->dynamic_shared, c->digest};

		r->last_config = larger(r->last_config, c->id);
		note_like(
			&r->config_like, &r->config_likes, c->id,
			config_like(noted_like(r->kernel_like, r->kernel_likes, c->kernel), shape));
		add_config(r, c->kernel, c->device, shape, c->id);
	} else if (record->head->kind == GW_RECORD_DEVICE) {
		const struct gw_record_device *d = (const void *)record->head;

		r->devices |= d->id < 64 ? UINT64_C(1) << d->id : 0;
	} else if (record->head->kind == GW_RECORD_STREAM) {
		const struct gw_record_stream *s = (const void *)record->head;

		note_stream(r, s->id, s->device);
	} else if (record->head->kind == GW_RECORD_THREAD) {
		const struct gw_record_thread *t = (const void *)record->head;

		r->last_thread = larger(r->last_thread, t->id);
		ADD_ID(r, thread, t->tid, t->id);
	}
	return true;
}

static void in_file_now(struct rest *r, uint32_t block)
{
	struct gw_live_left *l = &r->left;

	if (!l->first_block || block < l->first_block)
		l->first_block = block;
	l->blocks = gw_grow(l->blocks, &l->block_bytes, block / 8 + 1, 1);
	l->blocks[block / 8] |= (unsigned char)(1u << block % 8);
}

static bool whole_block(const unsigned char *at, size_t size, struct log_block *b)
{
	if (!log_block_parse(at, size, b) || b->length > size - b->head)
		return false;
	return b->packed.magic ? gw_block_checksum(&b->packed, at + b->head) == b->crc
			       : gw_crc32(0, at + b->head, b->length) == b->crc;
}

/* Whole blocks of the old log go over as they are; half a one at its end stays behind. */
static void copy_blocks(struct rest *r, const unsigned char *log, size_t size)
{
	for (size_t at = 0; at < size;) {
		const unsigned char *found = log_block_find(log + at, size - at);
		struct log_block b;
		size_t whole;

		if (!found)
			return;
		at = (size_t)(found - log);
		if (!whole_block(found, size - at, &b)) {
			at++;
			continue;
		}
		/* The process's blocks have numbers; the bound is one of memory. */
		if (b.packed.number && b.packed.number < BLOCKS_MOST)
			in_file_now(r, b.packed.number);
		if (!(b.flags & GW_BLOCK_COPY))
			r->sequence = larger(r->sequence, b.sequence + 1);
		/* A copy's room counts whole, also where the file ends within it. */
		whole = b.space < size - at ? b.space : size - at;
		r->out = gw_grow(r->out, &r->out_room, r->size + b.space, 1);
		memcpy(r->out + r->size, found, whole);
		memset(r->out + r->size + whole, 0, b.space - whole);
		r->size += b.space;
		at += whole;
	}
}

/* ---- the rest, as blocks ---- */

static void block_end(struct rest *r)
{
	struct gw_block b = {.magic = GW_BLOCK_MAGIC};

	if (!r->block_at)
		return;
	b.length = (uint32_t)(r->size - r->block_at);
	b.sequence = r->sequence++;
	b.crc = gw_crc32(0, r->out + r->block_at, b.length);
	memcpy(r->out + r->block_at - sizeof(b), &b, sizeof(b));
	r->block_at = 0;
}

static void put(struct rest *r, enum gw_record_kind kind, void *head, size_t size, const char *tail,
		size_t tail_size)
{
	const size_t most = GW_RECORD_MAX - size - 8;
	struct gw_record *record = head;
	size_t whole;

	tail_size =
		tail_size < most ? tail_size : most; /* what ends it is a zero, of the padding */
	whole = (size + tail_size + 8) & ~(size_t)7;
	if (r->block_at && r->size - r->block_at + whole > BLOCK)
		block_end(r);
	r->out = gw_grow(r->out, &r->out_room, r->size + sizeof(struct gw_block) + whole, 1);
	if (!r->block_at) {
		r->size += sizeof(struct gw_block);
		r->block_at = r->size;
	}
	record->kind = (uint16_t)kind;
	record->length = (uint16_t)whole;
	memset(r->out + r->size, 0, whole);
	memcpy(r->out + r->size, head, size);
	if (tail_size)
		memcpy(r->out + r->size + size, tail, tail_size);
	r->size += whole;
}

static void put_header(struct rest *r)
{
	const struct gw_live_head *h = r->left.file->head;
	struct gw_record_header out = {.version = GW_LOG_VERSION,
				       .pid = h->pid,
				       .tick_khz = h->tick_khz,
				       .start_ns = h->start_ns,
				       .ticks = h->start_ticks};
	char text[512];
	int a = snprintf(text, sizeof(text), "exe=%s", h->exe) + 1;
	int b = snprintf(text + a, sizeof(text) - (size_t)a, "boot_id=%s", h->boot_id) + 1;

	put(r, GW_RECORD_HEADER, &out, sizeof(out), text, (size_t)(a + b));
}

static uint32_t kernel_of(struct rest *r, uint32_t slot)
{
	const struct gw_live_kernel *k;
	struct gw_record_kernel out;
	uint64_t key;
	uint32_t at;

	if (!slot || slot >= GW_LIVE_SLOTS)
		return 0;
	r->of_slot = gw_grow(r->of_slot, &r->slots, slot + 1, sizeof(*r->of_slot));
	if (r->of_slot[slot])
		return r->of_slot[slot] - 1;
	k = gw_live_kernel_in(r->left.file, slot);
	if (!k) {
		r->of_slot[slot] = 1;
		return 0;
	}
	key = kernel_key(k->name, k->registers, k->static_shared, k->local, k->max_threads);
	at = gw_index_find(&r->kernels, key, NULL, NULL);
	if (at != GW_INDEX_NONE) {
		r->of_slot[slot] = r->kernel_id[at] + 1;
		return r->kernel_id[at];
	}
	out = (struct gw_record_kernel){.id = ++r->last_kernel,
					.registers = k->registers,
					.static_shared = k->static_shared,
					.local = k->local,
					.constant = k->constant,
					.max_threads = k->max_threads,
					.binary_version = k->binary_version};
	put(r, GW_RECORD_KERNEL, &out, sizeof(out), k->name, strlen(k->name) + 1);
	ADD_ID(r, kernel, key, out.id);
	r->of_slot[slot] = out.id + 1;
	return out.id;
}

static void shape_of(const struct gw_live_event *e, uint32_t shape[11])
{
	const struct gw_dim3 cluster = gw_cluster_of(e->cluster);
	const uint32_t all[11] = {e->grid[0], e->grid[1], e->grid[2], e->block_x,
				  e->block_y, e->block_z, cluster.x,  cluster.y,
				  cluster.z,  e->shared,  e->digest};

	memcpy(shape, all, sizeof(all));
}

/* 0 where the kernel is not known, as with a configuration. */
static uint64_t like_launch(void *arg, const struct gw_live_launch *l)
{
	struct rest *r = arg;
	uint32_t shape[11];
	uint64_t *kernel;

	r->slot_like =
		gw_grow(r->slot_like, &r->slot_likes, l->event.kernel + 1u, sizeof(*r->slot_like));
	kernel = &r->slot_like[l->event.kernel];
	if (!*kernel) {
		const struct gw_live_kernel *k = gw_live_kernel_in(r->left.file, l->event.kernel);

		*kernel = k ? gw_hash(1, k->name, strlen(k->name)) : 1;
	}
	shape_of(&l->event, shape);
	return *kernel == 1 ? 0 : config_like(*kernel, shape);
}

static uint64_t like_config(void *arg, uint32_t config)
{
	const struct rest *r = arg;

	return noted_like(r->config_like, r->config_likes, config);
}

/* Where the segment has the stream that the log calls @p id; 0: nowhere. */
static uint32_t slot_of_stream(struct rest *r, uint32_t id)
{
	struct gw_live_stream s;

	for (uint32_t slot = 1; !r->stream_slot && slot < GW_LIVE_STREAMS; slot++)
		if (gw_live_stream_at(r->left.file, slot, &s) && s.id < IDS) {
			r->stream_slot = gw_grow(r->stream_slot, &r->stream_slots, (size_t)s.id + 1,
						 sizeof(uint32_t));
			r->stream_slot[s.id] = slot;
		}
	return id < r->stream_slots ? r->stream_slot[id] : 0;
}

/* Have the stream in the log; the log's id of its GPU in @p device. 0: it is not known. */
static uint32_t stream_of(struct rest *r, uint32_t id, uint32_t *device)
{
	struct gw_record_stream out = {.id = id};
	struct gw_live_stream s;
	uint32_t slot;

	*device = 0;
	if (id < r->stream_devices && r->stream_device[id]) {
		*device = r->stream_device[id] - 1;
		return id;
	}
	slot = id ? slot_of_stream(r, id) : 0;
	if (!gw_live_stream_at(r->left.file, slot, &s))
		return 0;
	if (s.device < 64 && r->devices >> s.device & 1)
		out.device = s.device;
	out.kind = s.kind;
	out.cupti_id = s.cupti_id;
	out.context = s.context;
	put(r, GW_RECORD_STREAM, &out, sizeof(out), NULL, 0);
	note_stream(r, id, out.device);
	*device = out.device;
	return id;
}

static uint32_t config_with(struct rest *r, uint32_t slot, const uint32_t shape[11],
			    uint32_t device)
{
	uint32_t kernel = kernel_of(r, slot), at;
	struct gw_record_config out;

	if (!kernel)
		return 0;
	at = gw_index_find(&r->configs,
			   config_key(kernel, device ? device : (uint32_t)ANY_DEVICE, shape), NULL,
			   NULL);
	if (at != GW_INDEX_NONE)
		return r->config_id[at];
	out = (struct gw_record_config){.id = ++r->last_config,
					.kernel = kernel,
					.device = device,
					.grid_x = shape[0],
					.grid_y = shape[1],
					.grid_z = shape[2],
					.block_x = shape[3],
					.block_y = shape[4],
					.block_z = shape[5],
					.cluster_x = shape[6],
					.cluster_y = shape[7],
					.cluster_z = shape[8],
					.dynamic_shared = shape[9],
					.digest = shape[10]};
	put(r, GW_RECORD_CONFIG, &out, sizeof(out), NULL, 0);
	add_config(r, kernel, device, shape, out.id);
	return out.id;
}

static uint32_t config_of(struct rest *r, const struct gw_live_event *e, uint32_t device)
{
	uint32_t shape[11];

	shape_of(e, shape);
	return config_with(r, e->kernel, shape, device);
}

/* What the process calls @p id: the log's, or one of the segment's table; 0: not known. */
static uint32_t config_called(struct rest *r, uint32_t id)
{
	struct gw_live_config c;

	if (id <= r->logged_configs && noted_like(r->config_like, r->config_likes, id))
		return id;
	if (!id || !gw_live_config_shape(r->left.file, id - 1, &c))
		return 0;
	return config_with(r, c.kernel,
			   (const uint32_t[11]){c.grid[0], c.grid[1], c.grid[2], c.block[0],
						c.block[1], c.block[2], c.cluster[0], c.cluster[1],
						c.cluster[2], c.shared, c.digest},
			   0);
}

static uint32_t thread_of(struct rest *r, uint32_t tid)
{
	uint32_t at = gw_index_find(&r->threads, tid, NULL, NULL);
	struct gw_record_thread out;

	if (at != GW_INDEX_NONE)
		return r->thread_id[at];
	if (r->last_thread >= UINT16_MAX)
		return 0;
	out = (struct gw_record_thread){.id = ++r->last_thread, .tid = tid};
	put(r, GW_RECORD_THREAD, &out, sizeof(out), NULL, 0);
	ADD_ID(r, thread, tid, out.id);
	return out.id;
}

static void put_launch(struct rest *r, const struct gw_live_launch *l)
{
	uint32_t device, stream = stream_of(r, l->stream, &device);
	struct gw_record_launch out = {
		.stream = stream,
		.flags = (l->event.flags & 1 ? GW_LAUNCH_COOPERATIVE : 0u) |
			 (l->node ? GW_LAUNCH_GRAPH : 0u),
		.config = config_of(r, &l->event, device),
		.thread = (uint16_t)thread_of(r, l->tid),
		.call_ns = l->call_ns,
		.predicted = NAN,
		.low = NAN,
		.high = NAN,
	};

	put(r, GW_RECORD_LAUNCH, &out, sizeof(out), NULL, 0);
}

static uint64_t put_sums(struct rest *r)
{
	uint64_t launches = 0;

	r->logged_configs = r->last_config;
	for (uint32_t i = 0; i < GW_LIVE_SUMS; i++) {
		struct gw_record_aggregate out;
		struct gw_live_sum s;

		if (!gw_live_sum_left(&r->left, i, &s))
			continue;
		out = (struct gw_record_aggregate){.launches = s.launches, .start_ns = s.start_ns};
		out.config = config_called(r, s.config);
		if (s.measured && s.measured <= s.launches) {
			out.measured = s.measured;
			out.total_ns = s.total_ns;
			out.min_ns = s.min_ns;
			out.max_ns = s.max_ns;
		}
		put(r, GW_RECORD_AGGREGATE, &out, sizeof(out), NULL, 0);
		launches += s.launches;
	}
	return launches;
}

/* The latest there are, with what the threads had counted at the end and what is lost. */
static void put_counters(struct rest *r)
{
	static const enum gw_counter of[] = {GW_COUNTER_launches,       GW_COUNTER_captured,
					     GW_COUNTER_graph_launches, GW_COUNTER_graph_unknown,
					     GW_COUNTER_failed,         GW_COUNTER_ring_dropped};
	struct counters *c = &r->counters;
	struct gw_live_totals now;

	if (gw_live_totals_of(r->left.file, &now) && now.ns > c->head.ns) {
		c->head.ns = now.ns;
		memcpy(c->value, now.counter, sizeof(c->value));
	}
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (c->value[of[i]] < r->left.counted[i])
			c->value[of[i]] = r->left.counted[i];
	if (c->value[GW_COUNTER_threads_dropped] < r->left.file->head->ringless)
		c->value[GW_COUNTER_threads_dropped] = r->left.file->head->ringless;
	if (r->left.count && c->head.ns < r->left.launch[r->left.count - 1].call_ns)
		c->head.ns = r->left.launch[r->left.count - 1].call_ns;
	c->value[GW_COUNTER_segment_lost] = r->left.lost;
	c->head.count = GW_COUNTERS;
	if (c->head.ns || r->left.lost || r->left.counted[0] || r->left.counted[2])
		put(r, GW_RECORD_COUNTERS, c, sizeof(*c), NULL, 0);
}

static void rest_free(struct rest *r)
{
	gw_index_free(&r->kernels);
	gw_index_free(&r->configs);
	gw_index_free(&r->threads);
	free(r->kernel_id);
	free(r->config_id);
	free(r->thread_id);
	free(r->slot_like);
	free(r->stream_device);
	free(r->stream_slot);
	free(r->kernel_like);
	free(r->config_like);
	free(r->left.launch);
	free(r->left.lone);
	free(r->left.blocks);
	free(r->of_slot);
}

void gw_live_add(const struct gw_live_file *f, const unsigned char *log, size_t size,
		 struct gw_live_rest *out)
{
	struct rest r = {.left.file = f};
	struct gw_live_left *left = &r.left;
	struct gw_log_status status;

	memset(out, 0, sizeof(*out));
	if (log)
		gw_log_read_memory(log, size, note, &r, &status);
	if (r.foreign) { /* its name went to another process's */
		rest_free(&r);
		r = (struct rest){.left.file = f};
	} else if (log) {
		copy_blocks(&r, log, size);
	}
	if (!r.ended) {
		gw_live_take(left);
		gw_live_drop_lone(left, like_launch, like_config, &r);
	}
	if (!r.header)
		put_header(&r);
	out->launches = r.ended ? 0 : put_sums(&r);
	for (size_t i = 0; i < left->count; i++)
		put_launch(&r, &left->launch[i]);
	if (!r.ended)
		put_counters(&r);
	block_end(&r);
	out->log = r.out;
	out->size = r.size;
	out->launches += left->count;
	out->graphs = left->graphs;
	out->lost = left->lost;
	out->unlisted = left->unlisted;
	out->span_ns =
		left->count ? left->launch[left->count - 1].call_ns - left->launch[0].call_ns : 0;
	rest_free(&r);
}
