/*
 * Loops of machine code that go on as long as there is another piece of work: one thread takes its
 * number from a counter and leaves it in shared memory, and the loop ends where the number has
 * reached an argument. Memory decides which block gets which piece, but not how many there are.
 * Each block, or each cluster where there are clusters, is taken to get every n-th of them, n being
 * how many of these the grid has: so together they do all, and none more than one more than
 * another.
 *
 * Found by the comparisons that may leave the outermost cycle: the loads from shared memory whose
 * value they compare give the number of the piece after the one that was last compared. Where warp
 * groups take turns, a round compares two: the other's piece and one's own.
 *
 * Where a warp of the block leaves records of pieces, each of several words, in a ring in shared
 * memory, it does so from the first piece on, and the place of a record in the ring gives the
 * number of the piece: the others read the first, or where they take turns a later one, before the
 * loop.
 */
#include "predictor/code/eval/state.h"
#include "predictor/code/ir/reach.h"

#include <string.h>

/** Loads of which one comparison compares the value. */
struct gw_claims {
	uint32_t *test;  /* of each instruction that makes a loaded value: 1 + that comparison */
	uint32_t *cycle; /* of each comparison: 1 + the block where its cycle is entered */
	uint32_t *loop;  /* of each: 1 + the loop; 0: it has several entries */
	uint8_t *works_first; /* of each: the loop has worked on a piece when it is made */
	uint8_t *use;         /* of each: the operand that is the number */
	/* Of each block where a cycle is entered: how many comparisons the warp has made, and the
	 * last piece of which it knows the number. Its first is piece 0. */
	uint32_t *made, *known;
	uint32_t first_at;   /* where the launch's first record was found; 0: none was */
	uint32_t at;         /* where the last load of shared memory went; 0: not known */
	uint8_t at_dims;     /* … and what that depends on */
	uint32_t slot, step; /* the warp's last record, how far it lay from the one before … */
	uint32_t piece;      /* … and the number of the piece after it */
};

/* What the search for one comparison knows. */
struct search {
	const struct gw_eval *e; /* whose mark[] is of the comparison's cycle */
	struct gw_claims *claims;
	uint64_t *way; /* of each block, scratch */
	uint64_t left; /* blocks, and eights of bytes, that the search may look at; 0: it gave up */
	uint32_t test;
	bool found;     /* a load on the cycle, of which no other comparison is known */
	uint32_t inner; /* of a counted loop: the comparison of the number; GW_IR_NONE: none was
			   found, `test`: several were */
};

/* The outermost loop around block @p b; GW_IR_NONE: none, or it has several entries. */
static uint32_t loop_around(const struct gw_ir_program *p, uint32_t b)
{
	uint32_t loop = p->blocks[b].loop;

	while (loop != GW_IR_NONE && p->loops[loop].parent != GW_IR_NONE)
		loop = p->loops[loop].parent;
	return loop;
}

enum {
	BLOCKS_MOST = 4096,
	LOOKS_MOST = 1 << 24,
	SCRATCH = 8 << 20, /* bytes that the search may take, given back at its end */
	OF_BLOCK =
		0xffffff, /* of an address in shared memory; above lies the block of the cluster */
};
enum { FROM = 1, TO = 2, WITHIN = FROM | TO };

/* Put @p block among those to be looked at, if it has no @p mark yet and all of @p needs. */
static void enter(struct gw_eval *e, uint32_t block, uint8_t needs, uint8_t mark, uint32_t *count)
{
	if (e->mark[block] & mark || (e->mark[block] & needs) != needs)
		return;
	e->mark[block] |= mark;
	e->todo[(*count)++] = block;
}

/* Mark the blocks that lie on a cycle with block @p b, if there are any. */
static void mark_cycle(struct gw_eval *e, const struct gw_reach *r, uint32_t b)
{
	const struct gw_ir_program *p = e->p;
	uint32_t count = 0;

	memset(e->mark, 0, p->block_count);
	e->todo[count++] = b;
	while (count) {
		const struct gw_ir_block *block = &p->blocks[e->todo[--count]];

		for (uint32_t i = 0; i < block->succ_count; i++)
			enter(e, p->succs[block->succ_first + i], 0, FROM, &count);
	}
	e->todo[count++] = b;
	while (count) {
		uint32_t block = e->todo[--count];

		for (uint32_t i = r->pred_first[block]; i < r->pred_first[block + 1]; i++)
			enter(e, r->preds[i], FROM, TO, &count);
	}
}

