/*
 * The argument hash of kernels whose code has not been read: of all parameters that are no
 * pointers. Replaced by the hash of what the code depends on (digest.h) as soon as that is known.
 *
 * The layout of the parameters says where they lie, not what they are. Those of 1, 2 and 4 bytes
 * hold no pointer. In 8 bytes a pointer is recognised by its value: as a parameter of its own, what
 * lies from 4 GiB up to the end of the address space, which is no number of elements in practice
 * and no double of ordinary size; within a structure, where two numbers of 4 bytes may lie side by
 * side, only the upper part of the user's 47 or 48 bits, which is where the driver and the C
 * library map memory. What is taken for a pointer adds nothing. A mistake makes launches share a
 * configuration or take separate ones until the code is read, as long as they are few
 * (analysis/digests.h).
 */
#ifndef GW_CODE_DIGEST_PROVISIONAL_H
#define GW_CODE_DIGEST_PROVISIONAL_H

#include "predictor/code/digest.h"

/** Flag of gw_digest_word.size: 8 bytes of a structure. */
enum { GW_DIGEST_PIECE = 1 << 8 };

/**
 * The layout of the provisional hash of @p count parameters that lie as @p param says: parameters
 * of up to 8 bytes first, then structures, each from its start, up to GW_DIGEST_PROVISIONAL words.
 * Its count is 0 where there is nothing to hash.
 */
void gw_digest_provisional_make(const struct gw_code_param *param, uint32_t count,
				struct gw_digest_plan *plan);

/** Whether 8 bytes hold a pointer; @p piece: they are a part of a structure. */
static inline bool gw_digest_pointer(uint64_t value, bool piece)
{
	uint64_t from = piece ? UINT64_C(1) << 46 : UINT64_C(1) << 32;
	uint64_t to = piece ? UINT64_C(1) << 48 : UINT64_C(1) << 57;

	return value - from < to - from;
}

/** Take in word @p w, which lies at @p from. */
static inline uint64_t gw_digest_provisional_add(uint64_t h, const struct gw_digest_word *w,
						 const unsigned char *from)
{
	unsigned char eight[8] = {0};
	uint64_t value;

	if ((w->size & 0xff) < 8)
		return gw_digest_add(h, from, w->size);
	memcpy(&value, from, 8);
	if (!gw_digest_pointer(value, w->size & GW_DIGEST_PIECE))
		memcpy(eight, &value, 8);
	return gw_digest_add(h, eight, 8);
}

/** The hash of arguments passed as one pointer each; 0 where a pointer is NULL. */
static inline uint32_t gw_digest_provisional_params(const struct gw_digest_plan *plan,
						    const void *const *params)
{
	uint64_t h = gw_digest_begin();

	for (uint32_t i = 0; i < plan->count; i++) {
		const struct gw_digest_word *w = &plan->word[i];
		const unsigned char *from = params[w->param];

		if (!from)
			return 0;
		h = gw_digest_provisional_add(h, w, from + w->at);
	}
	return gw_digest_end(h) | GW_DIGEST_IS_PROVISIONAL;
}

/** The same of arguments in one buffer; 0 where it is too short. */
static inline uint32_t gw_digest_provisional_buffer(const struct gw_digest_plan *plan,
						    const unsigned char *bytes, size_t size)
{
	uint64_t h = gw_digest_begin();

	if (size < plan->end)
		return 0;
	for (uint32_t i = 0; i < plan->count; i++)
		h = gw_digest_provisional_add(h, &plan->word[i], bytes + plan->word[i].offset);
	return gw_digest_end(h) | GW_DIGEST_IS_PROVISIONAL;
}

#endif
