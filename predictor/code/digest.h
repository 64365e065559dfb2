/*
 * The argument hash: of those words of a launch's parameters that the kernel's control flow depends
 * on (trip counts, predicates of blocks and of memory accesses), and of strides. It distinguishes
 * launches of one grid whose arguments make them do different work.
 *
 * The layout (struct gw_digest_plan) lists these words. It is derived from a kernel's code;
 * the launch path hashes them. Configurations hold the hash instead of the arguments.
 */
#ifndef GW_CODE_DIGEST_H
#define GW_CODE_DIGEST_H

#include "predictor/code/ir/ir.h"
#include "predictor/code/binary/kernel.h"

#include <string.h>

enum {
	GW_DIGEST_WORDS = 16,  /**< of a layout: each costs a launch some ten instructions … */
	GW_DIGEST_STRIDES = 8, /**< … and strides come beside others up to so many */
	GW_DIGEST_PROVISIONAL = 16, /**< words of a provisional one (digest_provisional.h) */
	GW_DIGEST_MOST = 24,        /**< words of any, tensor maps included */
	GW_DIGEST_PARAMS = 2048,    /**< parameters; a kernel with more has no layout */
	GW_DIGEST_MAP = 56,       /**< bytes of a tensor map that are hashed: all but the address */
	GW_DIGEST_BYTES = 32768,  /**< size of the parameters that is analysed; the limit of CUDA */
	GW_DIGEST_ROUGH = 1 << 9, /**< flag of a size up to 8: of the number, its highest bit … */
	GW_DIGEST_ROUGH_BITS = 3, /**< … and so many below it: steps of an eighth at most */
};

/** A piece of one parameter. */
struct gw_digest_word {
	uint16_t param;  /**< index of the parameter, in order of declaration */
	uint16_t at;     /**< bytes from the start of that parameter */
	uint16_t offset; /**< bytes from the start of all */
	uint16_t size;   /**< 1, 2, 4 or 8 bytes, or GW_DIGEST_MAP */
};

/** A word of 4 bytes, or those of 8 bytes that follow each other in one parameter. */
struct gw_digest_span {
	uint16_t param; /**< its index, and GW_DIGEST_PARAMS for each word after the first */
	uint16_t at;    /**< as in struct gw_digest_word */
};

/**
 * The layout of a kernel's argument hash. Words of 4 bytes come first, then those of 8, each by
 * offset, so that hashing needs no test of each word's size. What a launch reads comes first and is
 * short: what the driver does between launches throws it out of the near caches, and most layouts
 * are one line that way.
 */
struct gw_digest_plan {
	_Alignas(64) uint16_t end; /**< bytes of the parameters up to the last word's end */
	uint8_t count;             /**< of words; 0: there is none */
	uint8_t wide;              /**< those of 4 or 8 bytes; others come behind them */
	uint8_t fours;             /**< spans of 4 bytes, which come first */
	uint8_t spans;             /**< all of them: words of 4 or 8 bytes */
	bool provisional;          /**< made without the code: hashed by digest_provisional.h */
	struct gw_digest_span span[GW_DIGEST_MOST];
	struct gw_digest_word word[GW_DIGEST_MOST]; /**< the same, and all others */
};

_Static_assert(offsetof(struct gw_digest_plan, span[14]) == 64, "14 spans come with one line");

/** Derive all but `word`, `count`, `end` and `provisional` of @p plan from its words. */
void gw_digest_plan_spans(struct gw_digest_plan *plan);

struct gw_eval_block; /* eval/eval.h */

/** gw_digest_plan_make() of those launches that run the blocks that @p ran counts (NULL: of all):
 * a structure may have room for more dimensions than it is said to have. */
const char *gw_digest_plan_run(const struct gw_ir_program *program, const struct gw_eval_block *ran,
			       const struct gw_code_param *param, uint32_t count,
			       struct gw_arena *arena, struct gw_digest_plan *plan);

/**
 * Derive the layout of @p program, whose @p count parameters are laid out by @p param. Words that
 * are also the base of an address are pointers and left out. Where there are too many words, those
 * of control flow (up to GW_DIGEST_WORDS) go before strides (up to GW_DIGEST_STRIDES in all), and
 * lower offsets first. Tensor maps that copies go through come beside these, all but their address.
 * Returns NULL, or a static text of why there is no layout. Working memory comes from @p arena.
 */
static inline const char *gw_digest_plan_make(const struct gw_ir_program *program,
					      const struct gw_code_param *param, uint32_t count,
					      struct gw_arena *arena, struct gw_digest_plan *plan)
{
	return gw_digest_plan_run(program, NULL, param, count, arena, plan);
}

