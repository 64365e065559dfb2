#include "cli/parquet/encode.h"

enum { GROUP = 8 };

unsigned pq_width(uint64_t value)
{
	return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/* Bits that wait for a whole word. */
struct packer {
	unsigned char *to;
	uint64_t bits;
	unsigned held;
};

static void store(struct packer *p)
{
	for (unsigned i = 0; i < 8; i++)
		*p->to++ = (unsigned char)(p->bits >> 8 * i);
}

static inline void pack(struct packer *p, uint64_t value, unsigned width)
{
	p->bits |= value << p->held;
	p->held += width;
	if (p->held < 64)
		return;
	store(p);
	p->held -= 64;
	p->bits = p->held ? value >> (width - p->held) : 0;
}

static void flush(struct packer *p)
{
	for (; p->held; p->held -= p->held < 8 ? p->held : 8, p->bits >>= 8)
		*p->to++ = (unsigned char)p->bits;
}

/* @p count values in whole groups; the last one is filled up with zeros. */
static void packed(struct pq_bytes *out, const uint32_t *values, size_t count, unsigned width)
{
	const size_t groups = (count + GROUP - 1) / GROUP;
	struct packer p = {0};

	if (!count)
		return;
	pq_varint(out, groups << 1 | 1);
	p.to = pq_extend(out, groups * width);
	for (size_t i = 0; width && i < count; i++)
		pack(&p, values[i], width);
	for (size_t i = count; width && i < groups * GROUP; i++)
		pack(&p, 0, width);
	flush(&p);
}

static void run(struct pq_bytes *out, uint32_t value, size_t count, unsigned width)
{
	pq_varint(out, (uint64_t)count << 1);
	pq_little(out, value, (width + 7) / 8);
}

static size_t equal(const uint32_t *values, size_t count)
{
	size_t i = 1;

	while (i < count && values[i] == values[0])
		i++;
	return i;
}

void pq_hybrid(struct pq_bytes *out, const uint32_t *values, size_t count, unsigned width)
{
	size_t from = 0, i = 0; /* values from `from` on are not written yet */

	while (i < count) {
		size_t length = equal(values + i, count - i);
		size_t rest = (i - from) % GROUP; /* what stands before a run is whole groups */
		size_t taken = rest ? GROUP - rest : 0;

		if (length >= taken + 2 * GROUP) {
			packed(out, values + from, i + taken - from, width);
			run(out, values[i], length - taken, width);
			from = i + length;
		}
		i += length;
	}
	packed(out, values + from, count - from, width);
}

void pq_plain(struct pq_bytes *out, const uint64_t *values, size_t count)
{
	struct packer p = {.to = pq_extend(out, count * 8)};

	for (size_t i = 0; i < count; i++) {
		p.bits = values[i];
		store(&p);
	}
}
