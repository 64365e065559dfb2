/*
 * Any bytes as a file of device code: refused with a place inside it, or listed, unpacked and read
 * kernel by kernel, with every part inside what it is a part of and memory within its limit.
 */
#include "predictor/code/binary/compress.h"
#include "predictor/code/binary/image.h"
#include "predictor/code/binary/kernel.h"
#include "starve.h"

/* Memory that an arena may take. */
static size_t list_limit, kernel_limit;

/* One length of sixteen finds out what happens without enough: with 0 to 960 bytes. */
static size_t limit_of(size_t size, unsigned rest)
{
	return size % 16 == rest ? (size >> 4 & 15) * 64 : (size_t)4 << 20;
}

static int inside(struct gw_bytes part, struct gw_bytes whole)
{
	return !part.size || (part.data >= whole.data && part.size <= whole.size &&
			      (size_t)(part.data - whole.data) <= whole.size - part.size);
}

static void check_kernel(const struct gw_code_kernel *k, struct gw_bytes cubin)
{
	volatile char last = 0; /* every name can be read to its end */

	require(inside(k->code, cubin), "code outside the cubin");
	for (int i = 0; i < GW_CODE_BANKS; i++)
		require(inside(k->bank[i], cubin), "constants outside the cubin");
	for (const char *c = k->name; *c; c++)
		last = *c;
	for (uint32_t i = 0; k->param_count != GW_CODE_UNKNOWN && i < k->param_count; i++)
		require(k->param[i].size <= UINT16_MAX, "a parameter of no size");
	for (uint32_t i = 0; i < k->function_count; i++)
		require(!i || k->function[i - 1].offset <= k->function[i].offset,
			"functions out of order");
	for (uint32_t i = 0; i < k->relocation_count; i++)
		last = *k->relocation[i].symbol;
	for (uint32_t i = 0; i < k->exit_count; i++)
		last = (char)k->exits[i];
	(void)last;
}

/* Packed they are shorter than the room, or given up, and come out as they were. */
static void check_packing(struct gw_bytes bytes)
{
	static struct gw_pack pack;
	size_t room = bytes.size + 100;
	uint8_t *out = malloc(room), *back = malloc(bytes.size + 1);
	struct gw_bytes packed = {out + GW_PACK_HEAD, 0};
	uint32_t size;
	enum gw_pack_end end;

	require(out && back, "no memory");
	gw_pack_begin(&pack, bytes, out, room);
	do
		end = gw_pack_go_on(&pack, 1 + bytes.size / 3);
	while (end == GW_PACK_MORE);
	require(pack.made <= room, "packed beyond its room");
	if (end == GW_PACK_DONE) {
		memcpy(&size, out + 32, sizeof(size)); /* the entry's packed_size */
		packed.size = size;
		require(!gw_lz4_unpack(packed, back, bytes.size) &&
				(!bytes.size || !memcmp(back, bytes.data, bytes.size)),
			"unpacked they are other bytes");
	}
	free(out);
	free(back);
}

static void read_cubin(struct gw_bytes bytes)
{
	struct gw_code_kernel k;
	struct gw_fault fault;
	struct gw_cubin cubin;
	struct gw_arena arena;

	gw_arena_init(&arena, kernel_limit);
	if (gw_cubin_open(bytes, &arena, &cubin, &fault)) {
		for (uint32_t i = 0; i < cubin.count; i++)
			if (gw_cubin_kernel(&cubin, i, &arena, &k, &fault))
				check_kernel(&k, bytes);
			else
				require(fault.what != NULL, "no reason");
	} else {
		require(fault.what && !cubin.count, "refused without a reason, or in part");
	}
	require(arena.used <= kernel_limit, "more memory than allowed");
	gw_arena_free(&arena);
}

static void read_image(const struct gw_image *image, struct gw_bytes file)
{
	struct gw_fault fault = {0};
	struct gw_bytes bytes;
	struct gw_arena arena;

	require(inside(image->stored, file), "an image outside the file");
	gw_arena_init(&arena, kernel_limit);
	if (!gw_image_bytes(image, &arena, &bytes, &fault))
		require(fault.what && fault.offset <= file.size, "no reason or no place");
	else if (image->kind == GW_IMAGE_CUBIN)
		read_cubin(bytes);
	gw_arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gw_bytes file = {size ? data : NULL, size};
	struct gw_images images;
	struct gw_fault fault;
	struct gw_arena arena;

	list_limit = limit_of(size, 15);
	kernel_limit = limit_of(size, 14);
	gw_arena_init(&arena, list_limit);
	if (!gw_images_open(file, &arena, &images, &fault))
		require(fault.what && fault.offset <= size, "no reason or no place");
	for (size_t i = 0; i < images.count; i++)
		read_image(&images.image[i], file);
	for (size_t i = 0; i < images.count; i += gw_images_together(&images, i))
		gw_image_choose(&images.image[i], gw_images_together(&images, i), 90);
	if (size % 4 == 1)
		check_packing(file);
	require(arena.used <= list_limit, "more memory than allowed");
	gw_arena_free(&arena);
	return 0;
}
