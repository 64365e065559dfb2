/* Lowering PTX: what its parts share. */
#ifndef GW_CODE_PTX_LOWER_H
#define GW_CODE_PTX_LOWER_H

#include "predictor/code/ptx/tree.h"

enum { PTX_PARTS_MAX = 20, PTX_CALLS_MAX = 16 };

/** A function being taken in: the kernel, or one that it calls. */
struct gw_ptx_frame {
	const struct gw_ptx_function *function;
	uint32_t *regs; /**< of each of its registers: the IR's; GW_IR_NONE: not named yet */
	uint32_t *
		blocks; /**< of each of its statements, and one more: the block that begins there */
	uint32_t leave; /**< block to go on in; GW_IR_NONE: the thread ends */
	struct gw_ptx_frame *caller;
};

/** The instruction being lowered. */
struct gw_ptx_insn {
	const struct gw_ptx_statement *s;
	const struct gw_ptx_operand *o; /**< its operands */
	uint32_t count;
	const char *part[PTX_PARTS_MAX]; /**< of the opcode: "ld", "global", "v4", "f32" */
	uint32_t parts;
	char type;      /**< of the last type suffix: 's', 'u', 'b', 'f', 'p'; 'h' for halves and
			     other floats that aren't followed; 0: none */
	unsigned bits;  /**< of it */
	uint32_t index; /**< of the statement in its function */
};

struct gw_ptx_lower {
	struct gw_ir_builder b;
	const struct gw_ptx *ptx;
	struct gw_ptx_inside *in;
	struct gw_arena *arena;
	struct gw_ptx_fault *fault;
	struct gw_ptx_frame *frame;
	uint32_t *symbols;      /**< of each variable: the IR's symbol; GW_IR_NONE: none yet */
	uint32_t shared, local; /**< bytes given out */
	uint32_t calls;         /**< depth */
	uint32_t carry;         /**< predicate of add.cc and sub.cc */
	struct gw_ptx_insn i;
};

/** A way to lower an instruction; false, with the fault, only for what is no PTX. */
typedef bool gw_ptx_lowering(struct gw_ptx_lower *l);

/** Refuse the statement being lowered. Always false. */
bool gw_ptx_object(struct gw_ptx_lower *l, const char *what);

/** The opcode has the suffix @p part. */
bool gw_ptx_has(const struct gw_ptx_lower *l, const char *part);

/** Type of a suffix: its letter and width; 0 when it is none. */
char gw_ptx_type(const char *part, unsigned *bits);

/** Operand @p n's value as a source of @p bits; a fresh unknown for what has none. */
gw_ir_operand gw_ptx_use(struct gw_ptx_lower *l, const struct gw_ptx_operand *o, unsigned bits);

/** Register that operand @p o writes; GW_IR_NONE for none. */
gw_ir_operand gw_ptx_def(struct gw_ptx_lower *l, const struct gw_ptx_operand *o);

/** Operand @p n of the instruction, a sink when it hasn't as many. */
const struct gw_ptx_operand *gw_ptx_operand(const struct gw_ptx_lower *l, uint32_t n);

/** Element @p n of a list, pair or memory operand; a sink when it hasn't as many. */
const struct gw_ptx_operand *gw_ptx_item(const struct gw_ptx_lower *l,
					 const struct gw_ptx_operand *o, uint32_t n);

/** All that the instruction may write becomes unknown: registers among its first operand. The
 *  reason is @p note, or, when it is NULL, the opcode. Always true. */
bool gw_ptx_opaque(struct gw_ptx_lower *l, const char *note);

/** Symbol of a variable, made when it is first asked for. */
uint32_t gw_ptx_symbol(struct gw_ptx_lower *l, uint32_t variable);

/** A number, as an operand. */
static inline gw_ir_operand gw_ptx_number(struct gw_ptx_lower *l, uint64_t v)
{
	return gw_ir_const(&l->b, v);
}

/* Lowerings, by the opcode's first part. */
/* arith.c */
gw_ptx_lowering gw_ptx_add_sub, gw_ptx_mul_mad, gw_ptx_div_rem, gw_ptx_unary, gw_ptx_min_max,
	gw_ptx_bitwise, gw_ptx_lop3, gw_ptx_shift, gw_ptx_funnel, gw_ptx_prmt, gw_ptx_bfe,
	gw_ptx_bfi, gw_ptx_count, gw_ptx_fma, gw_ptx_sqrt;
/* move.c */
gw_ptx_lowering gw_ptx_setp, gw_ptx_set, gw_ptx_selp, gw_ptx_mov, gw_ptx_cvt, gw_ptx_cvta,
	gw_ptx_isspacep;
/* warp.c */
gw_ptx_lowering gw_ptx_shfl, gw_ptx_vote, gw_ptx_activemask, gw_ptx_elect, gw_ptx_barrier,
	gw_ptx_async_wait, gw_ptx_mbarrier, gw_ptx_fence, gw_ptx_nothing;
/* access.c */
gw_ptx_lowering gw_ptx_ld, gw_ptx_st, gw_ptx_atom, gw_ptx_red, gw_ptx_cp, gw_ptx_prefetch,
	gw_ptx_matrix, gw_ptx_texture;
/* flow.c */
gw_ptx_lowering gw_ptx_bra, gw_ptx_brx, gw_ptx_call, gw_ptx_ret, gw_ptx_exit;
/** Take in the function of l->frame. */
bool gw_ptx_lower_function(struct gw_ptx_lower *l);
/** Lower the instruction in l->i. */
bool gw_ptx_lower_insn(struct gw_ptx_lower *l);

#endif
