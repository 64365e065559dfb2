#include "preload/analysis/code.h"

#include "preload/analysis/code_open.h"
#include "preload/analysis/code_pack.h"
#include "preload/analysis/code_unseen.h"
#include "preload/maps/state.h"

#include <string.h>

enum { MODULES_MAX = 1 << 16 /* numbers of modules that are remembered */ };

static const struct gw_module_note *_Atomic notes[MODULES_MAX]; /* the worker sets them */
static struct gw_arena kernel_arena;

/* A forked child begins with the parent's: left behind, as they may be half changed. */
void gw_code_start(void)
{
	gw_code_open_start();
	gw_code_unseen_start();
	gw_code_pack_start();
	memset(notes, 0, sizeof(notes));
	gw_arena_init(&kernel_arena, GW_CODE_KERNEL_MEMORY);
}

void gw_code_module(const struct gw_module_note *note)
{
	if (note->number < MODULES_MAX)
		notes[note->number] = note;
}

const struct gw_module_note *gw_code_note(uint32_t number)
{
	return number < MODULES_MAX ? notes[number] : NULL;
}

void gw_code_tidy(void)
{
	gw_arena_free(&kernel_arena);
	gw_code_open_tidy();
}

size_t gw_code_held(void)
{
	return kernel_arena.used + gw_code_open_held();
}

static bool find(const struct gw_open_code *h, const char *name, struct gw_code *out)
{
	struct gw_fault fault;

	out->why = "the module's code for this GPU does not hold the kernel";
	for (uint32_t i = 0; i < h->parts; i++) {
		const struct gw_code_part *p = &h->part[i];
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

static const struct gw_module_note *note_of(const struct gw_kernel_slot *k)
{
	return k->module < MODULES_MAX ? notes[k->module] : NULL;
}

bool gw_code_of(uint32_t slot, struct gw_code *out)
{
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[slot];
	const struct gw_module_note *note = k->module ? note_of(k) : NULL;
	const struct gw_open_code *h;

	*out = (struct gw_code){.why = "its module was loaded unseen"};
	gw_arena_free(&kernel_arena);
	if (!slot || !k->name)
		return false;
	out->why = "the driver does not report which processor its code is for";
	if (k->binary_version == UINT32_MAX)
		return false;
	if (!note)
		return gw_code_unseen(k, &kernel_arena, out);
	h = gw_code_open(note, k->binary_version);
	out->why = h->why;
	return !h->why && find(h, k->name, out);
}
