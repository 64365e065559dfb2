#include "preload/live/log_writer.h"

#include "preload/runtime/degrade.h"
#include "preload/live/log_dictionary.h"
#include "preload/live/log_file.h"
#include "preload/maps/memory.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/spawn.h"
#include "preload/maps/state.h"
#include "predictor/log/block.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	PARTS = 8,       /* files of a ring, where definitions leave room for so many */
	RETRY_MS = 1000, /* how often what can't be written is tried again … */
	LOOK_MS = 900,   /* … and it is looked whether the file is still there */
};

/* What the others know of it. */
static struct {
	_Atomic uint32_t work, done; /* futexes: blocks are full; some of them were dealt with */
	_Atomic uint64_t tried;      /* number of the last block that was tried to write */
	_Atomic uint64_t size;
	_Atomic uint32_t epoch, losses;
	_Atomic bool runs, begun, end, ended, named, ring;
} shared;

/* What only the thread knows. */
static struct gw_log_pool *pool;
static struct gw_log_room room;
static char path[4096];
static struct gw_block_model *model;
static unsigned char packed[GW_LOG_BLOCK];
static uint32_t sequence, copies; /* of the next block and copy */
static uint64_t copies_at;        /* where they are in the file; 0: there are none */
static bool torn;                 /* definitions are missing in the file */
static bool open_yet;
static uint64_t last_number; /* of the last block that is in a file */

/* Standard error is not in this thread's table: the worker says it. */
static struct {
	_Atomic int state; /* 1: to be said; 2: said */
	enum gw_degraded code;
	char text[GW_REASON_MAX];
} reports[2];

void gw_log_report(enum gw_degraded code, const char *format, ...)
{
	va_list args;

	for (unsigned i = 0; i < 2; i++) {
		if (atomic_load(&reports[i].state) && reports[i].code == code)
			return;
		if (atomic_load(&reports[i].state))
			continue;
		reports[i].code = code;
		va_start(args, format);
		vsnprintf(reports[i].text, sizeof(reports[i].text), format, args);
		va_end(args);
		/* Pairs with the acquire in gw_log_writer_say(). */
		atomic_store_explicit(&reports[i].state, 1, memory_order_release);
		return;
	}
}

void gw_log_writer_say(void)
{
	for (unsigned i = 0; i < 2; i++) {
		/* Pairs with the release in gw_log_report(). */
		if (atomic_load_explicit(&reports[i].state, memory_order_acquire) != 1)
			continue;
		atomic_store(&reports[i].state, 2);
		gw_degrade(reports[i].code, "%s", reports[i].text);
	}
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, long ms)
{
	const struct timespec most = {ms / 1000, ms % 1000 * 1000000};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, ms < 0 ? NULL : &most, NULL, 0);
}

static void wake_all(_Atomic uint32_t *word)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	wake_all(word);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool taken_from_us(void)
{
	gw_log_report(GW_DEGRADED_LOG, "%.300s: %s: records are lost until it can be written again",
		      *gw_log_file_name() ? gw_log_file_name() : path, strerror(errno));
	return false;
}

/* ---- the file ---- */

static bool open_file(void)
{
	switch (gw_log_file_open(path)) {
	case GW_LOG_OPEN:
		open_yet = true;
		atomic_store(&shared.named, true);
		return true;
	case GW_LOG_AGAIN:
		gw_log_report(GW_DEGRADED_LOG,
			      "%.300s: %s: no log is written (name a writable place "
			      "with GPUWATCH_OUT)",
			      path, strerror(errno));
		return false;
	case GW_LOG_REFUSED:
		gw_log_report(GW_DEGRADED_LOG,
			      "%.300s is a pipe or a device: no log is written (name a file with "
			      "GPUWATCH_OUT)",
			      path);
		atomic_store(&shared.runs, false);
		return false;
	case GW_LOG_NOWHERE:
		atomic_store(&shared.runs, false);
		return false;
	}
	return false;
}

static void lost_some(void)
{
	torn = true;
	atomic_fetch_add(&shared.losses, 1);
}

static void begin_epoch(void)
{
	lost_some();
	copies_at = 0;
	atomic_store(&shared.size, gw_log_file_size());
	atomic_fetch_add(&shared.epoch, 1);
}

