/*
 * Loops: trips are counted, and iterations that are alike are stood for.
 *
 * After a few iterations, two arrivals at the header are compared. The difference of each value
 * that the loop writes becomes that value's growth in a new dimension, the iteration, and one more
 * iteration is run as a probe. When at its end every value has grown by its difference again, and
 * its growth in every dimension is what it was, then one iteration maps a state that lies k steps
 * ahead to the state k + 1 steps ahead, for every k at which each decision comes out as it did:
 * the domain gives the greatest such k. The next iteration is then run once with the weight of all
 * of them, and the values jump to the end.
 */
#include "predictor/code/eval/state.h"

#include <math.h>
#include <string.h>

enum phase { WATCH, COMPARE, PROBE, STAND };
/* Arrivals before two are compared; each failure doubles them, so many times at most. */
enum { WARM_UP = 2, FAILS_MAX = 6, DEPTH_MAX = 8, PROBES_MAX = 6 };
/* Of the steps that a warp may take, so many are taken before a loop counts as long. */
static const double LONG = 0.125;
/* Steps that iterations may take to be walked for their accesses alone. Rounds at most of a loop
 * that data may leave: one of more is an iteration or a search, mostly, that ends long before. */
enum { UNEVEN_STEPS = 2048, LEAVING_MOST = 32 };

/* Of one value that the loop writes. */
enum kind {
	REGULAR, /* all lanes moved by one step */
	BLIND,   /* nothing was known, and nothing is */
	FRESH,   /* it has another base than it had, or none */
	UNEVEN,  /* lanes moved by different steps */
};

/* Of a value that the loop writes, as it is at the header. */
enum need {
	DEAD, /* each iteration writes it anew before it reads it */
	IDLE, /* it goes into addresses or floats alone */
	DECIDES,
};

struct growth {
	int64_t step;
	enum kind kind; /* when the probe began */
	bool irregular; /* an address's: not followed */
};

struct gw_loop_watch {
	const struct gw_region *writes; /* NULL: not asked for yet */
	const enum need *need;          /* of each value written, of what it is at the header */
	bool hopeless;                  /* never stood for: local memory, depth, no room */
	bool lasts; /* walking it takes too long: addresses matter less than its end */
	enum phase phase;
	uint32_t level; /* in PROBE and STAND */
	uint32_t arrivals, fails, probes;
	bool uneven;     /* in the probe an access did not move by one step in all lanes */
	uint64_t before; /* steps left when the probe began */
	uint32_t depth, lanes, certain, live, doubt; /* where the iterations are compared */
	/* This entry's trips. */
	bool open;
	bool known; /* a branch that may end it came out as known */
	double trips, weight;
};

/* Shared by the loops of one depth, which never run at the same time. */
struct snapshot {
	uint32_t loop; /* whose it is; GW_IR_NONE: nobody's */
	struct gw_value *values;
	struct growth *growth;
	uint32_t room;
};

struct gw_loop_shots {
	struct snapshot at[DEPTH_MAX];
};

bool gw_eval_loops_init(struct gw_eval *e)
{
	uint32_t loops = e->p->loop_count;

	e->watch = gw_arena_array(e->arena, loops, sizeof(*e->watch));
	e->shots = gw_arena_array(e->arena, 1, sizeof(*e->shots));
	return e->watch && e->shots;
}

void gw_eval_loops_begin(struct gw_eval *e)
{
	for (uint32_t l = 0; l < e->p->loop_count; l++) {
		struct gw_loop_watch *w = &e->watch[l];

		*w = (struct gw_loop_watch){
			.writes = w->writes, .need = w->need, .hopeless = w->hopeless};
	}
	for (unsigned d = 0; d < DEPTH_MAX; d++)
		e->shots->at[d].loop = GW_IR_NONE;
	e->levels = 0;
	e->weight = 1;
}

static void close_entry(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	struct gw_eval_trips *t = &e->report.trips[loop];

	if (!w->open)
		return;
	w->open = false;
	t->least = t->entries == 0 || w->trips < t->least ? w->trips : t->least;
	t->most = w->trips > t->most ? w->trips : t->most;
	t->entries += w->weight;
	t->total += w->weight * w->trips;
}

