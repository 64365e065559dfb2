/*
 * Memory. Parameters, constants that nobody can change and this thread's local memory are known;
 * everything else isn't, but what all lanes load from one place is the same in all of them.
 */
#include "predictor/code/eval/state.h"

#include <string.h>

static gw_base window_in(const struct gw_value *a, uint32_t mask)
{
	gw_base window = GW_BASE_NONE;
	bool any = false;

	for (unsigned i = 0; i < GW_LANES; i++) {
		gw_base b = a->base[gw_at(a, i)];

		if (!(mask >> i & 1))
			continue;
		if (any && b != window)
			return GW_BASE_NONE;
		window = b;
		any = true;
	}
	return window;
}

/* The space that an access goes to: a generic one's by the window of its addresses. */
static enum gw_ir_space resolve(struct gw_eval *e, const struct gw_ir_insn *insn,
				const struct gw_value *a, uint32_t mask)
{
	gw_base b;

	if (insn->space != IR_SPACE_GENERIC)
		return (enum gw_ir_space)insn->space;
	b = window_in(a, mask);
	switch (b) {
	case GW_WINDOW_SHARED:
		return IR_SPACE_SHARED;
	case GW_WINDOW_LOCAL:
		return IR_SPACE_LOCAL;
	case GW_WINDOW_PARAM:
		return IR_SPACE_PARAM;
	default:
		if (b >= GW_VARIABLE_FIRST && b - GW_VARIABLE_FIRST < e->p->symbol_count &&
		    e->p->symbols[b - GW_VARIABLE_FIRST].space == IR_SPACE_CONST)
			return IR_SPACE_CONST;
		return IR_SPACE_GLOBAL;
	}
}

/* Whether all lanes find parameters by a generic address. */
static bool in_parameters(const struct gw_value *a, uint32_t mask)
{
	for (unsigned i = 0; i < GW_LANES; i++)
		if (mask >> i & 1 && (a->base[gw_at(a, i)] ||
				      a->v[gw_at(a, i)] - GW_IR_PARAM_WINDOW >= GW_IR_PARAM_BYTES))
			return false;
	return mask != 0;
}

/* address = first use + second use, with the windows' bases taken off. */
static void find_address(struct gw_eval *e, const struct gw_ir_insn *insn, struct gw_value *a,
			 uint32_t mask, enum gw_ir_space *space)
{
	const gw_ir_operand *uses = gw_ir_uses(e->p, insn);
	const struct gw_value *x = gw_eval_source(e, uses[0], &e->source[0]);
	const struct gw_value *y = gw_eval_source(e, uses[1], &e->source[1]);

	a->uniform = x->uniform && y->uniform;
	a->form = x->form;
	for (unsigned d = 0; d < GW_DIMS; d++)
		a->form.d[d] = (int64_t)((uint64_t)x->form.d[d] + (uint64_t)y->form.d[d]);
	a->form.bent |= y->form.bent;
	for (unsigned i = 0; i < (a->uniform ? 1 : GW_LANES); i++) {
		gw_base bx = x->base[gw_at(x, i)], by = y->base[gw_at(y, i)];

		a->v[i] = x->v[gw_at(x, i)] + y->v[gw_at(y, i)];
		a->base[i] = gw_is_unknown(bx) || !by ? bx : by;
		if (bx && by && !gw_is_unknown(by) && !gw_is_unknown(bx))
			a->base[i] = gw_unknown(GW_WHY_ADDRESS, 0);
	}
	*space = resolve(e, insn, a, mask);
	if (insn->space == IR_SPACE_GENERIC && in_parameters(a, mask)) {
		*space = IR_SPACE_PARAM;
		for (unsigned i = 0; i < (a->uniform ? 1 : GW_LANES); i++)
			a->v[i] -= GW_IR_PARAM_WINDOW;
	}
	for (unsigned i = 0; i < (a->uniform ? 1 : GW_LANES); i++)
		if (a->base[i] && a->base[i] <= GW_WINDOW_PARAM)
			a->base[i] = GW_BASE_NONE;
}

/* How the access lies in the other warps of the box, which is kept to where that can be said. Of
 * what has no address nothing need be. */
