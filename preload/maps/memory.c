#include "preload/maps/memory.h"

#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "predictor/core/arena.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Atomic uint64_t used[GW_MEMORY_USES];
static _Atomic uint64_t total, peak;
static bool missing; /* a table */

static const char *const names[GW_MEMORY_USES] = {
#define USE(name, eighths) #name,
#include "preload/maps/memory.def"
#undef USE
};

static const uint8_t eighths_of[GW_MEMORY_USES] = {
#define USE(name, eighths) eighths,
#include "preload/maps/memory.def"
#undef USE
};

static void note_peak(uint64_t now)
{
	uint64_t most = atomic_load_explicit(&peak, memory_order_relaxed);

	while (now > most && !atomic_compare_exchange_weak(&peak, &most, now))
		;
}

void gw_memory_take_anyway(enum gw_memory_use use, size_t size)
{
	note_peak(atomic_fetch_add(&total, size) + size);
	atomic_fetch_add_explicit(&used[use], size, memory_order_relaxed);
}

/* Before the options are read there is no limit; nothing but small tables is taken then. */
static uint64_t limit(enum gw_memory_use use)
{
	return gw_options.memory_max ? gw_options.memory_max / 8 * eighths_of[use] : UINT64_MAX;
}

uint64_t gw_memory_left(enum gw_memory_use use)
{
	const uint64_t most = limit(use), now = gw_memory_now();

	return now < most ? most - now : 0;
}

bool gw_memory_take(enum gw_memory_use use, size_t size)
{
	uint64_t most = limit(use);
	uint64_t now = atomic_load_explicit(&total, memory_order_relaxed);

	do {
		if (now > most || size > most - now) {
			gw_degrade(GW_DEGRADED_MEMORY,
				   "GPUWATCH_MEMORY_MAX (%" PRIu64
				   " MiB) is reached: first refused to %s",
				   gw_options.memory_max >> 20, names[use]);
			gw_count(GW_COUNTER_memory_refused, 1);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&total, &now, now + size));
	note_peak(now + size);
	atomic_fetch_add_explicit(&used[use], size, memory_order_relaxed);
	return true;
}

void gw_memory_give(enum gw_memory_use use, size_t size)
{
	atomic_fetch_sub_explicit(&used[use], size, memory_order_relaxed);
	atomic_fetch_sub(&total, size);
}

void *gw_memory_new(enum gw_memory_use use, size_t count, size_t size)
{
	return gw_memory_wider(use, NULL, 0, count, size);
}

void *gw_memory_wider(enum gw_memory_use use, void *at, size_t had, size_t count, size_t size)
{
	size_t more = (count - had) * size;
	char *wider;

	if (!gw_memory_take(use, more))
		return NULL;
	wider = had ? realloc(at, count * size) : calloc(count, size);
	if (!wider) {
		gw_memory_give(use, more);
		return NULL;
	}
	if (had)
		memset(wider + had * size, 0, more);
	return wider;
}

void gw_memory_free(enum gw_memory_use use, void *at, size_t count, size_t size)
{
	free(at);
	gw_memory_give(use, count * size);
}

/*
 * After mlockall(MCL_FUTURE) every new mapping is locked, counts against RLIMIT_MEMLOCK and is
 * filled at once, however little of it will be used. One page that cannot be touched is unlocked
 * and then grown: what it becomes is neither locked nor counted.
 */
void *gw_memory_reserve(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *at = mmap(NULL, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void *all;

	if (at == MAP_FAILED)
		return NULL;
	munlock(at, page);
	size = (size + page - 1) & ~(page - 1);
	all = mremap(at, page, size, MREMAP_MAYMOVE);
	if (all == MAP_FAILED || mprotect(all, size, PROT_READ | PROT_WRITE)) {
		munmap(all == MAP_FAILED ? at : all, all == MAP_FAILED ? page : size);
		return NULL;
	}
	return all;
}

void *gw_memory_table(size_t size)
{
	void *at = gw_memory_reserve(size);

	missing |= !at;
	gw_memory_take_anyway(GW_MEMORY_tables, at ? size : 0);
	return at;
}

bool gw_memory_tables(void)
{
	return !missing;
}

uint64_t gw_memory_now(void)
{
	return atomic_load_explicit(&total, memory_order_relaxed);
}

uint64_t gw_memory_peak(void)
{
	return atomic_load_explicit(&peak, memory_order_relaxed);
}

void gw_memory_counters(uint64_t out[GW_COUNTERS])
{
	out[GW_COUNTER_memory] = gw_memory_now();
	out[GW_COUNTER_memory_peak] = gw_memory_peak();
	out[GW_COUNTER_memory_max] = gw_options.memory_max;
#define USE(name, eighths) \
	out[GW_COUNTER_memory_##name] = \
		atomic_load_explicit(&used[GW_MEMORY_##name], memory_order_relaxed);
#include "preload/maps/memory.def"
#undef USE
}

static bool take_image(size_t bytes)
{
	return gw_memory_take(GW_MEMORY_images, bytes);
}

static void give_image(size_t bytes)
{
	gw_memory_give(GW_MEMORY_images, bytes);
}

/* The linker's: where the library's zeroed data lies. */
extern char __bss_start[], _end[];

void gw_memory_fixed(void)
{
	const struct gw_shared *s = gw_hot.shared;

	gw_memory_take_anyway(GW_MEMORY_tables, (size_t)(_end - __bss_start) + sizeof(*s) -
							sizeof(s->names) - sizeof(s->kernels));
	gw_arena_account(take_image, give_image);
}

void gw_memory_start(void)
{
	for (int i = 0; i < GW_MEMORY_USES; i++)
		atomic_store(&used[i], 0);
	atomic_store(&total, 0);
	atomic_store(&peak, 0);
}
