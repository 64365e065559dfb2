/*
 * Where a decision stays the same. A value depends on the distance in warps, in blocks (x, y, z)
 * and in iterations of the loops being stood for from where it was computed; a bound says that a
 * linear form of these distances stays within two limits. The domain keeps the box of distances in
 * which all bounds hold.
 */
#ifndef GW_CODE_EVAL_DOMAIN_H
#define GW_CODE_EVAL_DOMAIN_H

#include "predictor/core/arena.h"
#include "predictor/code/eval/eval.h"

/* A difference of two 64-bit numbers, or a few such products. */
__extension__ typedef __int128 gw_wide;

enum gw_dim { GW_DIM_WARP, GW_DIM_X, GW_DIM_Y, GW_DIM_Z, GW_DIM_LOOP, GW_BOX = GW_DIM_LOOP };
_Static_assert((int)GW_BOX == (int)GW_EVAL_AXES, "the box is that of the axes");
enum { GW_DIMS = GW_BOX + GW_EVAL_LOOPS, GW_BOUNDS_MAX = 256 };

/** How a value depends on the distances. */
struct gw_form {
	int64_t d[GW_DIMS]; /**< growth of the value per unit of each, modulo its width */
	uint8_t bent;       /**< bit of each dimension on which it depends in another way */
};

/** `form` (not bent) stays within [low, high]; it is 0 here, so low <= 0 <= high. */
struct gw_within {
	struct gw_form form;
	gw_wide low, high;
};

/** What is done about a loop's dimension. */
enum gw_loop_level { GW_LEVEL_OFF, GW_LEVEL_PROBE, GW_LEVEL_FIXED };

/** The box, and what awaits the extent of a loop. */
struct gw_domain {
	int64_t high[GW_BOX];          /**< distances 0 to high, each */
	uint8_t level[GW_EVAL_LOOPS];  /**< enum gw_loop_level */
	int64_t extent[GW_EVAL_LOOPS]; /**< of a fixed level: distances 0 to extent */
	struct gw_within *bounds[GW_EVAL_LOOPS];
	uint32_t bound_count[GW_EVAL_LOOPS];
	bool overflow[GW_EVAL_LOOPS]; /**< more bounds than there is room for */
};

/** Room for the bounds; false when @p arena has none. */
bool gw_domain_init(struct gw_domain *d, struct gw_arena *arena);

/** Begin a warp: the box is @p high, no loop is stood for. */
void gw_domain_begin(struct gw_domain *d, const int64_t high[GW_BOX]);

/** Dimensions of @p form that matter: those with a growth or a bend. */
uint8_t gw_form_dims(const struct gw_form *form);

/** Dimensions in which there is more than distance 0, or may be: the others matter to nothing. */
uint8_t gw_domain_open(const struct gw_domain *d);

/** The bound holds all over the domain as it is (a probed loop's extent not being known yet). */
bool gw_domain_holds(const struct gw_domain *d, const struct gw_within *bound);

/** Make it hold: the box shrinks, or a probed loop's extent will. */
void gw_domain_apply(struct gw_domain *d, const struct gw_within *bound);

/** Keep to distance 0 in the dimensions of the mask @p dims. */
void gw_domain_pin(struct gw_domain *d, uint8_t dims);

/** Begin to probe loop level @p level. */
void gw_domain_probe(struct gw_domain *d, unsigned level);

/** End the probe: the greatest distance at which all bounds hold, at most @p most; the level is
 *  then fixed to it, and the box shrunk to where they hold throughout. */
int64_t gw_domain_fix(struct gw_domain *d, unsigned level, int64_t most);

/** Fix a level to distances 0 to @p extent. */
void gw_domain_set(struct gw_domain *d, unsigned level, int64_t extent);

/** The level is no longer stood for. */
void gw_domain_off(struct gw_domain *d, unsigned level);

#endif
