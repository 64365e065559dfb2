#include "predictor/log/histogram.h"

#include <string.h>

enum { HEAD = 4 };

static size_t put(uint64_t n, unsigned char *out)
{
	size_t size = 0;

	for (; n > 127; n >>= 7)
		out[size++] = (unsigned char)(n | 128);
	out[size++] = (unsigned char)n;
	return size;
}

size_t gw_histogram_pack(const struct gw_sketch *s, unsigned char *out)
{
	int low = 0, high = GW_SKETCH_BUCKETS;
	size_t size = HEAD;
	int16_t first;

	while (low < high && !s->bucket[low])
		low++;
	while (high > low && !s->bucket[high - 1])
		high--;
	first = low < high ? (int16_t)(s->first + low) : 0;
	memcpy(out, &first, sizeof(first));
	out[2] = (unsigned char)(int8_t)s->schema;
	out[3] = (unsigned char)(high - low);
	for (; low < high; low++)
		size += put(s->bucket[low], out + size);
	return size;
}

/* How many bytes a number takes; 0: it does not end, or is none of 64 bits. */
static size_t get(const unsigned char *in, size_t size, uint64_t *n)
{
	*n = 0;
	for (size_t i = 0; i < size && i < 10; i++) {
		*n |= (uint64_t)(in[i] & 127) << 7 * i;
		if (!(in[i] & 128))
			return i == 9 && in[i] > 1 ? 0 : i + 1;
	}
	return 0;
}

size_t gw_histogram_unpack(const unsigned char *in, size_t size, struct gw_sketch *s)
{
	const struct gw_sketch none = {0};
	size_t at = HEAD, taken;
	int16_t first;

	*s = none;
	if (size < HEAD || in[3] > GW_SKETCH_BUCKETS)
		return 0;
	memcpy(&first, in, sizeof(first));
	s->first = first;
	s->schema = (int8_t)in[2];
	for (unsigned i = 0; i < in[3]; i++, at += taken) {
		taken = get(in + at, size - at, &s->bucket[i]);
		if (!taken || s->bucket[i] > UINT64_MAX - s->count) {
			*s = none;
			return 0;
		}
		s->count += s->bucket[i];
	}
	if (gw_sketch_valid(s))
		return at;
	*s = none;
	return 0;
}
