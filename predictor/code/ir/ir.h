/*
 * The intermediate form that PTX and slices of SASS are lowered to, for one kernel: what its
 * control flow and its addresses are computed from. Lists (operations, comparisons, special
 * registers, spaces, reasons) are in ir.def.
 *
 * A register is a place of 1 (predicate), 16, 32 or 64 bits and holds its value zero-extended;
 * it may be written more than once. A source operand is a register or a constant. What is not
 * modelled is IR_OPAQUE: its results are unknown, and the reason is kept.
 *
 * A front end uses the builder: it opens blocks, appends instructions, ends each block, and
 * calls gw_ir_finish(), which finds reconvergence points and loops. Everything lives in the
 * builder's arena.
 */
#ifndef GW_CODE_IR_H
#define GW_CODE_IR_H

#include "predictor/core/arena.h"

#include <stdbool.h>
#include <stdint.h>

enum gw_ir_op {
#define IR_OP(name, defs, uses, meaning) IR_##name,
#include "predictor/code/ir/ir.def"
	GW_IR_OPS
};

enum gw_ir_cond {
#define IR_COND(name, meaning) IR_COND_##name,
#include "predictor/code/ir/ir.def"
	GW_IR_CONDS
};

enum gw_ir_sreg {
#define IR_SREG(name, meaning) IR_SREG_##name,
#include "predictor/code/ir/ir.def"
	GW_IR_SREGS
};

enum gw_ir_space {
#define IR_SPACE(name, text) IR_SPACE_##name,
#include "predictor/code/ir/ir.def"
	GW_IR_SPACES
};

/** Why a value is unknown; GW_WHY_NONE: it is known. */
enum gw_why {
	GW_WHY_NONE,
#define IR_WHY(name, text) GW_WHY_##name,
#include "predictor/code/ir/ir.def"
	GW_WHYS
};

/** Rounding of conversions. */
enum gw_ir_round { IR_ROUND_NEAREST, IR_ROUND_ZERO, IR_ROUND_DOWN, IR_ROUND_UP };

/** What an IR_BAR waits for. */
enum gw_ir_barrier {
	IR_BARRIER_BLOCK,   /**< threads of the block (bar, barrier.cta) */
	IR_BARRIER_WARP,    /**< lanes of the warp (bar.warp.sync) */
	IR_BARRIER_CLUSTER, /**< blocks of the cluster */
	IR_BARRIER_ASYNC,   /**< asynchronous copies or matrix operations of this thread */
	IR_BARRIER_MEMORY,  /**< an mbarrier object in shared memory */
	GW_IR_BARRIERS
};

/** An operand: a register's index, or GW_IR_CONSTANT | index in constants[]. */
typedef uint32_t gw_ir_operand;
#define GW_IR_CONSTANT UINT32_C(0x80000000)
#define GW_IR_NONE     UINT32_C(0xffffffff) /**< no register (a def that nobody wants) */

enum {
	GW_IR_DEFS_MAX = 32,     /**< defs of one instruction */
	GW_IR_USES_MAX = 36,     /**< uses of one instruction */
	GW_IR_FRAME_MAX = 16384, /**< bytes of local memory and call parameters that are followed */
};

/** Where machine code finds the parameters by a generic address: in no memory. They are addresses
 * of this form's own, since the driver's are not known; as many as a launch may have bytes. */
#define GW_IR_PARAM_WINDOW UINT64_C(0x5a00000000000000)
enum { GW_IR_PARAM_BYTES = 32768 };

/** Flags of a memory instruction. */
enum {
	IR_MEM_SIGNED = 1,   /**< a loaded element is sign-extended to its register */
	IR_MEM_VOLATILE = 2, /**< volatile, relaxed, acquire or release */
	IR_MEM_READONLY = 4, /**< through the read-only path (ld.global.nc) */
	IR_MEM_PREFETCH = 8, /**< moves nothing to a register */
	IR_MEM_ASYNC = 16,   /**< part of a copy between global and shared memory */
	IR_MEM_BULK = 32, /**< a bulk copy, of one thread or, in machine code, of the warp: `width`
			     is 0, the bytes are the third use */
	IR_MEM_TENSOR = 64, /**< through a texture; or, of a bulk copy, through a tensor map, whose
				 address it has: further uses are the tile's coordinates */
	IR_MEM_MATRIX =
		128, /**< ldmatrix, stmatrix, wmma: lanes cooperate; a lane's address is a row's;
			or, of a bulk copy through a tensor map, its last use is not a coordinate
			but the mask of the cluster's blocks that get the tile */
};

