/*
 * Any bytes as a live segment and its log: refused, or made into a log that can be read. A segment
 * is mostly zeros, and larger than what a fuzzer handles, so an input is changes to a good one:
 * each an offset (4 bytes), a length (1 byte) and so many bytes. An offset beyond the segment's end
 * begins the log: an odd one its bytes, an even one its records, as a block of half that number,
 * whose checksum a fuzzer would never guess. The same bytes are read as what kubelet answers.
 */
#include "cli/agent/node.h"
#include "cli/agent/text.h"
#include "cli/live/file.h"
#include "cli/live/tables.h"
#include "cli/log/reader.h"
#include "cli/top/graphs.h"
#include "predictor/log/block.h"
#include "predictor/log/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE = 4 << 20, SLOTS = 64, WORDS = SIZE - 8192, RING = SIZE - 4096 };

/* Snapshots that the agent takes, and what lies between them: health looks at each. */
enum { TURNS = 4 };
static const uint64_t TURN_NS = 11000000000;

static _Alignas(8) unsigned char segment[SIZE];

static void *at(size_t offset)
{
	return segment + offset;
}

static void kernel(struct gw_live_kernel *k, uint32_t slot, const char *name)
{
	k->length = 48;
	k->slot = slot;
	strcpy(k->name, name);
}

static void make_tables(const struct gw_live_head *h)
{
	struct gw_live_config *config = at(h->configs.offset);
	struct gw_live_device *device = at(h->devices.offset);
	struct gw_live_totals *totals = at(h->totals.offset);

	((struct gw_live_stream *)at(h->streams.offset))[0] = (struct gw_live_stream){0};
	((struct gw_live_stream *)at(h->streams.offset))[1] =
		(struct gw_live_stream){.id = 1, .device = 1, .context = 5};
	config[0].id = 1;
	config[0].kernel = config[0].device = 1;
	*(struct gw_live_graph_time *)at(h->graph_times.offset) =
		(struct gw_live_graph_time){.graph = 1, .launches = 2, .timed = 1, .device = 1};
	device[0].used = 1;
	device[0].clock_ns = 2 * TURN_NS;
	device[0].sm_khz = 1980000;
	device[0].power_mw = 350000;
	totals->ns = 1;
	totals->counters = 3;
	for (int i = 1; i < 100; i++) {
		gw_sketch_add(&config[0].time, i, 1);
		gw_sketch_add(&config[0].ratio, 1e-3 * i, 1);
		gw_sketch_add(&device[0].gap, 1e6 * i, 1);
	}
}

static void put_in(struct top_model *model, struct top_process *p, const struct gw_live_file *file,
		   uint64_t turn)
{
	static struct gw_live_names names;
	struct gw_live_graph_time g;
	struct gw_live_config c;
	struct gw_live_device d;
	struct gw_live_totals t;

	if (turn == 1)
		gw_live_names_of(file, &names);
	for (uint32_t i = 0; i < 4 && i < file->head->configs.count; i++)
		if (gw_live_config_at(file, i, &c)) {
			const struct gw_sketch time = c.time, ratio = c.ratio;

			c.launches *= turn;
			for (uint64_t k = 1; k < turn; k++) {
				gw_sketch_merge(&c.time, &time);
				gw_sketch_merge(&c.ratio, &ratio);
			}
			top_config_is(model, p, i, &c, gw_live_name(file, &names, c.kernel));
		}
	for (uint32_t i = 0; i < 4 && gw_live_graph_time_at(file, i, &g); i++) {
		g.launches *= turn;
		g.sequence += (uint32_t)turn;
		top_graph_is(p, i, &g);
	}
	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (gw_live_device_at(file, i, &d))
			top_device_is(p, i, &d);
	if (gw_live_totals_of(file, &t))
		top_totals_are(p, &t);
	p->switchable = gw_live_answer_of(file, &p->switched);
}

static void print(const struct agent_node *node, enum text_format format)
{
	const struct agent_self self = {.version = "", .host_label = ""};
	size_t size;
	char *text = agent_text(node, &self, format, &size);

	if (format != TEXT_PROTOBUF && strlen(text) != size)
		abort();
	free(text);
}

/* What the agent makes of snapshots of it, and of its like in another PID namespace, is numbers
 * that do not fall. */