static bool ready(void)
{
	if (!open_yet)
		return open_file();
	switch (gw_log_file_check()) {
	case GW_LOG_SOUND:
		return true;
	case GW_LOG_NEW:
		sequence = copies = 0;
		begin_epoch();
		return true;
	case GW_LOG_SHORTER:
		begin_epoch();
		return true;
	case GW_LOG_GONE:
		return taken_from_us();
	}
	return false;
}

static struct gw_packed_block header(uint32_t size, uint32_t raw, uint32_t flags, uint64_t number)
{
	return (struct gw_packed_block){
		.magic = GW_PACKED_MAGIC,
		.length = size,
		.raw = raw,
		.flags = flags,
		.number = (uint32_t)number,
	};
}

static bool append(const unsigned char *data, uint32_t size, uint32_t raw, uint32_t flags,
		   uint64_t number)
{
	struct gw_packed_block head = header(size, raw, flags, number);

	if (!atomic_load(&shared.ring) && gw_log_file_size() + sizeof(head) + size > room.append) {
		errno = EFBIG;
		return false;
	}
	head.sequence = sequence;
	head.crc = gw_block_checksum(&head, data);
	if (!gw_log_file_append(&head, sizeof(head), data, size))
		return false;
	sequence++;
	atomic_store(&shared.size, gw_log_file_size());
	atomic_store(&gw_counters[GW_COUNTER_log_bytes], gw_log_file_all());
	return true;
}

/* Bytes of a file of the ring: not so few that definitions alone fill it. */
static uint64_t part(void)
{
	uint64_t definitions = 2 * (uint64_t)gw_log_dictionary_bytes(), least = room.ring / PARTS;

	least = least > definitions ? least : definitions;
	return least < room.ring / 2 ? least : room.ring / 2;
}

/* The file is whole: what follows is in the next. */
static void append_end(void)
{
	struct timespec t;
	struct gw_record_end r = {.head = {GW_RECORD_END, sizeof(r)}};

	clock_gettime(CLOCK_REALTIME, &t);
	r.ns = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
	if (!copies_at)
		append((const unsigned char *)&r, sizeof(r), sizeof(r), 0, last_number);
}

/*
 * Room for @p size more bytes in the ring: in this file, else in a new one, which takes that of the
 * oldest. Where no new one can be had, this one goes on while the ring has room.
 */
static bool room_in_ring(uint64_t size)
{
	if (copies_at || (gw_log_file_size() && gw_log_file_size() + size > part())) {
		append_end();
		if (gw_log_file_next()) {
			sequence = copies = 0;
			gw_count(GW_COUNTER_log_files, 1);
			begin_epoch();
		}
	}
	size += torn ? gw_log_dictionary_bytes() : 0;
	gw_count(GW_COUNTER_log_files_dropped, gw_log_file_drop(room.ring, size));
	if (!copies_at && gw_log_file_ring() + size <= room.ring)
		return true;
	errno = EFBIG;
	return false;
}

static bool append_definitions(const unsigned char *data, uint32_t size, uint32_t raw,
			       bool is_packed)
{
	return append(data, size, raw,
		      GW_BLOCK_REPEAT | (is_packed ? (unsigned)GW_BLOCK_PACKED : 0u),
		      atomic_load(&shared.ring) ? last_number : 0);
}

/* The first record of a file that goes on for another: it says which of the log's files it is. */
static bool append_header(void)
{
	const uint32_t size = gw_log_dictionary_header(gw_log_file_part(), packed, sizeof(packed));

	return !size || append(packed, size, size, GW_BLOCK_REPEAT, last_number);
}

/* Definitions first where they are missing: what follows refers to them. */
static bool made_whole(void)
{
	if (torn && (atomic_load(&shared.ring)
			     ? gw_log_file_size() || append_header()
			     : gw_log_file_size() + gw_log_dictionary_bytes() <= room.append))
		torn = !gw_log_dictionary_each(model, append_definitions);
	return !torn;
}

/* ---- blocks ---- */

static uint64_t records_in(const struct gw_log_block *b)
{
	uint64_t n = 0;

	for (uint32_t at = 0; at < b->length; n++) {
		struct gw_record r;

		memcpy(&r, b->data + at, sizeof(r));
		at += r.length;
	}
	return n;
}

