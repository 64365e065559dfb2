#include "cli/common/memory.h"

#include "cli/common/index.h"
#include "cli/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Noreturn void out_of_memory(void)
{
	exit(gw_error("out of memory; give fewer files at a time"));
}

static void *checked(void *memory)
{
	if (!memory)
		out_of_memory();
	return memory;
}

void *gw_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *gw_alloc_raw(size_t size)
{
	return checked(malloc(size));
}

char *gw_copy(const char *text)
{
	return checked(strdup(text));
}

enum {
	LARGE = 1 << 20
}; /* bytes from which on an array no longer doubles: its new part is touched */

/* How many elements of @p size bytes an array of @p room is to have room for next. */
static size_t more_than(size_t room, size_t size)
{
	if (!room)
		return 4;
	return room < LARGE / size ? room * 2 : room + room / 8 + 1;
}

void *gw_grow_more(void *array, size_t *room, size_t needed, size_t size)
{
	size_t more = *room;

	while (more < needed)
		more = more_than(more, size);
	array = checked(more > SIZE_MAX / size ? NULL : realloc(array, more * size));
	memset((char *)array + *room * size, 0, (more - *room) * size);
	*room = more;
	return array;
}

void gw_index_add(struct gw_index *index, uint64_t key, uint32_t position)
{
	if (!gw_index_try_add(index, key, position))
		out_of_memory();
}
