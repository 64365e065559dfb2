#include "predictor/code/sass/sass.h"
#include "predictor/code/sass/tensor.h"

#include <endian.h>
#include <string.h>

/* Text in place: a table of pointers is relocated in every process. */
struct operation {
	char name[14], operands[10];
	uint8_t cls, pipe, space, latency;
};

static const struct operation operations[GW_SASS_OPS] = {
	{"?", "", GW_SASS_OTHER, GW_SASS_PIPE_NONE, GW_SASS_SPACE_NONE, GW_SASS_LATENCY_OTHER},
#define SASS_OP(name, text, class, pipe, space, latency, operands) \
	{text, \
	 operands, \
	 GW_SASS_##class, \
	 GW_SASS_PIPE_##pipe, \
	 GW_SASS_SPACE_##space, \
	 GW_SASS_LATENCY_##latency},
#include "predictor/code/sass/opcode.def"
};

struct code {
	uint16_t base;
	uint8_t forms, from, to, op;
};

static const struct code codes[] = {
#define SASS_CODE(base, forms, from, to, name) {base, forms, from, to, GW_SASS_OP_##name},
#include "predictor/code/sass/opcode.def"
};

_Static_assert((int)GW_SASS_OPS < 256, "an operation fits struct code");

enum { CODES = sizeof(codes) / sizeof(*codes) };

/* The list is in the order of `base`. */
static unsigned find(unsigned opcode, unsigned sm)
{
	unsigned base = opcode & 0x1ff, form = opcode >> 9;
	unsigned low = 0, high = CODES;

	while (low < high) {
		unsigned middle = (low + high) / 2;

		if (codes[middle].base < base)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < CODES && codes[low].base == base; low++)
		if (codes[low].forms >> form & 1 && sm >= codes[low].from && sm <= codes[low].to)
			return codes[low].op;
	return GW_SASS_OP_UNKNOWN;
}

static uint64_t load64(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static void control_bits(struct gw_sass_insn *out)
{
	out->stall = (uint8_t)gw_sass_bits(out, 105, 4);
	out->yield = gw_sass_bits(out, 109, 1);
	out->write_barrier = (uint8_t)gw_sass_bits(out, 110, 3);
	out->read_barrier = (uint8_t)gw_sass_bits(out, 113, 3);
	out->wait_mask = (uint8_t)gw_sass_bits(out, 116, 6);
	out->reuse = (uint8_t)gw_sass_bits(out, 122, 4);
}

/* Bits per thread from the size field of loads and stores. */
static uint16_t plain_width(const struct gw_sass_insn *in)
{
	static const uint8_t bits[8] = {8, 8, 16, 16, 32, 64, 128, 128};

	return bits[gw_sass_bits(in, 73, 3)];
}

/* Bits per thread of an atomic, from its type field: u32 s32 u64 f32 f16x2 s64 f64; the floating
 * point forms of sm_90 have codes of their own: f16x2 f32 - bf16x2 - - - f64. */
static uint16_t atomic_width(const struct gw_sass_insn *in)
{
	unsigned type = (unsigned)gw_sass_bits(in, 73, 3), base = in->lo & 0x1ff;

	if (base == 0x1a2 || base == 0x1a3 || base == 0x1a6)
		return type == 7 ? 64 : 32;
	return type == 2 || type == 5 || type == 6 ? 64 : 32;
}

static uint16_t width_of(const struct gw_sass_insn *in)
{
	unsigned matrices = (unsigned)gw_sass_bits(in, 72, 2); /* their number's logarithm */

	switch (in->op) {
	case GW_SASS_OP_LDSM:
	case GW_SASS_OP_STSM: /* 1, 2 or 4 matrices, 32 bits of each a thread */
		return (uint16_t)(matrices == 3 ? 0u : 32u << matrices);
	case GW_SASS_OP_LDGSTS: /* 32, 64 or 128; sm_100 counts from 32 on, one bit higher */
		if (in->sm < 100)
			return plain_width(in);
		return (uint16_t)(32u << gw_sass_bits(in, 74, 2) % 3);
	default:
		break;
	}
	switch (in->cls) {
	case GW_SASS_LOAD:
	case GW_SASS_STORE:
		return in->space == GW_SASS_SPACE_TENSOR ? 0 : plain_width(in);
	case GW_SASS_ATOMIC:
	case GW_SASS_REDUCTION:
		return atomic_width(in);
	default:
		return 0;
	}
}

/* ---- operands ---- */

static void add_regs(struct gw_sass_insn *out, bool def, unsigned first, unsigned n)
{
	struct gw_sass_regs regs = {(uint16_t)first, (uint16_t)n};

	if (def && out->def_count < GW_SASS_DEFS_MAX)
		out->defs[out->def_count++] = regs;
	else if (!def && out->use_count < GW_SASS_USES_MAX)
		out->uses[out->use_count++] = regs;
}

unsigned gw_sass_urz(unsigned sm)
{
	return sm >= 100 ? 255 : 63;
}

static void add_general(struct gw_sass_insn *out, bool def, bool uniform, unsigned at, unsigned n)
{
	unsigned zero = uniform ? gw_sass_urz(out->sm) : GW_SASS_RZ;
	unsigned number = (unsigned)gw_sass_bits(out, at, 8) & zero;

	if (number == zero)
		return;
	if (n > zero - number)
		n = zero - number;
	add_regs(out, def, number + (uniform ? GW_SASS_UR0 : 0), n);
}

static void add_predicate(struct gw_sass_insn *out, bool def, bool uniform, unsigned at)
{
	unsigned number = (unsigned)gw_sass_bits(out, at, 3);

	if (number != GW_SASS_PT)
		add_regs(out, def, number + (uniform ? GW_SASS_UP0 : GW_SASS_P0), 1);
}

/* How many registers the character after a letter stands for; 0: none follows. */
static unsigned count_of(const struct gw_sass_insn *out, char c)
{
	switch (c) {
	case 'w':
		return out->width > 32 ? out->width / 32u : 1;
	case 'e':
		return gw_sass_bits(out, 72, 1) ? 2 : 1;
	case 'm':
		return 1u << gw_sass_bits(out, 72, 2);
	case 'z':
		return gw_sass_bits(out, 80, 1) ? 2 : 1;
	case 'i':
		return gw_sass_bits(out, 73, 1) ? 2 : 1;
	default:
		return c >= '1' && c <= '9' ? (unsigned)(c - '0') : 0;
	}
}

/* Forms 2, 3 and 7 have in bits 32 to 63 what would be C. */
static bool swapped(unsigned form)
{
	return form == 2 || form == 3 || form == 7;
}

/* Operands that are where the form says. */
static void add_formed(struct gw_sass_insn *out, bool b, bool uniform, unsigned n)
{
	bool both = strchr(operations[out->op].operands, 'B') &&
		    strchr(operations[out->op].operands, 'C');
	bool at_32 = b == (!both || !swapped(out->form)); /* this operand is the one at bit 32 */

	if (!both && !b && out->form == 1)
		at_32 = false;
	else if (!both)
		at_32 = true;
	if (!at_32)
		add_general(out, false, uniform, 64, n);
	else if (out->form == 1)
		add_general(out, false, uniform, 32, n);
	else if (out->form >= 6)
		add_general(out, false, true, 32, n);
}

static void add_source(struct gw_sass_insn *out, char letter, bool uniform, unsigned n)
{
	unsigned form = out->form;

	if (letter == 'B' || letter == 'C')
		add_formed(out, letter == 'B', uniform, n);
	else if (letter == 'A')
		add_general(out, false, uniform, 24, n);
	else if (letter == 'O')
		add_general(out, false, uniform, 16, n);
	else if (letter == 'X' || (letter == 'V' && form != 1) ||
		 (letter == 'Y' && (form == 1 || form == 2)))
		add_general(out, false, uniform, 32, n);
	else if (letter == 'W' || letter == 'V' || (letter == 'Z' && (form == 1 || form == 4)))
		add_general(out, false, uniform, 64, n);
}

static void add_predicates(struct gw_sass_insn *out, char letter, bool uniform)
{
	static const struct {
		char letter;
		bool def;
		uint8_t at;
	} places[] = {{'p', true, 81},
		      {'q', true, 84},
		      {'r', false, 87},
		      {'s', false, 77},
		      {'t', false, 68}};

	for (unsigned i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].letter == letter)
			add_predicate(out, places[i].def, uniform, places[i].at);
	if (letter == 'P' || letter == 'Q')
		add_regs(out, letter == 'Q', uniform ? GW_SASS_UP0 : GW_SASS_P0, GW_SASS_PT);
}

static void add_operands(struct gw_sass_insn *out)
{
	bool all = false, next = false;

	for (const char *c = operations[out->op].operands; *c; c++) {
		unsigned n = count_of(out, c[1]);
		bool uniform = all || next;

		if (*c == 'u' || *c == 'v') {
			all |= *c == 'u';
			next = *c == 'v';
			continue;
		}
		if (*c == 'D' || (*c == 'E' && out->form != 2))
			add_general(out, true, uniform, 16, n ? n : 1);
		else if (*c >= 'A' && *c <= 'Z' && *c != 'P' && *c != 'Q')
			add_source(out, *c, uniform, n ? n : 1);
		else
			add_predicates(out, *c, all);
		next = false;
		c += n != 0;
	}
}

/* Bit 91 of a memory operation: a uniform register (pair) takes part in the address; where the
 * data is not, in bits 32 or 64. */
static void add_address_base(struct gw_sass_insn *out)
{
	bool data = out->cls != GW_SASS_LOAD;

	if (!out->width || out->space == GW_SASS_SPACE_CONSTANT || !gw_sass_bits(out, 91, 1))
		return;
	add_general(out, false, true, data ? 64 : 32,
		    out->space == GW_SASS_SPACE_SHARED || out->space == GW_SASS_SPACE_LOCAL ? 1
											    : 2);
}

/* ---- control flow ---- */

static int64_t sign_extend(uint64_t value, unsigned bits)
{
	uint64_t sign = UINT64_C(1) << (bits - 1);

	return (int64_t)((value ^ sign) - sign);
}

/* Offsets count words of four bytes. sm_90 put eight more bits, the lowest, at bit 16. */
static void find_target(struct gw_sass_insn *out)
{
	switch (out->op) {
	case GW_SASS_OP_BSSY:
		out->target = (int64_t)gw_sass_bits(out, 34, 30) * 4;
		break;
	case GW_SASS_OP_WARPSYNC: /* only its collective form, of sm_90, has one */
		if (out->form != 4 || out->sm < 90)
			return;
		/* fall through */
	case GW_SASS_OP_BRA:
	case GW_SASS_OP_BRX:
	case GW_SASS_OP_BRXU:
	case GW_SASS_OP_CALL_REL:
	case GW_SASS_OP_RET:
		if (out->sm >= 90)
			out->target = sign_extend(gw_sass_bits(out, 34, 46) << 8 |
							  gw_sass_bits(out, 16, 8),
						  54) *
				      4;
		else
			out->target = sign_extend(gw_sass_bits(out, 34, 48), 48) * 4;
		break;
	default:
		return;
	}
	out->has_target = true;
}

/* Up to sm_80 packed halves have a pipe of their own; later they use half of the fp32 pipe, but for one. */
static uint8_t pipe_of(const struct gw_sass_insn *in, const struct operation *operation)
{
	if (operation->pipe == GW_SASS_PIPE_FP16 && in->sm > 80 && in->op != GW_SASS_OP_HFMA2_MMA)
		return GW_SASS_PIPE_FMAHEAVY;
	return operation->pipe;
}

bool gw_sass_decode(const uint8_t *bytes, unsigned sm, struct gw_sass_insn *out)
{
	const struct operation *operation;

	memset(out, 0, sizeof(*out));
	out->lo = load64(bytes);
	out->hi = load64(bytes + 8);
	out->sm = (uint8_t)(sm < 255 ? sm : 255);
	out->op = (uint16_t)find(out->lo & 0xfff, sm);
	operation = &operations[out->op];
	out->form = out->lo >> 9 & 7;
	out->cls = operation->cls;
	out->pipe = pipe_of(out, operation);
	out->space = operation->space;
	out->latency = operation->latency;
	out->guard = out->lo >> 12 & 7;
	out->guard_not = out->lo >> 15 & 1;
	control_bits(out);
	out->width = width_of(out);
	out->fma = out->op == GW_SASS_OP_FFMA || out->op == GW_SASS_OP_FFMA2 ||
		   out->op == GW_SASS_OP_DFMA || out->op == GW_SASS_OP_HFMA2 ||
		   out->op == GW_SASS_OP_HFMA2_MMA;
	if (out->cls == GW_SASS_TENSOR)
		gw_sass_tensor(out);
	out->guard_uniform = strchr(operation->operands, 'u') != NULL;
	add_predicate(out, false, out->guard_uniform, 12);
	add_operands(out);
	add_address_base(out);
	find_target(out);
	return out->op != GW_SASS_OP_UNKNOWN;
}

/* ---- names ---- */

const char *gw_sass_op_name(unsigned op)
{
	return op < GW_SASS_OPS ? operations[op].name : "?";
}

const char *gw_sass_class_name(unsigned cls)
{
	static const char *const names[] = {
#define SASS_CLASS(name, text) text,
#include "predictor/code/sass/opcode.def"
	};

	return cls < GW_SASS_CLASSES ? names[cls] : "?";
}

const char *gw_sass_pipe_name(unsigned pipe)
{
	static const char *const names[] = {
#define SASS_PIPE(name, text) text,
#include "predictor/code/sass/opcode.def"
	};

	return pipe < GW_SASS_PIPES ? names[pipe] : "?";
}

const char *gw_sass_space_name(unsigned space)
{
	static const char *const names[] = {
#define SASS_SPACE(name, text) text,
#include "predictor/code/sass/opcode.def"
	};

	return space < GW_SASS_SPACES ? names[space] : "?";
}

const char *gw_sass_tensor_name(unsigned tensor)
{
	static const char *const names[] = {
#define SASS_TENSOR(name, text) text,
#include "predictor/code/sass/opcode.def"
	};

	return tensor < GW_SASS_TENSORS ? names[tensor] : "?";
}