static void open_entry(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];

	close_entry(e, loop);
	w->open = e->certain != 0;
	w->trips = 1;
	w->weight = e->weight;
	w->phase = WATCH;
	w->arrivals = 0;
	w->known = false;
}

static struct snapshot *shot_of(struct gw_eval *e, uint32_t loop)
{
	return &e->shots->at[e->p->loops[loop].depth - 1];
}

static const enum need *find_need(struct gw_eval *e, uint32_t loop, const struct gw_region *writes)
{
	enum need *need = gw_arena_array(e->arena, writes->value_count, sizeof(*need));
	uint32_t header = e->p->loops[loop].header;

	for (uint32_t n = 0; need && n < writes->value_count; n++) {
		need[n] = gw_eval_live(e, header, writes->values[n]) ? IDLE : DEAD;
		if (need[n] == IDLE && gw_eval_decides(e, header, writes->values[n]))
			need[n] = DECIDES;
	}
	return need;
}

/* Find what the loop writes, and room to compare it. */
static bool prepare(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	struct gw_region *r;
	struct snapshot *s;

	if (w->writes || w->hopeless)
		return !w->hopeless;
	w->hopeless = true;
	r = gw_arena_array(e->arena, 1, sizeof(*r));
	if (!r || e->p->loops[loop].depth > DEPTH_MAX)
		return false;
	for (uint32_t b = 0; b < e->p->block_count; b++)
		e->mark[b] = gw_eval_in_loop(e, b, loop);
	if (!gw_eval_written(e, r) || r->stores)
		return false;
	s = shot_of(e, loop);
	if (s->room < r->value_count) {
		struct snapshot own = {.loop = GW_IR_NONE, .room = r->value_count};

		own.values = gw_arena_array(e->arena, own.room, sizeof(*own.values));
		own.growth = gw_arena_array(e->arena, own.room, sizeof(*own.growth));
		if (!own.values || !own.growth) /* other loops still use the room that there is */
			return false;
		*s = own;
	}
	w->need = find_need(e, loop, r);
	if (!w->need)
		return false;
	w->writes = r;
	w->hopeless = false;
	return true;
}

static void keep(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	struct snapshot *s = shot_of(e, loop);

	s->loop = loop;
	gw_eval_spend(e, w->writes->value_count / 2, e->p->loops[loop].header);
	for (uint32_t n = 0; n < w->writes->value_count; n++)
		s->values[n] = e->values[w->writes->values[n]];
	w->depth = e->depth;
	w->lanes = e->lanes;
	w->certain = e->certain;
	w->live = e->live;
	w->doubt = e->doubt;
}

/* The same lanes arrive in the same circumstances. */
static bool alike(const struct gw_eval *e, uint32_t loop, const struct snapshot *s)
{
	const struct gw_loop_watch *w = &e->watch[loop];

	return s->loop == loop && w->depth == e->depth && w->lanes == e->lanes &&
	       w->certain == e->certain && w->live == e->live && w->doubt == e->doubt;
}

/* Take a level's dimension out of what the loop wrote. */
static void clear_dimension(struct gw_eval *e, const struct gw_loop_watch *w, unsigned level)
{
	unsigned dim = GW_DIM_LOOP + level;

	for (uint32_t n = 0; n < w->writes->value_count; n++) {
		struct gw_form *f = &e->values[w->writes->values[n]].form;

		f->d[dim] = 0;
		f->bent &= (uint8_t) ~(1u << dim);
	}
}

/* Stand for nothing more in the levels from @p level on. */
static void drop_levels(struct gw_eval *e, unsigned level)
{
	while (e->levels > level) {
		unsigned l = --e->levels;
		struct gw_loop_watch *w = &e->watch[e->level_loop[l]];

		if (w->phase == PROBE)
			gw_domain_fix(&e->domain, l, 0);
		else if (w->phase == STAND)
			gw_eval_stop(e, e->p->loops[e->level_loop[l]].header);
		e->weight /= (double)e->level_count[l];
		gw_domain_off(&e->domain, l);
		clear_dimension(e, w, l);
		w->phase = WATCH;
		w->arrivals = 0;
	}
}

