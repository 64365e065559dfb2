/* The evaluator's inside: values of a warp's registers, its stack, what is being counted. */
#ifndef GW_CODE_EVAL_STATE_H
#define GW_CODE_EVAL_STATE_H

#include "predictor/code/eval/eval.h"
#include "predictor/code/eval/domain.h"
#include "predictor/code/eval/scalar.h"

enum { GW_STACK_MAX = 256, GW_SOURCES_MAX = 4 };
#define GW_ALL_LANES UINT32_C(0xffffffff)

/*
 * What a lane's value is relative to. 0: nothing, it is a number. Top bit set: it is unknown; five
 * bits of why and 26 of the instruction. Else a base that nobody knows but that equals itself: nine
 * bits of generation and 22 of the instruction that loaded it, or with generation 0 a window or a
 * variable. A load makes a new base each time, until its generations are used up.
 */
typedef uint32_t gw_base;
enum {
	GW_WINDOW_SHARED = 1,
	GW_WINDOW_LOCAL,
	GW_WINDOW_PARAM,
	GW_VARIABLE_FIRST = 16,
	GW_GENERATIONS = 511,
	GW_BASE_INSN = (1 << 22) - 1,
};

static inline gw_base gw_unknown(enum gw_why why, uint32_t insn)
{
	return UINT32_C(1) << 31 | (uint32_t)why << 26 | (insn & ((1u << 26) - 1));
}

static inline bool gw_is_unknown(gw_base b)
{
	return b >> 31;
}

/** A register's value in the lanes of a warp. */
struct gw_value {
	struct gw_form form; /**< of the known numbers, and of those relative to a base */
	bool uniform;        /**< all lanes are as lane 0, whose alone is stored */
	uint32_t written;    /**< lanes that have been written */
	gw_base base[GW_LANES];
	uint64_t v[GW_LANES]; /**< zero-extended */
};

static inline unsigned gw_at(const struct gw_value *x, unsigned lane)
{
	return x->uniform ? 0 : lane;
}

/** How likely a warp goes one way of a branch whose way is not known: surely where its lanes part,
 * in every other case where they do not. */
#define GW_EVAL_EITHER 0.75

/** Lanes that go on from one place until they meet the others. */
struct gw_warp_entry {
	uint32_t from;  /**< block that they come from; GW_IR_NONE: none, or they met here */
	uint32_t block; /**< next to run; GW_IR_NONE: none, the entry is done */
	uint32_t meet;  /**< where it ends; GW_IR_NONE: at the exit */
	uint32_t lanes;
	uint32_t certain; /**< of these, the ones that surely come here */
	uint32_t forget;  /**< branch block whose region's results are forgotten before going on;
			       GW_IR_NONE: none */
	uint32_t forget_lanes;
	gw_base forget_why;
	uint32_t unbounded; /**< stands for any number of trips, because of this branch block;
				 GW_IR_NONE: for one */
	uint32_t left; /**< lanes may have left the loop of this block, and go on as if they had
			  not; GW_IR_NONE: none did */
	double odds;   /**< how likely the warp runs the block, where no lane does for certain */
};

/** What is known of a loop whose header may be stood for; see loop.c. */
struct gw_loop_watch;
struct gw_loop_shots;

/** Loops over pieces of work; see claim.c. */
struct gw_claims;

/** What a branch's lanes may run before they meet again. */
struct gw_region {
	bool cyclic; /**< the branch itself: it decides a loop */
	bool stores; /**< stores into the followed local memory */
	bool waits;  /**< nothing in it acts: all it can do is wait */
	bool meets;  /**< blocks wait in it for each other: all it does is look at a word that each
			  of them adds to before */
	bool plain;  /**< all it can do is compute, each of its blocks once at most */
	uint32_t value_count;
	const uint32_t *values; /**< places in values[] that are written */
	uint32_t block_count;
	const uint32_t *blocks; /**< of it; only where it is plain */
};

