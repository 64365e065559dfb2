#include "predictor/code/memory/shape.h"

#include <string.h>

enum {
	BASE_BITS = 44,               /* an unknown base lies in 16 TiB of its own */
	LOCAL_WORD = 4,               /* bytes of a lane that lie together in local memory */
	LOCAL_OFFSET = (1 << 24) - 1, /* of an address, what can be one of local memory */
	MATRIX_ROWS = 8,              /* of a matrix: each is a lane's */
	ROW_BYTES = 16,
};

/* The request that @p access makes the first time: false when a lane's address is not known.
 * Numbered unknown bases are distinguished and taken for aligned to 256 bytes, as allocations are.
 */
static bool request_of(const struct gw_eval_access *access, struct gw_request *out)
{
	uint32_t bytes = (uint32_t)access->op->width * access->op->elements;

	*out = (struct gw_request){.active = access->active, .bytes = bytes};
	if (access->op->flags & IR_MEM_MATRIX) {
		out->bytes = ROW_BYTES;
		if (access->op->elements < GW_REQUEST_LANES / MATRIX_ROWS)
			out->active &= (1U << MATRIX_ROWS * access->op->elements) - 1;
	}
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		if (!(out->active >> lane & 1))
			continue;
		if (access->base[lane] >= UINT32_C(1) << (64 - BASE_BITS))
			return false;
		out->address[lane] =
			access->address[lane] + ((uint64_t)access->base[lane] << BASE_BITS);
	}
	return out->active && gw_request_valid(out);
}

/* The share of each offset below a line, after @p count steps of @p step bytes from where it was.
 */
static void spread_offsets(double share[GW_LINE_BYTES], uint64_t count, int64_t step)
{
	uint64_t by = (uint64_t)step % GW_LINE_BYTES;
	double next[GW_LINE_BYTES] = {0};
	unsigned taken[GW_LINE_BYTES], some = 0;

	if (!by || count < 2)
		return;
	for (unsigned i = 0; i < GW_LINE_BYTES; i++)
		if (share[i] > 0)
			taken[some++] = i;
	for (uint64_t k = 0; k < GW_LINE_BYTES && k < count; k++) {
		/* Steps k, k + 128, k + 256, ... lie at the same offset. */
		double part = (double)((count - k - 1) / GW_LINE_BYTES + 1) / (double)count;

		for (unsigned n = 0; n < some; n++)
			next[(taken[n] + k * by) % GW_LINE_BYTES] += share[taken[n]] * part;
	}
	memcpy(share, next, sizeof(next));
}

/* How often each offset below a line occurs among the iterations that @p access stands for, and
 * among the warps of @p box where it stands for several (NULL: for one): what sectors and lines
 * depend on. Steps that aren't known leave every iteration where the first is. A box is taken to
 * reach as far as the grid does. */
static void offsets_of(const struct gw_eval_access *access, const struct gw_access_box *box,
		       double share[GW_LINE_BYTES])
{
	for (unsigned i = 0; i < GW_LINE_BYTES; i++)
		share[i] = i == 0;
	for (uint32_t level = 0; level < access->repeats; level++)
		if (access->repeat[level].linear)
			spread_offsets(share, access->repeat[level].count,
				       access->repeat[level].step);
	if (!box)
		return;
	spread_offsets(share, box->warps, access->grows[0]);
	spread_offsets(share, box->grid.x, access->grows[1]);
	spread_offsets(share, box->grid.y, access->grows[2]);
	spread_offsets(share, box->grid.z, access->grows[3]);
}

static void coalescing_of(struct gw_coalescing *out, const struct gw_eval_access *access,
			  const struct gw_access_box *box, const struct gw_request *r, double times)
{
	double share[GW_LINE_BYTES];

	*out = (struct gw_coalescing){0};

	offsets_of(access, box, share);
	for (unsigned offset = 0; offset < GW_LINE_BYTES; offset++) {
		struct gw_request moved;

		if (!(share[offset] > 0))
			continue;
		moved = *r;
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
			moved.address[lane] += offset;
		gw_coalescing_add(out, &moved, times * share[offset]);
	}
}

/* The same request a number of lines further on, in the same loops and, where it is of a @p box,
 * with the same growth. */