/* How a value moved from @p a to @p b in the lanes that are here. */
static enum kind compare(const struct gw_value *a, const struct gw_value *b, uint32_t lanes,
			 unsigned bits, int64_t *step)
{
	bool any = false;

	*step = 0;
	if (a->uniform && b->uniform)
		lanes &= 0 - lanes;
	for (; lanes; lanes &= lanes - 1) {
		unsigned i = (unsigned)__builtin_ctz(lanes), ia = gw_at(a, i), ib = gw_at(b, i);
		int64_t moved;

		if (gw_is_unknown(a->base[ia]) && gw_is_unknown(b->base[ib]))
			continue;
		if (a->base[ia] != b->base[ib]) {
			*step = 0;
			return FRESH;
		}
		moved = gw_signed_bits(b->v[ib] - a->v[ia], bits);
		if (any && moved != *step)
			return UNEVEN;
		*step = moved;
		any = true;
	}
	return any ? REGULAR : BLIND;
}

static bool same_form(const struct gw_eval *e, const struct gw_form *a, const struct gw_form *b)
{
	return !((a->bent ^ b->bent) & gw_domain_open(&e->domain)) &&
	       !memcmp(a->d, b->d, sizeof(a->d));
}

/*
 * Whether value @p n of those that the loop writes has to grow evenly. What control needs does;
 * where a loop turns out to be long, nothing else. In a short one all iterations are better walked:
 * an address that grows unevenly is unknown after a jump.
 */
static bool is_control(const struct gw_eval *e, const struct gw_loop_watch *w, uint32_t n)
{
	uint32_t reg = e->register_of[w->writes->values[n]];

	return e->p->relevant[reg] == IR_RELEVANT_CONTROL &&
	       w->need[n] >= (w->lasts ? DECIDES : IDLE);
}

static void make_unknown(struct gw_eval *e, struct gw_value *x, uint32_t lanes, uint32_t loop)
{
	gw_value_spread(x);
	for (unsigned i = 0; i < GW_LANES; i++)
		if (lanes >> i & 1)
			x->base[i] = gw_unknown(GW_WHY_LOOP,
						e->p->blocks[e->p->loops[loop].header].first);
}

/** What a value that a loop writes has done since the snapshot was taken. */
struct change {
	uint32_t slot;
	struct gw_value *value;
	enum kind kind;
	int64_t step;
};

static struct change change_of(struct gw_eval *e, uint32_t loop, uint32_t n)
{
	struct change c = {.slot = e->watch[loop].writes->values[n]};

	c.value = &e->values[c.slot];
	c.kind = compare(&shot_of(e, loop)->values[n], c.value, e->lanes,
			 e->p->widths[e->register_of[c.slot]], &c.step);
	return c;
}

/* Give each value its growth, or what it may be without one. False: control needs one. */
static bool begin_probe(struct gw_eval *e, uint32_t loop)
{
	const struct gw_loop_watch *w = &e->watch[loop];
	unsigned dim = GW_DIM_LOOP + w->level;

	for (uint32_t n = 0; n < w->writes->value_count; n++) {
		struct growth *g = &shot_of(e, loop)->growth[n];
		struct change c = change_of(e, loop, n);

		if (c.kind == FRESH)
			make_unknown(e, c.value, e->lanes, loop);
		if (c.kind == UNEVEN && is_control(e, w, n))
			return false;
		*g = (struct growth){.kind = c.kind,
				     .step = c.step,
				     .irregular = g->irregular || c.kind == UNEVEN};
		c.value->form.d[dim] = g->irregular ? 0 : g->step;
		if (g->irregular)
			c.value->form.bent |= (uint8_t)(1u << dim);
	}
	return true;
}

/* Did each value grow as it was taken to? Those of addresses may turn out irregular (*again: then
 * the probe has to be repeated without relying on them), those of control not: false. */
static bool check_probe(struct gw_eval *e, uint32_t loop, bool *again)
{
	const struct gw_loop_watch *w = &e->watch[loop];

	*again = false;
	for (uint32_t n = 0; n < w->writes->value_count; n++) {
		struct growth *g = &shot_of(e, loop)->growth[n];
		struct gw_form was = shot_of(e, loop)->values[n].form;
		struct change c = change_of(e, loop, n);

		if (g->irregular || g->kind == FRESH || (g->kind == BLIND && c.kind == BLIND))
			continue;
		was.d[GW_DIM_LOOP + w->level] = g->step;
		if (c.kind == REGULAR && c.step == g->step && same_form(e, &was, &c.value->form))
			continue;
		if (is_control(e, w, n))
			return false;
		g->irregular = true;
		*again = true;
	}
	return true;
}

