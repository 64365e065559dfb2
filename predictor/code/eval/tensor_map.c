#include "predictor/code/eval/tensor_map.h"

#include <math.h>
#include <string.h>

enum {
	SECTOR_BYTES = 32,
	WORDS = GW_TENSOR_MAP_BYTES / 4,
	STRIDE_UNIT = 16, /* bytes */
};

/* The words of a map. Strides are those of dimensions 1 to 4, extents are less one. */
enum {
	WORD_KIND = 2, /* bit 0: im2col; 4-6 rank - 1, 7-10 type */
	WORD_STRIDE = 3,
	WORD_STRIDE_HIGH = 7, /* four bits of each */
	WORD_DIM = 8,
	WORD_BOX = 13,   /* 0-14: element strides, three bits of each; 24-31: of dimension 0 */
	WORD_BOXES = 14, /* of dimensions 1 to 4, eight bits each */
	WORD_PIXELS = 15,
};

static uint32_t field(const uint32_t *word, unsigned i, unsigned at, unsigned bits)
{
	return word[i] >> at & ((1u << bits) - 1);
}

/* Nothing stands where there is no dimension. */
static bool ends_with_rank(const uint32_t *word, unsigned rank)
{
	uint32_t rest = 0;

	for (unsigned i = rank; i < GW_TENSOR_RANK; i++)
		rest |= word[WORD_DIM + i];
	return !rest;
}

bool gw_tensor_map_read(struct gw_tensor_map *m, const uint8_t *bytes)
{
	/* u8, u16, u32, s32, u64, s64, f16, f32, tf32, f64, bf16 */
	static const uint8_t element_bits[16] = {8, 16, 32, 32, 64, 64, 16, 32, 32, 64, 16};
	uint32_t word[WORDS];

	memcpy(word, bytes, sizeof(word));
	*m = (struct gw_tensor_map){.address = word[0] | (uint64_t)word[1] << 32,
				    .rank = (uint8_t)(field(word, WORD_KIND, 4, 3) + 1),
				    .im2col = field(word, WORD_KIND, 0, 1),
				    .element_bits = element_bits[field(word, WORD_KIND, 7, 4)]};
	if (m->rank > GW_TENSOR_RANK || !m->element_bits || !m->address ||
	    !ends_with_rank(word, m->rank))
		return false;
	for (unsigned i = 0; i < m->rank; i++) {
		m->dim[i] = (uint64_t)word[WORD_DIM + i] + 1;
		m->every[i] = field(word, WORD_BOX, 3 * i, 3) + 1;
		m->box[i] = (i ? field(word, WORD_BOXES, 8 * (i - 1), 8)
			       : field(word, WORD_BOX, 24, 8)) +
			    1;
		m->stride[i] = i ? (word[WORD_STRIDE + i - 1] |
				    (uint64_t)field(word, WORD_STRIDE_HIGH, 4 * (i - 1), 4) << 32) *
					       STRIDE_UNIT
				 : m->element_bits / 8;
	}
	if (m->im2col)
		m->box[1] = field(word, WORD_PIXELS, 0, 16) + 1;
	return true;
}

double gw_tensor_bytes(const struct gw_tensor_map *m)
{
	double elements = 1;

	for (unsigned i = 0; i < m->rank; i++)
		elements *= (double)m->dim[i];
	return elements * m->element_bits / 8;
}

/* Elements of dimension @p i that a copy at @p at takes: those of the box that the tensor has. */
static double taken(const struct gw_tensor_map *m, unsigned i, int64_t at)
{
	int64_t end = at + (int64_t)m->box[i], dim = (int64_t)m->dim[i], every = m->every[i];
	int64_t first = at;

	if (at < 0)
		first = at + (-at + every - 1) / every * every;
	end = end < dim ? end : dim;
	return first < end ? (double)((end - first + every - 1) / every) : 0;
}

/* The same on average, over copies side by side that cover the dimension. */
static double taken_on_average(const struct gw_tensor_map *m, unsigned i)
{
	double box = m->box[i], dim = (double)m->dim[i];

	return fmax(dim / ceil(dim / box) / m->every[i], 1);
}

/* Of one row, @p elements of dimension 0 from @p at on. */
static double row_bytes(const struct gw_tensor_map *m, double elements, int64_t at)
{
	double begin =
		fmax((double)at, 0) * m->element_bits / 8 + (double)(m->address % SECTOR_BYTES);
	double end = begin + ((elements - 1) * m->every[0] + 1) * m->element_bits / 8;

	if (!(elements > 0))
		return 0;
	return (ceil(end / SECTOR_BYTES) - floor(begin / SECTOR_BYTES)) * SECTOR_BYTES;
}

double gw_tensor_tile_bytes(const struct gw_tensor_map *m, const int32_t *at)
{
	double rows = 1;

	if (m->im2col)
		return (double)m->box[1] * row_bytes(m, fmin(m->box[0], (double)m->dim[0]), 0);
	for (unsigned i = 1; i < m->rank; i++)
		rows *= at ? taken(m, i, at[i]) : taken_on_average(m, i);
	return rows * (at ? row_bytes(m, taken(m, 0, at[0]), at[0])
			  : row_bytes(m, taken_on_average(m, 0), 0));
}