struct gw_eval {
	const struct gw_ir_program *p;
	const struct gw_eval_launch *launch;
	struct gw_eval_limits limits;
	struct gw_arena *arena;
	struct gw_domain domain;

	/* What doesn't change from warp to warp. */
	uint32_t *slot; /**< of each register: its place in values[]; GW_IR_NONE: not needed */
	uint32_t *register_of; /**< of each of values[]: its register */
	uint32_t value_count;
	uint8_t *wanted; /**< of each instruction: it writes a register or local memory that matters
			  */
	uint32_t *plan;  /**< instructions that are run, block by block */
	uint32_t *plan_first;             /**< of each block; one more at the end */
	const struct gw_region **regions; /**< of each branch block, once asked for */
	uint32_t *writer;   /**< of each register, once asked for: the one instruction that writes
				 it, from 1; 0: none, UINT32_MAX: several */
	uint8_t *rewritten; /**< scratch: of each register */
	struct gw_tensor_map maps[GW_TENSOR_MAPS]; /**< among the arguments, that were asked for */
	uint32_t map_offset[GW_TENSOR_MAPS], map_count; /**< bytes from the arguments' start */
	struct gw_claims *claims;                       /**< see claim.c; NULL: none */
	uint8_t *steers;    /**< of each instruction, see gw_eval_steer(); NULL: none does */
	bool local_escapes; /**< the address of local memory becomes a generic one */

	/* The warp's state. */
	struct gw_value *values;
	struct gw_value source[GW_SOURCES_MAX], result; /**< scratch */
	uint16_t *generation; /**< of each instruction: bases it has made */
	uint8_t *frame;       /**< local memory: byte * GW_LANES + lane; NULL: not needed */
	gw_base *frame_base;  /**< of each of frame[] */
	uint8_t *frame_place; /**< its place in the element stored, and 16 * that one's width */
	struct gw_form *frame_form; /**< of each byte: how it depends on distances */
	uint8_t frame_dims;         /**< dimensions that any byte may depend on */
	struct gw_dim3 block;
	uint32_t warp;
	uint32_t live;           /**< lanes that haven't ended */
	uint32_t doubt;          /**< lanes that may have ended */
	uint32_t lanes, certain; /**< of the entry being run, less the ended and doubted */
	bool unbounded;          /**< the entry being run stands for any number of trips */
	double likely; /**< executions that one of the entry's is likely to be: at most `weight`
			    but where it is unbounded */
	bool meeting;  /**< of these regions without a bound, one in which blocks meet */
	struct gw_warp_entry stack[GW_STACK_MAX];
	uint32_t depth;
	uint32_t *visited; /**< of each block: lanes that ran it without a bound */
	uint64_t steps_left;
	uint32_t asked; /**< steps since limits.go_on was last asked */
	bool halted;    /**< it said no: nothing is run any more */
	bool stopped;   /**< a limit was reached */

	/* Loops; see loop.c. */
	double weight;   /**< iterations that an execution stands for, of all levels */
	unsigned levels; /**< in use */
	int64_t level_count[GW_EVAL_LOOPS]; /**< iterations stood for; 1 while probing */
	uint32_t level_loop[GW_EVAL_LOOPS]; /**< of which loop */
	struct gw_loop_watch *watch;        /**< of each loop */
	struct gw_loop_shots *shots;
	struct gw_live *live_values;     /**< once asked for; see live.c */
	struct gw_live *deciding_values; /**< likewise */

	/* The results. */
	gw_eval_sink *sink;
	void *sink_arg;
	bool alike;       /**< the sink's accesses are to hold all over the box */
	uint16_t *spaces; /**< of each instruction: bits of the spaces it went to */
	struct gw_eval_access access;
	struct gw_eval_warp_report report;

	/* Scratch. */
	struct box *boxes;    /**< of grid.c */
	uint8_t *mark;        /**< of each block */
	uint32_t *todo;       /**< of each block */
	uint8_t *value_mark;  /**< of each value */
	uint32_t *value_todo; /**< of each value */
};

