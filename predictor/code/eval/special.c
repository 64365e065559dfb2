/* Special registers, and exchange between lanes. */
#include "predictor/code/eval/state.h"

#include <string.h>

static uint32_t component(struct gw_dim3 d, unsigned i)
{
	return i == 0 ? d.x : i == 1 ? d.y : d.z;
}

/* Index @p which of the threads of this warp. From warp to warp the linear index grows by 32. An
 * extent that divides that growth leaves its own index as it is and hands the quotient outwards;
 * the outermost one that isn't 1 grows by what is left; others wrap around. */
static void thread_index(const struct gw_eval *e, unsigned which, struct gw_value *out)
{
	struct gw_dim3 n = e->launch->config.block;
	uint64_t step = GW_LANES, outer = gw_dim3_count(n);

	out->uniform = false;
	for (unsigned i = 0; i < GW_LANES; i++) {
		uint64_t t = (uint64_t)e->warp * GW_LANES + i, xy = (uint64_t)n.x * n.y;

		out->v[i] = which == 0 ? t % n.x : which == 1 ? t / n.x % n.y : t / xy;
		out->base[i] = GW_BASE_NONE;
	}
	for (unsigned i = 0; i <= which; i++) {
		uint64_t extent = component(n, i);

		outer /= extent;
		if (outer == 1) {
			out->form.d[GW_DIM_WARP] = i == which ? (int64_t)step : 0;
			return;
		}
		if (step % extent) {
			out->form.bent = 1u << GW_DIM_WARP;
			return;
		}
		step /= extent;
	}
}

/* A block's index, its cluster's or its place in that. */
static void block_index(const struct gw_eval *e, unsigned which, unsigned kind,
			struct gw_value *out)
{
	uint64_t at = component(e->block, which);
	uint64_t per = component(e->launch->config.cluster, which);

	per = per ? per : 1;
	out->v[0] = kind == 0 ? at : kind == 1 ? at / per : at % per;
	if (kind == 0 || (kind == 1 && per == 1))
		out->form.d[GW_DIM_X + which] = 1;
	else if (per != 1)
		out->form.bent = (uint8_t)(1u << (GW_DIM_X + which));
}

static void cluster_rank(const struct gw_eval *e, struct gw_value *out)
{
	struct gw_dim3 c = e->launch->config.cluster, b = e->block;

	if (gw_dim3_count(c) <= 1)
		return;
	out->v[0] = b.x % c.x + c.x * (b.y % c.y + (uint64_t)c.y * (b.z % c.z));
	out->form.bent = 1u << GW_DIM_X | 1u << GW_DIM_Y | 1u << GW_DIM_Z;
}

static void lane_mask(enum gw_ir_sreg sreg, struct gw_value *out)
{
	out->uniform = false;
	for (unsigned i = 0; i < GW_LANES; i++) {
		uint32_t bit = UINT32_C(1) << i, below = bit - 1;

		out->base[i] = GW_BASE_NONE;
		switch (sreg) {
		case IR_SREG_LANEID:
			out->v[i] = i;
			break;
		case IR_SREG_LANEMASK_EQ:
			out->v[i] = bit;
			break;
		case IR_SREG_LANEMASK_LT:
			out->v[i] = below;
			break;
		case IR_SREG_LANEMASK_LE:
			out->v[i] = below | bit;
			break;
		case IR_SREG_LANEMASK_GT:
			out->v[i] = (uint32_t) ~(below | bit);
			break;
		default:
			out->v[i] = (uint32_t)~below;
		}
	}
}