static const unsigned char *pack(struct gw_log_block *b, uint32_t *size, uint32_t *flags)
{
	*size = model ? (uint32_t)gw_block_pack(model, b->data, b->length, packed, b->length - 1)
		      : 0;
	*flags = *size ? GW_BLOCK_PACKED : 0;
	if (*size)
		return packed;
	*size = b->length;
	return b->data;
}

/* Over the older of the two copies; whoever reads meanwhile has the other one. */
static bool write_copy(const unsigned char *data, uint32_t size, uint32_t raw, uint32_t flags,
		       uint64_t number)
{
	struct gw_packed_block head = header(size, raw, flags | GW_BLOCK_COPY, number);

	if (!copies_at)
		copies_at = gw_log_file_size();
	if (sizeof(head) + size > room.copy)
		return false;
	head.sequence = copies;
	head.room = room.copy;
	head.crc = gw_block_checksum(&head, data);
	if (!gw_log_file_write_at(copies_at + (copies & 1) * room.copy, &head, sizeof(head), data,
				  size))
		return false;
	copies++;
	return true;
}

/* False where the block is not in the file, and may be tried again. */
static bool write_block(struct gw_log_block *b)
{
	const unsigned char *data;
	uint32_t size, flags;

	if (b->use == GW_LOG_REMEMBER || !atomic_load(&shared.runs))
		return true;
	if (!ready())
		return false;
	/* Its sums go on in what is appended from now on. */
	if (b->use == GW_LOG_COPY && b->epoch != atomic_load(&shared.epoch))
		return true;
	if (atomic_load(&shared.ring) && !room_in_ring(b->length + sizeof(struct gw_packed_block)))
		return taken_from_us();
	if (!made_whole())
		return taken_from_us();
	data = pack(b, &size, &flags);
	if (b->use == GW_LOG_COPY ? write_copy(data, size, b->length, flags, b->sequence)
				  : append(data, size, b->length, flags, b->sequence))
		return true;
	return taken_from_us();
}

static void release(struct gw_log_block *b)
{
	gw_log_dictionary_add(model, b->data, b->length, atomic_load(&shared.ring) ? room.ring : 0);
	atomic_store(&b->length, 0);
	/* Pairs with the acquire in find_empty() (log.c). */
	atomic_store_explicit(&b->state, GW_LOG_EMPTY, memory_order_release);
	futex_wake(&shared.done);
}

/* Only it is lost: whoever reads on finds its number missing, and the definitions again. */
static void lose(struct gw_log_block *b)
{
	gw_count(GW_COUNTER_log_lost, records_in(b));
	lost_some();
	if (b->use == GW_LOG_APPEND)
		sequence++;
	release(b);
}

/* The full block with the lowest number, and how many there are. */
static struct gw_log_block *oldest(unsigned *full)
{
	struct gw_log_block *found = NULL;

	*full = 0;
	for (unsigned i = 0; i < GW_LOG_BLOCKS; i++) {
		struct gw_log_block *b = &pool->block[i];

		/* Pairs with the release in hand_over_block() (log.c). */
		if (atomic_load_explicit(&b->state, memory_order_acquire) != GW_LOG_FULL)
			continue;
		++*full;
		if (!found || b->sequence < found->sequence)
			found = b;
	}
	return found;
}

/* Every full block, until one can't be written. False: it is to be tried again. */
static bool write_blocks(bool last)
{
	struct gw_log_block *b;
	unsigned full;

	while ((b = oldest(&full))) {
		uint64_t number = b->sequence;

		if (write_block(b)) {
			last_number = number;
			atomic_store(&shared.tried, number);
			release(b);
			continue;
		}
		atomic_store(&shared.tried, number + full - 1);
		/* The worker needs one to fill, and one is for definitions. */
		if (!last && full < GW_LOG_BLOCKS - 1)
			return false;
		lose(b);
	}
	return true;
}

/* Programs that launch nothing for long write no block: a file that is gone is begun anew for them,
 * too, with what a reader needs for what follows. */
static void look_at_file(void)
{
	static uint64_t looked_ms;
	const uint64_t now = now_ms();

	if (!open_yet || !atomic_load(&shared.runs) || now - looked_ms < LOOK_MS)
		return;
	looked_ms = now;
	if (ready() && !made_whole())
		taken_from_us();
	gw_log_file_moved();
}

/* ---- the thread ---- */