/** One instruction; plain data, 24 bytes. */
struct gw_ir_insn {
	uint16_t op;      /**< enum gw_ir_op */
	uint8_t bits;     /**< width of the operation, see ir.def; 0 where it has none */
	uint8_t space;    /**< enum gw_ir_space of a memory or address instruction */
	uint8_t width;    /**< memory: bytes of one element; IR_PRMT: 2, where it writes the lower
			       half of a register and what is in the upper may be nothing */
	uint8_t flags;    /**< memory: IR_MEM_* */
	uint8_t defs;     /**< operands[first .. first + defs): registers written */
	uint8_t uses;     /**< operands[first + defs .. first + defs + uses): sources */
	uint32_t first;   /**< in operands[] */
	uint32_t guard;   /**< predicate register under which it runs; GW_IR_NONE: always */
	uint32_t source;  /**< number of the source instruction: line of PTX, index in SASS */
	uint16_t aux;     /**< see ir.def */
	uint8_t elements; /**< memory: elements each lane moves (vector length), 1 to 32 */
	bool guard_not;   /**< runs where the guard is false */
};

/** How a block ends. */
enum gw_ir_end {
	IR_END_JUMP,   /**< to succ[0] */
	IR_END_BRANCH, /**< to succ[0] where `test` holds (does not, with test_not), else succ[1];
			    where both are one, `test` decides nothing */
	IR_END_SWITCH, /**< to succ[value of `test`, 32 bits]; an index out of range: unknown */
	IR_END_EXIT,   /**< the thread ends */
};

/** A basic block; the fields below the line are gw_ir_finish()'s. */
struct gw_ir_block {
	uint32_t first, count;           /**< instructions */
	uint8_t end;                     /**< enum gw_ir_end */
	bool test_not;                   /**< of IR_END_BRANCH */
	gw_ir_operand test;              /**< predicate, or index of a switch */
	uint32_t end_source;             /**< source number of the ending instruction */
	uint32_t succ_first, succ_count; /**< in succs[] */
	uint32_t sources; /**< source instructions in the block, the ending one included */
	uint32_t tag;     /**< the front end's own: SASS block number and the like */
	bool never;       /**< no launch that ends well comes here */
	bool acts;    /**< does more than compute: it accesses memory, meets others, or does what
			   isn't modelled; waiting (IR_AWAIT) is not meant */
	bool touches; /**< of that, other than to compute what isn't modelled */
	/* ---- */
	uint32_t ipdom; /**< block where divergent lanes meet again; GW_IR_NONE: at the exit */
	uint32_t loop;  /**< innermost loop that holds it; GW_IR_NONE: none */
	bool started;   /**< gw_ir_block_start() was called */
	bool reachable; /**< from the entry */
};

/** A natural loop, or a set of loops with one header. */
struct gw_ir_loop {
	uint32_t header; /**< block */
	uint32_t parent; /**< enclosing loop; GW_IR_NONE: none */
	uint32_t depth;  /**< 1 for an outermost loop */
	uint32_t blocks; /**< number of blocks, inner loops' included */
};

/** A variable whose address the kernel takes. */
struct gw_ir_symbol {
	const char *name;
	uint8_t space;  /**< enum gw_ir_space */
	bool dynamic;   /**< extern shared array: begins where the static ones end */
	bool read_only; /**< constant bytes that neither host nor device can change */
	uint32_t align; /**< bytes, a power of two */
	uint64_t size;  /**< bytes; 0 when the declaration lacks it */
	uint64_t
		address; /**< shared, local, frame: offset in the window; others: 0, unknown base */
	const uint8_t *bytes; /**< initial contents, size bytes; NULL when none are known */
};

