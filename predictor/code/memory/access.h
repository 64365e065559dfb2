/*
 * The syntax tree of an access (Kim 2023, 3.1.2): how a memory instruction's address comes from
 * thread and block indices, launch parameters and constants. Nodes stand breadth first and name
 * their parent, as in Kim's fig. 3.3, so the root is node 0 and a node's operands follow each
 * other. `reg` and `opcode` are PTX text; what they mean to the evaluation stands decoded beside
 * them.
 */
#ifndef GW_CODE_ACCESS_H
#define GW_CODE_ACCESS_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/bytes.h"
#include "predictor/code/ir/ir.h"
#include "predictor/code/memory/request.h"
#include "predictor/core/types.h"

enum {
	GW_ACCESS_NODES = 256,    /**< most nodes of a tree */
	GW_ACCESS_OPERANDS = 3,   /**< most operands of a node */
	GW_ACCESS_LOOPS = 8,      /**< loops whose iterations are distinguished */
	GW_ACCESS_TEXT_MAX = 512, /**< longest register, opcode or instruction text */
};

/** What a node's value comes from. */
enum gw_node_kind {
	GW_NODE_UNKNOWN,  /**< memory, an unknown register, an operation that isn't modelled */
	GW_NODE_CONSTANT, /**< `value` */
	GW_NODE_SPECIAL,  /**< special register `op` (enum gw_ir_sreg) */
	GW_NODE_PARAM,    /**< bytes of parameter `value` from `offset` on: leaf "[param_5]" */
	GW_NODE_LOAD,     /**< ld.param: its operand, `bits` wide, sign-extended when `sign` */
	GW_NODE_CONVERT,  /**< cvt: the low `from` bits extended (by sign when `sign`) to `bits` */
	GW_NODE_SELECT,   /**< selp: operand 0 where operand 2 holds, else operand 1 */
	GW_NODE_COMPARE,  /**< setp: operand 0 `op` (enum gw_ir_cond) operand 1 */
	GW_NODE_OPERATE,  /**< `op` (enum gw_ir_op) of operands 0 and 1; a third one is added */
	GW_NODE_LOOP,     /**< operand 0 + iteration of loop `value` x operand 1 */
};

/** A node. */
struct gw_access_node {
	const char *reg;    /**< "%rd17", "[param_5]", "%tid.x", "4"; never NULL */
	const char *opcode; /**< "add.s64"; "" for a leaf */
	int32_t parent;     /**< index of the node it is an operand of; -1: the root */
	/* decoded: */
	uint8_t kind; /**< enum gw_node_kind */
	uint8_t bits; /**< of the result, 1 to 64 */
	uint8_t from; /**< of a conversion's source */
	bool sign;
	uint16_t op;
	uint16_t operands;
	uint16_t operand[GW_ACCESS_OPERANDS]; /**< indices, each above the node's own */
	uint64_t value;
	uint32_t offset;
};

/** One access of a kernel. Texts and nodes are owned by whoever built it (an arena). */
struct gw_access {
	const char *text; /**< the instruction: "ld.global.f32 %f11, [%rd17];" */
	uint32_t bytes;   /**< that a lane moves, a vector whole */
	bool store;       /**< writes memory (an atomic does too) */
	uint32_t count;   /**< of nodes */
	struct gw_access_node *nodes;
};

/** What is known of a launch. */
struct gw_access_launch {
	struct gw_config config;
	const struct gw_ir_param *params; /**< where each parameter lies in `arguments` */
	uint32_t param_count;
	struct gw_bytes arguments; /**< parameter bytes; those missing are unknown */
	/**
	 * Take an unknown 8-byte parameter for a pointer to memory of its own, as the allocator
	 * gives it (aligned to 256 bytes): what coalescing depends on when no arguments are known.
	 */
	bool assume_pointers;
};

/** A warp at one moment. */
struct gw_access_point {
	struct gw_dim3 block;                /**< its index in the grid */
	uint32_t warp;                       /**< of the block */
	uint64_t iteration[GW_ACCESS_LOOPS]; /**< of each loop, from 0 */
};

/**
 * Decode @p reg and @p opcode into the node's other fields; its operands are linked by
 * gw_access_link(). A text that isn't known gives GW_NODE_UNKNOWN, which is no error.
 */
void gw_access_decode(struct gw_access_node *node);

/**
 * Link operands by `parent` and check the tree: one root, which is node 0, parents before their
 * operands, no node with more operands than its kind has. Returns NULL, or a static text of what is
 * wrong; @p at is then the node.
 */
const char *gw_access_link(struct gw_access *access, uint32_t *at);

/** Width in bytes that the instruction's text moves ("ld.global.v4.f32 …": 16); 0: unknown. */
uint32_t gw_access_width(const char *text);

/**
 * Addresses of one warp (Kim 2023, 3.1.3: the leaves' values put in, the operations carried out).
 * Lanes beyond the block are inactive. Returns false when an address depends on something unknown;
 * @p out is then not to be used. @p blame (may be NULL) is the node that is not known.
 */
bool gw_access_request(const struct gw_access *access, const struct gw_access_launch *launch,
		       const struct gw_access_point *point, struct gw_request *out,
		       uint32_t *blame);

/**
 * The tree as one expression, "add(mul(add(tid.x, 1), 4), param5)" (Kim 2023, 3.1.3): moves, loads
 * of parameters and widening conversions are left out, and operands that may be swapped stand with
 * those that vary from thread to thread first, constants last. Written to @p out, which is
 * returned; too long a text ends in "...".
 */
char *gw_access_expression(const struct gw_access *access, char *out, size_t size);

#endif