static bool same_shape(const struct gw_access_shape *s, const struct gw_eval_access *access,
		       bool box, const struct gw_request *r)
{
	unsigned first = (unsigned)__builtin_ctz(r->active);
	uint64_t away = r->address[first] - s->request.address[first], apart = 0;

	if (s->request.active != r->active || s->request.bytes != r->bytes ||
	    away % GW_LINE_BYTES || s->repeats != access->repeats)
		return false;
	for (uint32_t i = 0; i < s->repeats; i++)
		if (s->repeat[i].count != access->repeat[i].count ||
		    s->repeat[i].step != access->repeat[i].step ||
		    s->repeat[i].linear != access->repeat[i].linear)
			return false;
	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		if (s->grows[i] != (box ? access->grows[i] : 0))
			return false;
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++)
		apart |= r->active >> lane & 1 ? r->address[lane] - s->request.address[lane] - away
					       : 0;
	return !apart;
}

static void shape_of(struct gw_access_shape *s, const struct gw_access_box *box,
		     const struct gw_gather_access *a, const struct gw_eval_access *access,
		     const struct gw_request *r, double times)
{
	if (same_shape(s, access, box != NULL, r))
		return;
	s->request = *r;
	s->repeats = access->repeats;
	memcpy(s->repeat, access->repeat, sizeof(s->repeat));
	for (unsigned i = 0; i < GW_EVAL_AXES; i++)
		s->grows[i] = box ? access->grows[i] : 0;
	if (access->space == IR_SPACE_GLOBAL)
		coalescing_of(&s->coalescing, access, box, r, times);
	if (a->atomic)
		s->passes = (struct gw_shared_passes){.wavefronts = gw_request_atomic(r)};
	else if (access->space == IR_SPACE_CONST)
		s->passes = (struct gw_shared_passes){.wavefronts = gw_request_words(r)};
	else
		gw_request_shared(r, &s->passes);
}

/* The data stage of L1 is shared memory's too, and so are its banks. */
static void add_passes(struct gw_gather_access *a, const struct gw_request *r,
		       const struct gw_shared_passes *passes, double times)
{
	for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
		if (!(r->active >> lane & 1))
			continue;
		a->low = r->address[lane] < a->low ? r->address[lane] : a->low;
		a->high = r->address[lane] > a->high ? r->address[lane] : a->high;
	}
	a->wavefronts += passes->wavefronts * times;
	a->conflicts += passes->conflicts * times;
}

/* Local memory of a warp lies word by word, the lanes' side by side: lanes that agree on an
 * address share its line. */
static void add_local(struct gw_gather_access *a, const struct gw_request *r, double times)
{
	struct gw_request placed = *r;
	unsigned sectors = 0;

	placed.bytes = r->bytes < LOCAL_WORD ? r->bytes : LOCAL_WORD;
	for (uint32_t at = 0; at < r->bytes; at += placed.bytes) {
		for (unsigned lane = 0; lane < GW_REQUEST_LANES; lane++) {
			uint64_t offset = (r->address[lane] & LOCAL_OFFSET) + at;

			placed.address[lane] = offset / LOCAL_WORD * GW_LINE_BYTES +
					       lane * LOCAL_WORD + offset % LOCAL_WORD;
		}
		sectors += gw_request_sectors(&placed);
	}
	a->sectors += sectors * times;
	a->wavefronts += (r->bytes + LOCAL_WORD - 1) / LOCAL_WORD * times;
}

static bool steps_known(const struct gw_eval_access *access)
{
	for (uint32_t i = 0; i < access->repeats; i++)
		if (!access->repeat[i].linear && access->repeat[i].count > 1)
			return false;
	return true;
}

static bool has_steps(const struct gw_access_box *box, const struct gw_eval_access *access)
{
	for (uint32_t i = 0; i < access->repeats; i++)
		if (access->repeat[i].step && access->repeat[i].count > 1)
			return true;
	for (unsigned i = 0; box && i < GW_EVAL_AXES; i++)
		if (access->grows[i])
			return true;
	return false;
}

bool gw_access_shape_add(struct gw_access_shape *last, const struct gw_access_box *box,
			 struct gw_gather_access *a, const struct gw_eval_access *access,
			 struct gw_request *r)
{
	double times = (double)gw_eval_times(access);

	a->space = (uint8_t)access->space;
	a->maybe += access->certain == access->active ? 0 : times;
	a->lanes += times * __builtin_popcount(access->active);
	if (!request_of(access, r)) {
		a->uncounted += times;
		return false;
	}
	a->requests += times;
	a->assumed += steps_known(access) ? 0 : times;
	if (access->space == IR_SPACE_LOCAL) {
		add_local(a, r, times);
		return false;
	}
	shape_of(last, box, a, access, r, times);
	add_passes(a, r, &last->passes, times);
	if (has_steps(box, access))
		a->high = UINT64_MAX;
	if (access->space == IR_SPACE_GLOBAL)
		gw_coalescing_merge(&a->coalescing, &last->coalescing, 1);
	return true;
}
