/*
 * Machine instructions of sm_70 to sm_121: 16 bytes each, decoded one by one. What each opcode is
 * stands in opcode.def. An opcode that is not in the list is decoded all the same (guard and
 * control bits lie where they always do) with the class OTHER and no operands.
 */
#ifndef GW_CODE_SASS_H
#define GW_CODE_SASS_H

#include "predictor/code/binary/bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_sass_class {
#define SASS_CLASS(name, text) GW_SASS_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_CLASSES
};

enum gw_sass_pipe {
#define SASS_PIPE(name, text) GW_SASS_PIPE_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_PIPES
};

enum gw_sass_space {
#define SASS_SPACE(name, text) GW_SASS_SPACE_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_SPACES
};

enum gw_sass_latency {
#define SASS_LATENCY(name, meaning) GW_SASS_LATENCY_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_LATENCIES
};

enum gw_sass_tensor {
#define SASS_TENSOR(name, text) GW_SASS_TENSOR_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_TENSORS
};

/** Operations by name; instructions of one operation may have several rows in the list. */
enum gw_sass_op {
	GW_SASS_OP_UNKNOWN, /**< not in the list */
#define SASS_OP(name, text, class, pipe, space, latency, operands) GW_SASS_OP_##name,
#include "predictor/code/sass/opcode.def"
	GW_SASS_OPS
};

enum {
	GW_SASS_BYTES = 16,       /**< one instruction */
	GW_SASS_RZ = 255,         /**< the register that reads as zero */
	GW_SASS_PT = 7,           /**< the predicate that is true */
	GW_SASS_NO_BARRIER = 7,   /**< write_barrier, read_barrier: none */
	GW_SASS_BARRIERS = 6,     /**< scoreboards of a warp */
	GW_SASS_UR0 = 256,    /**< added to the number of a uniform register */
	GW_SASS_P0 = 512,  /**< added to the number of a predicate */
	GW_SASS_UP0 = 520, /**< added to the number of a uniform predicate */
	GW_SASS_PLACES = 528,     /**< every register's number is below */
	GW_SASS_DEFS_MAX = 4,
	GW_SASS_USES_MAX = 9,
};

/** Registers read or written: `count` from `first` on; predicates and uniform registers offset as
 *  above. The zero register and the true predicate are left out. */
struct gw_sass_regs {
	uint16_t first, count;
};

/** One instruction. */
struct gw_sass_insn {
	uint64_t lo, hi;       /**< its bits, 0 to 63 and 64 to 127 */
	uint16_t op;           /**< enum gw_sass_op */
	uint8_t cls;           /**< enum gw_sass_class */
	uint8_t pipe;          /**< enum gw_sass_pipe */
	uint8_t space;         /**< enum gw_sass_space; CLUSTER only where the opcode alone decides */
	uint8_t latency;       /**< enum gw_sass_latency */
	uint8_t tensor;        /**< enum gw_sass_tensor */
	uint8_t form;          /**< bits 9 to 11: where the operands are */
	uint8_t sm;            /**< the architecture it was decoded for */
	uint16_t width;        /**< bits per thread that a memory operation moves; 0: none, or the
				    opcode does not determine it */
	uint32_t tensor_flops; /**< operations of a tensor instruction, a multiply-add as two, per
				    warp (per warp group for the GMMAs); 0: unknown or none */
	uint8_t guard;         /**< predicate under which it runs; GW_SASS_PT: always */
	bool guard_not;        /**< runs where the guard is false */
	bool guard_uniform;    /**< the guard is a uniform predicate */
	bool fma;              /**< a fused multiply-add */
	bool has_target;       /**< `target` is one */
	uint8_t stall;         /**< cycles until this warp's next issue */
	bool yield;            /**< bit 109 as it stands */
	uint8_t write_barrier; /**< scoreboard released when the result is there */
	uint8_t read_barrier;  /**< scoreboard released when the sources have been read */
	uint8_t wait_mask;     /**< scoreboards that must be free before it issues */
	uint8_t reuse;         /**< operands kept in the register cache */
	int64_t target;        /**< bytes from the end of this instruction to where it points */
	struct gw_sass_regs defs[GW_SASS_DEFS_MAX], uses[GW_SASS_USES_MAX];
	uint8_t def_count, use_count;
};

/**
 * Decode the 16 bytes at @p bytes as an instruction of @p sm (10 * major + minor: 70 to 129).
 * False when the opcode is not in the list; @p out is filled all the same. Other values of @p sm
 * have no instruction known.
 */
bool gw_sass_decode(const uint8_t *bytes, unsigned sm, struct gw_sass_insn *out);

/** Bits @p at to @p at + @p count - 1, counted from 0; @p count is 1 to 64, the end at most 128. */
static inline uint64_t gw_sass_bits(const struct gw_sass_insn *insn, unsigned at, unsigned count)
{
	uint64_t value = at >= 64 ? insn->hi >> (at - 64) : insn->lo >> at;

	if (at && at < 64)
		value |= insn->hi << (64 - at);
	return count < 64 ? value & ((UINT64_C(1) << count) - 1) : value;
}

/** Its value is there when a scoreboard says so, not after a fixed time. */
static inline bool gw_sass_variable(const struct gw_sass_insn *insn)
{
	return insn->write_barrier < GW_SASS_BARRIERS;
}

/** Name of an enumerator ("FFMA", "fp32", "fma", "global", "bf16"); never NULL. */
/** Number of the uniform register that reads as zero on @p sm. */
unsigned gw_sass_urz(unsigned sm);

const char *gw_sass_op_name(unsigned op);
const char *gw_sass_class_name(unsigned cls);
const char *gw_sass_pipe_name(unsigned pipe);
const char *gw_sass_space_name(unsigned space);
const char *gw_sass_tensor_name(unsigned tensor);

#endif