/* Extents: the same in every thread. */
static bool extent(const struct gw_eval *e, enum gw_ir_sreg sreg, uint64_t *v)
{
	const struct gw_config *c = &e->launch->config;
	static const struct gw_dim3 one = {1, 1, 1};
	struct gw_dim3 cluster = c->cluster.x ? c->cluster : one;
	unsigned i = (unsigned)sreg;

	if (i - IR_SREG_NTID_X < 3)
		*v = component(c->block, i - IR_SREG_NTID_X);
	else if (i - IR_SREG_NCTAID_X < 3)
		*v = component(c->grid, i - IR_SREG_NCTAID_X);
	else if (i - IR_SREG_NCLUSTERID_X < 3)
		*v = component(c->grid, i - IR_SREG_NCLUSTERID_X) /
		     component(cluster, i - IR_SREG_NCLUSTERID_X);
	else if (i - IR_SREG_CLUSTER_NCTAID_X < 3)
		*v = component(cluster, i - IR_SREG_CLUSTER_NCTAID_X);
	else if (sreg == IR_SREG_CLUSTER_NCTARANK)
		*v = gw_dim3_count(cluster);
	else if (sreg == IR_SREG_NWARPID)
		*v = (gw_dim3_count(c->block) + GW_LANES - 1) / GW_LANES;
	else if (sreg == IR_SREG_DYNAMIC_SMEM)
		*v = c->dynamic_shared;
	else
		return false;
	return true;
}

void gw_eval_sreg(struct gw_eval *e, enum gw_ir_sreg sreg, struct gw_value *out)
{
	unsigned i = (unsigned)sreg;
	uint64_t v;

	gw_value_set(out, 0, GW_BASE_NONE);
	if (extent(e, sreg, &v)) {
		out->v[0] = v;
	} else if (i - IR_SREG_TID_X < 3) {
		thread_index(e, i - IR_SREG_TID_X, out);
	} else if (i - IR_SREG_CTAID_X < 3) {
		block_index(e, i - IR_SREG_CTAID_X, 0, out);
	} else if (i - IR_SREG_CLUSTERID_X < 3) {
		block_index(e, i - IR_SREG_CLUSTERID_X, 1, out);
	} else if (i - IR_SREG_CLUSTER_CTAID_X < 3) {
		block_index(e, i - IR_SREG_CLUSTER_CTAID_X, 2, out);
	} else if (sreg == IR_SREG_CLUSTER_CTARANK) {
		cluster_rank(e, out);
	} else if (sreg == IR_SREG_WARPID) {
		out->v[0] = e->warp;
		out->form.d[GW_DIM_WARP] = 1;
	} else if (sreg == IR_SREG_UNKNOWN) {
		out->base[0] = gw_unknown(GW_WHY_SREG, 0);
	} else {
		lane_mask(sreg, out);
	}
}

/* The lane whose value lane @p lane gets; *in_range: it is one of the segment. */
static unsigned shuffle_source(unsigned mode, unsigned lane, uint64_t b, uint64_t c, bool *in_range)
{
	unsigned by = (unsigned)b & 31, clamp = (unsigned)c & 31, segment = (unsigned)(c >> 8) & 31;
	unsigned most = (lane & segment) | (clamp & ~segment & 31), least = lane & segment, from;

	switch (mode) {
	case 0:
		from = lane - by;
		*in_range = (int)from >= (int)most;
		break;
	case 1:
		from = lane + by;
		*in_range = from <= most;
		break;
	case 2:
		from = lane ^ by;
		*in_range = from <= most;
		break;
	default:
		from = least | (by & ~segment & 31);
		*in_range = from <= most;
	}
	return *in_range ? from & 31 : lane;
}

