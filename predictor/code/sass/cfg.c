#include "predictor/code/sass/cfg.h"
#include "predictor/code/sass/tensor.h"

enum { DECODED_MOST = 16384 /* instructions kept decoded: 2 MiB */ };

bool gw_cfg_insn(const struct gw_cfg *cfg, uint32_t index, struct gw_sass_insn *out)
{
	if (cfg->insns) {
		*out = cfg->insns[index];
		return out->op != GW_SASS_OP_UNKNOWN;
	}
	return gw_sass_decode(cfg->code.data + (size_t)index * GW_SASS_BYTES, cfg->sm, out);
}

void gw_cfg_decode(struct gw_cfg *cfg, struct gw_arena *arena)
{
	struct gw_sass_insn *insns = cfg->insn_count <= DECODED_MOST
					     ? gw_arena_room(arena, cfg->insn_count, sizeof(*insns))
					     : NULL;

	for (uint32_t i = 0; insns && i < cfg->insn_count; i++)
		gw_cfg_insn(cfg, i, &insns[i]);
	cfg->insns = insns;
}

/* ---- where blocks begin ---- */

/* Number of the instruction that @p insn, the @p index-th, points to; the count: outside. */
static uint32_t target_of(const struct gw_cfg *cfg, uint32_t index, const struct gw_sass_insn *insn)
{
	int64_t at = ((int64_t)index + 1) * GW_SASS_BYTES;

	if (!insn->has_target || insn->target % GW_SASS_BYTES ||
	    insn->target > (int64_t)cfg->code.size || insn->target < -(int64_t)cfg->code.size)
		return cfg->insn_count;
	at += insn->target;
	if (at < 0 || at >= (int64_t)cfg->insn_count * GW_SASS_BYTES)
		return cfg->insn_count;
	return (uint32_t)(at / GW_SASS_BYTES);
}

/* EXIT and RET also have a predicate as an operand. */
static bool always(const struct gw_sass_insn *insn)
{
	bool operand = insn->op == GW_SASS_OP_EXIT || insn->op == GW_SASS_OP_RET;

	return insn->guard == GW_SASS_PT && !insn->guard_not &&
	       (!operand || gw_sass_bits(insn, 87, 4) == GW_SASS_PT);
}

/* Not one that depends on an operand besides its guard: BRA.U UP0 (form 2), BRA.DIV UR4 (bit 33),
 * BRA P0. */
static bool plain_branch(const struct gw_sass_insn *insn)
{
	return insn->form == 4 && gw_sass_bits(insn, 87, 4) == GW_SASS_PT &&
	       !gw_sass_bits(insn, 32, 2);
}

static bool ends_block(const struct gw_sass_insn *insn, enum gw_cfg_end *end)
{
	switch (insn->op) {
	case GW_SASS_OP_BRA:
		*end = always(insn) && plain_branch(insn) ? GW_CFG_JUMP : GW_CFG_BRANCH;
		return true;
	case GW_SASS_OP_JMP:
	case GW_SASS_OP_BRX:
	case GW_SASS_OP_JMX:
	case GW_SASS_OP_BRXU:
		*end = GW_CFG_INDIRECT;
		return true;
	case GW_SASS_OP_CALL_REL:
	case GW_SASS_OP_CALL_ABS:
		*end = GW_CFG_CALL;
		return true;
	case GW_SASS_OP_EXIT:
	case GW_SASS_OP_KILL:
		*end = GW_CFG_EXIT;
		return true;
	case GW_SASS_OP_RET:
		*end = GW_CFG_RETURN;
		return true;
	default:
		return false;
	}
}

/* Flags of an instruction. */
enum { LEADER = 1, FUNCTION = 2 };

static void mark_leaders(const struct gw_cfg *cfg, uint8_t *flags)
{
	struct gw_sass_insn insn;
	enum gw_cfg_end end;

	flags[0] = LEADER | FUNCTION;
	for (uint32_t i = 0; i < cfg->insn_count; i++) {
		uint32_t to;

		gw_cfg_insn(cfg, i, &insn);
		to = target_of(cfg, i, &insn);
		/* What BSSY names is where lanes meet again; a BRX's target is only a base. */
		if (to < cfg->insn_count &&
		    (insn.op == GW_SASS_OP_BRA || insn.op == GW_SASS_OP_BSSY))
			flags[to] |= LEADER;
		if (to < cfg->insn_count && insn.op == GW_SASS_OP_CALL_REL)
			flags[to] |= LEADER | FUNCTION;
		if (ends_block(&insn, &end) && i + 1 < cfg->insn_count)
			flags[i + 1] |= LEADER;
	}
}