struct gw_reach; /* ir/reach.h */

/** What a map among the parameters says of its tensor, but for the address. May come several times.
 */
typedef void gw_digest_map_found(void *arg, const struct gw_digest_word *map);

/**
 * Find the maps that the copies of a program go through among its @p count parameters, which are
 * laid out by @p param. @p r is a search on the program that has ended: its marks are used here.
 */
void gw_digest_maps(struct gw_reach *r, const struct gw_code_param *param, uint32_t count,
		    gw_digest_map_found *found, void *arg);

/** The bit that a provisional hash has and no other. */
#define GW_DIGEST_IS_PROVISIONAL UINT32_C(0x80000000)

/** Begin a hash, add @p size bytes (1, 2, 4 or a multiple of 8), and end it: never 0. */
static inline uint64_t gw_digest_begin(void)
{
	return UINT64_C(0x9e3779b97f4a7c15);
}

/** The highest bit of a number of @p size bytes, and the @p more bits below it. */
uint64_t gw_digest_magnitude(const unsigned char *from, unsigned size, int more);

/** Whether words of it are rough: they come last. */
static inline bool gw_digest_is_rough(const struct gw_digest_plan *plan)
{
	return plan->word[plan->count - 1].size & GW_DIGEST_ROUGH;
}

/** gw_digest_add() of a multiple of 8 bytes, or of a rough word. */
uint64_t gw_digest_run(uint64_t h, const unsigned char *from, unsigned size);

static inline uint64_t gw_digest_add(uint64_t h, const unsigned char *from, unsigned size)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	if (size == 4) {
		memcpy(&four, from, 4);
		eight = four;
	} else if (size == 8) {
		memcpy(&eight, from, 8);
	} else if (size == 2) {
		memcpy(&two, from, 2);
		eight = two;
	} else if (size == 1) {
		eight = *from;
	} else {
		return gw_digest_run(h, from, size);
	}
	return (h ^ eight) * UINT64_C(0x9fb21c651e98df25);
}

static inline uint32_t gw_digest_end(uint64_t h)
{
	uint32_t digest = (uint32_t)(h >> 33); /* where every bit of each word has come to */

	return digest ? digest : 1;
}

/** The hash of arguments in one buffer, as the kernel finds them; 0 where it is too short. */
static inline uint32_t gw_digest_of_buffer(const struct gw_digest_plan *plan,
					   const unsigned char *bytes, size_t size)
{
	uint64_t h = gw_digest_begin();

	if (size < plan->end)
		return 0;
	for (uint32_t i = 0; i < plan->count; i++)
		h = gw_digest_add(h, bytes + plan->word[i].offset, plan->word[i].size);
	return gw_digest_end(h);
}

/** Take in word @p w, of 4 bytes; false where its address is missing. */
static inline bool gw_digest_four(const struct gw_digest_span *w, const void *const *params,
				  uint64_t *h)
{
	const unsigned char *from = params[w->param];

	if (!from)
		return false;
	*h = gw_digest_add(*h, from + w->at, 4);
	return true;
}

/** Take in the words that are in no span, and end; 0 where a pointer is NULL. Apart, so that
 * launches without such words save no registers for its calls. */
uint32_t gw_digest_rest(const struct gw_digest_plan *plan, const void *const *params, uint64_t h);

/** The same of arguments passed as one pointer each; 0 where a pointer is NULL. */
static inline uint32_t gw_digest_of_params(const struct gw_digest_plan *plan,
					   const void *const *params)
{
	const struct gw_digest_span *w = plan->span, *fours = w + plan->fours;
	const struct gw_digest_span *end = w + plan->spans;
	uint64_t h = gw_digest_begin();
	const unsigned char *from;

	for (; w + 4 <= fours; w += 4) /* nothing but words, where there are many */
		if (!gw_digest_four(&w[0], params, &h) || !gw_digest_four(&w[1], params, &h) ||
		    !gw_digest_four(&w[2], params, &h) || !gw_digest_four(&w[3], params, &h))
			return 0;
	for (; w != fours; w++)
		if (!gw_digest_four(w, params, &h))
			return 0;
	if (plan->fours == plan->count)
		return gw_digest_end(h);
	for (; w != end; w++) {
		unsigned more = w->param / GW_DIGEST_PARAMS;

		from = params[w->param % GW_DIGEST_PARAMS];
		if (!from)
			return 0;
		from += w->at;
		do {
			h = gw_digest_add(h, from, 8);
			from += 8;
		} while (more--);
	}
	return plan->wide == plan->count ? gw_digest_end(h) : gw_digest_rest(plan, params, h);
}

#endif
