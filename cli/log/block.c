#include "cli/log/block.h"

#include <string.h>

static bool parse_plain(const unsigned char *at, struct log_block *block)
{
	struct gw_block b;

	memcpy(&b, at, sizeof(b));
	*block = (struct log_block){
		.head = sizeof(b),
		.length = b.length,
		.raw = b.length,
		.space = (uint32_t)sizeof(b) + b.length,
		.sequence = b.sequence,
		.crc = b.crc,
	};
	return b.length && b.length % 8 == 0 && b.length <= GW_BLOCK_MAX;
}

static bool parse_packed(const unsigned char *at, struct log_block *block)
{
	struct gw_packed_block b;
	bool copy;

	memcpy(&b, at, sizeof(b));
	copy = (b.flags & GW_BLOCK_COPY) != 0;
	*block = (struct log_block){
		.head = sizeof(b),
		.length = b.length,
		.raw = b.raw,
		.space = copy ? b.room : (uint32_t)sizeof(b) + b.length,
		.sequence = b.sequence,
		.flags = b.flags,
		.crc = b.crc,
		.packed = b,
	};
	return b.length && b.length <= GW_BLOCK_MAX && b.raw && b.raw % 8 == 0 &&
	       b.raw <= GW_BLOCK_MAX && (b.flags & GW_BLOCK_PACKED || b.length == b.raw) &&
	       (!copy ||
		(b.room >= sizeof(b) + b.length && b.room <= sizeof(b) + (uint32_t)GW_BLOCK_MAX));
}

bool log_block_parse(const unsigned char *at, size_t size, struct log_block *block)
{
	uint32_t magic = 0;

	if (size >= LOG_BLOCK_HEAD_LEAST)
		memcpy(&magic, at, sizeof(magic));
	if (magic == GW_PACKED_MAGIC && size >= sizeof(struct gw_packed_block))
		return parse_packed(at, block);
	return magic == GW_BLOCK_MAGIC && parse_plain(at, block);
}

const unsigned char *log_block_find(const unsigned char *from, size_t size)
{
	const unsigned char *end = from + size, *at = from;

	while ((size_t)(end - at) >= sizeof(uint32_t)) {
		at = memmem(at, (size_t)(end - at) - 1, "GWB", 3);
		if (!at || at[3] == '1' || at[3] == '2')
			return at;
		at++;
	}
	return NULL;
}

const char *log_block_open(const struct log_block *block, const unsigned char *data,
			   struct gw_block_model *model, unsigned char *raw)
{
	uint32_t crc = block->packed.magic ? gw_block_checksum(&block->packed, data)
					   : gw_crc32(0, data, block->length);

	if (crc != block->crc)
		return "the checksum does not match";
	if (!(block->flags & GW_BLOCK_PACKED))
		memcpy(raw, data, block->raw);
	else if (!gw_block_unpack(model, data, block->length, raw, block->raw))
		return "the records can't be unpacked";
	return NULL;
}