/* value.c */
/** The value of a source operand; a constant's goes to @p scratch. */
const struct gw_value *gw_eval_source(struct gw_eval *e, gw_ir_operand o, struct gw_value *scratch);
/** Write @p from into @p def for the lanes @p sure; for @p maybe, the register becomes unknown
 *  because of @p why. Nothing for a register that isn't needed. */
void gw_eval_write(struct gw_eval *e, gw_ir_operand def, const struct gw_value *from, uint32_t sure,
		   uint32_t maybe, gw_base why);
/** Make @p out the same in all lanes. */
void gw_value_set(struct gw_value *out, uint64_t v, gw_base base);
/** Give each lane its own place. */
void gw_value_spread(struct gw_value *x);
/** Lanes of @p mask that hold a number, and of these the ones where it isn't 0. */
uint32_t gw_value_known(const struct gw_value *x, uint32_t mask, uint32_t *true_lanes);
/** The instruction and reason behind an unknown value or base. */
enum gw_why gw_base_why(gw_base b, uint32_t *insn);
/** Note a reason of the answer's not being exact; once each. */
void gw_eval_reason(struct gw_eval *e, enum gw_why why, uint32_t block, uint32_t source,
		    uint32_t origin);

/* linear.c */
/** The form of @p out, the result of a scalar operation on @p in in the lanes @p mask; the domain
 *  is kept to where it holds. */
void gw_eval_form(struct gw_eval *e, const struct gw_ir_insn *insn,
		  const struct gw_value *const in[GW_SOURCES_MAX], struct gw_value *out,
		  uint32_t mask);

/* special.c */
void gw_eval_sreg(struct gw_eval *e, enum gw_ir_sreg sreg, struct gw_value *out);
void gw_eval_shuffle(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t insn_index,
		     uint32_t mask);
void gw_eval_vote(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t insn_index,
		  uint32_t mask);
void gw_eval_elect(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t insn_index,
		   uint32_t mask);

/* memory.c */
void gw_eval_memory(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t insn_index,
		    uint32_t sure, uint32_t maybe);
/** Forget local memory in @p lanes. */
void gw_eval_forget_frame(struct gw_eval *e, uint32_t lanes, gw_base why);

/* claim.c */
/** Find the loops over pieces of work. Where that takes too long, or too much memory, none are
 * known: how often they run is then open. */
void gw_eval_claims_init(struct gw_eval *e);
/** Begin a warp. */
void gw_eval_claims_begin(struct gw_eval *e);
/** With loops found: comparison @p insn_index has been made, of @p in, in lane @p lane among
 * others. */
void gw_eval_claim_compared(struct gw_eval *e, uint32_t insn_index,
			    const struct gw_value *const in[GW_SOURCES_MAX], unsigned lane);
/** With loops found: shared memory @p at is about to be loaded, by lane @p lane among others. */
void gw_eval_claim_load(struct gw_eval *e, const struct gw_value *at, unsigned lane);
/** The value that @p insn_index makes, where it stands for a load of the next piece's number;
 * false: it does not. */
bool gw_eval_claim(struct gw_eval *e, uint32_t insn_index, struct gw_value *out);

/* insn.c */
/** Run instruction @p insn_index for the lanes of the entry. */
void gw_eval_insn(struct gw_eval *e, uint32_t insn_index);

/* lanes.c */
/**
 * The result of @p insn, written to a register of @p to bits, in all lanes of @p out at once, where
 * those of
 * @p mask all hold numbers. False: not that, or not one of the frequent operations, and nothing is
 * written but to lanes' places.
 */
bool gw_eval_lanes(const struct gw_ir_insn *insn, unsigned to,
		   const struct gw_value *const in[GW_SOURCES_MAX], uint32_t mask,
		   struct gw_value *out);

