/* Maps of what launches name: handles, which may come back, and dense ids. */
#include "preload/maps/handle_map.h"
#include "preload/maps/idmap.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "tests/test.h"
#include "tests/unit/preload_fixture.h"

#include <sys/mman.h>
#include <unistd.h>

static struct gw_map *map;
static uint32_t gone[8], gone_count;
static _Atomic unsigned wrong;

static int start(void **state)
{
	map = calloc(1, sizeof(*map));
	gone_count = 0;
	atomic_store(&wrong, 0);
	return map ? 0 : -1;
}

static int stop(void **state)
{
	free(map);
	return 0;
}

static void note_gone(uint32_t slot)
{
	gone[gone_count++ % COUNT(gone)] = slot;
}

/* Handles whose chains begin at the same entry. */
static void colliding(uintptr_t *keys, unsigned n)
{
	uint32_t at = gw_map_hash(0x1000);

	for (uintptr_t k = 0x1000; n; k += 16)
		if (gw_map_hash(k) == at) {
			*keys++ = k;
			n--;
		}
}

TEST_WITH(a_handle_is_found_with_its_slot_and_owner, start, stop)
{
	assert_int_equal(gw_map_get(map, 0x1000), 0);
	assert_true(gw_map_put(map, 0x1000, 7, 0x99, 0));
	assert_true(gw_map_put(map, 0x2000, 8, 0, 0x77));
	assert_int_equal(gw_map_get(map, 0x1000), 7);
	assert_int_equal(gw_map_get(map, 0x2000), 8);
	assert_int_equal(gw_map_owner(map, 0x1000), 0x99);
	assert_int_equal(gw_map_owner(map, 0x3000), 0);
	assert_int_equal(gw_map_get(map, 0x3000), 0);
}

TEST_WITH(a_removed_handle_is_unknown_and_may_come_back_as_another, start, stop)
{
	gw_map_put(map, 0x1000, 7, 0, 0);
	assert_int_equal(gw_map_remove(map, 0x1000, NULL), 7);
	assert_int_equal(gw_map_get(map, 0x1000), 0);
	assert_int_equal(gw_map_remove(map, 0x1000, NULL), 0);
	assert_true(gw_map_put(map, 0x1000, 9, 0x5, 0));
	assert_int_equal(gw_map_get(map, 0x1000), 9);
	assert_int_equal(gw_map_owner(map, 0x1000), 0x5);
}

TEST_WITH(the_second_of_two_puts_is_given_the_slot_of_the_first, start, stop)
{
	assert_int_equal(gw_map_put(map, 0x1000, 7, 0, 0), 7);
	assert_int_equal(gw_map_put(map, 0x1000, 8, 0, 0), 7);
	assert_int_equal(gw_map_get(map, 0x1000), 7);
	assert_int_equal(gw_map_remove(map, 0x1000, NULL), 7);
	assert_int_equal(gw_map_get(map, 0x1000), 0);
}

TEST_WITH(colliding_handles_are_found_past_removed_ones, start, stop)
{
	uintptr_t keys[8];

	colliding(keys, 8);
	for (uint32_t i = 0; i < 8; i++)
		gw_map_put(map, keys[i], i + 1, 0, 0);
	gw_map_remove(map, keys[0], NULL);
	gw_map_remove(map, keys[3], NULL);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(gw_map_get(map, keys[i]), i == 0 || i == 3 ? 0 : i + 1);
	/* Put anew before its old place in the chain: a removal must find both. */
	gw_map_put(map, keys[7], 70, 0, 0);
	assert_int_equal(gw_map_get(map, keys[7]), 70);
	gw_map_remove(map, keys[7], note_gone);
	assert_int_equal(gw_map_get(map, keys[7]), 0);
	assert_int_equal(gone_count, 2);
	assert_int_equal(gone[0] + gone[1], 70 + 8);
}

TEST_WITH(a_chain_takes_as_many_as_are_searched, start, stop)
{
	uintptr_t keys[GW_MAP_PROBE + 1];

	colliding(keys, GW_MAP_PROBE + 1);
	for (uint32_t i = 0; i < GW_MAP_PROBE; i++)
		assert_true(gw_map_put(map, keys[i], i + 1, 0, 0));
	assert_false(gw_map_put(map, keys[GW_MAP_PROBE], 999, 0, 0));
	assert_int_equal(gw_map_get(map, keys[GW_MAP_PROBE]), 0);
	for (uint32_t i = 0; i < GW_MAP_PROBE; i++)
		assert_int_equal(gw_map_get(map, keys[i]), i + 1);
	gw_map_remove(map, keys[5], NULL);
	assert_true(gw_map_put(map, keys[GW_MAP_PROBE], 999, 0, 0));
	assert_int_equal(gw_map_get(map, keys[GW_MAP_PROBE]), 999);
}