static void follow(const struct gw_live_file *file, enum text_format format)
{
	struct top_model *model = top_model_new();
	struct agent_node *node = agent_node_new();
	double before = 0;

	node->proc = "/nonexistent";
	node->works = format == TEXT_PROTOBUF;
	for (uint64_t turn = 1; turn <= TURNS; turn++) {
		double all = 0;

		top_begin(model, turn * TURN_NS);
		if (turn < TURNS)
			put_in(model, top_process_of(model, "a", 1, file->head->exe), file, turn);
		if (turn > 1) {
			struct top_process *p = top_process_of(model, "b", 2, file->head->exe);

			p->state = TOP_ELSEWHERE;
			put_in(model, p, file, turn);
		}
		top_end(model);
		agent_node_add(node, model, turn * TURN_NS);
		for (size_t i = 0; i < node->gpus; i++)
			for (int b = 0; b < AGENT_BOUNDS; b++) {
				const struct agent_sum *sum = &node->gpu[i]->bound[b];

				all += sum->launches + sum->gpu_ns;
				if (!gw_sketch_valid(&sum->time))
					abort();
			}
		if (!(all >= before && all < 1e300))
			abort();
		before = all;
	}
	print(node, format);
	agent_node_free(node);
	top_model_free(model);
}

/* What is read of the tables is within its ranges, whatever they hold. */
static void read_tables(const struct gw_live_file *file)
{
	struct gw_sketch all = {0};
	struct gw_live_config c;
	struct gw_live_device d;
	struct gw_live_totals t;
	struct gw_live_stream s;

	/* Where there can be any, and the ends. */
	for (uint32_t i = 0; i < file->head->configs.count; i += i == 3 ? 200 : 1)
		if (gw_live_config_at(file, i, &c)) {
			gw_sketch_merge(&all, &c.time);
			gw_sketch_merge(&all, &c.ratio);
			gw_live_kernel_in(file, c.kernel);
		}
	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (gw_live_device_at(file, i, &d))
			gw_sketch_merge(&all, &d.gap);
	if (gw_live_totals_of(file, &t) && t.counters > 128)
		abort();
	gw_live_stream_at(file, 1, &s);
	gw_live_stream_at(file, UINT32_MAX, &s);
	if (all.count && gw_sketch_quantile(&all, 0.5) > 1e308)
		abort();
}

/* A ring with a kernel's launch, a graph's of four nodes, and one of each that the worker took. */
static void make(void)
{
	struct gw_live_head *h = at(0);
	struct gw_live_event *event;
	struct gw_live_entry *e;
	struct gw_live_chunk *c;
	uint32_t *word = at(WORDS);

	memset(segment, 0, sizeof(segment));
	*h = (struct gw_live_head){.magic = GW_LIVE_MAGIC,
				   .version = GW_LIVE_VERSION,
				   .size = SIZE,
				   .tick_khz = 1000000,
				   .rings = 1,
				   .kernels_used = 96,
				   .entries_used = 4};
	if (gw_live_layout(h, SIZE) > WORDS)
		abort();
	e = at(h->entries.offset);
	c = at(h->chunks.offset);
	h->ring[0] =
		(struct gw_live_ring){WORDS, WORDS + 4, WORDS + 8, WORDS + 12, RING, SLOTS - 1, 1};
	word[0] = 5;
	word[1] = 5;
	word[2] = 2;
	kernel(at(h->kernels.offset), 1, "add");
	kernel(at(h->kernels.offset + 48), 2, "mul");
	for (unsigned i = 0; i < 5; i++) {
		event = at(RING + i * 64);
		*event = (struct gw_live_event){.ticks = 1000 + i, .kernel = 1, .block_x = 32};
		event->kind = i == 3;
	}
	((gw_live_graph *)at(h->graphs.offset))[1] = (uint64_t)GW_LIVE_GRAPH_KNOWN << 32 | 1;
	c[1].next = 2;
	c[1].count = 3;
	c[2].count = 1;
	for (unsigned i = 0; i < 3; i++)
		c[1].node[i] = c[2].node[i] = (struct gw_live_node){.kernel = 2, .enabled = 1};
	for (unsigned i = 0; i < 3; i++)
		e[i] = (struct gw_live_entry){.ring = 1,
					      .position = i,
					      .node = i,
					      .block = i == 1 ? 1 : GW_LIVE_NO_BLOCK,
					      .event = {.kernel = 2, .block_x = 64}};
	e[3] = (struct gw_live_entry){
		.ring = GW_LIVE_LONE, .block = 1, .id = 1, .event = {.ticks = 2000}};
	*(struct gw_live_sum *)at(h->sums.offset) = (struct gw_live_sum){
		.config = 1, .block = GW_LIVE_NO_BLOCK, .launches = 3, .measured = 2};
	h->adding = (struct gw_live_adding){.entry = 3, .launches = 3};
	make_tables(h);
}

