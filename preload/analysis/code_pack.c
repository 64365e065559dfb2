#include "preload/analysis/code_pack.h"

#include "predictor/code/binary/compress.h"
#include "preload/analysis/analysis_code.h"
#include "preload/launch/module_reports.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"

#include <elf.h>
#include <string.h>

static struct gw_module_note *first, **last; /* not packed yet, oldest first */
static struct gw_pack pack;                  /* of the first; out NULL: not begun */
static void *done;                           /* what it has become; NULL: it is under way */

/* A forked child begins with the parent's: left behind. */
void gw_code_pack_start(void)
{
	first = NULL;
	last = &first;
	pack.out = NULL;
	done = NULL;
}

void gw_code_pack_add(struct gw_module_note *note)
{
	if (!note->image || note->bytes < GW_CODE_PACK_LEAST ||
	    memcmp(note->image, ELFMAG, SELFMAG) != 0)
		return;
	note->next = NULL;
	*last = note;
	last = &note->next;
}

static void next(void)
{
	first = first->next;
	if (!first)
		last = &first;
	done = NULL;
}

/* Asked first: to be refused is announced, and this can wait. */
static void *room_for(size_t bytes)
{
	return gw_memory_left(GW_MEMORY_images) > bytes ? gw_memory_new(GW_MEMORY_images, bytes, 1)
							: NULL;
}

static bool begin(void)
{
	const size_t room = (size_t)first->bytes / 4 * 3;
	void *out = room_for(room);

	if (out)
		gw_pack_begin(&pack, (struct gw_bytes){first->image, (size_t)first->bytes}, out,
			      room);
	return out != NULL;
}

static void go_on(void)
{
	enum gw_pack_end end = gw_pack_go_on(&pack, GW_CODE_PACK_STEP);

	if (end == GW_PACK_MORE)
		return;
	if (end == GW_PACK_DONE)
		done = room_for(pack.made);
	if (done)
		memcpy(done, pack.out, pack.made);
	gw_memory_free(GW_MEMORY_images, pack.out, pack.room, 1);
	pack.out = NULL;
	if (!done) /* it stays as it is */
		next();
}

static void replace(void)
{
	void *was = first->image;

	if (!gw_analysis_code_replace(first, done, pack.made))
		return;
	gw_memory_free(GW_MEMORY_images, was, (size_t)first->bytes, 1);
	gw_module_copy_give((size_t)first->bytes - pack.made);
	gw_count(GW_COUNTER_images_packed, 1);
	gw_count(GW_COUNTER_image_bytes, pack.made - first->bytes);
	next();
}

void gw_code_pack_some(void)
{
	const uint64_t from = gw_options_watch() ? GW_CODE_PACK_WATCH : GW_CODE_PACK_FROM;

	if (!first || (!pack.out && !done && gw_module_copied() <= from))
		return;
	if (done)
		replace();
	else if (pack.out || begin())
		go_on();
}
