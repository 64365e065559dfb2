#include "predictor/code/digest_provisional.h"

/* The largest piece at @p at, aligned as the whole is, of @p left bytes. */
static uint16_t piece(uint32_t at, uint32_t left)
{
	uint16_t size = 8;

	while (at % size || left < size)
		size /= 2;
	return size;
}

/* Parameter @p index, as far as there is room. */
static void take(struct gw_digest_plan *plan, uint32_t index, const struct gw_code_param *p,
		 bool structure)
{
	for (uint32_t at = 0; at < p->size && plan->count < GW_DIGEST_PROVISIONAL;) {
		uint16_t size = piece(p->offset + at, p->size - at);
		uint32_t end = p->offset + at + size;

		if (end > GW_DIGEST_BYTES)
			return;
		plan->word[plan->count++] = (struct gw_digest_word){
			.param = (uint16_t)index,
			.at = (uint16_t)at,
			.offset = (uint16_t)(p->offset + at),
			.size = structure && size == 8 ? size | GW_DIGEST_PIECE : size};
		plan->end = end > plan->end ? (uint16_t)end : plan->end;
		at += size;
	}
}

void gw_digest_provisional_make(const struct gw_code_param *param, uint32_t count,
				struct gw_digest_plan *plan)
{
	*plan = (struct gw_digest_plan){.provisional = true};
	for (unsigned structures = 0; structures < 2; structures++)
		for (uint32_t i = 0; i < count && i <= UINT16_MAX; i++)
			if (param[i].offset <= GW_DIGEST_BYTES && (param[i].size > 8) == structures)
				take(plan, i, &param[i], structures);
}
