/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/analysis/code.h"

#include "preload/analysis/code_file.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/sandbox.h"
#include "preload/maps/state.h"

#include <string.h>

enum {
	MODULES_MAX = 1 << 16,  /* numbers of modules that are remembered */
	HELD_MAX = 8,           /* modules whose code is held at a time */
	KERNEL_MEMORY = 4 << 20 /* of GW_CODE_MEMORY: what is known of one kernel */
};

/* The image of one container that runs on the device: machine code, or PTX. */
struct part {
	struct gw_cubin cubin; /* count 0 for PTX */
	struct gw_bytes ptx;
};

/* The code of a module, for one processor. */
struct held {
	uint32_t module, device; /* number, compute capability; module 0: free */
	uint64_t used;           /* when it was last asked for */
	const char *why;         /* why nothing of it is known */
	struct gw_arena arena;
	struct part *part;
	uint32_t parts;
};

static const struct gw_module_note *_Atomic notes[MODULES_MAX]; /* the worker sets them */
static struct held held[HELD_MAX];
static struct gw_arena kernel_arena;
static uint64_t asked; /* a clock of questions */

/* A forked child begins with the parent's: left behind, as they may be half changed. */
void gw_code_start(void)
{
	memset(held, 0, sizeof(held));
	memset(notes, 0, sizeof(notes));
	gw_arena_init(&kernel_arena, KERNEL_MEMORY);
	asked = 0;
}

void gw_code_module(const struct gw_module_note *note)
{
	if (note->number < MODULES_MAX)
		notes[note->number] = note;
}

size_t gw_code_held(void)
{
	size_t bytes = kernel_arena.used;

	for (unsigned i = 0; i < HELD_MAX; i++)
		bytes += held[i].arena.used;
	return bytes;
}

static void let_go(struct held *h)
{
	gw_arena_free(&h->arena);
	*h = (struct held){0};
}

/* The one not asked for the longest, other than @p but; NULL when there is none. */
static struct held *oldest(const struct held *but)
{
	struct held *found = NULL;

	for (unsigned i = 0; i < HELD_MAX; i++)
		if (&held[i] != but && held[i].module && (!found || held[i].used < found->used))
			found = &held[i];
	return found;
}

static struct held *free_place(void)
{
	struct held *h;

	for (unsigned i = 0; i < HELD_MAX; i++)
		if (!held[i].module)
			return &held[i];
	h = oldest(NULL);
	let_go(h);
	return h;
}

static bool add_part(struct held *h, const struct gw_image *image, struct gw_fault *fault)
{
	struct part *p = &h->part[h->parts];
	struct gw_bytes bytes;

	if (!gw_image_bytes(image, &h->arena, &bytes, fault))
		return false;
	*p = (struct part){0};
	if (image->kind == GW_IMAGE_PTX)
		p->ptx = bytes;
	else if (!gw_cubin_open(bytes, &h->arena, &p->cubin, fault))
		return false;
	h->parts++;
	return true;
}

/* The image of every container that the driver takes; false with the reason in h->why. */
static bool read_parts(struct held *h, struct gw_bytes bytes)
{
	struct gw_images images;
	struct gw_fault fault;

	if (!gw_images_open(bytes, &h->arena, &images, &fault)) {
		h->why = fault.what;
		return false;
	}
	h->part = gw_arena_array(&h->arena, images.containers, sizeof(*h->part));
	for (size_t i = 0, n; h->part && i < images.count; i += n) {
		const struct gw_image *image;

		n = gw_images_together(&images, i);
		image = gw_image_choose(&images.image[i], n, h->device);
		if (image && !add_part(h, image, &fault)) {
			h->why = fault.what;
			return false;
		}
	}
	if (!h->parts)
		h->why = h->part ? "no image in it runs on this GPU"
		                 : "there is no memory left for it";
	return h->parts > 0;
}

static bool read_module(struct held *h, const struct gw_module_note *note)
{
	struct gw_bytes bytes = {note->image, (size_t)note->bytes};

	if (!note->image)
		h->why = gw_code_file_read(note, &h->arena, &bytes);
	return !h->why && read_parts(h, bytes);
}

/* Into place @p h; where there is not enough memory the others make room, oldest first. */
static void hold(struct held *h, uint32_t module, uint32_t device)
{
	for (;;) {
		struct held *other;

		*h = (struct held){.module = module, .device = device, .used = asked};
		gw_arena_init(&h->arena,
		              GW_CODE_MEMORY - KERNEL_MEMORY - gw_code_held() + kernel_arena.used);
		if (read_module(h, notes[module]) || !h->arena.refused)
			return;
		other = oldest(h);
		if (!other)
			return;
		gw_arena_free(&h->arena);
		let_go(other);
	}
}

static struct held *held_code(uint32_t module, uint32_t device)
{
	struct held *h;

	asked++;
	for (h = held; h < held + HELD_MAX; h++)
		if (h->module == module && h->device == device) {
			h->used = asked;
			return h;
		}
	h = free_place();
	hold(h, module, device);
	if (!h->parts) /* only the reason is worth keeping */
		gw_arena_free(&h->arena);
	return h;
}

static bool find(const struct held *h, const char *name, struct gw_code *out)
{
	struct gw_fault fault;

	out->why = "the module's code for this GPU does not hold the kernel";
	for (uint32_t i = 0; i < h->parts; i++) {
		const struct part *p = &h->part[i];
		uint32_t at = gw_cubin_find(&p->cubin, name);

		if (at < p->cubin.count) {
			out->machine =
			        gw_cubin_kernel(&p->cubin, at, &kernel_arena, &out->kernel, &fault);
			out->why = out->machine ? NULL : fault.what;
			return out->machine;
		}
		if (p->ptx.size && memmem(p->ptx.data, p->ptx.size, name, strlen(name))) {
			out->ptx = p->ptx;
			out->why = NULL;
			return true;
		}
	}
	return false;
}

bool gw_code_of(uint32_t slot, struct gw_code *out)
{
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[slot];
	const struct held *h;

	*out = (struct gw_code){.why = "its module was loaded unseen"};
	gw_arena_free(&kernel_arena);
	if (!slot || !k->name || !k->module || k->module >= MODULES_MAX || !notes[k->module])
		return false;
	out->why = "the driver does not report which processor its code is for";
	if (k->binary_version == UINT32_MAX)
		return false;
	h = held_code(k->module, k->binary_version);
	out->why = h->why;
	return !h->why && find(h, k->name, out);
}
