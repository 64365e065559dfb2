#include "preload/join/kernel_names.h"

#include "preload/runtime/degrade.h"
#include "preload/maps/idmap.h"
#include "preload/maps/memory.h"

#include <string.h>

enum { PLACES = 1024, CHUNK = 1024, CHUNKS = 64, NAMES_MAX = CHUNK * CHUNKS };

/* The names that libcupti's pointers stood for when they were last seen. */
static struct {
	const char *at;
	const struct gw_kernel_name *name;
} recent[PLACES];
static const struct gw_kernel_name **chunks[CHUNKS]; /* by number, from 1 */
static uint32_t count;
static struct gw_idmap by_hash = {.use = GW_MEMORY_records};

void gw_kernel_names_start(void)
{
	memset((void *)recent, 0, sizeof(recent));
	memset((void *)chunks, 0, sizeof(chunks));
	by_hash = (struct gw_idmap){.use = GW_MEMORY_records};
	count = 0;
}

static bool is(const struct gw_kernel_name *n, const char *name)
{
	return n && !strncmp(n->text, name, GW_NAME_MAX);
}

static const struct gw_kernel_name **place_of(uint32_t number)
{
	const struct gw_kernel_name ***chunk = &chunks[number / CHUNK];

	if (!*chunk)
		*chunk = gw_memory_new(GW_MEMORY_records, CHUNK, sizeof(**chunk));
	return *chunk ? &(*chunk)[number % CHUNK] : NULL;
}

static const struct gw_kernel_name *add(const char *name, uint64_t hash, uint64_t key)
{
	size_t length = strnlen(name, GW_NAME_MAX);
	const struct gw_kernel_name **place = count + 1 < NAMES_MAX ? place_of(count + 1) : NULL;
	struct gw_kernel_name *n =
		place ? gw_memory_new(GW_MEMORY_records, 1, sizeof(*n) + length + 1) : NULL;

	if (!n) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d names of kernels in activity records, or no memory for "
			   "them: records of others are dropped",
			   NAMES_MAX - 1);
		return NULL;
	}
	if (!gw_idmap_put(&by_hash, key, count + 1)) {
		gw_memory_free(GW_MEMORY_records, n, 1, sizeof(*n) + length + 1);
		return NULL;
	}
	n->hash = hash;
	memcpy(n->text, name, length);
	*place = n;
	count++;
	return n;
}

const struct gw_kernel_name *gw_kernel_name_keep(const char *name)
{
	unsigned at = (unsigned)(gw_idmap_key((uintptr_t)name, 7) % PLACES);
	uint64_t hash, key;
	uint32_t number;

	if (recent[at].at == name && is(recent[at].name, name))
		return recent[at].name;
	hash = gw_kernel_name_hash(name);
	key = gw_idmap_key(hash, 1);
	/* Names of one hash have keys one after the other. */
	while ((number = gw_idmap_get(&by_hash, key)) && !is(*place_of(number), name))
		key = gw_idmap_key(key, 1);
	recent[at].at = name;
	recent[at].name = number ? *place_of(number) : add(name, hash, key);
	return recent[at].name;
}
