/*
 * Paths that a successful launch never takes: to a failed assert(). A branch with one side that
 * leads nowhere else goes the other way, whatever decides it; it is still a branch and waits for
 * its condition.
 */
#include "predictor/code/ir/ir.h"

enum { PASSES_MOST = 64 }; /* code may be hostile: what more would find stays a way */

/* A block all ways out of which lead to such blocks is one. */
static void spread(struct gw_ir_program *p)
{
	bool more = true;

	for (unsigned pass = 0; more && pass < PASSES_MOST; pass++) {
		more = false;
		for (uint32_t b = p->block_count; b-- > 0;) {
			struct gw_ir_block *block = &p->blocks[b];
			uint32_t i = 0;

			while (i < block->succ_count &&
			       p->blocks[p->succs[block->succ_first + i]].never)
				i++;
			if (block->never || !block->succ_count || i < block->succ_count)
				continue;
			block->never = more = true;
		}
	}
}

void gw_ir_drop_never(struct gw_ir_program *p)
{
	spread(p);
	if (!p->block_count || p->blocks[0].never)
		return; /* every launch fails: as it stands */
	for (uint32_t b = 0; b < p->block_count; b++) {
		struct gw_ir_block *block = &p->blocks[b];
		uint32_t *to = p->succs + block->succ_first;

		if (block->end != IR_END_BRANCH || p->blocks[to[0]].never == p->blocks[to[1]].never)
			continue;
		if (p->blocks[to[0]].never)
			to[0] = to[1];
		to[1] = to[0];
	}
}