TEST_WITH(what_dies_with_an_owner_is_forgotten, start, stop)
{
	gw_map_put(map, 0x1000, 1, 0xa, 0);
	gw_map_put(map, 0x2000, 2, 0xa, 0xc);
	gw_map_put(map, 0x3000, 3, 0xb, 0xc);
	gw_map_put(map, 0x4000, 4, 0, 0);
	gw_map_remove_all(map, 0xa, 0, note_gone);
	assert_int_equal(gone_count, 2);
	assert_int_equal(gone[0] + gone[1], 3);
	assert_int_equal(gw_map_get(map, 0x1000), 0);
	assert_int_equal(gw_map_get(map, 0x2000), 0);
	assert_int_equal(gw_map_get(map, 0x3000), 3);
	assert_int_equal(gw_map_get(map, 0x4000), 4);
}

/* Whoever looks at a page that no handle's chain touches is killed, however many have come and
 * gone. */
TEST_WITH(an_end_looks_at_nothing_that_is_not_filled, start, stop)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, sizeof(*map) + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct gw_map *guarded = (struct gw_map *)area;
	char *begin = area + (offsetof(struct gw_map, entry) + page - 1) / page * page;
	char *kept;

	assert_ptr_not_equal(area, MAP_FAILED);
	for (uintptr_t k = 1; k <= 2u * GW_MAP_SIZE; k++) {
		gw_map_put(guarded, k * 16, 1, 0xa, 0);
		gw_map_remove(guarded, k * 16, NULL);
	}
	gw_map_put(guarded, 0x1000, 1, 0xa, 0);
	kept = (char *)&guarded->entry[gw_map_hash(0x1000)];
	kept -= (uintptr_t)kept % page;
	for (char *at = begin; at < (char *)(guarded + 1); at += page)
		if (at < kept || at > kept + page)
			assert_int_equal(mprotect(at, page, PROT_NONE), 0);
	gw_map_remove_all(guarded, 0xa, 0, note_gone);
	gw_map_remove_all(guarded, 0, 0xb, note_gone);
	assert_int_equal(gone_count, 1);
	munmap(area, sizeof(*map) + page);
}

TEST_WITH(a_place_that_is_filled_anew_is_still_found_by_its_owners_end, start, stop)
{
	for (uint32_t i = 1; i <= 3; i++) {
		gw_map_put(map, 0x1000, i, 0xa, 0);
		gw_map_remove_all(map, 0xa, 0, note_gone);
		assert_int_equal(gone_count, i);
		assert_int_equal(gw_map_get(map, 0x1000), 0);
	}
}

TEST_WITH(what_dies_with_a_context_is_forgotten, start, stop)
{
	gw_map_put(map, 0x1000, 1, 0xa, 0xc);
	gw_map_put(map, 0x2000, 2, 0xc, 0);
	gw_map_remove_all(map, 0, 0xc, NULL);
	assert_int_equal(gw_map_get(map, 0x1000), 0);
	assert_int_equal(gw_map_get(map, 0x2000), 2);
}

static bool is_even_without_context(void *arg, uintptr_t key, uint32_t value, uintptr_t context)
{
	unsigned *asked = arg;

	assert_true(key == value * 16u);
	++*asked;
	return !context && value % 2 == 0;
}

TEST_WITH(a_handle_can_be_looked_for_by_what_is_known_of_it, start, stop)
{
	unsigned asked = 0;
	uintptr_t first;

	assert_true(gw_map_put(map, 0x7 * 16, 7, 0, 0));
	assert_true(gw_map_put(map, 0x8 * 16, 8, 0, 0x77));
	assert_true(gw_map_put(map, 0xa * 16, 10, 0, 0));
	assert_true(gw_map_put(map, 0xc * 16, 12, 0, 0));
	first = gw_map_find(map, is_even_without_context, &asked);
	assert_true(first == 0xa * 16 || first == 0xc * 16);
	gw_map_remove(map, first, NULL);
	assert_int_equal(gw_map_find(map, is_even_without_context, &asked),
			 first == 0xa * 16 ? 0xc * 16 : 0xa * 16);
	gw_map_remove(map, 0xa * 16, NULL);
	gw_map_remove(map, 0xc * 16, NULL);
	assert_int_equal(gw_map_find(map, is_even_without_context, &asked), 0);
}