static void tell_growth(struct gw_eval *e, const struct gw_value *a, const struct gw_value *size)
{
	const uint8_t box = (1u << GW_BOX) - 1;
	uint8_t dims = a->form.bent;

	for (unsigned i = 0; i < GW_LANES; i++)
		if (e->access.active >> i & 1 && e->access.base[i] == GW_BASE_UNKNOWN)
			dims = 0;
	if (size)
		dims |= gw_form_dims(&size->form);
	for (unsigned i = 0; i < GW_BOX; i++)
		e->access.grows[i] = a->form.d[i];
	gw_domain_pin(&e->domain, dims & box);
}

/* The map at byte @p offset of the arguments, read when it is first asked for. */
static const struct gw_tensor_map *map_at(struct gw_eval *e, uint64_t offset)
{
	const struct gw_eval_launch *l = e->launch;
	struct gw_bytes bytes;

	for (uint32_t i = 0; i < e->map_count; i++)
		if (e->map_offset[i] == offset)
			return &e->maps[i];
	if (e->map_count == GW_TENSOR_MAPS ||
	    !gw_bytes_slice(l->arguments, offset, GW_TENSOR_MAP_BYTES, &bytes) ||
	    (l->argument_known && memchr(l->argument_known + offset, 0, GW_TENSOR_MAP_BYTES)) ||
	    !gw_tensor_map_read(&e->maps[e->map_count], bytes.data))
		return NULL;
	e->map_offset[e->map_count] = (uint32_t)offset;
	return &e->maps[e->map_count++];
}

/* The map that lane @p lane finds; PTX counts from the start of the parameters. */
static const struct gw_tensor_map *map_of(struct gw_eval *e, const struct gw_value *a,
					  unsigned lane)
{
	uint64_t v = a->v[gw_at(a, lane)];

	if (a->base[gw_at(a, lane)])
		return NULL;
	return map_at(e, v >= GW_IR_PARAM_WINDOW ? v - GW_IR_PARAM_WINDOW : v);
}

/* Blocks of the cluster that a mask has a bit for, in the upper half of its register; 0: not known,
 * or not the same in all iterations that are stood for. */
static uint8_t receivers_of(struct gw_eval *e, gw_ir_operand mask, unsigned lane)
{
	const struct gw_value *x = gw_eval_source(e, mask, &e->source[2]);

	for (unsigned l = 0; l < e->levels; l++)
		if (e->level_count[l] > 1 &&
		    (x->form.d[GW_DIM_LOOP + l] || x->form.bent >> (GW_DIM_LOOP + l) & 1))
			return 0;
	return x->base[gw_at(x, lane)]
		       ? 0
		       : (uint8_t)__builtin_popcount((unsigned)x->v[gw_at(x, lane)] >> 16);
}

/* The tile of the first lane: in machine code coordinates are the warp's. */
static void find_tile(struct gw_eval *e, const struct gw_ir_insn *insn, const struct gw_value *a,
		      uint32_t lanes)
{
	const uint8_t box = (1u << GW_BOX) - 1;
	unsigned first = (unsigned)__builtin_ctz(lanes), rank = insn->uses - 2u;
	struct gw_eval_tile *t = &e->access.tile;

	*t = (struct gw_eval_tile){.map = map_of(e, a, first), .receivers = 1};
	if (insn->flags & IR_MEM_MATRIX)
		t->receivers = receivers_of(e, gw_ir_uses(e->p, insn)[2 + --rank], first);
	/* Of PTX the form has no coordinates. */
	t->placed = e->p->from_sass && t->map && t->map->rank == rank;
	for (unsigned i = 0; t->placed && i < rank; i++) {
		const struct gw_value *x =
			gw_eval_source(e, gw_ir_uses(e->p, insn)[2 + i], &e->source[2]);

		if (e->alike) /* elsewhere is another tile */
			gw_domain_pin(&e->domain, gw_form_dims(&x->form) & box);
		t->placed = !x->base[gw_at(x, first)];
		t->at[i] = (int32_t)x->v[gw_at(x, first)];
		for (unsigned l = 0; l < e->levels; l++) {
			t->step[l][i] = (int32_t)x->form.d[GW_DIM_LOOP + l];
			t->placed &=
				e->level_count[l] == 1 || !(x->form.bent >> (GW_DIM_LOOP + l) & 1);
		}
	}
}