static bool make_blocks(struct gw_cfg *cfg, const uint8_t *flags, struct gw_arena *arena)
{
	uint32_t block = 0;

	for (uint32_t i = 0; i < cfg->insn_count; i++)
		cfg->block_count += flags[i] & LEADER;
	cfg->blocks = gw_arena_array(arena, cfg->block_count, sizeof(*cfg->blocks));
	if (!cfg->blocks)
		return false;
	for (uint32_t i = 0; i < cfg->insn_count; i++) {
		if (flags[i] & LEADER)
			cfg->blocks[block++] = (struct gw_cfg_block){.first = i,
								     .call = GW_CFG_NONE,
								     .entry = GW_CFG_NONE,
								     .idom = GW_CFG_NONE,
								     .loop = GW_CFG_NONE};
		cfg->blocks[block - 1].count++;
	}
	return true;
}

/* ---- edges ---- */

/* Block that begins with instruction @p insn, which is a leader. */
static uint32_t block_at(const struct gw_cfg *cfg, uint32_t insn)
{
	uint32_t low = 0, high = cfg->block_count - 1;

	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;

		if (cfg->blocks[middle].first <= insn)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}

/* Successors of @p block by its last instruction: at most two. */
static void plain_edges(struct gw_cfg *cfg, uint32_t index, uint32_t *out)
{
	struct gw_cfg_block *b = &cfg->blocks[index];
	uint32_t last = b->first + b->count - 1, next = index + 1, to;
	struct gw_sass_insn insn;
	enum gw_cfg_end end = GW_CFG_FALL;
	bool falls;

	gw_cfg_insn(cfg, last, &insn);
	to = target_of(cfg, last, &insn);
	if (!ends_block(&insn, &end))
		end = GW_CFG_FALL;
	falls = end == GW_CFG_FALL || end == GW_CFG_BRANCH || end == GW_CFG_CALL || !always(&insn);
	b->end = (uint8_t)end;
	b->succ_count = 0;
	if (end == GW_CFG_JUMP || end == GW_CFG_BRANCH) {
		if (to < cfg->insn_count)
			out[b->succ_count++] = block_at(cfg, to);
		else
			b->end = GW_CFG_EXIT; /* out of the code: nothing more is known */
	}
	if (insn.op == GW_SASS_OP_CALL_REL && to < cfg->insn_count && insn.form == 4)
		b->call = block_at(cfg, to);
	if (falls && next < cfg->block_count)
		out[b->succ_count++] = next;
}

/* Blocks to which nothing leads: where indirect jumps may lead. */
static uint32_t mark_orphans(struct gw_cfg *cfg, const uint8_t *flags, const uint32_t (*plain)[2],
			     uint8_t *orphan)
{
	uint32_t count = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++)
		orphan[b] = !(flags[cfg->blocks[b].first] & FUNCTION);
	for (uint32_t b = 0; b < cfg->block_count; b++)
		for (uint32_t k = 0; k < cfg->blocks[b].succ_count; k++)
			orphan[plain[b][k]] = 0;
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		struct gw_sass_insn insn;

		/* What follows the code's last instruction is padding. */
		gw_cfg_insn(cfg, cfg->blocks[b].first, &insn);
		if (insn.op == GW_SASS_OP_NOP ||
		    (cfg->blocks[b].end == GW_CFG_JUMP && plain[b][0] == b))
			orphan[b] = 0;
		count += orphan[b];
	}
	return count;
}

/* First block of the function that holds block @p b, by place: functions follow each other. */
static void function_range(const struct gw_cfg *cfg, const uint8_t *flags, uint32_t b,
			   uint32_t *first, uint32_t *end)
{
	while (b && !(flags[cfg->blocks[b].first] & FUNCTION))
		b--;
	*first = b++;
	while (b < cfg->block_count && !(flags[cfg->blocks[b].first] & FUNCTION))
		b++;
	*end = b;
}

/* Most edges that indirect jumps may get in all; past it they get none. */
enum { INDIRECT_EDGES_MAX = 1 << 16 };

static uint32_t copy_edges(struct gw_cfg *cfg, const uint8_t *flags, const uint32_t (*plain)[2],
			   const uint8_t *orphan, uint32_t *edges)
{
	uint32_t n = 0, indirect = 0, first = 0, end = 0;

	for (uint32_t b = 0; b < cfg->block_count; b++) {
		struct gw_cfg_block *block = &cfg->blocks[b];

		block->succ_first = n;
		for (uint32_t k = 0; k < block->succ_count; k++, n++)
			if (edges)
				edges[n] = plain[b][k];
		if (block->end != GW_CFG_INDIRECT)
			continue;
		cfg->unknown_jumps = true;
		if (b >= end)
			function_range(cfg, flags, b, &first, &end);
		for (uint32_t to = first; to < end && indirect < INDIRECT_EDGES_MAX; to++) {
			if (!orphan[to])
				continue;
			if (edges) {
				edges[n] = to;
				block->succ_count++;
			}
			n++;
			indirect++;
		}
	}
	return n;
}

