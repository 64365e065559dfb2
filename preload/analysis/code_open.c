#include "preload/analysis/code_open.h"

#include "preload/analysis/code.h"
#include "preload/analysis/code_file.h"

#include <string.h>

enum {
	HELD_MAX = 8, /* modules whose code is held at a time */
	MEMORY = GW_CODE_MEMORY - GW_CODE_KERNEL_MEMORY,
};

static struct gw_open_code held[HELD_MAX];
static uint64_t asked; /* a clock of questions */

/* A forked child begins with the parent's: left behind, as they may be half changed. */
void gw_code_open_start(void)
{
	memset(held, 0, sizeof(held));
	asked = 0;
}

size_t gw_code_open_held(void)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < HELD_MAX; i++)
		bytes += held[i].arena.used;
	return bytes;
}

static void let_go(struct gw_open_code *h)
{
	gw_arena_free(&h->arena);
	*h = (struct gw_open_code){0};
}

void gw_code_open_tidy(void)
{
	for (unsigned i = 0; i < HELD_MAX; i++)
		if (held[i].note)
			let_go(&held[i]);
}

void gw_code_open_forget(const struct gw_module_note *note)
{
	for (unsigned i = 0; i < HELD_MAX; i++)
		if (held[i].note && (held[i].note == note || held[i].note->compiled == note))
			let_go(&held[i]);
}

/* The one not asked for the longest, other than @p but; NULL when there is none. */
static struct gw_open_code *oldest(const struct gw_open_code *but)
{
	struct gw_open_code *found = NULL;

	for (unsigned i = 0; i < HELD_MAX; i++)
		if (&held[i] != but && held[i].note && (!found || held[i].used < found->used))
			found = &held[i];
	return found;
}

static struct gw_open_code *free_place(void)
{
	struct gw_open_code *h;

	for (unsigned i = 0; i < HELD_MAX; i++)
		if (!held[i].note)
			return &held[i];
	h = oldest(NULL);
	let_go(h);
	return h;
}

static bool add_part(struct gw_open_code *h, const struct gw_image *image, struct gw_fault *fault)
{
	struct gw_code_part *p = &h->part[h->parts];
	struct gw_bytes bytes;

	if (!gw_image_bytes(image, &h->arena, &bytes, fault))
		return false;
	*p = (struct gw_code_part){0};
	if (image->kind == GW_IMAGE_PTX)
		p->ptx = bytes;
	else if (!gw_cubin_open(bytes, &h->arena, &p->cubin, fault))
		return false;
	h->parts++;
	return true;
}

/* Room for @p more parts behind those that there are. */
static bool widen(struct gw_open_code *h, uint32_t more)
{
	struct gw_code_part *part = gw_arena_array(&h->arena, h->parts + more, sizeof(*part));

	if (part && h->parts)
		memcpy(part, h->part, h->parts * sizeof(*part));
	h->part = part;
	return part != NULL;
}

/* The image of every container that the driver takes; false with the reason in h->why. */
static bool read_parts(struct gw_open_code *h, struct gw_bytes bytes)
{
	struct gw_images images;
	struct gw_fault fault;

	if (!gw_images_open(bytes, &h->arena, &images, &fault)) {
		h->why = fault.what;
		return false;
	}
	if (!widen(h, images.containers)) {
		h->why = "there is no memory left for it";
		return false;
	}
	for (size_t i = 0, n; i < images.count; i += n) {
		const struct gw_image *image;

		n = gw_images_together(&images, i);
		image = gw_image_choose(&images.image[i], n, h->processor);
		if (image && !add_part(h, image, &fault)) {
			h->why = fault.what;
			return false;
		}
	}
	if (!h->parts)
		h->why = "no image in it runs on this GPU";
	return h->parts > 0;
}

static struct gw_bytes copy_of(const struct gw_module_note *note)
{
	return (struct gw_bytes){note->image, note->packed ? note->packed : (size_t)note->bytes};
}

/* What the driver made of PTX comes first: the text has what that lacks. */
static bool read_module(struct gw_open_code *h)
{
	const struct gw_module_note *note = h->note, *compiled = note->compiled;
	struct gw_bytes bytes = copy_of(note);
	bool machine = compiled && read_parts(h, copy_of(compiled));

	h->why = NULL;
	if (!note->image)
		h->why = gw_code_file_read(note, &h->arena, &bytes);
	if (!h->why)
		read_parts(h, bytes);
	if (machine && h->part)
		h->why = NULL;
	return !h->why;
}

/* Into place @p h; where there is not enough memory the others make room, oldest first. */
static void hold(struct gw_open_code *h, const struct gw_module_note *note, uint32_t processor)
{
	for (;;) {
		struct gw_open_code *other;

		*h = (struct gw_open_code){.note = note, .processor = processor, .used = asked};
		gw_arena_init(&h->arena, MEMORY - gw_code_open_held());
		if (read_module(h) || !h->arena.refused)
			return;
		other = oldest(h);
		if (!other)
			return;
		gw_arena_free(&h->arena);
		let_go(other);
	}
}

const struct gw_open_code *gw_code_open(const struct gw_module_note *note, uint32_t processor)
{
	struct gw_open_code *h;

	asked++;
	for (h = held; h < held + HELD_MAX; h++)
		if (h->note == note && h->processor == processor) {
			h->used = asked;
			return h;
		}
	h = free_place();
	hold(h, note, processor);
	if (!h->parts) /* only the reason is worth keeping */
		gw_arena_free(&h->arena);
	return h;
}