static void tell_sink(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
		      const struct gw_value *a, enum gw_ir_space space, uint32_t sure,
		      uint32_t maybe)
{
	struct gw_eval_access *x = &e->access;
	const struct gw_value *size = NULL;
	gw_base known = GW_BASE_UNKNOWN;

	x->insn = index;
	x->op = insn;
	x->space = space;
	x->block = e->block;
	x->warp = e->warp;
	x->active = sure | maybe;
	x->certain = sure & e->certain;
	x->unbounded = e->unbounded;
	x->bytes = 0;
	for (unsigned i = 0; i < GW_LANES; i++) {
		gw_base b = a->base[gw_at(a, i)];

		x->address[i] = a->v[gw_at(a, i)];
		x->base[i] = gw_is_unknown(b) ? known : b;
	}
	x->tile.map = NULL;
	if (insn->flags & IR_MEM_BULK && insn->flags & IR_MEM_TENSOR) {
		find_tile(e, insn, a, x->active);
	} else if (insn->flags & IR_MEM_BULK && insn->uses > 2) {
		unsigned first = (unsigned)__builtin_ctz(x->active);

		size = gw_eval_source(e, gw_ir_uses(e->p, insn)[2], &e->source[2]);
		if (!size->base[gw_at(size, first)])
			x->bytes = size->v[gw_at(size, first)];
	}
	x->repeats = e->levels;
	for (unsigned l = 0; l < e->levels; l++) {
		x->repeat[l].count = (uint64_t)e->level_count[l];
		x->repeat[l].step = a->form.d[GW_DIM_LOOP + l];
		x->repeat[l].linear = !(a->form.bent >> (GW_DIM_LOOP + l) & 1);
		if (!x->repeat[l].linear)
			gw_eval_uneven(e, l);
	}
	if (e->alike)
		tell_growth(e, a, size);
	e->sink(e->sink_arg, x);
}

uint64_t gw_eval_times(const struct gw_eval_access *access)
{
	uint64_t times = 1;

	for (uint32_t i = 0; i < access->repeats; i++)
		if (__builtin_mul_overflow(times, access->repeat[i].count, &times))
			return UINT64_MAX;
	return times;
}

/* Bytes that are known whatever happened: a parameter's, or a constant's that can't change. */
static bool known_bytes(const struct gw_eval *e, enum gw_ir_space space, gw_base base, uint64_t at,
			unsigned width, uint64_t *v)
{
	const struct gw_eval_launch *l = e->launch;

	*v = 0;
	if (space == IR_SPACE_PARAM && !base) {
		for (unsigned i = 0; l->argument_known && i < width; i++)
			if (at + i < l->arguments.size && !l->argument_known[at + i])
				return false;
		return gw_bytes_get(l->arguments, at, v, width);
	}
	if (base >= GW_VARIABLE_FIRST && base - GW_VARIABLE_FIRST < e->p->symbol_count) {
		const struct gw_ir_symbol *s = &e->p->symbols[base - GW_VARIABLE_FIRST];
		struct gw_bytes b = {s->bytes, s->bytes ? (size_t)s->size : 0};

		return s->read_only && gw_bytes_get(b, at, v, width);
	}
	return false;
}

static bool in_frame(const struct gw_eval *e, uint64_t at, unsigned width)
{
	return e->frame && at <= e->p->frame_bytes && e->p->frame_bytes - at >= width;
}

/* What this lane stored last: numbers byte by byte, a based value only as a whole. */
static void load_frame(const struct gw_eval *e, unsigned lane, uint64_t at, unsigned width,
		       uint32_t index, uint64_t *v, gw_base *base)
{
	size_t first = (size_t)at * GW_LANES + lane;

	*v = 0;
	*base = gw_unknown(GW_WHY_MEMORY, index);
	if (!in_frame(e, at, width))
		return;
	*base = e->frame_base[first];
	for (unsigned i = 0; i < width; i++) {
		size_t cell = first + (size_t)i * GW_LANES;
		bool whole = e->frame_place[cell] == (i | width << 4);

		*v |= (uint64_t)e->frame[cell] << (8 * i);
		if (e->frame_base[cell] != *base || (*base && !gw_is_unknown(*base) && !whole)) {
			*base = gw_unknown(GW_WHY_MEMORY, index);
			return;
		}
	}
}

static void store_frame(struct gw_eval *e, unsigned lane, uint64_t at, unsigned width, uint64_t v,
			gw_base base)
{
	if (!in_frame(e, at, width))
		return;
	for (unsigned i = 0; i < width; i++) {
		size_t cell = (size_t)(at + i) * GW_LANES + lane;

		e->frame[cell] = (uint8_t)(v >> (8 * i));
		e->frame_base[cell] = base;
		e->frame_place[cell] = (uint8_t)(i | width << 4);
	}
}