TEST_WITH(an_entry_used_anew_has_nothing_of_its_last_owner, start, stop)
{
	gw_map_put(map, 0x1000, 1, 0xa, 0xc);
	gw_map_remove(map, 0x1000, NULL);
	gw_map_put(map, 0x1000, 2, 0, 0);
	gw_map_remove_all(map, 0xa, 0xc, NULL);
	assert_int_equal(gw_map_get(map, 0x1000), 2);
}

/* Entries and bits that have held a handle and hold none any more: all of them, in the end. */
static void churn_all(void)
{
	for (uintptr_t k = 1; k <= 20u * GW_MAP_SIZE; k++) {
		gw_map_put(map, k * 16, 1, 0xa, 0);
		gw_map_remove(map, k * 16, NULL);
	}
}

TEST_WITH(a_look_for_an_unknown_handle_stays_short_after_any_number_came_and_went, start, stop)
{
	uint32_t places = 0, free = 0;

	churn_all();
	for (uint32_t i = 0; i < GW_MAP_SIZE; i++) {
		places += atomic_load(&map->reach[i]);
		free += !atomic_load(&map->entry[i].key);
	}
	assert_int_equal(free, 0);
	assert_true(places <= GW_MAP_SIZE);
	assert_int_equal(gw_map_get(map, 0x123456789000), 0);
}

/* Most of the table once held a handle: what is guarded held none when the end came. */
TEST_WITH(an_end_looks_at_nothing_that_is_no_longer_filled, start, stop)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, sizeof(*map) + page, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t begin = (offsetof(struct gw_map, entry) + page - 1) / page * page;

	assert_ptr_not_equal(area, MAP_FAILED);
	free(map);
	map = (struct gw_map *)area;
	churn_all();
	mprotect(area + begin, sizeof(*map) - begin, PROT_NONE);
	gw_map_remove_all(map, 0xa, 0, note_gone);
	assert_int_equal(gone_count, 0);
	munmap(area, sizeof(*map) + page);
	map = NULL;
}

enum { ROUNDS = 20000, SHARED = 6 };
static uintptr_t contended[SHARED];

/* A handle's slot names the handle: whoever finds another's slot has been misled. */
static void churn(unsigned number)
{
	unsigned seed = number + 1;

	for (int i = 0; i < ROUNDS; i++) {
		unsigned k = (unsigned)rand_r(&seed) % SHARED;
		uint32_t found = gw_map_get(map, contended[k]);

		if (found && found != k + 1)
			atomic_fetch_add(&wrong, 1);
		if (rand_r(&seed) % 2)
			gw_map_put(map, contended[k], k + 1, 0, 0);
		else
			found = gw_map_remove(map, contended[k], NULL);
		if (found && found != k + 1)
			atomic_fetch_add(&wrong, 1);
	}
}

TEST_WITH(threads_never_find_the_slot_of_another_handle, start, stop)
{
	/* One chain, so that every entry serves every handle in turn. */
	colliding(contended, SHARED);
	fixture_threads(4, churn);
	assert_int_equal(atomic_load(&wrong), 0);
	for (unsigned k = 0; k < SHARED; k++) {
		gw_map_put(map, contended[k], k + 1, 0, 0);
		assert_int_equal(gw_map_get(map, contended[k]), k + 1);
	}
}

/* Each thread's own handles; another clears an owner that none of them has. */
static void own_handles(unsigned number)
{
	uintptr_t base = (uintptr_t)(number + 1) << 32;

	for (uint32_t i = 1; i <= ROUNDS / 10; i++) {
		if (!number) {
			gw_map_remove_all(map, 0xdead, 0, NULL);
			i += ROUNDS / 100;
			continue;
		}
		if (!gw_map_put(map, base + i * 16, i, number, 0) ||
		    gw_map_get(map, base + i * 16) != i ||
		    (i % 2 && gw_map_remove(map, base + i * 16, NULL) != i))
			atomic_fetch_add(&wrong, 1);
	}
}

TEST_WITH(threads_keep_their_own_handles, start, stop)
{
	fixture_threads(4, own_handles);
	assert_int_equal(atomic_load(&wrong), 0);
	for (uintptr_t t = 1; t < 4; t++)
		for (uint32_t i = 1; i <= ROUNDS / 10; i++)
			assert_int_equal(gw_map_get(map, ((t + 1) << 32) + i * 16), i % 2 ? 0 : i);
}

static void empty(struct gw_idmap *ids)
{
	free(ids->keys);
	free(ids->ids);
}

