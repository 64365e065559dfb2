/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a live segment and its log: refused, or made into a log that can be read. A segment
 * is mostly zeros, and larger than what a fuzzer handles, so an input is changes to a good one:
 * each an offset (4 bytes), a length (1 byte) and so many bytes; an offset beyond the segment's end
 * begins the log.
 */
#include "cli/live/file.h"
#include "cli/log/reader.h"
#include "predictor/log/live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	HEAD = (sizeof(struct gw_live_head) + 4095) / 4096 * 4096,
	GRAPHS = HEAD + GW_LIVE_KERNELS,
	CHUNKS = GRAPHS + GW_LIVE_GRAPHS * sizeof(gw_live_graph),
	ENTRIES = CHUNKS + 64 * sizeof(struct gw_live_chunk),
	WORDS = ENTRIES + 64 * sizeof(struct gw_live_entry),
	RING = WORDS + 64,
	SLOTS = 64,
	SIZE = RING + SLOTS * 64,
};

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

/* A ring with a kernel's launch, a graph's of four nodes, and one of each that the worker took. */
static void make(void)
{
	struct gw_live_head *h = at(0);
	struct gw_live_event *event;
	struct gw_live_entry *e = at(ENTRIES);
	struct gw_live_chunk *c = at(CHUNKS);
	uint32_t *word = at(WORDS);

	memset(segment, 0, sizeof(segment));
	*h = (struct gw_live_head){.magic = GW_LIVE_MAGIC,
	                           .version = GW_LIVE_VERSION,
	                           .size = SIZE,
	                           .tick_khz = 1000000,
	                           .rings = 1,
	                           .kernels = HEAD,
	                           .kernels_used = 96,
	                           .graphs = GRAPHS,
	                           .chunks = CHUNKS,
	                           .chunks_max = 64,
	                           .entries = ENTRIES,
	                           .entries_max = 64,
	                           .entries_used = 3};
	h->ring[0] =
	        (struct gw_live_ring){WORDS, WORDS + 4, WORDS + 8, WORDS + 12, RING, SLOTS - 1, 1};
	word[0] = 5;
	word[1] = 5;
	word[2] = 2;
	kernel(at(HEAD), 1, "add");
	kernel(at(HEAD + 48), 2, "mul");
	for (unsigned i = 0; i < 5; i++) {
		event = at(RING + i * 64);
		*event = (struct gw_live_event){.ticks = 1000 + i, .kernel = 1, .block_x = 32};
		event->kind = i == 3;
	}
	((gw_live_graph *)at(GRAPHS))[1] = (uint64_t)GW_LIVE_GRAPH_KNOWN << 32 | 1;
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
}

static bool take(void *arg, const struct gw_log_record *record)
{
	(void)record;
	++*(uint64_t *)arg;
	return true;
}

static void add(const struct gw_live_file *file, const uint8_t *log, size_t size)
{
	struct gw_live_rest rest;
	struct gw_log_status status;
	uint64_t records = 0;

	gw_live_add(file, size ? log : NULL, size, &rest);
	if (rest.size && !gw_log_read_memory(rest.log, rest.size, take, &records, &status)) {
		fprintf(stderr, "fuzz_live: what was made of it is no log\n");
		abort();
	}
	if (!size && records < rest.launches) {
		fprintf(stderr, "fuzz_live: launches that are not in the log\n");
		abort();
	}
	free(rest.log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static _Alignas(8) unsigned char copy[SIZE];
	struct gw_live_file file;
	size_t i = 0;

	if (!segment[0])
		make();
	memcpy(copy, segment, sizeof(copy));
	while (size - i >= 5) {
		uint32_t offset;
		size_t length = data[i + 4];

		memcpy(&offset, data + i, sizeof(offset));
		i += 5;
		if (offset >= SIZE)
			break;
		length = length < size - i ? length : size - i;
		length = length < SIZE - offset ? length : SIZE - offset;
		memcpy(copy + offset, data + i, length);
		i += length;
	}
	if (gw_live_check(&file, copy, sizeof(copy)))
		add(&file, data + i, size - i);
	return 0;
}