void gw_eval_forget_frame(struct gw_eval *e, uint32_t lanes, gw_base why)
{
	if (!e->frame)
		return;
	for (size_t at = 0; at < e->p->frame_bytes; at++)
		for (unsigned i = 0; i < GW_LANES; i++)
			if (lanes >> i & 1)
				e->frame_base[at * GW_LANES + i] = why;
}

/* How what lies at a place depends on distances, all its bytes having been stored together or not.
 */
static void frame_form(const struct gw_eval *e, const struct gw_value *a, unsigned width,
		       struct gw_form *out)
{
	uint64_t at = a->v[0];
	bool whole = true;

	out->bent = (uint8_t)(e->frame_dims | gw_form_dims(&a->form));
	if (!a->uniform || !in_frame(e, at, width)) {
		/* Any bytes at all. */
		for (size_t i = 0; !a->uniform && i < e->p->frame_bytes; i++)
			out->bent |= gw_form_dims(&e->frame_form[i]);
		return;
	}
	for (unsigned lane = 0; lane < GW_LANES; lane++)
		for (unsigned i = 0; i < width; i++)
			whole = whole &&
				e->frame_place[(at + i) * GW_LANES + lane] == (i | width << 4);
	if (whole && !out->bent) {
		*out = e->frame_form[at];
		return;
	}
	for (unsigned i = 0; i < width; i++)
		out->bent |= gw_form_dims(&e->frame_form[at + i]);
}

/* Remember the form of what is stored; where lanes store to several places, or only some of them
 * store, every dimension it depends on is held against all of the memory. */
static void keep_form(struct gw_eval *e, const struct gw_value *a, uint64_t offset, unsigned width,
		      const struct gw_value *x, uint32_t sure)
{
	uint8_t dims = (uint8_t)(gw_form_dims(&x->form) | gw_form_dims(&a->form));
	uint64_t at = a->v[0] + offset;

	if (!a->uniform || gw_form_dims(&a->form) || (e->live & ~sure)) {
		e->frame_dims |= dims;
		return;
	}
	for (unsigned i = 0; in_frame(e, at, width) && i < width; i++)
		e->frame_form[at + i] = x->form;
}

static bool is_local(enum gw_ir_space space)
{
	return space == IR_SPACE_LOCAL || space == IR_SPACE_FRAME;
}

static void store(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
		  const struct gw_value *a, enum gw_ir_space space, uint32_t sure, uint32_t maybe)
{
	const gw_ir_operand *uses = gw_ir_uses(e->p, insn);
	gw_base unknown = gw_unknown(GW_WHY_MEMORY, index);
	bool wild = insn->space == IR_SPACE_GENERIC && e->local_escapes;
	uint32_t anywhere = 0; /* lanes that may have stored to any place of theirs */

	if (!e->frame)
		return;
	for (unsigned n = 2; is_local(space) && n < insn->uses; n++)
		keep_form(e, a, (uint64_t)(n - 2) * insn->width, insn->width,
			  gw_eval_source(e, uses[n], &e->source[2]), sure);
	for (unsigned i = 0; i < GW_LANES; i++) {
		uint64_t at = a->v[gw_at(a, i)];

		if (!((sure | maybe) >> i & 1))
			continue;
		if (gw_is_unknown(a->base[gw_at(a, i)])) {
			anywhere |= wild || is_local(space) ? UINT32_C(1) << i : 0;
			continue;
		}
		for (unsigned n = 2; is_local(space) && n < insn->uses; n++) {
			const struct gw_value *x = gw_eval_source(e, uses[n], &e->source[2]);
			bool known = (sure >> i & 1) && insn->width <= 8;

			store_frame(e, i, at + (uint64_t)(n - 2) * insn->width, insn->width,
				    x->v[gw_at(x, i)], known ? x->base[gw_at(x, i)] : unknown);
		}
	}
	if (anywhere)
		gw_eval_forget_frame(e, anywhere, unknown);
}

/* A base that stands for what was loaded, when all lanes load it from one place. */
static gw_base new_base(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
			const struct gw_value *a, uint32_t mask, unsigned element)
{
	uint64_t v;
	gw_base b = GW_BASE_NONE;
	bool any = false;

	/* One base per execution: the others of a vector are plainly unknown. */
	if (element || insn->space == IR_SPACE_LOCAL || insn->space == IR_SPACE_FRAME ||
	    insn->flags & (IR_MEM_MATRIX | IR_MEM_TENSOR) ||
	    e->generation[index] == GW_GENERATIONS || index > GW_BASE_INSN)
		return gw_unknown(GW_WHY_MEMORY, index);
	for (unsigned i = 0; i < GW_LANES; i++) {
		if (!(mask >> i & 1))
			continue;
		if (gw_is_unknown(a->base[gw_at(a, i)]) ||
		    (any && (a->v[gw_at(a, i)] != v || a->base[gw_at(a, i)] != b)))
			return gw_unknown(GW_WHY_MEMORY, index);
		v = a->v[gw_at(a, i)];
		b = a->base[gw_at(a, i)];
		any = true;
	}
	return (gw_base)++e->generation[index] << 22 | index;
}