void gw_eval_shuffle(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index,
		     uint32_t mask)
{
	const gw_ir_operand *uses = gw_ir_uses(e->p, insn), *defs = gw_ir_defs(e->p, insn);
	const struct gw_value *a = gw_eval_source(e, uses[0], &e->source[0]);
	const struct gw_value *b = gw_eval_source(e, uses[1], &e->source[1]);
	const struct gw_value *c = gw_eval_source(e, uses[2], &e->source[2]);
	struct gw_value *out = &e->result, *ok = &e->source[3];
	bool steady = !gw_form_dims(&b->form) && !gw_form_dims(&c->form);

	gw_value_set(ok, 0, GW_BASE_NONE);
	gw_value_set(out, 0, GW_BASE_NONE);
	gw_value_spread(ok);
	gw_value_spread(out);
	for (unsigned i = 0; i < GW_LANES; i++) {
		bool in_range;
		unsigned from;

		if (b->base[gw_at(b, i)] || c->base[gw_at(c, i)]) {
			ok->base[i] = out->base[i] = gw_unknown(GW_WHY_LANE, index);
			continue;
		}
		from = shuffle_source(insn->aux, i, b->v[gw_at(b, i)], c->v[gw_at(c, i)],
				      &in_range);
		ok->v[i] = in_range;
		out->v[i] = a->v[gw_at(a, from)];
		out->base[i] = a->base[gw_at(a, from)];
		if (!(mask >> from & 1))
			out->base[i] = gw_unknown(GW_WHY_LANE, index);
	}
	out->form = a->form;
	if (!steady)
		out->form.bent = (uint8_t)(gw_form_dims(&a->form) | gw_form_dims(&b->form) |
					   gw_form_dims(&c->form));
	ok->form.bent = (uint8_t)(gw_form_dims(&b->form) | gw_form_dims(&c->form));
	if (out->form.bent)
		memset(out->form.d, 0, sizeof(out->form.d));
	gw_eval_write(e, defs[0], out, mask, 0, GW_BASE_NONE);
	gw_eval_write(e, defs[1], ok, mask, 0, GW_BASE_NONE);
}

/* A vote among the lanes that are here: known when those known decide it, or when all are. */
static gw_base vote(unsigned mode, uint32_t mask, uint32_t known, uint32_t yes, gw_base unknown,
		    uint64_t *v)
{
	bool all_known = known == mask;

	*v = 0;
	switch (mode) {
	case 0:
		*v = yes == mask;
		return all_known || (known & ~yes) ? GW_BASE_NONE : unknown;
	case 1:
		*v = yes != 0;
		return all_known || yes ? GW_BASE_NONE : unknown;
	case 2:
		*v = yes == mask || !yes;
		return all_known || (yes && (known & ~yes)) ? GW_BASE_NONE : unknown;
	default:
		*v = yes;
		return all_known ? GW_BASE_NONE : unknown;
	}
}

void gw_eval_vote(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index, uint32_t mask)
{
	const struct gw_value *a = &e->result;
	gw_base unknown = gw_unknown(GW_WHY_LANE, index), base;
	uint32_t known = mask, yes = mask;
	uint8_t dims = 0;
	uint64_t v;

	if (insn->op == IR_VOTE) {
		a = gw_eval_source(e, gw_ir_uses(e->p, insn)[0], &e->source[0]);
		known = gw_value_known(a, mask, &yes);
		dims = gw_form_dims(&a->form);
		for (unsigned i = 0; i < GW_LANES; i++)
			if ((mask & ~known) >> i & 1)
				unknown = a->base[gw_at(a, i)];
	}
	base = vote(insn->op == IR_VOTE ? insn->aux : 3u, mask, known, yes, unknown, &v);
	/* Lanes that only may be here make the vote unknown. */
	if (mask & ~e->certain)
		base = gw_unknown(GW_WHY_BRANCH, index);
	gw_value_set(&e->result, v, base);
	e->result.form.bent = dims;
}

void gw_eval_elect(struct gw_eval *e, const struct gw_ir_insn *insn, uint32_t index, uint32_t mask)
{
	const gw_ir_operand *defs = gw_ir_defs(e->p, insn);
	unsigned leader = (unsigned)__builtin_ctz(mask ? mask : 1);
	gw_base base = mask & ~e->certain ? gw_unknown(GW_WHY_BRANCH, index) : GW_BASE_NONE;

	gw_value_set(&e->result, leader, base);
	gw_eval_write(e, defs[0], &e->result, mask, 0, GW_BASE_NONE);
	gw_value_spread(&e->result);
	for (unsigned i = 0; i < GW_LANES; i++)
		e->result.v[i] = i == leader;
	gw_eval_write(e, defs[1], &e->result, mask, 0, GW_BASE_NONE);
}