static bool take(void *arg, const struct gw_log_record *record)
{
	const struct gw_record_aggregate *a = (const void *)record->head;

	*(uint64_t *)arg += record->head->kind == GW_RECORD_AGGREGATE ? a->launches : 1;
	return true;
}

static void add(const struct gw_live_file *file, const uint8_t *log, size_t size)
{
	struct gw_live_rest rest;
	struct gw_log_status status;
	uint64_t records = 0;

	gw_live_add(file, size ? log : NULL, size, &rest);
	/* A log of a newer format stays one. */
	if (rest.size && !gw_log_read_memory(rest.log, rest.size, take, &records, &status) &&
	    (!size || gw_log_read_memory(log, size, take, &records, &status))) {
		fprintf(stderr, "fuzz_live: what was made of it is no log\n");
		abort();
	}
	if (!size && records < rest.launches) {
		fprintf(stderr, "fuzz_live: launches that are not in the log\n");
		abort();
	}
	free(rest.log);
}

static void add_records(const struct gw_live_file *file, uint32_t number, const uint8_t *records,
			size_t size)
{
	static unsigned char log[64 << 10];
	struct gw_packed_block head = {.magic = GW_PACKED_MAGIC, .number = number};

	if (size > sizeof(log) - sizeof(head))
		return;
	head.raw = head.length = (uint32_t)size & ~7u;
	head.crc = gw_block_checksum(&head, records);
	memcpy(log, &head, sizeof(head));
	memcpy(log + sizeof(head), records, head.length);
	add(file, log, sizeof(head) + head.length);
}

/* Names end where they should, and nothing is found twice. */
static void read_pods(const uint8_t *data, size_t size)
{
	struct agent_pod_list list = {0};
	char uuid[41];

	if (!agent_pod_list_read(data, size, &list) && (list.row || list.rows))
		abort();
	for (size_t i = 0; i < list.rows; i++) {
		const struct agent_pod *p = &list.row[i];

		if (strlen(p->gpu) != 36 || !memchr(p->pod, 0, sizeof(p->pod)) ||
		    !memchr(p->namespace, 0, sizeof(p->namespace)) ||
		    !memchr(p->container, 0, sizeof(p->container)))
			abort();
		snprintf(uuid, sizeof(uuid), "GPU-%s", p->gpu);
		if (agent_pod_of(&list, uuid) && strcmp(agent_pod_of(&list, uuid)->gpu, p->gpu))
			abort();
	}
	free(list.row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) unsigned char copy[SIZE];
	struct gw_live_file file;
	size_t i = 0, changed = 0;
	uint32_t offset = 1;

	read_pods(data, size);
	if (!segment[0]) {
		make();
		memcpy(copy, segment, sizeof(copy));
	}
	while (size - i >= 5) {
		size_t length = data[i + 4];

		memcpy(&offset, data + i, sizeof(offset));
		i += 5;
		if (offset >= SIZE)
			break;
		length = length < size - i ? length : size - i;
		length = length < SIZE - offset ? length : SIZE - offset;
		memcpy(copy + offset, data + i, length);
		i += length;
		changed = i;
	}
	if (gw_live_check(&file, copy, sizeof(copy))) {
		if (offset % 2 || offset < SIZE)
			add(&file, data + i, size - i);
		else
			add_records(&file, (offset - SIZE) / 2, data + i, size - i);
		read_tables(&file);
		if (size % 8 == 0)
			follow(&file, (enum text_format)(size / 8 % 3));
	}
	/* As it was: to copy all of it takes longer than all else. */
	for (size_t k = 0; changed - k >= 5 && k < changed;) {
		size_t length = data[k + 4];

		memcpy(&offset, data + k, sizeof(offset));
		k += 5;
		length = length < size - k ? length : size - k;
		length = length < SIZE - offset ? length : SIZE - offset;
		memcpy(copy + offset, segment + offset, length);
		k += length;
	}
	return 0;
}
