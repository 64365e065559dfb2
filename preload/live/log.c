#include "preload/live/log.h"

#include "preload/runtime/degrade.h"
#include "preload/live/log_name.h"
#include "preload/live/log_pool.h"
#include "preload/live/log_writer.h"
#include "preload/runtime/options.h"
#include "preload/runtime/sandbox.h"
#include "preload/maps/memory.h"
#include "preload/maps/state.h"

#include <string.h>
#include <sys/stat.h>

enum {
	WAIT_MS = 5000,     /* for the writer, at the end … */
	PROGRESS_MS = 1000, /* … and for it to give back a block */
	HAND_OVER_LEAST = 2048,
	COPY_LEAST = 8 << 10,
	COPY_MOST = GW_LOG_BLOCK,
};
_Static_assert((int)GW_LOG_BLOCK <= (int)GW_BLOCK_MAX && (int)GW_LOG_BLOCK >= (int)GW_RECORD_MAX,
	       "a block holds a record");

/* Who reads the log later has lost little where these are missing. */
static const uint64_t KINDS_THAT_WAIT =
	UINT64_C(1) << GW_RECORD_LAUNCH | UINT64_C(1) << GW_RECORD_AGGREGATE |
	UINT64_C(1) << GW_RECORD_COUNTERS | UINT64_C(1) << GW_RECORD_CLOCK |
	UINT64_C(1) << GW_RECORD_WORK | UINT64_C(1) << GW_RECORD_GRAPH |
	UINT64_C(1) << GW_RECORD_GRAPH_WORK;

/* What still fits. It only ever gets less, until the file is begun anew. */
enum fits { ALL, SUMS, COPIES };

static struct gw_log_pool *own, *pool;
static struct gw_log_block *current; /* NULL between blocks */
static bool spare;                   /* it is the last one: not for launches */
static uint64_t sequence;            /* of the last block begun */
static bool started;
static bool ring;   /* of files */
static bool urgent; /* there is more to flush than launches and sums */
static enum fits fits;
static uint32_t epoch, last_config, last_config_in_file;
static uint64_t launches_end;   /* launches are not written beyond it … */
static struct gw_log_room room; /* … and nothing is beyond this */
static uint64_t committed;      /* bytes of the file and of the full blocks, at most */
static size_t hand_over;        /* a block of so many bytes goes to the writer */

/* Of what can't be appended any more, the last word of these is in each copy. */
static struct last {
	unsigned char data[1024];
	size_t size;
} last_counters, last_end;
_Static_assert(sizeof(struct gw_record_counters) + GW_COUNTERS * sizeof(uint64_t) <=
		       sizeof(last_counters.data),
	       "counters fit");

/*
 * GPUWATCH_LOG_MAX: launches leave an eighth for sums; of that two copies of the totals take half,
 * or as much as their records ever need.
 */
static void divide(uint64_t most)
{
	uint64_t reserve = most / 8 < 4 * COPY_LEAST ? 4 * COPY_LEAST : most / 8;
	uint64_t copy = reserve / 4 > COPY_MOST ? COPY_MOST : reserve / 4;

	room.copy = (uint32_t)copy;
	room.append = most - 2 * copy;
	launches_end = most - reserve;
	hand_over = most / 32 > GW_LOG_BLOCK ? GW_LOG_BLOCK : (size_t)(most / 32);
	hand_over = hand_over < HAND_OVER_LEAST ? HAND_OVER_LEAST : hand_over;
}

bool gw_log_open(void)
{
	static char name[4096];
	struct stat st;
	bool known;

	gw_log_abandon();
	known = gw_log_expand(gw_options.out, name, sizeof(name));
	if (known && !stat(name, &st) && S_ISDIR(st.st_mode)) {
		gw_options_out_is_folder();
		known = gw_log_expand(gw_options.out, name, sizeof(name));
	}
	if (!known) {
		gw_degrade(GW_DEGRADED_LOG,
			   "GPUWATCH_OUT=%.300s is not understood: no log is written "
			   "(macros: %%h %%p %%r %%q{NAME} %%%%)",
			   gw_options.out);
		return false;
	}
	divide(gw_options.log_max);
	ring = gw_options_sum();
	room.ring = gw_options.log_max;
	if (!own)
		own = gw_memory_table(sizeof(*own));
	pool = own;
	for (unsigned i = 0; pool && i < GW_LOG_BLOCKS; i++) {
		atomic_store(&pool->block[i].length, 0);
		atomic_store(&pool->block[i].state, GW_LOG_EMPTY);
	}
	if (pool && gw_sandbox_enter()) {
		started = gw_log_writer_start(pool, name, room);
		gw_sandbox_leave();
	}
	if (ring)
		gw_log_writer_ring();
	if (!started)
		gw_degrade(GW_DEGRADED_LOG, "no memory or no thread for the log: none is written");
	return started;
}