TEST(an_empty_map_knows_nothing)
{
	struct gw_idmap ids = {0};

	assert_int_equal(gw_idmap_get(&ids, 1), 0);
	assert_int_equal(gw_idmap_get(&ids, UINT64_MAX), 0);
}

TEST(a_key_keeps_the_last_id_it_was_given)
{
	struct gw_idmap ids = {0};

	assert_true(gw_idmap_put(&ids, 5, 1));
	assert_true(gw_idmap_put(&ids, 5, 2));
	assert_int_equal(gw_idmap_get(&ids, 5), 2);
	assert_int_equal(ids.used, 1);
	assert_int_equal(gw_idmap_get(&ids, 6), 0);
	empty(&ids);
}

TEST(every_id_survives_growth)
{
	struct gw_idmap ids = {0};

	for (uint32_t i = 1; i <= 50000; i++)
		assert_true(gw_idmap_put(&ids, gw_idmap_key(i, 3), i));
	for (uint32_t i = 1; i <= 50000; i++)
		assert_int_equal(gw_idmap_get(&ids, gw_idmap_key(i, 3)), i);
	assert_int_equal(gw_idmap_get(&ids, gw_idmap_key(50001, 3)), 0);
	assert_int_equal(ids.used, 50000);
	empty(&ids);
}

/* All keys of a chain begin at one slot; the last slot's chain goes on at the first. */
TEST(colliding_keys_are_reported_apart_around_the_end)
{
	struct gw_idmap ids = {0};

	for (uint32_t i = 1; i <= 150; i++)
		gw_idmap_put(&ids, (uint64_t)255 << 32 | i, i);
	for (uint32_t i = 1; i <= 150; i++)
		assert_int_equal(gw_idmap_get(&ids, (uint64_t)255 << 32 | i), i);
	assert_int_equal(gw_idmap_get(&ids, (uint64_t)255 << 32 | 151), 0);
	empty(&ids);
}

TEST(a_mixed_key_is_never_0_and_tells_both_words)
{
	assert_true(gw_idmap_key(0, 0) != 0);
	assert_true(gw_idmap_key(1, 2) != gw_idmap_key(2, 1));
	assert_true(gw_idmap_key(1, 2) != gw_idmap_key(1, 3));
}

/* Keys that begin at the same place, and such that go round the end. */
static uint64_t crowded_key(uint32_t i)
{
	return (uint64_t)(250 + i % 8) << 32 | (i + 1);
}

TEST(what_is_removed_is_gone_and_nothing_else)
{
	enum { KEYS = 150 };

	for (uint32_t gap = 2; gap < 7; gap++) {
		struct gw_idmap ids = {0};

		for (uint32_t i = 0; i < KEYS; i++)
			assert_true(gw_idmap_put(&ids, crowded_key(i), i + 1));
		for (uint32_t i = 0; i < KEYS; i += gap)
			gw_idmap_remove(&ids, crowded_key(i));
		gw_idmap_remove(&ids, UINT64_MAX);
		for (uint32_t i = 0; i < KEYS; i++)
			assert_int_equal(gw_idmap_get(&ids, crowded_key(i)), i % gap ? i + 1 : 0);
		assert_int_equal(ids.used, KEYS - (KEYS + gap - 1) / gap);
		gw_idmap_clear(&ids);
		assert_int_equal(gw_idmap_get(&ids, crowded_key(1)), 0);
	}
}

/* Else a look for a key that is not there goes through all of them. */
TEST(where_it_cannot_grow_a_part_of_it_stays_free)
{
	struct gw_idmap ids = {.use = GW_MEMORY_streams};
	uint32_t i = 1;

	gw_memory_start();
	gw_options.memory_max = 1 << 20;
	while (gw_idmap_put(&ids, gw_idmap_key(i, 3), i))
		i++;
	assert_true(ids.used * 4 >= ids.size * 3);
	assert_true(ids.size - ids.used >= ids.size / 8);
	gw_idmap_clear(&ids);
	gw_memory_start();
}

TEST(keys_that_come_and_go_do_not_make_it_grow)
{
	struct gw_idmap ids = {0};

	for (uint64_t i = 1; i < 100000; i++) {
		assert_true(gw_idmap_put(&ids, gw_idmap_key(i, 3), 1));
		if (i > 50)
			gw_idmap_remove(&ids, gw_idmap_key(i - 50, 3));
	}
	assert_int_equal(ids.size, 256);
	gw_idmap_clear(&ids);
}

int main(void)
{
	return tests_run(NULL, NULL);
}
