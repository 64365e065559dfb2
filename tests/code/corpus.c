#include "tests/code/corpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

enum { LARGEST = 1 << 20 };

static struct gw_arena group_arena;

int corpus_begin(void **state)
{
	(void)state;
	gw_arena_init(&group_arena, CORPUS_MEMORY);
	return 0;
}

int corpus_end(void **state)
{
	(void)state;
	gw_arena_free(&group_arena);
	return 0;
}

struct gw_arena *corpus_arena(void)
{
	return &group_arena;
}

struct gw_bytes corpus_file(struct gw_arena *arena, const char *name)
{
	static uint8_t buffer[LARGEST];
	char path[512];
	size_t size;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", CORPUS, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s can't be read", path);
	size = fread(buffer, 1, sizeof(buffer), f);
	fclose(f);
	assert_in_range(size, 1, LARGEST - 1);
	return (struct gw_bytes){gw_arena_copy(arena, buffer, size), size};
}

struct gw_images corpus_images(struct gw_arena *arena, const char *name, size_t count)
{
	struct gw_images images;
	struct gw_fault fault;

	if (!gw_images_open(corpus_file(arena, name), arena, &images, &fault))
		fail_msg("%s: %s at %llu", name, fault.what, (unsigned long long)fault.offset);
	assert_int_equal(images.count, count);
	return images;
}

struct gw_bytes corpus_bytes(struct gw_arena *arena, const struct gw_image *image)
{
	struct gw_bytes bytes;
	struct gw_fault fault;

	if (!gw_image_bytes(image, arena, &bytes, &fault))
		fail_msg("%s at %llu", fault.what, (unsigned long long)fault.offset);
	return bytes;
}