/* region.c */
/** The region of branch block @p block; NULL when there is no room. */
const struct gw_region *gw_eval_region(struct gw_eval *e, uint32_t block);
/** What the blocks with a mark write; @p out's cyclic is left alone. False: no room. */
bool gw_eval_written(struct gw_eval *e, struct gw_region *out);
/** What the region of @p block wrote becomes unknown in @p lanes. */
void gw_eval_forget(struct gw_eval *e, const struct gw_region *region, uint32_t lanes, gw_base why,
		    uint32_t block);
/** Block @p block lies in loop @p loop. */
bool gw_eval_in_loop(const struct gw_eval *e, uint32_t block, uint32_t loop);

/**
 * Find the comparisons that steer binary searches: loops that end by where the search is, which
 * data choose a half of in each round. Without memory for it none is known.
 */
void gw_eval_find_steers(struct gw_eval *e);
/**
 * Comparison @p index of @p in steers a search: lanes of @p mask that do not know its result get
 * one, as rounds and places hang little on it. It leads to where the warp lies in the grid, as if
 * warps looked for what is in order; where each lane looks for something that is not known, it is
 * random.
 */
void gw_eval_steer(struct gw_eval *e, uint32_t index, uint32_t mask,
		   const struct gw_value *const in[GW_SOURCES_MAX]);

/* live.c */
/** Whether what is in values[@p slot] where block @p block begins may be read afterwards. */
bool gw_eval_live(struct gw_eval *e, uint32_t block, uint32_t slot);
/** Whether control, or whether memory is accessed at all, may depend on what is in values[@p slot]
 *  where block @p block begins. */
bool gw_eval_decides(struct gw_eval *e, uint32_t block, uint32_t slot);

/* loop.c */
/** Room for the loops' watches. */
bool gw_eval_loops_init(struct gw_eval *e);
void gw_eval_loops_begin(struct gw_eval *e);
/** The lanes of the entry go from block @p from (GW_IR_NONE: they begin) to block @p to, perhaps
 *  by ways of their own: count trips, and stand for iterations. */
void gw_eval_edge(struct gw_eval *e, uint32_t from, uint32_t to);
/** Branches that aren't known decide the loops around @p block up to where @p meet is inside. */
void gw_eval_loop_unknown(struct gw_eval *e, uint32_t block, uint32_t meet);
/** Which round of the loop around the block that is run this is, from 1, at most 32. */
uint32_t gw_eval_round(const struct gw_eval *e);
/** Of the branch at block @p block the ways of some lanes are known: it may end a loop. */
void gw_eval_loop_known(struct gw_eval *e, uint32_t block);
/**
 * Where lanes whose way at @p block's branch is not known may go on as if they stayed in the loop
 * around it, since something else is known to end that: the number of the successor; else -1.
 */
int gw_eval_loop_leave(struct gw_eval *e, uint32_t block);
/** The warp has ended: close what is open. */
void gw_eval_loops_end(struct gw_eval *e);

/* warp.c */
/** An access that is looked at does not move evenly in the loop of @p level. */
void gw_eval_uneven(struct gw_eval *e, unsigned level);

/** Take @p steps off the limit, on behalf of @p block; stops when there aren't as many. */
void gw_eval_spend(struct gw_eval *e, uint32_t steps, uint32_t block);
/** Run the warp from the entry, @p lanes of it. */
void gw_eval_run(struct gw_eval *e, uint32_t lanes);
/** How often one execution of the entry being run may be one at most; infinite: not bounded. */
double gw_eval_most(const struct gw_eval *e);
/** A limit is reached in block @p block: the warp stops here. */
void gw_eval_stop(struct gw_eval *e, uint32_t block);

/* init.c */
/** Run one warp that may answer for those up to @p high distances away; its report is e->report,
 *  and e->domain.high says which ones the result covers. */
void gw_eval_one(struct gw_eval *e, struct gw_dim3 block, uint32_t warp,
		 const int64_t high[GW_BOX]);

#endif