/** One kernel parameter. */
struct gw_ir_param {
	const char *name; /**< may be NULL */
	uint32_t offset;  /**< bytes from the start of the parameters */
	uint32_t size;    /**< bytes */
	uint32_t align;   /**< bytes */
};

/** What a register's value decides, through registers; the evaluator computes no other. */
enum gw_ir_relevance {
	IR_RELEVANT_NOT,     /**< neither of the below */
	IR_RELEVANT_ADDRESS, /**< an address or the size of an access */
	IR_RELEVANT_CONTROL, /**< a branch, or whether a memory operation or a barrier happens */
};

/** A kernel in the intermediate form. Arrays belong to the builder's arena. */
struct gw_ir_program {
	const char *name;
	struct gw_ir_insn *insns;
	struct gw_ir_block *blocks; /**< blocks[0] is the entry */
	struct gw_ir_loop *loops;   /**< outer before inner */
	struct gw_ir_symbol *symbols;
	struct gw_ir_param *params;
	gw_ir_operand *operands;
	uint64_t *constants;
	uint32_t *succs;
	uint8_t *widths;    /**< of each register, bits */
	const char **notes; /**< reasons of IR_OPAQUE, distinct */
	uint8_t *relevant;  /**< of each register: enum gw_ir_relevance (gw_ir_finish) */
	uint32_t insn_count, block_count, loop_count, symbol_count, param_count, operand_count,
		constant_count, succ_count, reg_count, note_count;
	uint8_t frame_relevant; /**< of the followed local memory: enum gw_ir_relevance */
	uint32_t param_bytes;   /**< of all parameters */
	uint32_t static_shared; /**< bytes, of variables the code declares */
	uint32_t frame_bytes;   /**< local memory and call parameters per lane, at most
				     GW_IR_FRAME_MAX; accesses beyond it are unknown */
	uint32_t open_calls;    /**< calls of what isn't in the program: counts are without them */
	bool from_sass;         /**< `source` counts machine instructions, else lines of PTX */
};

/** @p o is a constant. */
static inline bool gw_ir_is_constant(gw_ir_operand o)
{
	return o != GW_IR_NONE && (o & GW_IR_CONSTANT);
}

/** Defs and uses of an instruction: first elements of runs of insn->defs and insn->uses. */
static inline const gw_ir_operand *gw_ir_defs(const struct gw_ir_program *p,
					      const struct gw_ir_insn *insn)
{
	return p->operands + insn->first;
}
static inline const gw_ir_operand *gw_ir_uses(const struct gw_ir_program *p,
					      const struct gw_ir_insn *insn)
{
	return p->operands + insn->first + insn->defs;
}

/** Constant @p o's value; only for a constant operand. */
static inline uint64_t gw_ir_constant(const struct gw_ir_program *p, gw_ir_operand o)
{
	return p->constants[o & ~GW_IR_CONSTANT];
}

/** Lower-case name of an enumerator ("mulws", "ctaid_x", "global"), or its text; never NULL. */
const char *gw_ir_op_name(enum gw_ir_op op);
const char *gw_ir_sreg_name(enum gw_ir_sreg sreg);
const char *gw_ir_space_name(enum gw_ir_space space);
const char *gw_why_text(enum gw_why why);

struct gw_ir_build; /* the arrays' capacities, ir.c's own */

/** A program under construction. */
struct gw_ir_builder {
	struct gw_ir_program program;
	struct gw_arena *arena;
	struct gw_ir_build *grow;
	uint32_t source; /**< put into each instruction appended; the front end moves it on */
	uint32_t guard;  /**< likewise: the guard, GW_IR_NONE for none */
	bool guard_not;  /**< likewise */
	bool failed;     /**< the arena refused or a limit was reached; later calls do nothing */
};

/** A builder on @p arena; false when that has no room. */
bool gw_ir_builder_init(struct gw_ir_builder *b, struct gw_arena *arena);

