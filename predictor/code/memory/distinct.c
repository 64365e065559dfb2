#include "predictor/code/memory/distinct.h"

#include "predictor/core/hash.h"

#include <math.h>
#include <string.h>

#define EMPTY UINT64_MAX
enum { SMALLEST = 16, DEEPEST = 63 };

/* Whether @p number belongs to a sample of 1 in 2^level. Addresses differ in few bits: the hash
 * lets its low bits depend on all of them. */
static bool sampled(uint64_t number, unsigned level)
{
	return (gw_hash_mix(number) & ((UINT64_C(1) << level) - 1)) == 0;
}

void gw_distinct_init(struct gw_distinct *set, struct gw_arena *arena, uint32_t limit)
{
	uint32_t power = SMALLEST;

	while (power < limit && power < UINT32_C(1) << 30)
		power *= 2;
	*set = (struct gw_distinct){.limit = power, .in = arena};
}

/* The place of @p number in @p slot, or the free one where it would go. The high bits of the hash
 * choose it: the low ones are alike in all numbers of a sample. */
static uint32_t place(const uint64_t *slot, uint32_t size, uint64_t number)
{
	uint32_t at = (uint32_t)(gw_hash_mix(number) >> 32) & (size - 1);

	while (slot[at] != EMPTY && slot[at] != number)
		at = (at + 1) & (size - 1);
	return at;
}

static uint64_t *table_new(struct gw_distinct *set, uint32_t size)
{
	uint64_t *slot = gw_arena_room(set->in, size, sizeof(*slot));

	if (!slot)
		set->refused = true;
	else
		memset(slot, 0xff, size * sizeof(*slot));
	return slot;
}

__attribute__((cold)) static void grow(struct gw_distinct *set)
{
	uint32_t size = set->size ? set->size * 2 : SMALLEST * 2;
	uint64_t *slot = table_new(set, size);

	if (!slot)
		return;
	for (uint32_t i = 0; i < set->size; i++)
		if (set->slot[i] != EMPTY)
			slot[place(slot, size, set->slot[i])] = set->slot[i];
	set->slot = slot;
	set->size = size;
	set->spare = NULL;
}

/* Hold the set to @p level: what it no longer keeps goes. */
static void thin(struct gw_distinct *set, unsigned level)
{
	uint64_t *old = set->slot;

	if (set->size && !set->spare)
		set->spare = table_new(set, set->size);
	if (set->refused)
		return;
	set->level = level;
	set->count = 0;
	for (uint32_t i = 0; i < set->size; i++)
		if (old[i] != EMPTY && sampled(old[i], level)) {
			set->spare[place(set->spare, set->size, old[i])] = old[i];
			set->count++;
		}
	set->slot = set->spare;
	set->spare = old;
	if (old)
		memset(old, 0xff, set->size * sizeof(*old));
}

void gw_distinct_add(struct gw_distinct *set, uint64_t number)
{
	uint32_t at;

	if (set->refused || !sampled(number, set->level))
		return;
	if (set->count * 2 >= set->size && set->size < set->limit * 2)
		grow(set);
	if (set->refused)
		return;
	at = place(set->slot, set->size, number);
	if (set->slot[at] == number)
		return;
	set->slot[at] = number;
	set->count++;
	while (set->count > set->limit && set->level < DEEPEST && !set->refused)
		thin(set, set->level + 1);
}

double gw_distinct_count(const struct gw_distinct *set)
{
	return set->refused ? NAN : ldexp(set->count, (int)set->level);
}

double gw_distinct_error(const struct gw_distinct *set)
{
	return set->level ? 1.2 / sqrt(set->limit) : 0;
}

double gw_distinct_common(const struct gw_distinct *a, const struct gw_distinct *b)
{
	unsigned level = a->level > b->level ? a->level : b->level;
	uint32_t common = 0;

	if (a->refused || b->refused)
		return NAN;
	if (!a->size || !b->size)
		return 0;
	for (uint32_t i = 0; i < a->size; i++)
		if (a->slot[i] != EMPTY && sampled(a->slot[i], level))
			common += b->slot[place(b->slot, b->size, a->slot[i])] == a->slot[i];
	return ldexp(common, (int)level);
}

void gw_distinct_merge(struct gw_distinct *to, const struct gw_distinct *from)
{
	to->refused |= from->refused;
	if (from->level > to->level)
		thin(to, from->level);
	for (uint32_t i = 0; i < from->size; i++)
		if (from->slot[i] != EMPTY)
			gw_distinct_add(to, from->slot[i]);
}