void gw_log_make_ring(void)
{
	ring = true;
	fits = ALL;
	gw_log_writer_ring();
}

bool gw_log_ring(void)
{
	return ring;
}

bool gw_log_urgent(void)
{
	return urgent;
}

bool gw_log_is_open(void)
{
	return started && gw_log_writer_runs();
}

const char *gw_log_name(void)
{
	return gw_log_writer_name();
}

/* Blocks count as they are in memory; in the file they are smaller. */
static void commit(void)
{
	committed = gw_log_writer_size();
	for (unsigned i = 0; i < GW_LOG_BLOCKS; i++) {
		const struct gw_log_block *b = &pool->block[i];

		if (b != current && b->use == GW_LOG_APPEND && b->length)
			committed += b->length + sizeof(struct gw_packed_block);
	}
}

uint64_t gw_log_bytes(void)
{
	uint64_t filling = current && current->use == GW_LOG_APPEND ? current->length : 0;

	return started ? committed + (filling ? filling + sizeof(struct gw_packed_block) : 0) : 0;
}

uint32_t gw_log_block(void)
{
	return (uint32_t)sequence;
}

uint32_t gw_log_written(void)
{
	uint64_t lowest = sequence + 1;

	for (unsigned i = 0; pool && i < GW_LOG_BLOCKS; i++) {
		const struct gw_log_block *b = &pool->block[i];

		/* Pairs with the release in release() (log_writer.c). */
		if (atomic_load_explicit(&b->state, memory_order_acquire) != GW_LOG_EMPTY &&
		    b->sequence < lowest)
			lowest = b->sequence;
	}
	return (uint32_t)lowest;
}

static void hand_over_block(void)
{
	if (!current)
		return;
	/* Pairs with the acquire in oldest() (log_writer.c). */
	atomic_store_explicit(&current->state, current->length ? GW_LOG_FULL : GW_LOG_EMPTY,
			      memory_order_release);
	current = NULL;
	commit();
	gw_log_writer_wake();
}

static struct gw_log_block *find_empty(unsigned *count)
{
	struct gw_log_block *found = NULL;

	*count = 0;
	for (unsigned i = GW_LOG_BLOCKS; i--;)
		/* Pairs with the release in release() (log_writer.c). */
		if (atomic_load_explicit(&pool->block[i].state, memory_order_acquire) ==
		    GW_LOG_EMPTY) {
			found = &pool->block[i];
			++*count;
		}
	return found;
}

/* Have a block to fill. The last one is not for launches: when a disk stalls, definitions need it.
 */
static bool have_free_block(enum gw_log_block_use use, bool launch)
{
	unsigned empty;
	struct gw_log_block *found = find_empty(&empty);

	if (current)
		return !launch || empty;
	if (!found || (launch && empty < 2))
		return false;
	found->use = use;
	found->epoch = epoch;
	atomic_store(&found->length, 0);
	atomic_store(&found->sequence, ++sequence);
	atomic_store_explicit(&found->state, GW_LOG_FILLING, memory_order_release);
	current = found;
	spare = empty < 2;
	commit();
	return true;
}

/*
 * A burst may be faster than the writer: rings hold what comes meanwhile. A disk that stalls is
 * waited for once; until it goes on again, what has no room is lost at once.
 */
static bool begin_block(enum gw_log_block_use use, bool launch)
{
	static bool stalls;

	for (;;) {
		uint32_t seen = gw_log_writer_done();

		if (have_free_block(use, launch)) {
			stalls = false;
			return true;
		}
		stalls = stalls || !gw_log_writer_await(seen, PROGRESS_MS);
		if (stalls)
			return false;
	}
}

/* There is a block for @p size more bytes of this use. */
static bool have_block(enum gw_log_block_use use, size_t size, bool launch)
{
	const size_t most = use == GW_LOG_COPY ? GW_LOG_BLOCK : hand_over;

	if (current && (current->use != use || (current->length && current->length + size > most)))
		hand_over_block();
	if (current && !(launch && spare))
		return true;
	if (!begin_block(use, launch))
		return false;
	spare = spare && !launch;
	return true;
}

/* The file lost what it had, and has room again. */
static void follow_epoch(void)
{
	if (gw_log_writer_epoch() == epoch)
		return;
	epoch = gw_log_writer_epoch();
	fits = ALL;
	last_config_in_file = last_config;
	commit();
}