/** A new register of @p bits (1, 16, 32, 64); GW_IR_NONE when failed. */
gw_ir_operand gw_ir_reg(struct gw_ir_builder *b, unsigned bits);

/** A constant operand; equal values may share one. */
gw_ir_operand gw_ir_const(struct gw_ir_builder *b, uint64_t value);

/** Index of @p note, a text that outlives the program, in notes[]; the same text has one index. */
uint16_t gw_ir_note(struct gw_ir_builder *b, const char *note);

/** Append a symbol or a parameter; its index. */
uint32_t gw_ir_add_symbol(struct gw_ir_builder *b, const struct gw_ir_symbol *symbol);
uint32_t gw_ir_add_param(struct gw_ir_builder *b, const struct gw_ir_param *param);

/**
 * Append @p insn (op, bits, space, width, flags, aux, elements set by the caller; the rest is
 * filled in here) with its operands to the open block. The result stays valid until the next one.
 */
struct gw_ir_insn *gw_ir_append(struct gw_ir_builder *b, struct gw_ir_insn insn,
				const gw_ir_operand *defs, unsigned def_count,
				const gw_ir_operand *uses, unsigned use_count);

/** The open block does more than compute, or, without @p touches, computes what isn't modelled,
 * though no instruction of the form says so. */
void gw_ir_act(struct gw_ir_builder *b, bool touches);

/** The usual case: one def. @p n uses, 0 to 4, follow. Returns @p def. */
gw_ir_operand gw_ir_emit(struct gw_ir_builder *b, enum gw_ir_op op, unsigned bits, unsigned aux,
			 gw_ir_operand def, unsigned n, ...);

/** A block to be started later, for jumps forward; the first one made is the entry. */
uint32_t gw_ir_block_new(struct gw_ir_builder *b);

/** Instructions go into @p block from now on, which hadn't been started before. A block that was
 *  open and not ended jumps to it. */
void gw_ir_block_start(struct gw_ir_builder *b, uint32_t block);

/** A new block, started at once; its index. */
uint32_t gw_ir_block_open(struct gw_ir_builder *b);

/** End the open block. Successors are block indices, which may be opened later. */
void gw_ir_end_jump(struct gw_ir_builder *b, uint32_t to);
void gw_ir_end_branch(struct gw_ir_builder *b, gw_ir_operand test, bool test_not, uint32_t yes,
		      uint32_t no);
void gw_ir_end_switch(struct gw_ir_builder *b, gw_ir_operand index, const uint32_t *to,
		      uint32_t count);
void gw_ir_end_exit(struct gw_ir_builder *b);
/** As an exit, of the whole launch, by an error: branches to where nothing but this comes are left
 * out of the program. */
void gw_ir_end_never(struct gw_ir_builder *b);

/** Leave branches to what never runs out; a part of gw_ir_finish(). */
void gw_ir_drop_never(struct gw_ir_program *p);

/** Whether the block ends by a branch that decides something. */
static inline bool gw_ir_decides(const struct gw_ir_program *p, const struct gw_ir_block *block)
{
	const uint32_t *to = p->succs + block->succ_first;

	return block->end == IR_END_SWITCH || (block->end == IR_END_BRANCH && to[0] != to[1]);
}

/**
 * Check the program (operands, widths, successors in range), find immediate post-dominators, loops
 * and relevant registers. Returns NULL when all is well, else a static text of what is wrong; the
 * program then isn't to be used.
 */
const char *gw_ir_finish(struct gw_ir_builder *b);

/** gw_ir_finish()'s part that fills `relevant`; false when @p arena has no room. */
bool gw_ir_find_relevance(struct gw_ir_program *p, struct gw_arena *arena);

/** Whether @p insn loads from, or stores into, memory whose bytes may be followed. */
bool gw_ir_is_followed(const struct gw_ir_insn *insn);

/** Whether the results of @p insn are unknown whatever its sources are. */
bool gw_ir_is_blind(const struct gw_ir_insn *insn);

#endif
