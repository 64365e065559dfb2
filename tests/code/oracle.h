/*
 * The evaluator's oracle: kernels of evaluate.cu once more as plain C, run thread by thread.
 * Each access reports a key that is equal for the lanes of a warp that make it together.
 */
#ifndef GW_ORACLE_H
#define GW_ORACLE_H

#include "predictor/code/ptx/report.h"

/** What an access's address is. */
enum oracle_address { ORACLE_NUMBER, ORACLE_RELATIVE, ORACLE_UNKNOWN };

/** A warp's accesses. */
struct oracle {
	struct oracle_access *accesses;
	uint32_t count, room;
	unsigned lane;
};

struct oracle_access {
	uint64_t key, address[GW_LANES];
	uint32_t mask, bytes;
	uint8_t space, kind, what; /**< enum gw_ir_space, gw_access_kind, oracle_address */
};

struct oracle_thread {
	struct gw_dim3 tid, ntid, ctaid, nctaid;
};

typedef void oracle_kernel(struct oracle *o, const struct oracle_thread *t, const void *arguments);

/** The lane that runs makes an access. */
void oracle_touch(struct oracle *o, uint64_t key, enum gw_ir_space space, enum gw_access_kind kind,
		  unsigned bytes, uint64_t address, enum oracle_address what);

/** Run a warp's threads. */
void oracle_warp(struct oracle *o, oracle_kernel *kernel, const struct gw_config *config,
		 struct gw_dim3 block, uint32_t warp, const void *arguments);

/** A number that equal accesses share, whatever their order and key. */
uint64_t oracle_digest(const struct oracle_access *access);

void oracle_free(struct oracle *o);

/** A kernel with its oracle and launches to try. */
struct oracle_case {
	const char *name;
	oracle_kernel *kernel;
	struct gw_config config;
	_Alignas(8) uint8_t arguments[64];
	size_t argument_bytes;
};

/** All cases; *count is reported. */
const struct oracle_case *oracle_cases(size_t *count);

#endif