/* Move every value to where @p times more iterations leave it. */
static void jump(struct gw_eval *e, uint32_t loop, int64_t times)
{
	struct gw_loop_watch *w = &e->watch[loop];
	struct snapshot *s = shot_of(e, loop);

	for (uint32_t n = 0; n < w->writes->value_count; n++) {
		uint32_t slot = w->writes->values[n];
		struct gw_value *x = &e->values[slot];
		uint64_t by = (uint64_t)s->growth[n].step * (uint64_t)times;
		bool whole = e->lanes == e->live;

		if (s->growth[n].irregular) {
			make_unknown(e, x, e->lanes, loop);
			continue;
		}
		if (!by)
			continue;
		if (!(x->uniform && whole))
			gw_value_spread(x);
		for (unsigned i = 0; i < (x->uniform ? 1 : GW_LANES); i++)
			if (x->uniform || e->lanes >> i & 1)
				x->v[i] = gw_low_bits(x->v[i] + by,
						      e->p->widths[e->register_of[slot]]);
	}
}

static void give_up(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];

	if (w->phase == PROBE || w->phase == STAND)
		drop_levels(e, w->level);
	w->phase = WATCH;
	w->arrivals = 0;
	w->fails++;
	w->lasts |= (double)e->steps_left < (1 - LONG) * (double)e->limits.warp_steps;
}

static void start_probe(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];

	if (!begin_probe(e, loop)) {
		give_up(e, loop);
		return;
	}
	keep(e, loop);
	gw_domain_probe(&e->domain, w->level);
	w->phase = PROBE;
	w->uneven = false;
	w->before = e->steps_left;
}

/* Two arrivals can be compared: open a level for the loop. */
static void compare_arrivals(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	struct snapshot *s = shot_of(e, loop);

	if (e->levels == GW_EVAL_LOOPS || !alike(e, loop, s)) {
		give_up(e, loop);
		return;
	}
	for (uint32_t n = 0; n < w->writes->value_count; n++)
		s->growth[n] = (struct growth){.step = 0};
	w->level = e->levels++;
	w->probes = 0;
	e->level_loop[w->level] = loop;
	e->level_count[w->level] = 1;
	w->phase = PROBE; /* for give_up() to close the level */
	gw_domain_probe(&e->domain, w->level);
	start_probe(e, loop);
}

void gw_eval_uneven(struct gw_eval *e, unsigned level)
{
	e->watch[e->level_loop[level]].uneven = true;
}

/* Whether @p extent iterations show more than one of them would, to who looks at accesses: a stride
 * that grows, or bits that turn. */
static bool is_worth_walking(const struct gw_eval *e, const struct gw_loop_watch *w, int64_t extent)
{
	return w->uneven && extent < UNEVEN_STEPS &&
	       (uint64_t)extent * (w->before - e->steps_left) <= UNEVEN_STEPS;
}

/* A probe has come round: stand for what it showed. */
static void end_probe(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	int64_t extent;
	bool again;

	if (!alike(e, loop, shot_of(e, loop)) || !check_probe(e, loop, &again)) {
		give_up(e, loop);
		return;
	}
	extent = gw_domain_fix(&e->domain, w->level, again ? 0 : INT64_MAX);
	if (again && w->probes++ < PROBES_MAX) {
		start_probe(e, loop);
		return;
	}
	if (extent < 2 || is_worth_walking(e, w, extent)) {
		give_up(e, loop);
		return;
	}
	gw_domain_set(&e->domain, w->level, extent - 1);
	keep(e, loop);
	e->level_count[w->level] = extent;
	e->weight *= (double)extent;
	w->phase = STAND;
	w->fails = 0;
	w->trips += (double)(extent - 1);
	e->report.trips[loop].extrapolated = true;
}