/* One element of a load, into the result. */
static void load_element(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
			 const struct gw_value *a, enum gw_ir_space space, uint32_t mask,
			 unsigned element, unsigned to)
{
	struct gw_value *out = &e->result;
	gw_base fresh = GW_BASE_NONE;

	gw_value_set(out, 0, GW_BASE_NONE);
	out->uniform = a->uniform && !is_local(space);
	for (unsigned i = 0; i < (out->uniform ? 1 : GW_LANES); i++) {
		unsigned from = gw_at(a, i);
		uint64_t at = a->v[from] + (uint64_t)element * insn->width;

		if (!out->uniform && !(mask >> i & 1))
			continue;
		if (insn->width > 8 || gw_is_unknown(a->base[from])) {
			out->base[i] = gw_unknown(GW_WHY_MEMORY, index);
			continue;
		}
		if (is_local(space)) {
			load_frame(e, i, at, insn->width, index, &out->v[i], &out->base[i]);
		} else if (!known_bytes(e, space, a->base[from], at, insn->width, &out->v[i])) {
			if (!fresh)
				fresh = new_base(e, insn, index, a, mask, element);
			out->base[i] = fresh;
			out->v[i] = 0;
			if (space == IR_SPACE_PARAM)
				out->base[i] = gw_unknown(GW_WHY_ARGUMENT, index);
			continue;
		}
		if (insn->flags & IR_MEM_SIGNED && !out->base[i])
			out->v[i] = (uint64_t)gw_signed_bits(out->v[i], 8u * insn->width);
		out->v[i] = gw_low_bits(out->v[i], to);
	}
	if (is_local(space) && e->frame) {
		struct gw_value at = {.uniform = a->uniform, .form = a->form};

		at.v[0] = a->v[0] + (uint64_t)element * insn->width;
		frame_form(e, &at, insn->width, &out->form);
	} else { /* what is at another address is another thing */
		out->form.bent = gw_form_dims(&a->form);
	}
}

static void load(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
		 const struct gw_value *a, enum gw_ir_space space, uint32_t sure, uint32_t maybe)
{
	gw_base why = gw_unknown(GW_WHY_BRANCH, index);

	for (unsigned n = 0; n < insn->defs; n++) {
		gw_ir_operand def = gw_ir_defs(e->p, insn)[n];

		if (def == GW_IR_NONE || e->slot[def] == GW_IR_NONE)
			continue;
		if (insn->op == IR_ATOM)
			gw_value_set(&e->result, 0, gw_unknown(GW_WHY_ATOMIC, index));
		else
			load_element(e, insn, index, a, space, sure | maybe, n, e->p->widths[def]);
		gw_eval_write(e, def, &e->result, sure, maybe, why);
	}
}

void gw_eval_memory(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index, uint32_t sure,
		    uint32_t maybe)
{
	const bool claims = e->claims && insn->op == IR_LD && insn->space == IR_SPACE_SHARED;
	enum gw_ir_space space;
	struct gw_value a;

	e->spaces[index] |= (uint16_t)(1u << insn->space);
	if (!e->sink && !e->wanted[index] && insn->space != IR_SPACE_GENERIC && !claims)
		return;
	find_address(e, insn, &a, sure | maybe, &space);
	if (claims)
		gw_eval_claim_load(e, &a, (unsigned)__builtin_ctz(sure | maybe));
	if (insn->space == IR_SPACE_GENERIC)
		e->spaces[index] =
			(uint16_t)((e->spaces[index] & ~(1u << IR_SPACE_GENERIC)) | 1u << space);
	if (e->sink && insn->space != IR_SPACE_FRAME)
		tell_sink(e, insn, index, &a, space, sure, maybe);
	if (insn->op == IR_ST)
		store(e, insn, index, &a, space, sure, maybe);
	else if (insn->defs)
		load(e, insn, index, &a, space, sure, maybe);
}