static bool still_fits(enum fits as, uint64_t end, size_t size)
{
	follow_epoch();
	if (ring)
		return true;
	if (fits <= as && gw_log_bytes() + size + sizeof(struct gw_packed_block) <= end)
		return true;
	if (fits <= as)
		fits = (enum fits)(as + 1);
	return false;
}

bool gw_log_sums(void)
{
	return gw_log_is_open() && !still_fits(ALL, launches_end, sizeof(struct gw_record_launch));
}

bool gw_log_sums_fit(size_t size)
{
	return still_fits(SUMS, room.append, size);
}

bool gw_log_names(uint32_t config)
{
	return config <= last_config_in_file;
}

static void put(enum gw_record_kind kind, void *head, size_t head_size, const void *tail,
		size_t tail_size, size_t whole)
{
	struct gw_record *r = head;
	unsigned char *at = current->data + current->length;

	r->kind = (uint16_t)kind;
	r->length = (uint16_t)whole;
	memcpy(at, head, head_size);
	if (tail_size)
		memcpy(at + head_size, tail, tail_size);
	memset(at + head_size + tail_size, 0, whole - head_size - tail_size);
	atomic_store_explicit(&current->length, current->length + (uint32_t)whole,
			      memory_order_release);
	urgent |= !(KINDS_THAT_WAIT >> kind & 1);
	gw_bump(&gw_counters[GW_COUNTER_log_records], 1);
}

/* Not to be appended: the last word is kept for the next copy. */
static bool kept_for_copy(enum gw_record_kind kind, void *head, size_t size)
{
	struct gw_record *r = head;
	struct last *last = kind == GW_RECORD_COUNTERS ? &last_counters : &last_end;

	if (kind != GW_RECORD_COUNTERS && kind != GW_RECORD_END)
		return false;
	r->kind = (uint16_t)kind;
	r->length = (uint16_t)size;
	memcpy(last->data, head, size);
	last->size = size;
	return true;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t head_size, const void *tail,
		  size_t tail_size)
{
	enum gw_log_block_use use = GW_LOG_APPEND;
	size_t whole;

	if (tail_size > GW_RECORD_MAX - head_size - 8)
		tail_size = GW_RECORD_MAX - head_size - 8;
	whole = (head_size + tail_size + 7) & ~(size_t)7;
	if (!gw_log_is_open()) {
		gw_count(GW_COUNTER_log_lost, 1);
		return;
	}
	if (current && current->use == GW_LOG_COPY)
		use = GW_LOG_COPY; /* which has room for it */
	else if (!still_fits(SUMS, room.append, whole))
		use = GW_LOG_REMEMBER;
	if (use == GW_LOG_REMEMBER && kept_for_copy(kind, head, head_size))
		return;
	if (kind == GW_RECORD_CONFIG) {
		last_config = ((const struct gw_record_config *)head)->id;
		if (use == GW_LOG_APPEND)
			last_config_in_file = last_config;
	}
	if (have_block(use, whole, kind == GW_RECORD_LAUNCH))
		put(kind, head, head_size, tail, tail_size, whole);
	else
		gw_count(GW_COUNTER_log_lost, 1);
}

bool gw_log_copy_begin(size_t *bytes)
{
	hand_over_block();
	if (!gw_log_is_open() || !begin_block(GW_LOG_COPY, false))
		return false;
	*bytes = room.copy - sizeof(struct gw_packed_block) - last_counters.size - last_end.size;
	return true;
}

static void put_last(enum gw_record_kind kind, struct last *last)
{
	if (last->size)
		put(kind, last->data, last->size, NULL, 0, last->size);
}

void gw_log_copy_end(void)
{
	put_last(GW_RECORD_COUNTERS, &last_counters);
	put_last(GW_RECORD_END, &last_end);
	hand_over_block();
}

uint32_t gw_log_losses(void)
{
	return gw_log_writer_losses();
}

void gw_log_flush(void)
{
	if (!started)
		return;
	urgent = false;
	if (current && current->length)
		hand_over_block();
	gw_log_writer_say();
}

void gw_log_settle(void)
{
	gw_log_flush();
	gw_log_writer_wait(WAIT_MS);
	gw_log_writer_say();
	if (started)
		commit();
}

void gw_log_close(void)
{
	if (!started)
		return;
	gw_log_flush();
	gw_log_writer_end(WAIT_MS);
	gw_log_writer_say();
	started = false;
}

void gw_log_abandon(void)
{
	gw_log_writer_forget();
	started = spare = ring = urgent = false;
	pool = NULL;
	current = NULL;
	sequence = 0;
	fits = ALL;
	epoch = last_config = last_config_in_file = 0;
	committed = 0;
	last_counters.size = last_end.size = 0;
}
