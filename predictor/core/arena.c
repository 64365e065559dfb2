#include "predictor/core/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 << 10, ALIGN = _Alignof(max_align_t) };

struct gw_arena_chunk {
	struct gw_arena_chunk *next;
	size_t size, used; /* of bytes[] */
	_Alignas(max_align_t) unsigned char bytes[];
};

static bool (*account_take)(size_t);
static void (*account_give)(size_t);

void gw_arena_account(bool (*take)(size_t bytes), void (*give)(size_t bytes))
{
	account_take = take;
	account_give = give;
}

void gw_arena_init(struct gw_arena *arena, size_t limit)
{
	*arena = (struct gw_arena){.limit = limit};
}

/* A chunk that is in no list yet; NULL: beyond the limit, or there is no memory. */
static struct gw_arena_chunk *chunk_new(struct gw_arena *arena, size_t size, bool zeroed)
{
	size_t left = arena->limit - arena->used;
	struct gw_arena_chunk *chunk;

	if (left < sizeof(*chunk) || left - sizeof(*chunk) < size ||
	    (account_take && !account_take(sizeof(*chunk) + size)))
		return NULL;
	chunk = zeroed ? calloc(1, sizeof(*chunk) + size) : malloc(sizeof(*chunk) + size);
	if (!chunk && account_give)
		account_give(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->used = 0;
	arena->used += sizeof(*chunk) + size;
	return chunk;
}

/* Behind the newest, which may have room left. */
static void put_in(struct gw_arena *arena, struct gw_arena_chunk *chunk)
{
	struct gw_arena_chunk *newest = arena->chunks;

	chunk->used = chunk->size;
	chunk->next = newest ? newest->next : NULL;
	if (newest)
		newest->next = chunk;
	else
		arena->chunks = chunk;
}

/* Of one that is all of an array's the system may give zeros for nothing. */
static struct gw_arena_chunk *chunk_add(struct gw_arena *arena, size_t least)
{
	size_t left = arena->limit - arena->used, size = least > CHUNK ? least : CHUNK;
	struct gw_arena_chunk *chunk;

	/* The last one takes what is left, if that is enough. */
	if (left >= sizeof(*chunk) && left - sizeof(*chunk) >= least &&
	    size > left - sizeof(*chunk))
		size = left - sizeof(*chunk);
	chunk = chunk_new(arena, size, least > CHUNK);
	if (!chunk)
		return NULL;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

/* Bytes of an array, in whole units of alignment; 0: more than there are. */
static size_t bytes_of(size_t count, size_t size)
{
	if (size && count > (SIZE_MAX - ALIGN) / size)
		return 0;
	return count && size ? (count * size + ALIGN - 1) / ALIGN * ALIGN : ALIGN;
}

static void *take(struct gw_arena *arena, size_t bytes, bool zeroed)
{
	struct gw_arena_chunk *chunk = arena->chunks;
	void *out;

	if (bytes && (!chunk || chunk->size - chunk->used < bytes))
		chunk = chunk_add(arena, bytes);
	if (!bytes || !chunk) {
		arena->refused = true;
		return NULL;
	}
	out = chunk->bytes + chunk->used;
	chunk->used += bytes;
	if (zeroed && bytes <= CHUNK)
		memset(out, 0, bytes);
	return out;
}

void *gw_arena_array(struct gw_arena *arena, size_t count, size_t size)
{
	return take(arena, bytes_of(count, size), true);
}

void *gw_arena_room(struct gw_arena *arena, size_t count, size_t size)
{
	size_t bytes = bytes_of(count, size);
	struct gw_arena_chunk *chunk;

	if (bytes && bytes < CHUNK)
		return take(arena, bytes, false);
	chunk = bytes ? chunk_new(arena, bytes, false) : NULL;
	if (!chunk) {
		arena->refused = true;
		return NULL;
	}
	put_in(arena, chunk);
	return chunk->bytes;
}

void *gw_arena_copy(struct gw_arena *arena, const void *bytes, size_t size)
{
	void *out = gw_arena_room(arena, size, 1);

	if (out && size)
		memcpy(out, bytes, size);
	return out;
}

char *gw_arena_text(struct gw_arena *arena, const char *text, size_t length)
{
	char *out = length < SIZE_MAX ? gw_arena_array(arena, length + 1, 1) : NULL;

	if (out && length)
		memcpy(out, text, length);
	return out;
}

void gw_arena_free(struct gw_arena *arena)
{
	while (arena->chunks) {
		struct gw_arena_chunk *next = arena->chunks->next;

		if (account_give)
			account_give(sizeof(*next) + arena->chunks->size);
		free(arena->chunks);
		arena->chunks = next;
	}
	gw_arena_init(arena, arena->limit);
}