static bool is_within(const struct gw_eval *e, uint32_t block)
{
	return (e->mark[block] & WITHIN) == WITHIN;
}

static bool spend(struct search *s, uint64_t looks)
{
	s->left = s->left > looks ? s->left - looks : 0;
	return s->left != 0;
}

/* The fewest instructions on the cycle from the beginning of block @p from to that of @p to. */
static uint64_t way_to(struct gw_eval *e, struct search *s, uint32_t from, uint32_t to)
{
	const struct gw_ir_program *p = e->p;
	uint64_t *way = s->way;
	bool shorter = true;

	for (uint32_t b = 0; b < p->block_count; b++)
		way[b] = b == from ? 0 : UINT64_MAX;
	while (shorter && spend(s, p->block_count)) {
		shorter = false;
		for (uint32_t b = 0; b < p->block_count; b++) {
			const struct gw_ir_block *block = &p->blocks[b];

			if (way[b] == UINT64_MAX || b == to || !is_within(e, b))
				continue;
			for (uint32_t i = 0; i < block->succ_count; i++) {
				uint64_t *next = &way[p->succs[block->succ_first + i]];

				shorter |= way[b] + block->sources < *next;
				*next = way[b] + block->sources < *next ? way[b] + block->sources
									: *next;
			}
		}
	}
	return way[to];
}

/* Where the cycle is entered. */
static uint32_t entry_of(const struct gw_eval *e, const struct gw_reach *r)
{
	for (uint32_t b = 0; b < e->p->block_count; b++)
		for (uint32_t i = r->pred_first[b]; is_within(e, b) && i < r->pred_first[b + 1];
		     i++)
			if (!is_within(e, r->preds[i]))
				return b;
	return GW_IR_NONE;
}

/* The comparison that alone makes @p test in block @p b; GW_IR_NONE: none in that block. */
static uint32_t comparison_of(const struct gw_ir_program *p, const struct gw_ir_block *b,
			      gw_ir_operand test)
{
	for (uint32_t i = b->first + b->count; i-- > b->first;) {
		const struct gw_ir_insn *insn = &p->insns[i];
		const gw_ir_operand *uses = gw_ir_uses(p, insn);

		if (insn->defs != 1 || gw_ir_defs(p, insn)[0] != test)
			continue;
		if (insn->guard != GW_IR_NONE)
			return GW_IR_NONE;
		if (insn->op == IR_CMP)
			return insn->bits == 32 ? i : GW_IR_NONE;
		if (insn->op != IR_AND && insn->op != IR_OR && insn->op != IR_LOP3 &&
		    insn->op != IR_MOV && insn->op != IR_NOT)
			return GW_IR_NONE;
		/* Of several registers the first. */
		for (unsigned u = insn->uses; u-- > 0;)
			test = gw_ir_is_constant(uses[u]) ? test : uses[u];
		if (test == gw_ir_defs(p, insn)[0])
			return GW_IR_NONE;
	}
	return GW_IR_NONE;
}

/* What makes the value of a load in machine code: the load itself has no register. */
static const struct gw_ir_insn *load_of(const struct gw_ir_program *p, uint32_t index)
{
	uint32_t source = p->insns[index].source;

	if (p->insns[index].op != IR_OPAQUE)
		return NULL;
	while (index-- > 0 && p->insns[index].source == source) {
		const struct gw_ir_insn *insn = &p->insns[index];

		if (insn->op == IR_LD || insn->op == IR_ATOM)
			return insn->width == 4 ? insn : NULL;
	}
	return NULL;
}

static bool is_record(const struct gw_ir_insn *load)
{
	return load && load->op == IR_LD && load->elements > 1 && load->space == IR_SPACE_SHARED;
}

/* @p index makes a number of a piece, where its load is of the kind. */
static void found_load(struct search *s, const struct gw_reach *r, uint32_t index)
{
	const struct gw_ir_insn *load = load_of(r->p, index);

	if (!load || s->claims->test[index] ||
	    load->space != (load->op == IR_LD ? IR_SPACE_SHARED : IR_SPACE_GLOBAL))
		return;
	s->claims->test[index] = s->test + 1;
	s->found |= is_within(s->e, r->block[index]);
}

