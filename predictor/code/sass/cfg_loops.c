#include "predictor/code/sass/cfg.h"

/* When a graph counts as too twisted: compilers' need two or three passes over it, and few steps
 * up the dominator tree for each block. */
enum { PASSES_MAX = 32, STEPS_PER_BLOCK = 4096 };

/* Scratch of one analysis, an element per block. */
struct scratch {
	uint32_t *order;  /* blocks in reverse postorder, function after function */
	uint32_t *number; /* place of a block in it; GW_CFG_NONE: not reached */
	uint32_t *stack, *next;
	uint32_t *leader; /* union-find: a block, or the header of the loop it is folded into */
	uint32_t *made;   /* loop of which the block is the header */
	uint32_t *place,
		*size; /* of a block's subtree in the dominator tree, counted in preorder */
	uint32_t count;
	uint64_t budget; /* steps up the dominator tree that may still be taken */
};

static bool scratch_init(struct scratch *s, uint32_t n, struct gw_arena *arena)
{
	uint32_t *all = gw_arena_array(arena, (size_t)n * 8, sizeof(*all));

	if (!all)
		return false;
	*s = (struct scratch){.order = all,
			      .number = all + n,
			      .stack = all + 2 * (size_t)n,
			      .next = all + 3 * (size_t)n,
			      .leader = all + 4 * (size_t)n,
			      .made = all + 5 * (size_t)n,
			      .place = all + 6 * (size_t)n,
			      .size = all + 7 * (size_t)n,
			      .budget = (uint64_t)n * STEPS_PER_BLOCK};
	for (uint32_t i = 0; i < n; i++) {
		s->number[i] = s->made[i] = GW_CFG_NONE;
		s->leader[i] = i;
	}
	return true;
}

/* Depth first from @p entry; order[] gets the reverse postorder of what is new. */
static void visit(struct gw_cfg *cfg, struct scratch *s, uint32_t entry)
{
	uint32_t depth = 0, first = s->count;

	if (cfg->blocks[entry].entry != GW_CFG_NONE)
		return;
	cfg->blocks[entry].entry = entry;
	s->stack[depth] = entry;
	s->next[depth++] = 0;
	while (depth) {
		uint32_t at = s->stack[depth - 1];
		const struct gw_cfg_block *b = &cfg->blocks[at];

		if (s->next[depth - 1] == b->succ_count) {
			s->order[s->count++] = at;
			depth--;
		} else {
			uint32_t to = cfg->edges[b->succ_first + s->next[depth - 1]++];

			if (cfg->blocks[to].entry == GW_CFG_NONE) {
				cfg->blocks[to].entry = entry;
				s->stack[depth] = to;
				s->next[depth++] = 0;
			}
		}
	}
	for (uint32_t i = first, j = s->count - 1; i < j; i++, j--) {
		uint32_t t = s->order[i];

		s->order[i] = s->order[j];
		s->order[j] = t;
	}
	for (uint32_t i = first; i < s->count; i++)
		s->number[s->order[i]] = i;
}

/* ---- dominators: iterated to a fixed point in reverse postorder ---- */

static uint32_t meet(const struct gw_cfg *cfg, struct scratch *s, uint32_t a, uint32_t b)
{
	while (a != b && s->budget) {
		s->budget--;
		if (s->number[a] > s->number[b])
			a = cfg->blocks[a].idom;
		else
			b = cfg->blocks[b].idom;
	}
	return a;
}

/* A block that two functions share is walked as part of the first; others' edges don't count. */
static bool counts(const struct gw_cfg *cfg, uint32_t pred, uint32_t block)
{
	return cfg->blocks[pred].entry == cfg->blocks[block].entry &&
	       cfg->blocks[pred].idom != GW_CFG_NONE;
}

static bool dominate(struct gw_cfg *cfg, struct scratch *s)
{
	bool changed = true;
	unsigned pass = 0;

	for (; changed && pass < PASSES_MAX; pass++) {
		changed = false;
		for (uint32_t i = 0; i < s->count; i++) {
			uint32_t at = s->order[i], idom = GW_CFG_NONE;
			struct gw_cfg_block *b = &cfg->blocks[at];

			if (b->entry == at)
				idom = at;
			for (uint32_t k = 0; b->entry != at && k < b->pred_count; k++) {
				uint32_t pred = cfg->edges[b->pred_first + k];

				if (counts(cfg, pred, at))
					idom = idom == GW_CFG_NONE ? pred
								   : meet(cfg, s, idom, pred);
			}
			changed |= idom != b->idom;
			b->idom = idom;
		}
	}
	return !changed && s->budget;
}