static void begin_model(void)
{
	void *at = mmap(NULL, gw_block_model_size(), PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	model = at == MAP_FAILED ? NULL : at;
	if (model)
		gw_memory_take_anyway(GW_MEMORY_log, gw_block_model_size());
}

static void run(void)
{
	if (!gw_own_files(true)) {
		gw_log_report(GW_DEGRADED_LOG,
			      "no table of files for the log alone (%s): no log is written",
			      strerror(errno));
		atomic_store(&shared.runs, false);
	} else {
		open_file();
	}
	begin_model();
	atomic_store(&shared.begun, true);
	for (;;) {
		uint32_t seen = atomic_load(&shared.work);
		bool last = atomic_load(&shared.end), written = write_blocks(last);

		futex_wake(&shared.done);
		if (last)
			break;
		look_at_file();
		futex_wait(&shared.work, seen, open_yet ? LOOK_MS : written ? -1 : RETRY_MS);
	}
	gw_log_file_close();
	if (model) {
		munmap(model, gw_block_model_size());
		gw_memory_give(GW_MEMORY_log, gw_block_model_size());
	}
	atomic_store(&shared.runs, false);
	/* Nothing is written after this: who waits for the end may start another at once. */
	atomic_fetch_add(&shared.done, 1);
	atomic_store(&shared.ended, true);
	wake_all(&shared.done);
}

bool gw_log_writer_start(struct gw_log_pool *blocks, const char *name, struct gw_log_room space)
{
	gw_log_writer_forget();
	gw_log_dictionary_start();
	pool = blocks;
	room = space;
	snprintf(path, sizeof(path), "%s", name);
	atomic_store(&shared.runs, true);
	if (gw_spawn("gpuwatch-log", run))
		return true;
	atomic_store(&shared.runs, false);
	return false;
}

void gw_log_writer_ring(void)
{
	atomic_store(&shared.ring, true);
}

bool gw_log_writer_runs(void)
{
	return atomic_load(&shared.runs);
}

void gw_log_writer_wake(void)
{
	futex_wake(&shared.work);
}

static uint64_t last_full(void)
{
	uint64_t last = 0;

	for (unsigned i = 0; pool && i < GW_LOG_BLOCKS; i++)
		if (atomic_load(&pool->block[i].state) == GW_LOG_FULL &&
		    pool->block[i].sequence > last)
			last = pool->block[i].sequence;
	return last;
}

static void wait_for(bool end, uint64_t number, unsigned ms)
{
	const uint64_t begin = now_ms();

	for (;;) {
		uint32_t seen = atomic_load(&shared.done);
		uint64_t passed = now_ms() - begin;

		if (atomic_load(&shared.ended) ||
		    (!end && atomic_load(&shared.begun) && atomic_load(&shared.tried) >= number) ||
		    passed >= ms)
			return;
		futex_wait(&shared.done, seen, (long)(ms - passed));
	}
}

uint32_t gw_log_writer_done(void)
{
	return atomic_load(&shared.done);
}

bool gw_log_writer_await(uint32_t seen, unsigned ms)
{
	const uint64_t begin = now_ms();
	uint64_t passed = 0;

	while (atomic_load(&shared.done) == seen && passed < ms) {
		futex_wait(&shared.done, seen, (long)(ms - passed));
		passed = now_ms() - begin;
	}
	return atomic_load(&shared.done) != seen;
}

void gw_log_writer_wait(unsigned ms)
{
	if (pool)
		wait_for(false, last_full(), ms);
}

void gw_log_writer_end(unsigned ms)
{
	if (!pool)
		return;
	atomic_store(&shared.end, true);
	gw_log_writer_wake();
	wait_for(true, 0, ms);
}

uint64_t gw_log_writer_size(void)
{
	return atomic_load(&shared.size);
}

uint32_t gw_log_writer_epoch(void)
{
	return atomic_load(&shared.epoch);
}

uint32_t gw_log_writer_losses(void)
{
	return atomic_load(&shared.losses);
}

const char *gw_log_writer_name(void)
{
	return atomic_load(&shared.named) ? gw_log_file_name() : "";
}

void gw_log_writer_forget(void)
{
	memset(&shared, 0, sizeof(shared));
	pool = NULL;
	sequence = copies = 0;
	copies_at = last_number = 0;
	torn = open_yet = false;
	for (unsigned i = 0; i < 2; i++)
		atomic_store(&reports[i].state, 0);
	gw_log_dictionary_reset();
	gw_log_file_forget();
}
