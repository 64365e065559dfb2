#include "predictor/code/eval/domain.h"

#include <string.h>

/* Far beyond any loop that ends, and products with it still fit a gw_wide. */
#define EXTENT_MAX (INT64_C(1) << 60)

bool gw_domain_init(struct gw_domain *d, struct gw_arena *arena)
{
	memset(d, 0, sizeof(*d));
	for (unsigned l = 0; l < GW_EVAL_LOOPS; l++) {
		d->bounds[l] = gw_arena_room(arena, GW_BOUNDS_MAX, sizeof(*d->bounds[l]));
		if (!d->bounds[l])
			return false;
	}
	return true;
}

void gw_domain_begin(struct gw_domain *d, const int64_t high[GW_BOX])
{
	memcpy(d->high, high, sizeof(d->high));
	for (unsigned l = 0; l < GW_EVAL_LOOPS; l++)
		gw_domain_off(d, l);
}

uint8_t gw_form_dims(const struct gw_form *form)
{
	const int64_t *d = form->d;
	uint8_t dims = form->bent;

	_Static_assert(GW_DIMS == 8, "all of them");
	if (!(d[0] | d[1] | d[2] | d[3] | d[4] | d[5] | d[6] | d[7]))
		return dims;
	for (unsigned i = 0; i < GW_DIMS; i++)
		if (form->d[i])
			dims |= (uint8_t)(1u << i);
	return dims;
}

uint8_t gw_domain_open(const struct gw_domain *d)
{
	uint8_t dims = (uint8_t)(UINT8_MAX << GW_BOX);

	for (unsigned i = 0; i < GW_BOX; i++)
		if (d->high[i] > 0)
			dims |= (uint8_t)(1u << i);
	return dims;
}

/* Take dimension @p i, of distances 0 to @p extent, out of a bound by assuming its worst. */
static void absorb(struct gw_within *b, unsigned i, int64_t extent)
{
	gw_wide most = (gw_wide)b->form.d[i] * extent;

	if (most > 0)
		b->high -= most;
	else
		b->low -= most;
	b->form.d[i] = 0;
}

bool gw_domain_holds(const struct gw_domain *d, const struct gw_within *bound)
{
	struct gw_within b = *bound;

	for (unsigned i = 0; i < GW_BOX; i++)
		absorb(&b, i, d->high[i]);
	for (unsigned l = 0; l < GW_EVAL_LOOPS; l++) {
		if (d->level[l] == GW_LEVEL_PROBE && b.form.d[GW_BOX + l])
			return false;
		absorb(&b, GW_BOX + l, d->level[l] == GW_LEVEL_FIXED ? d->extent[l] : 0);
	}
	return !b.form.bent && b.low <= 0 && b.high >= 0;
}

/* Shrink one dimension so that its share of the excess over a limit goes away; what is left. */
static gw_wide shrink(int64_t *high, int64_t growth, gw_wide excess)
{
	gw_wide share = (gw_wide)growth * *high, kept;

	if (excess <= 0 || share <= 0)
		return excess;
	kept = share > excess ? (share - excess) / growth : 0;
	excess -= share - kept * growth;
	*high = (int64_t)kept;
	return excess;
}

/* Blocks go before warps, and outer indices before inner ones: the warps of a block, and the
 * blocks of a row, are what is best stood for together. */
static void shrink_box(struct gw_domain *d, const struct gw_within *b)
{
	gw_wide most = 0, least = 0;

	for (unsigned i = 0; i < GW_BOX; i++) {
		gw_wide at = (gw_wide)b->form.d[i] * d->high[i];

		if (at > 0)
			most += at;
		else
			least += at;
	}
	most -= b->high > 0 ? b->high : 0;
	least = (b->low < 0 ? b->low : 0) - least;
	for (unsigned i = GW_BOX; i-- > 0;) {
		int64_t growth = b->form.d[i];

		if (growth > 0)
			most = shrink(&d->high[i], growth, most);
		else if (growth < 0 && growth != INT64_MIN)
			least = shrink(&d->high[i], -growth, least);
		else if (growth)
			d->high[i] = 0;
	}
}

void gw_domain_apply(struct gw_domain *d, const struct gw_within *bound)
{
	struct gw_within b = *bound;

	for (unsigned l = GW_EVAL_LOOPS; l-- > 0;) {
		if (!b.form.d[GW_BOX + l])
			continue;
		if (d->level[l] != GW_LEVEL_PROBE) {
			absorb(&b, GW_BOX + l, d->level[l] == GW_LEVEL_FIXED ? d->extent[l] : 0);
			continue;
		}
		if (d->bound_count[l] < GW_BOUNDS_MAX)
			d->bounds[l][d->bound_count[l]++] = b;
		else
			d->overflow[l] = true;
		return;
	}
	shrink_box(d, &b);
}

void gw_domain_pin(struct gw_domain *d, uint8_t dims)
{
	for (unsigned i = 0; i < GW_DIMS; i++) {
		struct gw_within b = {.low = 0, .high = 0};

		if (!(dims >> i & 1))
			continue;
		b.form.d[i] = 1;
		gw_domain_apply(d, &b);
	}
}

void gw_domain_probe(struct gw_domain *d, unsigned level)
{
	d->level[level] = GW_LEVEL_PROBE;
	d->bound_count[level] = 0;
	d->overflow[level] = false;
}

int64_t gw_domain_fix(struct gw_domain *d, unsigned level, int64_t most)
{
	gw_wide extent = most < EXTENT_MAX ? most : EXTENT_MAX;
	uint32_t count = d->bound_count[level];

	if (d->overflow[level])
		extent = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct gw_within *b = &d->bounds[level][i];
		int64_t growth = b->form.d[GW_BOX + level];
		gw_wide here = growth > 0 ? b->high / growth : b->low / growth;

		if (here < extent)
			extent = here > 0 ? here : 0;
	}
	gw_domain_set(d, level, (int64_t)extent);
	/* A bound waits in the list of the innermost probed level it depends on; applied now, it
	 * goes on to an outer one or to the box. */
	d->bound_count[level] = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct gw_within b = d->bounds[level][i];

		gw_domain_apply(d, &b);
	}
	return (int64_t)extent;
}

void gw_domain_set(struct gw_domain *d, unsigned level, int64_t extent)
{
	d->level[level] = GW_LEVEL_FIXED;
	d->extent[level] = extent;
}

void gw_domain_off(struct gw_domain *d, unsigned level)
{
	d->level[level] = GW_LEVEL_OFF;
	d->bound_count[level] = 0;
	d->overflow[level] = false;
}
