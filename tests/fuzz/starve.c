#include "starve.h"

#include "predictor/core/arena.h"

static uint64_t made, refused;
static bool onwards;

void starve(uint64_t at, bool all)
{
	made = 0;
	refused = at;
	onwards = all;
}

bool starve_refused(void)
{
	return refused && made >= refused;
}

void starve_by(const uint8_t *data, size_t size)
{
	uint64_t hash = UINT64_C(14695981039346656037);

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ data[i]) * UINT64_C(1099511628211);
	starve(made ? 1 + (hash >> 8) % made : 0, hash >> 63);
}

void starve_text(const uint8_t *data, size_t size, void (*analyse)(struct gw_bytes text))
{
	struct gw_bytes text = {size ? data : NULL, size};

	starve(0, false);
	analyse(text);
	if (size % 16 == 14) {
		starve_by(data, size);
		analyse(text);
	}
}

static bool refuse(struct gw_arena *arena)
{
	made++;
	if (!refused || made < refused || (made > refused && !onwards))
		return false;
	arena->refused = true;
	return true;
}

#define STARVED(result, name, parameters, arguments) \
	result __real_##name parameters; \
	result __wrap_##name parameters; \
	result __wrap_##name parameters \
	{ \
		return refuse(arena) ? NULL : __real_##name arguments; \
	}

STARVED(void *, gw_arena_array, (struct gw_arena * arena, size_t count, size_t size),
	(arena, count, size))
STARVED(void *, gw_arena_room, (struct gw_arena * arena, size_t count, size_t size),
	(arena, count, size))
STARVED(void *, gw_arena_copy, (struct gw_arena * arena, const void *bytes, size_t size),
	(arena, bytes, size))
STARVED(char *, gw_arena_text, (struct gw_arena * arena, const char *text, size_t length),
	(arena, text, length))