/* Back from the comparison, through what keeps the number, and sums: a counter starts at zero. */
static void follow(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot, uint8_t marks)
{
	switch (insn->op) {
	case IR_ADD:
		gw_reach_use(r, insn, 0, marks);
		/* fall through */
	case IR_SEL:
		gw_reach_use(r, insn, 1, marks);
		gw_reach_use(r, insn, 2, marks);
		break;
	case IR_MOV:
	case IR_ZEXT:
	case IR_SHFL:
		gw_reach_use(r, insn, 0, marks);
		break;
	case IR_OPAQUE:
		found_load(r->arg, r, r->owner[slot]);
		break;
	default:
		break;
	}
}

enum { COUNTED = 1, TESTED = 2, NUMBER = 4 };

static void use_all(struct gw_reach *r, const struct gw_ir_insn *insn, unsigned marks)
{
	for (unsigned u = 0; u < insn->uses; u++)
		gw_reach_use(r, insn, u, marks);
}

/* Back from what is counted while pieces come, or once they no longer do, through what decides
 * whether it is, to the number that is compared there, of which it may be computed. */
static void follow_counted(struct gw_reach *r, const struct gw_ir_insn *insn, uint32_t slot,
			   uint8_t marks)
{
	struct search *s = r->arg;
	uint32_t index = r->owner[slot];

	if (marks & COUNTED && is_within(s->e, r->block[index])) {
		gw_reach_guard(r, insn, TESTED);
		if (insn->op == IR_MOV || insn->op == IR_ADD)
			use_all(r, insn, COUNTED);
		if (insn->op == IR_SEL) {
			use_all(r, insn, COUNTED);
			gw_reach_use(r, insn, 0, TESTED);
		}
	}
	if (marks & TESTED && insn->op == IR_CMP && insn->bits == 32) {
		s->inner = s->inner == GW_IR_NONE || s->inner == index ? index : s->test;
		use_all(r, insn, NUMBER);
	} else if (marks & TESTED && insn->op != IR_CMP) {
		use_all(r, insn, TESTED);
	}
	if (marks & NUMBER && insn->op == IR_OPAQUE)
		found_load(s, r, index);
	else if (marks & NUMBER)
		use_all(r, insn, NUMBER);
}

/* A bound that was loaded before the cycle is no number of a piece. */
static void drop_loads(const struct gw_reach *r, const struct search *s)
{
	for (uint32_t i = 0; i < r->p->insn_count; i++)
		if (s->claims->test[i] == s->test + 1)
			s->claims->test[i] = 0;
}

/* Begin another search from one comparison; false: it would take too long. */
static bool anew(struct gw_reach *r, struct search *s, gw_reach_rule *rule)
{
	const struct gw_ir_program *p = r->p;

	if (!spend(s, (p->operand_count + (uint64_t)p->block_count * r->places) / 4))
		return false;
	memset(r->marks, 0, p->operand_count);
	memset(r->entry, 0, (size_t)p->block_count * r->places);
	r->rule = rule;
	return true;
}

/* Comparison @p test is of a count. Becomes the one that decides what is counted, where one does.
 */
static void find_counted(struct gw_reach *r, struct search *s, uint32_t *test)
{
	s->inner = GW_IR_NONE;
	if (!anew(r, s, follow_counted))
		return;
	use_all(r, &r->p->insns[*test], COUNTED);
	gw_reach_run(r);
	if (!s->found || s->inner == *test) {
		s->found = false;
		drop_loads(r, s);
		return;
	}
	for (uint32_t i = 0; i < r->p->insn_count; i++)
		if (s->claims->test[i] == *test + 1)
			s->claims->test[i] = s->inner + 1;
	*test = s->inner;
}

static void find_loads(struct gw_reach *r, struct search *s, uint32_t test)
{
	const struct gw_ir_program *p = r->p;

	s->test = test;
	s->found = false;
	if (!anew(r, s, follow))
		return;
	for (unsigned u = 0; u < 2 && !s->found; u++) {
		s->claims->use[test] = (uint8_t)u;
		gw_reach_use(r, &p->insns[test], u, 1);
		gw_reach_run(r);
		if (!s->found)
			drop_loads(r, s);
	}
}

