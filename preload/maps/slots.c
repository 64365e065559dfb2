#include "preload/maps/slots.h"

#include "preload/maps/state.h"

/* The number above a slot changes with it: a list that came back to the same head is another. */
static uint64_t head(uint64_t before, uint32_t at)
{
	return ((before >> 32) + 1) << 32 | at;
}

uint32_t gw_slot_take(struct gw_slots *s)
{
	uint64_t first = atomic_load(&s->free);
	uint32_t taken;

	while ((uint32_t)first) {
		uint32_t at = (uint32_t)first;

		if (atomic_compare_exchange_weak(&s->free, &first,
						 head(first, atomic_load(&s->next[at]))))
			return at;
	}
	taken = atomic_load(&s->taken);
	while (taken < GW_SLOTS_MAX - 1)
		if (atomic_compare_exchange_weak(&s->taken, &taken, taken + 1))
			return taken + 1;
	return 0;
}

void gw_slot_free(struct gw_slots *s, uint32_t at)
{
	uint64_t first = atomic_load(&s->free);

	do {
		atomic_store(&s->next[at], (uint32_t)first);
	} while (!atomic_compare_exchange_weak(&s->free, &first, head(first, at)));
}

void gw_slot_retire(struct gw_slots *s, uint32_t at)
{
	uint32_t first = atomic_load(&s->retired);

	/* Pairs with the seq_cst load in gw_slot_rested(). */
	atomic_store_explicit(&s->ended[at], gw_ticks(), memory_order_release);
	do {
		atomic_store(&s->next[at], first);
	} while (!atomic_compare_exchange_weak(&s->retired, &first, at));
}

/* Put what was retired since behind what waits, the oldest first. */
static void gather(struct gw_slots *s)
{
	uint32_t newest = atomic_exchange(&s->retired, 0), behind = 0;

	if (!newest)
		return;
	for (uint32_t at = newest, older; at; at = older) {
		older = atomic_load(&s->next[at]);
		atomic_store(&s->next[at], behind);
		behind = at;
	}
	if (s->oldest)
		atomic_store(&s->next[s->newest], behind);
	else
		s->oldest = behind;
	s->newest = newest;
}

uint32_t gw_slot_rested(struct gw_slots *s, uint64_t until, uint64_t pause)
{
	uint32_t at;
	uint64_t ended;

	gather(s);
	at = s->oldest;
	ended = atomic_load(&s->ended[at]);
	if (!at || until < ended || until - ended < pause)
		return 0;
	s->oldest = atomic_load(&s->next[at]);
	/* Half way between the last call that can have found it and the first that can find it. */
	s->before[at] = ended + pause / 2;
	return at;
}
