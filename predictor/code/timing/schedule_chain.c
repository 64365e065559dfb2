#include "predictor/code/timing/schedule_parts.h"

#include <string.h>

/* Length of the chain that ends in what @p insn reads. */
static uint32_t longest_use(const struct gw_sass_insn *insn, const uint32_t *depth)
{
	uint32_t longest = 0;

	for (unsigned u = 0; u < insn->use_count; u++)
		for (unsigned r = 0; r < insn->uses[u].count; r++) {
			uint32_t d = depth[insn->uses[u].first + r];

			longest = d > longest ? d : longest;
		}
	return longest;
}

uint32_t gw_schedule_chain(const struct gw_cfg *cfg, const struct gw_cfg_block *block)
{
	uint32_t depth[GW_SASS_PLACES], longest = 0;
	struct gw_sass_insn insn;

	memset(depth, 0, sizeof(depth));
	for (uint32_t i = block->first; i < block->first + block->count; i++) {
		uint32_t d;

		gw_cfg_insn(cfg, i, &insn);
		d = longest_use(&insn, depth) + 1;
		for (unsigned k = 0; k < insn.def_count; k++)
			for (unsigned r = 0; r < insn.defs[k].count; r++)
				depth[insn.defs[k].first + r] = d;
		longest = d > longest ? d : longest;
	}
	return longest;
}