/* Where a counter in global memory and copies past registers are: a kernel that stays and goes from
 * tile to tile. Others take pieces by the thread or by the warp. */
static bool takes_pieces(const struct gw_ir_program *p)
{
	bool counts = false, copies = false;

	for (uint32_t i = 0; i < p->insn_count; i++) {
		counts |= p->insns[i].op == IR_ATOM && p->insns[i].space == IR_SPACE_GLOBAL;
		copies |= (p->insns[i].flags & IR_MEM_BULK) != 0;
	}
	return p->from_sass && counts && copies;
}

static struct gw_claims *new_claims(struct gw_eval *e)
{
	struct gw_claims *c = gw_arena_array(e->arena, 1, sizeof(*c));
	uint32_t count = e->p->insn_count;

	if (!c)
		return NULL;
	c->test = gw_arena_array(e->arena, count, sizeof(*c->test));
	c->loop = gw_arena_array(e->arena, count, sizeof(*c->loop));
	c->use = gw_arena_array(e->arena, count, 1);
	c->made = gw_arena_array(e->arena, e->p->block_count, sizeof(*c->made));
	c->known = gw_arena_array(e->arena, e->p->block_count, sizeof(*c->known));
	c->cycle = gw_arena_array(e->arena, count, sizeof(*c->cycle));
	c->works_first = gw_arena_array(e->arena, count, 1);
	return c->test && c->cycle && c->loop && c->works_first && c->use && c->made && c->known
		       ? c
		       : NULL;
}

/* The comparison that ends block @p b, if it may leave a cycle. */
static void look_at(struct gw_eval *e, struct gw_reach *r, struct search *s, uint32_t b)
{
	const struct gw_ir_program *p = e->p;
	const struct gw_ir_block *block = &p->blocks[b];
	const uint32_t *to = p->succs + block->succ_first;
	uint32_t test, entry;
	bool counted;

	if (!block->reachable || block->end != IR_END_BRANCH || !gw_ir_decides(p, block) ||
	    !spend(s, 4 * (uint64_t)p->block_count))
		return;
	test = comparison_of(p, block, block->test);
	if (test == GW_IR_NONE)
		return;
	mark_cycle(e, r, b);
	entry = entry_of(e, r);
	if (is_within(e, to[0]) == is_within(e, to[1]) || entry == GW_IR_NONE)
		return;
	find_loads(r, s, test);
	counted = !s->found;
	if (counted)
		find_counted(r, s, &test);
	if (!s->found)
		return;
	s->claims->loop[test] = loop_around(p, b) + 1;
	s->claims->cycle[test] = entry + 1;
	/* The way into the loop is as long as that around it, or it leads to the comparison. */
	s->claims->works_first[test] =
		!counted && 2 * way_to(e, s, entry, b) >= way_to(e, s, to[!is_within(e, to[0])], b);
}

/* Records are read before a loop, too, and compared there: their numbers are in the same word. */
static void add_records(const struct gw_ir_program *p, struct gw_claims *c)
{
	const struct gw_ir_insn *load, *first;
	uint32_t of = 0;

	while (of < p->insn_count && !(c->test[of] && is_record(load_of(p, of))))
		of++;
	if (of == p->insn_count)
		return;
	first = load_of(p, of);
	for (uint32_t i = 0; i < p->insn_count; i++) {
		load = c->test[i] ? NULL : load_of(p, i);
		if (is_record(load) && load->elements == first->elements &&
		    &p->insns[i] - load == &p->insns[of] - first)
			c->test[i] = c->test[of];
	}
}

static bool search(struct gw_eval *e, struct search *s, struct gw_arena *scratch)
{
	struct gw_reach r = {.arg = s};

	s->way = gw_arena_array(scratch, e->p->block_count, sizeof(*s->way));
	if (!s->claims || !s->way || !gw_reach_init(&r, e->p, scratch))
		return false;
	for (uint32_t b = 0; b < e->p->block_count && s->left; b++)
		look_at(e, &r, s, b);
	add_records(e->p, s->claims);
	return s->left != 0;
}

void gw_eval_claims_init(struct gw_eval *e)
{
	struct search s = {.e = e, .left = LOOKS_MOST};
	const size_t room = e->arena->limit - e->arena->used;
	struct gw_arena scratch;

	if (e->p->block_count > BLOCKS_MOST || !takes_pieces(e->p))
		return;
	gw_arena_init(&scratch, room < SCRATCH ? room : SCRATCH);
	s.claims = new_claims(e);
	if (search(e, &s, &scratch))
		e->claims = s.claims;
	gw_arena_free(&scratch);
	memset(e->mark, 0, e->p->block_count);
}