/* Predecessors, in the second half of edges[]. */
static void add_preds(struct gw_cfg *cfg, uint32_t succs)
{
	uint32_t at = succs;

	for (uint32_t i = 0; i < succs; i++)
		cfg->blocks[cfg->edges[i]].pred_count++;
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		cfg->blocks[b].pred_first = at;
		at += cfg->blocks[b].pred_count;
		cfg->blocks[b].pred_count = 0;
	}
	for (uint32_t b = 0; b < cfg->block_count; b++)
		for (uint32_t k = 0; k < cfg->blocks[b].succ_count; k++) {
			struct gw_cfg_block *to =
				&cfg->blocks[cfg->edges[cfg->blocks[b].succ_first + k]];

			cfg->edges[to->pred_first + to->pred_count++] = b;
		}
}

static bool make_edges(struct gw_cfg *cfg, const uint8_t *flags, struct gw_arena *arena)
{
	uint32_t(*plain)[2] = gw_arena_array(arena, cfg->block_count, sizeof(*plain));
	uint8_t *orphan = gw_arena_array(arena, cfg->block_count, 1);
	uint32_t succs;

	if (!plain || !orphan)
		return false;
	for (uint32_t b = 0; b < cfg->block_count; b++)
		plain_edges(cfg, b, plain[b]);
	mark_orphans(cfg, flags, (const uint32_t(*)[2])plain, orphan);
	succs = copy_edges(cfg, flags, (const uint32_t(*)[2])plain, orphan, NULL);
	cfg->edge_count = 2 * succs;
	cfg->edges = gw_arena_array(arena, cfg->edge_count, sizeof(*cfg->edges));
	if (!cfg->edges)
		return false;
	copy_edges(cfg, flags, (const uint32_t(*)[2])plain, orphan, cfg->edges);
	add_preds(cfg, succs);
	return true;
}

bool gw_cfg_build(struct gw_cfg *out, struct gw_bytes code, unsigned sm, struct gw_arena *arena,
		  struct gw_fault *fault)
{
	uint8_t *flags;

	*out = (struct gw_cfg){.code = code, .sm = sm};
	*fault = (struct gw_fault){NULL, 0};
	if (!code.size || code.size % GW_SASS_BYTES) {
		*fault = (struct gw_fault){"machine code is not a whole number of instructions of "
					   "16 bytes",
					   code.size};
		return false;
	}
	if (code.size / GW_SASS_BYTES > GW_CFG_INSNS_MAX) {
		*fault = (struct gw_fault){"machine code is longer than 1,048,576 instructions",
					   (uint64_t)GW_CFG_INSNS_MAX * GW_SASS_BYTES};
		return false;
	}
	out->insn_count = (uint32_t)(code.size / GW_SASS_BYTES);
	flags = gw_arena_array(arena, out->insn_count, 1);
	if (flags)
		mark_leaders(out, flags);
	if (!flags || !make_blocks(out, flags, arena) || !make_edges(out, flags, arena) ||
	    !gw_cfg_find_loops(out, flags, FUNCTION, arena)) {
		*fault = (struct gw_fault){"machine code needs more memory than it may have", 0};
		return false;
	}
	return true;
}

/* ---- questions ---- */

uint32_t gw_cfg_depth(const struct gw_cfg *cfg, uint32_t block)
{
	uint32_t loop = cfg->blocks[block].loop;

	return loop == GW_CFG_NONE ? 0 : cfg->loops[loop].depth;
}

bool gw_cfg_in_loop(const struct gw_cfg *cfg, uint32_t block, uint32_t loop)
{
	uint32_t at = cfg->blocks[block].loop;

	while (at != GW_CFG_NONE && at != loop)
		at = cfg->loops[at].parent;
	return at == loop;
}

void gw_cfg_mix(const struct gw_cfg *cfg, uint32_t block, struct gw_sass_mix *mix)
{
	const struct gw_cfg_block *b = &cfg->blocks[block];
	struct gw_sass_insn insn;

	for (uint32_t i = b->first; i < b->first + b->count; i++) {
		if (!gw_cfg_insn(cfg, i, &insn))
			mix->unknown++;
		mix->insns++;
		mix->cls[insn.cls]++;
		mix->pipe[insn.pipe]++;
		if (insn.cls == GW_SASS_TENSOR)
			mix->tensor[insn.tensor]++;
		mix->flops[insn.tensor] += gw_sass_warp_flops(&insn);
		if (insn.cls == GW_SASS_LOAD)
			mix->load[insn.space]++;
		if (insn.cls == GW_SASS_STORE)
			mix->store[insn.space]++;
		mix->fma32 += insn.fma && insn.cls == GW_SASS_FP32;
		mix->fma64 += insn.fma && insn.cls == GW_SASS_FP64;
	}
}
