#include "predictor/code/memory/request.h"

#include <stddef.h>
#include <string.h>

bool gw_request_valid(const struct gw_request *r)
{
	if (r->bytes < 1 || r->bytes > GW_ACCESS_BYTES)
		return false;
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
		if (r->active >> lane & 1 && r->address[lane] > UINT64_MAX - r->bytes)
			return false;
	return true;
}

unsigned gw_request_lanes(const struct gw_request *r)
{
	return (unsigned)__builtin_popcount(r->active);
}

/* Keep @p list sorted and free of doubles. Lanes mostly come in rising order, so the place is
 * looked for from the end. */
static unsigned insert(uint64_t *list, unsigned count, uint64_t value)
{
	unsigned at = count;

	while (at > 0 && list[at - 1] > value)
		at--;
	if (at > 0 && list[at - 1] == value)
		return count;
	memmove(&list[at + 1], &list[at], (count - at) * sizeof(*list));
	list[at] = value;
	return count + 1;
}

unsigned gw_request_pieces(const struct gw_request *r, unsigned size,
			   uint64_t out[GW_REQUEST_PIECES])
{
	uint64_t list[GW_REQUEST_PIECES + 1];
	unsigned count = 0, power = (unsigned)__builtin_ctz(size);

	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		uint64_t first = r->address[lane] >> power;
		uint64_t last = (r->address[lane] + r->bytes - 1) >> power;

		if (!(r->active >> lane & 1))
			continue;
		/* At most two pieces: a lane's bytes are no more than a sector. */
		count = insert(list, count, first);
		if (last != first)
			count = insert(list, count, last);
	}
	if (out && count)
		memcpy(out, list, count * sizeof(*list));
	return count;
}

unsigned gw_request_sectors(const struct gw_request *r)
{
	return gw_request_pieces(r, GW_SECTOR_BYTES, NULL);
}

/* Distinct words of lanes that go together, by bank: the fullest bank decides how often it must be
 * read. */
struct phase {
	uint64_t word[GW_REQUEST_LANES * (GW_ACCESS_BYTES / GW_BANK_BYTES + 1)];
	uint64_t most; /* of them: lanes mostly come in rising order */
	unsigned count;
	unsigned in_bank[GW_BANKS];
};

static void phase_add(struct phase *p, uint64_t word)
{
	for (unsigned i = 0; word <= p->most && i < p->count; i++)
		if (p->word[i] == word)
			return;
	p->most = word > p->most ? word : p->most;
	p->word[p->count++] = word;
	p->in_bank[word % GW_BANKS]++;
}

static void phase_of(const struct gw_request *r, unsigned first, unsigned lanes, struct phase *p)
{
	p->count = 0;
	p->most = 0;
	memset(p->in_bank, 0, sizeof(p->in_bank));
	for (unsigned lane = first; lane < first + lanes; lane++) {
		uint64_t end = (r->address[lane] + r->bytes - 1) / GW_BANK_BYTES;

		if (!(r->active >> lane & 1))
			continue;
		for (uint64_t word = r->address[lane] / GW_BANK_BYTES; word <= end; word++)
			phase_add(p, word);
	}
}

/* No lane differs from its partner, which is one or two places away. */
static bool in_pairs(const struct gw_request *r)
{
	uint32_t apart = 1;

	for (unsigned away = 1; away <= 2 && apart; away++) {
		apart = 0;
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
			if (r->address[lane] != r->address[lane ^ away])
				apart |= r->active >> lane & r->active >> (lane ^ away) & 1;
	}
	return !apart;
}

/* Lanes that share a pass where they can: docs/internals/code-analysis.md. */
static unsigned phase_lanes(const struct gw_request *r)
{
	unsigned lanes = GW_LINE_BYTES / r->bytes;

	if (lanes < GW_REQUEST_LANES)
		lanes <<= in_pairs(r);
	return lanes < GW_REQUEST_LANES ? lanes : GW_REQUEST_LANES;
}

void gw_request_shared(const struct gw_request *r, struct gw_shared_passes *out)
{
	unsigned lanes = phase_lanes(r);
	struct phase p;

	*out = (struct gw_shared_passes){0};
	for (unsigned first = 0; first < GW_REQUEST_LANES; first += lanes) {
		unsigned most = 0;

		phase_of(r, first, lanes, &p);
		for (unsigned bank = 0; bank < GW_BANKS; bank++)
			most = p.in_bank[bank] > most ? p.in_bank[bank] : most;
		out->wavefronts += most;
		out->conflicts += most - (p.count + GW_BANKS - 1) / GW_BANKS;
	}
}

unsigned gw_request_atomic(const struct gw_request *r)
{
	unsigned in_bank[GW_BANKS] = {0}, most = 0;

	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		unsigned *bank = &in_bank[r->address[lane] / GW_BANK_BYTES % GW_BANKS];

		if (!(r->active >> lane & 1))
			continue;
		++*bank;
		most = *bank > most ? *bank : most;
	}
	return most;
}

unsigned gw_request_words(const struct gw_request *r)
{
	struct phase p;

	phase_of(r, 0, GW_REQUEST_LANES, &p);
	return p.count;
}