void gw_eval_claims_begin(struct gw_eval *e)
{
	if (!e->claims)
		return;
	memset(e->claims->made, 0, e->p->block_count * sizeof(*e->claims->made));
	memset(e->claims->known, 0, e->p->block_count * sizeof(*e->claims->known));
	e->claims->piece = 0;
}

void gw_eval_claim_load(struct gw_eval *e, const struct gw_value *at, unsigned lane)
{
	e->claims->at = at->base[gw_at(at, lane)] ? 0 : (uint32_t)at->v[gw_at(at, lane)] & OF_BLOCK;
	e->claims->at_dims = gw_form_dims(&at->form);
}

/* The number of the piece whose record was loaded last, by its place: it is as far behind the one
 * before as their places lie apart, or where the ring begins again as far as these did. */
static uint32_t piece_of_record(struct gw_claims *c, uint32_t bytes)
{
	uint32_t slot;

	if (!c->first_at)
		c->first_at = c->at;
	slot = c->at < c->first_at ? 0 : (c->at - c->first_at) / bytes;
	if (!c->piece) {
		c->step = 1;
		c->piece = slot;
	} else {
		if (slot > c->slot)
			c->step = slot - c->slot;
		c->piece += c->step - 1;
	}
	c->slot = slot;
	return c->piece++;
}

/* Clusters, or blocks, of the grid, and the number of that of block @p block. */
static uint64_t takers(const struct gw_config *c, struct gw_dim3 block, uint64_t *own)
{
	uint32_t x = c->cluster.x ? c->cluster.x : 1, y = c->cluster.y ? c->cluster.y : 1,
		 z = c->cluster.z ? c->cluster.z : 1;
	uint64_t nx = c->grid.x / x, ny = c->grid.y / y, count = nx * ny * (c->grid.z / z);

	*own = block.x / x + nx * (block.y / y + ny * (uint64_t)(block.z / z));
	return count ? count : 1; /* 0: a cluster larger than the grid, which nothing launches */
}

void gw_eval_claim_compared(struct gw_eval *e, uint32_t index,
			    const struct gw_value *const in[GW_SOURCES_MAX], unsigned lane)
{
	struct gw_claims *c = e->claims;
	const struct gw_value *number;
	uint64_t own, piece;
	uint32_t at;

	if (!c->cycle[index])
		return;
	at = c->cycle[index] - 1;
	number = in[c->use[index]];
	c->made[at]++;
	piece = number->v[gw_at(number, lane)] / takers(&e->launch->config, e->block, &own);
	if (!number->base[gw_at(number, lane)] && piece > c->known[at] && piece < UINT32_MAX)
		c->known[at] = (uint32_t)piece;
}

bool gw_eval_claim(struct gw_eval *e, uint32_t index, struct gw_value *out)
{
	struct gw_claims *c = e->claims;
	const struct gw_ir_insn *load;
	uint64_t own, count, piece;
	uint32_t test;
	uint8_t dims = 1u << GW_DIM_X | 1u << GW_DIM_Y | 1u << GW_DIM_Z;

	if (!c || !c->test[index])
		return false;
	test = c->test[index] - 1;
	load = load_of(e->p, index);
	count = takers(&e->launch->config, e->block, &own);
	/* An atomic's is the counter's value; what is added to it comes later. */
	piece = c->made[c->cycle[test] - 1];
	if (is_record(load)) {
		if (!c->at)
			return false;
		piece = piece_of_record(c, 4u * load->elements);
		dims |= c->at_dims;
	} else if (c->works_first[test] && load->op == IR_LD) {
		piece = c->known[c->cycle[test] - 1] + UINT64_C(1);
	}
	gw_value_set(out, (uint32_t)(own + piece * count), GW_BASE_NONE);
	/* Another block takes another piece, and so does the next round. */
	for (unsigned l = 0; l < e->levels; l++)
		dims |= (uint8_t)(1u << (GW_DIM_LOOP + l));
	out->form.bent = dims;
	e->report.awaits = true;
	return true;
}
