#include "predictor/code/sass/tensor.h"

enum { GROUP_WARPS = 4 };

struct shape {
	uint8_t type; /* enum gw_sass_tensor */
	uint16_t m, n, k;
};

static unsigned bits(const struct gw_sass_insn *in, unsigned at, unsigned count)
{
	return (unsigned)gw_sass_bits(in, at, count);
}

static struct shape half_shape(const struct gw_sass_insn *in)
{
	static const uint8_t types[4] = {GW_SASS_TENSOR_FP16, GW_SASS_TENSOR_BF16,
					 GW_SASS_TENSOR_TF32, GW_SASS_TENSOR_NONE};
	/* 1688, 16816, 1684 */
	uint16_t k = bits(in, 78, 1) ? 4 : bits(in, 75, 1) ? 16 : 8;

	return (struct shape){types[bits(in, 82, 2)], 16, 8, k};
}

static struct shape integer_shape(const struct gw_sass_insn *in)
{
	/* By bits 86, 85 and 75. */
	static const uint16_t m[8] = {8, 0, 8, 0, 16, 16, 16, 0};
	static const uint16_t k[8] = {16, 0, 32, 0, 16, 32, 64, 0};
	unsigned shape = bits(in, 85, 2) << 1 | bits(in, 75, 1);
	uint8_t type = bits(in, 83, 1) ? GW_SASS_TENSOR_INT4 : GW_SASS_TENSOR_INT8;

	return (struct shape){type, m[shape], 8, k[shape]};
}

static struct shape binary_shape(const struct gw_sass_insn *in)
{
	/* By bits 76 and 75. */
	static const uint16_t m[4] = {8, 16, 16, 0}, k[4] = {128, 128, 256, 0};
	unsigned shape = bits(in, 75, 2);

	return (struct shape){GW_SASS_TENSOR_BINARY, m[shape], 8, k[shape]};
}

static struct shape double_shape(const struct gw_sass_insn *in)
{
	/* By bits 76 and 77. */
	static const uint16_t m[4] = {8, 16, 16, 16}, k[4] = {4, 4, 8, 16};
	unsigned shape = bits(in, 76, 2);

	return (struct shape){GW_SASS_TENSOR_FP64, m[shape], 8, k[shape]};
}

/* One warp group: four warps. */
static struct shape group_shape(const struct gw_sass_insn *in)
{
	static const struct shape halves[4] = {{GW_SASS_TENSOR_FP16, 64, 0, 16},
					       {GW_SASS_TENSOR_BF16, 64, 0, 16},
					       {GW_SASS_TENSOR_TF32, 64, 0, 8},
					       {GW_SASS_TENSOR_NONE, 0, 0, 0}};
	struct shape s = {GW_SASS_TENSOR_NONE, 0, 0, 0};

	switch (in->op) {
	case GW_SASS_OP_HGMMA:
		s = halves[bits(in, 76, 2)];
		break;
	case GW_SASS_OP_QGMMA:
		s = (struct shape){GW_SASS_TENSOR_FP8, 64, 0, 32};
		break;
	case GW_SASS_OP_IGMMA: { /* 8 to 32 by 8, from there by 16 */
		unsigned size = bits(in, 53, 6) / 3;

		return (struct shape){GW_SASS_TENSOR_INT8, 64,
				      (uint16_t)(size < 4 ? 8 * (size + 1) : 32 + 16 * (size - 3)),
				      32};
	}
	default:
		return s;
	}
	if (s.m)
		s.n = (uint16_t)(8 * (bits(in, 53, 5) + 1));
	return s;
}

bool gw_sass_is_group(const struct gw_sass_insn *in)
{
	return in->op == GW_SASS_OP_HGMMA || in->op == GW_SASS_OP_QGMMA ||
	       in->op == GW_SASS_OP_IGMMA || in->op == GW_SASS_OP_BGMMA;
}

double gw_sass_warp_flops(const struct gw_sass_insn *in)
{
	return in->tensor_flops / (gw_sass_is_group(in) ? GROUP_WARPS : 1.0);
}

unsigned gw_sass_group_columns(const struct gw_sass_insn *in)
{
	return group_shape(in).n;
}

void gw_sass_tensor(struct gw_sass_insn *in)
{
	struct shape s = {GW_SASS_TENSOR_NONE, 0, 0, 0};

	switch (in->op) {
	case GW_SASS_OP_HMMA: /* sm_70: a quarter of 8 x 8 x 4 for each quad pair, in four steps */
		s = (struct shape){GW_SASS_TENSOR_FP16, 8, 8, 4};
		break;
	case GW_SASS_OP_HMMA_16:
		s = half_shape(in);
		break;
	case GW_SASS_OP_IMMA:
		s = integer_shape(in);
		break;
	case GW_SASS_OP_BMMA:
		s = binary_shape(in);
		break;
	case GW_SASS_OP_DMMA:
		s = double_shape(in);
		break;
	case GW_SASS_OP_QMMA:
		s = (struct shape){GW_SASS_TENSOR_FP8, 16, 8, bits(in, 75, 1) ? 32 : 16};
		break;
	default:
		s = group_shape(in);
	}
	in->tensor = s.type;
	in->tensor_flops = 2u * s.m * s.n * s.k;
}
