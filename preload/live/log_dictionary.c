#include "preload/live/log_dictionary.h"

#include "preload/maps/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Packed, a configuration takes some 10 bytes and a kernel's name a third of its length: the bound
 * is that of 2^18 configurations. Beyond it records are not kept.
 */
enum { GATHER = 64 << 10, CHUNK = 256 << 10, CHUNKS = 32, HEADER_MOST = 8 << 10 };

static unsigned char gathered[GATHER]; /* records, not packed yet */
static uint32_t gathered_length;
static struct {
	unsigned char *data; /* mapped once, then kept */
	uint32_t used;
} chunks[CHUNKS];
static unsigned chunk; /* the one that is being filled */
static uint32_t blocks;
static unsigned char header[HEADER_MOST];
static uint32_t header_length; /* 0: none, or too long */

/* Before each packed block. */
struct kept {
	uint32_t size, raw, packed;
};

static bool kept_kind(unsigned kind)
{
	return (kind <= GW_RECORD_NODE && kind != 0) || kind == GW_RECORD_DEGRADED ||
	       kind == GW_RECORD_PROFILE || kind == GW_RECORD_SUCCESSOR ||
	       kind == GW_RECORD_ANALYSIS || kind == GW_RECORD_RANGE_NAME ||
	       kind == GW_RECORD_COMMUNICATOR || kind == GW_RECORD_OBJECT ||
	       kind == GW_RECORD_FRAME || kind == GW_RECORD_STACK || kind == GW_RECORD_CODE;
}

void gw_log_dictionary_reset(void)
{
	gathered_length = 0;
	for (unsigned i = 0; i < CHUNKS; i++)
		chunks[i].used = 0;
	chunk = 0;
	blocks = 0;
	header_length = 0;
}

/* Room for @p size bytes in one piece; NULL when there is no more. */
static unsigned char *room_for(size_t size)
{
	if (chunk < CHUNKS && chunks[chunk].used + size > CHUNK)
		chunk++;
	if (chunk == CHUNKS)
		return NULL;
	if (!chunks[chunk].data) {
		void *at;

		if (!gw_memory_take(GW_MEMORY_log, CHUNK))
			return NULL;
		at = mmap(NULL, CHUNK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (at == MAP_FAILED) {
			gw_memory_give(GW_MEMORY_log, CHUNK);
			return NULL;
		}
		chunks[chunk].data = at;
	}
	return chunks[chunk].data + chunks[chunk].used;
}

static void pack(struct gw_block_model *model)
{
	struct kept k = {.raw = gathered_length};
	unsigned char *at = room_for(sizeof(k) + gathered_length);

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
	chunks[chunk].used += (uint32_t)sizeof(k) + k.size;
	blocks++;
}

void gw_log_dictionary_add(struct gw_block_model *model, const unsigned char *records,
			   uint32_t length)
{
	struct gw_record head;

	for (uint32_t at = 0; at < length; at += head.length) {
		memcpy(&head, records + at, sizeof(head));
		if (!kept_kind(head.kind))
			continue;
		if (head.kind == GW_RECORD_HEADER && head.length <= HEADER_MOST) {
			memcpy(header, records + at, head.length);
			header_length = head.length;
		}
		if (gathered_length + head.length > GATHER)
			pack(model);
		memcpy(gathered + gathered_length, records + at, head.length);
		gathered_length += head.length;
	}
}

bool gw_log_dictionary_each(struct gw_block_model *model, gw_log_dictionary_fn *take)
{
	pack(model);
	for (unsigned i = 0; i < CHUNKS; i++)
		for (uint32_t at = 0; at < chunks[i].used;) {
			struct kept k;

			memcpy(&k, chunks[i].data + at, sizeof(k));
			at += (uint32_t)sizeof(k);
			if (!take(chunks[i].data + at, k.size, k.raw, k.packed != 0))
				return false;
			at += k.size;
		}
	return true;
}

uint64_t gw_log_dictionary_bytes(void)
{
	uint64_t bytes = gathered_length + (blocks + 1) * sizeof(struct gw_packed_block);

	for (unsigned i = 0; i < CHUNKS; i++)
		bytes += chunks[i].used;
	return bytes;
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
