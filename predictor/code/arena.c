/* SPDX-License-Identifier: Apache-2.0 */
#include "predictor/code/arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 << 10, ALIGN = _Alignof(max_align_t) };

struct gw_arena_chunk {
	struct gw_arena_chunk *next;
	size_t size, used; /* of bytes[] */
	_Alignas(max_align_t) unsigned char bytes[];
};

void gw_arena_init(struct gw_arena *arena, size_t limit)
{
	*arena = (struct gw_arena){.limit = limit};
}

static struct gw_arena_chunk *chunk_add(struct gw_arena *arena, size_t least)
{
	size_t left = arena->limit - arena->used;
	size_t size = least > CHUNK ? least : CHUNK;
	struct gw_arena_chunk *chunk;

	if (left < sizeof(*chunk) || left - sizeof(*chunk) < least)
		return NULL;
	if (size > left - sizeof(*chunk))
		size = left - sizeof(*chunk);
	chunk = calloc(1, sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->size = size;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used += sizeof(*chunk) + size;
	return chunk;
}

void *gw_arena_array(struct gw_arena *arena, size_t count, size_t size)
{
	struct gw_arena_chunk *chunk = arena->chunks;
	size_t bytes;
	void *out;

	if (size && count > (SIZE_MAX - ALIGN) / size) {
		arena->refused = true;
		return NULL;
	}
	bytes = (count * size + ALIGN - 1) / ALIGN * ALIGN;
	if (!bytes)
		bytes = ALIGN;
	if (!chunk || chunk->size - chunk->used < bytes)
		chunk = chunk_add(arena, bytes);
	if (!chunk) {
		arena->refused = true;
		return NULL;
	}
	out = chunk->bytes + chunk->used;
	chunk->used += bytes;
	return out;
}

void *gw_arena_copy(struct gw_arena *arena, const void *bytes, size_t size)
{
	void *out = gw_arena_array(arena, size, 1);

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

		free(arena->chunks);
		arena->chunks = next;
	}
	gw_arena_init(arena, arena->limit);
}
