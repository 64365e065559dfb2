#include "predictor/code/binary/compress.h"

#include "predictor/code/binary/image_parts.h"
#include "predictor/code/binary/kernel.h"

enum {
	LEAST = 4,         /* bytes of a match */
	FARTHEST = 0xffff, /* back */
	TAIL = 12,         /* bytes at the end where no match begins … */
	LITERALS = 5,      /* … and which are never part of one */
	PATIENCE = 6,      /* log2 of the bytes without a match after which steps grow */
	LONG = 15,         /* a length in a token that goes on in bytes */
};

_Static_assert((int)GW_PACK_HEAD == (int)GW_FATBIN_HEAD, "one entry, and the container around it");

static uint32_t word_at(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, sizeof(word));
	return word;
}

void gw_pack_begin(struct gw_pack *p, struct gw_bytes in, uint8_t *out, size_t room)
{
	*p = (struct gw_pack){.in = in, .out = out, .room = room, .made = GW_PACK_HEAD};
}

static void put_length(struct gw_pack *p, size_t length)
{
	if (length < LONG)
		return;
	for (length -= LONG; length >= 255; length -= 255)
		p->out[p->made++] = 255;
	p->out[p->made++] = (uint8_t)length;
}

/* The literals from the anchor on, and a match behind them; @p match 0: none. */
static bool put(struct gw_pack *p, size_t literals, size_t match, size_t distance)
{
	size_t more = match ? match - LEAST : 0;
	size_t most = 1 + literals / 255 + 1 + literals + 2 + more / 255 + 1;

	if (p->made > p->room || most > p->room - p->made)
		return false;
	p->out[p->made++] =
		(uint8_t)((literals < LONG ? literals : LONG) << 4 | (more < LONG ? more : LONG));
	put_length(p, literals);
	if (literals)
		memcpy(p->out + p->made, p->in.data + p->anchor, literals);
	p->made += literals;
	p->anchor += literals + match;
	if (!match)
		return true;
	p->out[p->made++] = (uint8_t)distance;
	p->out[p->made++] = (uint8_t)(distance >> 8);
	put_length(p, more);
	return true;
}

static enum gw_pack_end finish(struct gw_pack *p)
{
	size_t packed, padded;

	if (!put(p, p->in.size - p->anchor, 0, 0))
		return GW_PACK_NO_ROOM;
	packed = p->made - GW_PACK_HEAD;
	padded = (packed + 7) & ~(size_t)7;
	if (padded - packed > p->room - p->made)
		return GW_PACK_NO_ROOM;
	memset(p->out + p->made, 0, padded - packed);
	p->made = GW_PACK_HEAD + padded;
	gw_fatbin_head(p->out, gw_cubin_arch(p->in), packed, p->in.size);
	return GW_PACK_DONE;
}

/* Bytes from @p at on that are as those from @p from on. */
static size_t alike(const struct gw_pack *p, size_t from, size_t at)
{
	size_t n = LEAST;

	while (at + n < p->in.size - LITERALS && p->in.data[from + n] == p->in.data[at + n])
		n++;
	return n;
}

enum gw_pack_end gw_pack_go_on(struct gw_pack *p, size_t bytes)
{
	const uint8_t *in = p->in.data;
	size_t stop = bytes < p->in.size - p->at ? p->at + bytes : p->in.size;

	while (p->at < stop && p->in.size - p->at >= TAIL) {
		uint32_t word = word_at(in + p->at), *place = &p->place[word * 2654435761u >> 20];
		size_t from = *place;

		*place = (uint32_t)p->at;
		if (from < p->at && p->at - from <= FARTHEST && word_at(in + from) == word) {
			size_t match = alike(p, from, p->at);

			if (!put(p, p->at - p->anchor, match, p->at - from))
				return GW_PACK_NO_ROOM;
			p->at = p->anchor;
		} else {
			p->at += 1 + ((p->at - p->anchor) >> PATIENCE);
		}
	}
	return p->at < p->in.size && p->in.size - p->at >= TAIL ? GW_PACK_MORE : finish(p);
}
