#include "preload/launch/module_reports.h"

#include "preload/maps/memory.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/options.h"

#include <string.h>

enum { ALIGNED = 16 };

/* The load that the thread has under way. */
struct load {
	bool here, ptx; /* ptx: the driver compiles it */
	const struct gw_module_note *compiled;
};

static unsigned char *pool; /* [GW_MODULE_COPIES_MAX], pages touched as it fills */
static _Atomic size_t filled;
static _Atomic(struct gw_module_note *) reports; /* newest first */
static _Atomic int libraries;                    /* a runtime loads such, which hooks see */
static _Atomic int unseen;                       /* a kernel of a module that no hook saw */
static _Atomic int lost;                         /* there was no room for some */
static _Thread_local struct load load __attribute__((tls_model("initial-exec")));

/* A forked child takes its parent's room: of the parent's modules it has none. */
bool gw_module_reports_start(void)
{
	atomic_store(&reports, NULL);
	atomic_store(&filled, 0);
	atomic_store(&unseen, 0);
	atomic_store(&lost, 0);
	load = (struct load){0};
	if (gw_options.mode != GW_MODE_AUDIT || !gw_options.analyze_code)
		return false;
	if (!pool)
		pool = gw_memory_reserve(GW_MODULE_COPIES_MAX);
	return pool != NULL;
}

/* PTX is text, which begins with a comment, a directive or white space. */
static bool is_ptx(const void *image, const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	unsigned char first = 0;

	if (image)
		memcpy(&first, image, 1);
	return (first && strchr("/.\n\t \r", first)) || (dot && !strcmp(dot, ".ptx"));
}

void gw_module_load_begun(const void *image, const char *path)
{
	load = (struct load){.here = true, .ptx = is_ptx(image, path)};
}

const struct gw_module_note *gw_module_load_ended(bool library)
{
	const struct gw_module_note *compiled = load.compiled;

	load = (struct load){0};
	if (library)
		gw_module_libraries();
	return compiled;
}

void gw_module_libraries(void)
{
	atomic_store_explicit(&libraries, 1, memory_order_relaxed);
}

bool gw_module_reports_wanted(void)
{
	return !atomic_load_explicit(&libraries, memory_order_relaxed) ||
	       atomic_load_explicit(&unseen, memory_order_relaxed);
}

void gw_module_unseen(void)
{
	if (!atomic_load_explicit(&unseen, memory_order_relaxed))
		atomic_store_explicit(&unseen, 1, memory_order_relaxed);
}

static const struct gw_module_note *same(uint64_t digest, size_t size)
{
	/* Pairs with the exchange in keep(): the note is filled. */
	struct gw_module_note *n = atomic_load_explicit(&reports, memory_order_acquire);

	while (n && (n->digest != digest || n->bytes != size))
		n = n->next;
	return n;
}

/* @p room bytes of the pool; what is refused takes none. */
static bool take_place(size_t room, size_t *at)
{
	if (!gw_memory_take(GW_MEMORY_images, room))
		return false;
	*at = atomic_load(&filled);
	do {
		if (*at > GW_MODULE_COPIES_MAX - room) {
			gw_memory_give(GW_MEMORY_images, room);
			return false;
		}
	} while (!atomic_compare_exchange_weak(&filled, at, *at + room));
	return true;
}

/* A note in the pool, its copy behind it; NULL where there is no room. */
static struct gw_module_note *copy(const void *cubin, size_t size)
{
	size_t head = (sizeof(struct gw_module_note) + ALIGNED) & ~(size_t)(ALIGNED - 1);
	size_t room = (head + size + ALIGNED - 1) & ~(size_t)(ALIGNED - 1), at;
	bool hooks = atomic_load_explicit(&libraries, memory_order_relaxed);
	struct gw_module_note *n;

	/* Where hooks see nearly all code, most of what is reported now is theirs. */
	if (hooks && atomic_load(&filled) + room > GW_MODULE_REPORTS_MAX)
		return NULL;

	/* Asked first: to be refused is announced, which is not for here. */
	if (size > GW_MODULE_COPY_MAX || gw_memory_left(GW_MEMORY_images) < room ||
	    !gw_module_copy_take(size))
		return NULL;
	if (!take_place(room, &at)) {
		gw_module_copy_give(size);
		return NULL;
	}
	n = (void *)(pool + at);
	*n = (struct gw_module_note){.origin = GW_MODULE_DATA, .bytes = size};
	n->image = memcpy((unsigned char *)n + head, cubin, size);
	gw_count(GW_COUNTER_image_bytes, size);
	return n;
}

static const struct gw_module_note *keep(const void *cubin, size_t size)
{
	/* What is too large to keep is not read either. */
	uint64_t digest = size <= GW_MODULE_COPY_MAX ? gw_module_digest(cubin, size) : 0;
	const struct gw_module_note *known = same(digest, size);
	struct gw_module_note *n;

	if (!known && digest)
		known = gw_module_copy_of(digest, size);
	if (known)
		return known;
	n = copy(cubin, size);
	if (!n) {
		atomic_store_explicit(&lost, 1, memory_order_relaxed);
		gw_count(GW_COUNTER_images_dropped, 1);
		return NULL;
	}
	n->digest = digest;
	if (load.here) /* of a module that is known: it is nobody else's */
		return n;
	n->next = atomic_load(&reports);
	while (!atomic_compare_exchange_weak(&reports, &n->next, n))
		;
	return n;
}

void gw_module_reported(const void *cubin, size_t size)
{
	if (load.here && load.ptx)
		load.compiled = keep(cubin, size);
	else if (!load.here && gw_module_reports_wanted())
		keep(cubin, size);
}

const struct gw_module_note *gw_module_reports(bool *all)
{
	*all = !atomic_load_explicit(&lost, memory_order_relaxed);
	/* Pairs with the exchange in keep(): the notes are filled. */
	return atomic_load_explicit(&reports, memory_order_acquire);
}