/* The iteration that stood for others has come round. */
static void end_stand(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];
	int64_t count = e->level_count[w->level];

	if (!alike(e, loop, shot_of(e, loop))) {
		drop_levels(e, w->level); /* stops: the probe had shown otherwise */
		return;
	}
	jump(e, loop, count - 1);
	e->weight /= (double)count;
	e->levels = w->level;
	gw_domain_off(&e->domain, w->level);
	clear_dimension(e, w, w->level);
	w->phase = WATCH;
	w->arrivals = 0;
}

static void back_edge(struct gw_eval *e, uint32_t loop)
{
	struct gw_loop_watch *w = &e->watch[loop];

	w->trips++;
	/* Where lanes may have left, few rounds are of use: they are walked. */
	if (e->stack[e->depth - 1].left != GW_IR_NONE || !prepare(e, loop))
		return;
	switch (w->phase) {
	case WATCH:
		if (++w->arrivals < (uint32_t)WARM_UP
					    << (w->fails < FAILS_MAX ? w->fails : FAILS_MAX))
			break;
		keep(e, loop);
		w->phase = COMPARE;
		break;
	case COMPARE:
		compare_arrivals(e, loop);
		break;
	case PROBE:
		end_probe(e, loop);
		break;
	default:
		end_stand(e, loop);
	}
}

void gw_eval_edge(struct gw_eval *e, uint32_t from, uint32_t to)
{
	const struct gw_ir_program *p = e->p;
	uint32_t loop = p->blocks[to].loop;

	for (unsigned l = 0; l < e->levels; l++)
		if (!gw_eval_in_loop(e, to, e->level_loop[l]))
			drop_levels(e, l);
	if (e->unbounded || loop == GW_IR_NONE || p->loops[loop].header != to)
		return;
	if (gw_eval_in_loop(e, from, loop))
		back_edge(e, loop);
	else
		open_entry(e, loop);
}

void gw_eval_loop_unknown(struct gw_eval *e, uint32_t block, uint32_t meet)
{
	uint32_t loop = e->p->blocks[block].loop;

	for (; loop != GW_IR_NONE && !gw_eval_in_loop(e, meet, loop);
	     loop = e->p->loops[loop].parent) {
		struct gw_loop_watch *w = &e->watch[loop];

		e->report.trips[loop].unknown = true;
		e->report.trips[loop].most = HUGE_VAL;
		if (w->phase == PROBE)
			give_up(e, loop);
	}
}

uint32_t gw_eval_round(const struct gw_eval *e)
{
	const uint32_t loop = e->p->blocks[e->stack[e->depth - 1].block].loop;

	return loop == GW_IR_NONE ? 32 : (uint32_t)fmin(e->watch[loop].trips, 32);
}

/* The successor of @p block's branch that stays in the loop around it, where one does; else -1. */
static int staying(const struct gw_eval *e, uint32_t block)
{
	const struct gw_ir_block *b = &e->p->blocks[block];
	const uint32_t *to = e->p->succs + b->succ_first;
	bool second;

	if (b->end != IR_END_BRANCH || b->loop == GW_IR_NONE)
		return -1;
	second = gw_eval_in_loop(e, to[1], b->loop);
	return gw_eval_in_loop(e, to[0], b->loop) == second ? -1 : second;
}

void gw_eval_loop_known(struct gw_eval *e, uint32_t block)
{
	if (staying(e, block) >= 0)
		e->watch[e->p->blocks[block].loop].known = true;
}

int gw_eval_loop_leave(struct gw_eval *e, uint32_t block)
{
	const uint32_t loop = e->p->blocks[block].loop;
	const int stay = staying(e, block);
	bool others = false;

	for (uint32_t b = 0; stay >= 0 && b < e->p->block_count; b++)
		others |= b != block && e->p->blocks[b].loop == loop && staying(e, b) >= 0;
	return others && !e->unbounded && e->depth <= GW_STACK_MAX / 4 &&
			       e->watch[loop].trips <= (e->watch[loop].known ? LEAVING_MOST : 1)
		       ? stay
		       : -1;
}

void gw_eval_loops_end(struct gw_eval *e)
{
	drop_levels(e, 0);
	for (uint32_t l = 0; l < e->p->loop_count; l++)
		close_entry(e, l);
}
