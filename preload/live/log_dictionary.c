#include "preload/live/log_dictionary.h"

#include "preload/live/log.h"
#include "preload/live/log_writer.h"
#include "preload/maps/memory.h"
#include "preload/maps/state.h"

#include <stdio.h>
#include <string.h>

/*
 * Packed, a configuration takes some 10 bytes and a kernel's name a third of its length: the bound
 * is that of 2^18 configurations. Beyond it records are not kept.
 */
enum { GATHER = 64 << 10, STEP = 256 << 10, MOST = 8 << 20, HEADER_MOST = 8 << 10 };

static unsigned char gathered[GATHER]; /* records, not packed yet */
static uint32_t gathered_length;
static unsigned char *kept;   /* [MOST], packed; NULL: there is no memory */
static uint32_t used, blocks; /* of it; in it */
static uint32_t taken;        /* bytes of it in the account, in steps */
static unsigned char header[HEADER_MOST];
static uint32_t header_length; /* 0: none, or too long */

/* Before each packed block. */
struct kept {
	uint32_t size, raw, packed;
};

#define KIND(name) (UINT64_C(1) << GW_RECORD_##name)
static const uint64_t KEPT = KIND(HEADER) | KIND(DEVICE) | KIND(MODULE) | KIND(KERNEL) |
			     KIND(CONFIG) | KIND(STREAM) | KIND(THREAD) | KIND(NODE) |
			     KIND(DEGRADED) | KIND(PROFILE) | KIND(SUCCESSOR) | KIND(ANALYSIS) |
			     KIND(RANGE_NAME) | KIND(COMMUNICATOR) | KIND(OBJECT) | KIND(FRAME) |
			     KIND(STACK) | KIND(CODE);

/* Streams and graphs come and go: in a ring the first ones are kept. */
static bool to_keep(const unsigned char *record, unsigned kind, bool ring)
{
	uint32_t id;

	memcpy(&id, record + sizeof(struct gw_record), sizeof(id));
	return KEPT >> kind & 1 && !(ring && id > GW_NAMED_FIRST &&
				     (kind == GW_RECORD_STREAM || kind == GW_RECORD_NODE));
}

void gw_log_dictionary_start(void)
{
	if (!kept)
		kept = gw_memory_reserve(MOST);
}

void gw_log_dictionary_reset(void)
{
	gathered_length = used = blocks = header_length = 0;
}

/* Room for @p size bytes in one piece; NULL when there is no more. */
static unsigned char *room_for(uint32_t size)
{
	if (!kept || used + size > MOST)
		return NULL;
	if (used + size > taken) {
		if (!gw_memory_take(GW_MEMORY_log, STEP))
			return NULL;
		taken += STEP;
	}
	return kept + used;
}

static void pack(struct gw_block_model *model)
{
	struct kept k = {.raw = gathered_length};
	unsigned char *at = room_for((uint32_t)sizeof(k) + gathered_length);

	gathered_length = 0;
	if (!at || !k.raw)
		return;
	if (model)
		k.size = (uint32_t)gw_block_pack(model, gathered, k.raw, at + sizeof(k), k.raw);
	k.packed = k.size != 0;
	if (!k.packed) {
		k.size = k.raw;
		memcpy(at + sizeof(k), gathered, k.raw);
	}
	memcpy(at, &k, sizeof(k));
	used += (uint32_t)sizeof(k) + k.size;
	blocks++;
}

void gw_log_dictionary_add(struct gw_block_model *model, const unsigned char *records,
			   uint32_t length, uint64_t ring)
{
	const uint64_t most = ring && ring / 4 < MOST ? ring / 4 : MOST;
	struct gw_record head;

	for (uint32_t at = 0; at < length; at += head.length) {
		memcpy(&head, records + at, sizeof(head));
		if (!to_keep(records + at, head.kind, ring != 0))
			continue;
		if (head.kind == GW_RECORD_HEADER && head.length <= HEADER_MOST) {
			memcpy(header, records + at, head.length);
			header_length = head.length;
		}
		if (gathered_length + head.length > GATHER ||
		    gw_log_dictionary_bytes() + head.length > most)
			pack(model);
		if (gw_log_dictionary_bytes() + head.length > most) {
			gw_count(GW_COUNTER_definitions_dropped, 1);
			gw_log_report(GW_DEGRADED_TABLE_FULL,
				      "GPUWATCH_LOG_MAX is too small to name all kernels in each "
				      "file");
			continue;
		}
		memcpy(gathered + gathered_length, records + at, head.length);
		gathered_length += head.length;
	}
}

bool gw_log_dictionary_each(struct gw_block_model *model, gw_log_dictionary_fn *take)
{
	pack(model);
	for (uint32_t at = 0; at < used;) {
		struct kept k;

		memcpy(&k, kept + at, sizeof(k));
		at += (uint32_t)sizeof(k);
		if (!take(kept + at, k.size, k.raw, k.packed != 0))
			return false;
		at += k.size;
	}
	return true;
}

uint32_t gw_log_dictionary_bytes(void)
{
	return gathered_length + used + (blocks + 1) * (uint32_t)sizeof(struct gw_packed_block);
}

uint32_t gw_log_dictionary_header(unsigned part, unsigned char *out, size_t room)
{
	uint32_t length = header_length, whole;
	struct gw_record head;
	char text[24];
	int n;

	/* What pads the last text is not part of the next. */
	while (length > sizeof(struct gw_record_header) + 1 && !header[length - 1] &&
	       !header[length - 2])
		length--;
	n = snprintf(text, sizeof(text), "part=%u", part) + 1;
	whole = (length + (uint32_t)n + 7) & ~7u;
	if (!header_length || whole > room || whole > GW_RECORD_MAX)
		return 0;
	memset(out, 0, whole);
	memcpy(out, header, length);
	memcpy(out + length, text, (size_t)n);
	memcpy(&head, out, sizeof(head));
	head.length = (uint16_t)whole;
	memcpy(out, &head, sizeof(head));
	return whole;
}