/* Number the dominator tree in preorder: a block dominates those in its subtree. */
static void number_tree(const struct gw_cfg *cfg, struct scratch *s)
{
	for (uint32_t i = 0; i < s->count; i++)
		s->size[s->order[i]] = 1;
	for (uint32_t i = s->count; i-- > 0;) {
		uint32_t at = s->order[i], up = cfg->blocks[at].idom;

		if (up != at)
			s->size[up] += s->size[at];
	}
	/* next[]: where a block's next child's subtree begins. */
	for (uint32_t i = 0, root = 0; i < s->count; i++) {
		uint32_t at = s->order[i], up = cfg->blocks[at].idom;

		if (up == at) {
			s->place[at] = root;
			root += s->size[at];
		} else {
			s->place[at] = s->next[up];
			s->next[up] += s->size[at];
		}
		s->next[at] = s->place[at] + 1;
	}
}

static bool dominates(const struct scratch *s, uint32_t a, uint32_t b)
{
	return s->place[b] >= s->place[a] && s->place[b] - s->place[a] < s->size[a];
}

/* ---- loops: inner ones first, each folded into its header when found ---- */

static uint32_t leader_of(struct scratch *s, uint32_t block)
{
	while (s->leader[block] != block) {
		s->leader[block] = s->leader[s->leader[block]];
		block = s->leader[block];
	}
	return block;
}

/* Fold everything that reaches @p header backwards from stack[0 .. n) into loop @p loop. */
static void fold(struct gw_cfg *cfg, struct scratch *s, uint32_t header, uint32_t loop, uint32_t n)
{
	while (n) {
		uint32_t at = s->stack[--n];
		const struct gw_cfg_block *b = &cfg->blocks[at];

		if (s->made[at] != GW_CFG_NONE)
			cfg->loops[s->made[at]].parent = loop;
		else
			cfg->blocks[at].loop = loop;
		for (uint32_t k = 0; k < b->pred_count; k++) {
			uint32_t pred = cfg->edges[b->pred_first + k];

			if (cfg->blocks[pred].entry != b->entry)
				continue;
			pred = leader_of(s, pred);
			/* What is on the stack, or was, has the header for its leader. */
			if (pred != header) {
				s->leader[pred] = header;
				s->stack[n++] = pred;
			}
		}
	}
}

/* The loop of @p header, if edges lead back to it. */
static void loop_at(struct gw_cfg *cfg, struct scratch *s, uint32_t header)
{
	struct gw_cfg_block *h = &cfg->blocks[header];
	uint32_t n = 0;
	bool found = false;

	for (uint32_t k = 0; k < h->pred_count; k++) {
		uint32_t latch = cfg->edges[h->pred_first + k];

		if (cfg->blocks[latch].entry != h->entry || s->number[latch] < s->number[header])
			continue;
		if (!dominates(s, header, latch)) {
			cfg->irreducible = true;
			continue;
		}
		found = true;
		latch = leader_of(s, latch);
		if (latch != header) {
			s->leader[latch] = header;
			s->stack[n++] = latch;
		}
	}
	if (!found)
		return;
	cfg->loops[cfg->loop_count] = (struct gw_cfg_loop){header, GW_CFG_NONE, 0, 0};
	s->made[header] = cfg->loop_count;
	h->loop = cfg->loop_count;
	fold(cfg, s, header, cfg->loop_count++, n);
}

/* Found inner first; turned round so that outer come first. */
static void settle(struct gw_cfg *cfg)
{
	uint32_t n = cfg->loop_count;

	for (uint32_t i = 0; i < n / 2; i++) {
		struct gw_cfg_loop t = cfg->loops[i];

		cfg->loops[i] = cfg->loops[n - 1 - i];
		cfg->loops[n - 1 - i] = t;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct gw_cfg_loop *l = &cfg->loops[i];

		if (l->parent != GW_CFG_NONE)
			l->parent = n - 1 - l->parent;
		l->depth = l->parent == GW_CFG_NONE ? 1 : cfg->loops[l->parent].depth + 1;
	}
	for (uint32_t b = 0; b < cfg->block_count; b++) {
		struct gw_cfg_block *block = &cfg->blocks[b];

		if (block->loop == GW_CFG_NONE)
			continue;
		block->loop = n - 1 - block->loop;
		cfg->loops[block->loop].blocks++;
	}
	for (uint32_t i = n; i-- > 0;)
		if (cfg->loops[i].parent != GW_CFG_NONE)
			cfg->loops[cfg->loops[i].parent].blocks += cfg->loops[i].blocks;
}

bool gw_cfg_find_loops(struct gw_cfg *cfg, const uint8_t *flags, uint8_t function,
		       struct gw_arena *arena)
{
	struct scratch s;

	if (!scratch_init(&s, cfg->block_count, arena))
		return false;
	for (uint32_t b = 0; b < cfg->block_count; b++)
		if (flags[cfg->blocks[b].first] & function)
			visit(cfg, &s, b);
	cfg->loops = gw_arena_array(arena, s.count, sizeof(*cfg->loops));
	if (!cfg->loops)
		return false;
	if (!dominate(cfg, &s)) {
		cfg->irreducible = true;
		return true;
	}
	number_tree(cfg, &s);
	for (uint32_t i = s.count; i-- > 0;)
		loop_at(cfg, &s, s.order[i]);
	settle(cfg);
	return true;
}
