#include "preload/launch/modules.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/launch/module_reports.h"
#include "preload/maps/memory.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/own_files.h"
#include "preload/maps/state.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
	COPY_MAX = GW_MODULE_COPY_MAX,
	PTX_MAX = 64 << 20,
	NOTES_MAX = 1 << 16,
	COPIES = 1 << 13, /* modules whose notes others may share */
	PROBES = 16,
	PAGE = 4096, /* as the loader aligns segments */
	PATH = 4096,
	HEAD = 16, /* of an image larger than COPY_MAX only these are read: its size may be a lie */
};

static struct gw_module_note *_Atomic notes; /* newest first */
static _Atomic uint32_t numbers;
static _Atomic uint64_t copied;                       /* bytes of all copies */
static struct gw_module_note *_Atomic copies[COPIES]; /* by identity */
static _Atomic uint64_t identities[NOTES_MAX];        /* by number; touched as used */
static _Thread_local const void *linked __attribute__((tls_model("initial-exec")));

/* The fat binary formats: what nvcc's registration code passes, and what it points to. */
struct fatbin_wrapper {
	uint32_t magic, version;
	const void *data;
};
struct fatbin_header {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size;
};
#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC         0xba55ed50u

/* Where a table ends, UINT64_MAX when there is no such place. */
static uint64_t table_end(uint64_t offset, unsigned entries, unsigned size)
{
	uint64_t length = (uint64_t)entries * size;

	return offset > UINT64_MAX - length ? UINT64_MAX : offset + length;
}

static size_t elf_size(const void *image)
{
	Elf64_Ehdr e;
	uint64_t sections, segments, end;

	memcpy(&e, image, sizeof(e));
	sections = table_end(e.e_shoff, e.e_shnum, e.e_shentsize);
	segments = table_end(e.e_phoff, e.e_phnum, e.e_phentsize);
	end = sections > segments ? sections : segments;
	return e.e_ident[EI_CLASS] == ELFCLASS64 && end != UINT64_MAX ? end : 0;
}

size_t gw_image_size(const void *image, const void **start)
{
	uint32_t magic;

	*start = image;
	memcpy(&magic, image, sizeof(magic));
	if (magic == FATBIN_WRAPPER_MAGIC) {
		const struct fatbin_wrapper *w = image;

		if (!w->data)
			return 0;
		image = *start = w->data;
		memcpy(&magic, image, sizeof(magic));
	}
	if (magic == FATBIN_MAGIC) {
		const struct fatbin_header *h = image;

		return h->size > SIZE_MAX - h->header_size ? 0 : h->header_size + h->size;
	}
	if (!memcmp(image, ELFMAG, SELFMAG))
		return elf_size(image);
	/* Text: PTX begins with a comment, a directive or white space. */
	if (strchr("/.\n\t \r", *(const char *)image))
		return strnlen(image, PTX_MAX);
	return 0;
}

static uint64_t mix(uint64_t h, uint64_t word)
{
	h = (h ^ word) * UINT64_C(0x9fb21c651e98df25);
	return h ^ (h >> 32);
}

static uint64_t digest(const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = size * UINT64_C(0x9fb21c651e98df25), word;

	for (; size >= 8; size -= 8, p += 8) {
		memcpy(&word, p, 8);
		h = mix(h, word);
	}
	word = 0;
	if (size)
		memcpy(&word, p, size);
	return mix(h, word);
}

uint64_t gw_file_stamp(const struct stat *file)
{
	uint64_t h = mix((uint64_t)file->st_dev, (uint64_t)file->st_ino);

	h = mix(h, (uint64_t)file->st_size);
	h = mix(h, (uint64_t)file->st_mtim.tv_sec);
	return mix(h, (uint64_t)file->st_mtim.tv_nsec) | 1;
}

static uint64_t identity_of(const struct gw_module_note *n, const char *path, size_t length,
			    const void *start)
{
	uint64_t h;

	if (length)
		h = mix(mix(mix(digest(path, length), n->stamp), n->from_base), n->bytes);
	else if (n->bytes)
		h = n->bytes <= COPY_MAX ? digest(start, n->bytes)
					 : mix(digest(start, HEAD), n->bytes);
	else
		return 0; /* of an unknown format: not identified */
	return h ? h : 1;
}

bool gw_module_copy_take(size_t bytes)
{
	if (!bytes || bytes > COPY_MAX)
		return false;
	if (atomic_fetch_add(&copied, bytes) + bytes <= GW_MODULE_COPIES_MAX)
		return true;
	atomic_fetch_sub(&copied, bytes);
	return false;
}

void gw_module_copy_give(size_t bytes)
{
	atomic_fetch_sub(&copied, bytes);
}

uint64_t gw_module_copied(void)
{
	return atomic_load_explicit(&copied, memory_order_relaxed);
}

/* PTX that was compiled twice, for other GPUs or with other options, is two: @p twin. */
static const struct gw_module_note *find(uint64_t identity, size_t bytes,
					 const struct gw_module_note *twin)
{
	for (unsigned i = 0; i < PROBES; i++) {
		/* Pairs with the exchange in share(): the note is filled. */
		const struct gw_module_note *n = atomic_load_explicit(
			&copies[(identity + i) % COPIES], memory_order_acquire);

		if (!n || (n->identity == identity && n->bytes == bytes &&
			   (!twin || (n->origin == twin->origin && n->compiled == twin->compiled))))
			return n;
	}
	return NULL;
}

const struct gw_module_note *gw_module_copy_of(uint64_t digest, size_t bytes)
{
	return find(digest, bytes, NULL);
}

static void share(struct gw_module_note *n)
{
	for (unsigned i = 0; i < PROBES; i++) {
		struct gw_module_note *none = NULL;

		if (atomic_compare_exchange_strong(&copies[(n->identity + i) % COPIES], &none, n))
			return;
	}
}

uint64_t gw_module_digest(const void *image, size_t size)
{
	return digest(image, size);
}

/* Our own copy of an image; NULL when it is too large for the bounds of all. */
static void *copy(const void *start, size_t bytes)
{
	void *to;

	if (!gw_module_copy_take(bytes))
		return NULL;
	to = gw_memory_new(GW_MEMORY_images, 1, bytes);
	if (!to) {
		gw_module_copy_give(bytes);
		return NULL;
	}
	memcpy(to, start, bytes);
	gw_count(GW_COUNTER_image_bytes, bytes);
	return to;
}

/* Where an image lies in an executable or shared library; @p path NULL: in none. */
struct place {
	uintptr_t at;
	const char *path;
	uint64_t from_base;
};

static int holds(struct dl_phdr_info *o, size_t size, void *arg)
{
	struct place *p = arg;
	const uint64_t at = p->at - o->dlpi_addr;
	uint64_t lowest = UINT64_MAX;

	(void)size;
	for (unsigned i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &o->dlpi_phdr[i];

		if (h->p_type != PT_LOAD)
			continue;
		if (h->p_vaddr < lowest)
			lowest = h->p_vaddr;
		if (at - h->p_vaddr < h->p_memsz) {
			p->path = o->dlpi_name;
			p->from_base = at - lowest / PAGE * PAGE;
			return 1;
		}
	}
	return 0;
}

/* The loader leaves its name empty, and by argv[0] it is not found after chdir(), or where the
 * shell found it in PATH. */
static const char *program(char *room)
{
	size_t length = 0;

	if (gw_sandbox_enter()) {
		length = gw_program_path(room, PATH);
		gw_sandbox_leave();
	}
	return length ? room : NULL;
}

/* The number of the module: of one that was loaded before its first one, so that a program that
 * loads it again and again makes no new notes. */
static uint32_t note(enum gw_module_origin origin, const void *image, const char *path,
		     const struct gw_module_note *compiled)
{
	const void *start = NULL;
	struct gw_module_note *n, as = {.origin = origin,
					.ticks = gw_ticks(),
					.bytes = image ? gw_image_size(image, &start) : 0,
					.compiled = compiled};
	const struct gw_module_note *before;
	struct place where = {.at = (uintptr_t)start};
	size_t length;
	char room[PATH];
	struct stat file;

	/*
	 * Code that lies in an executable or shared library can be read from there later. Not by
	 * dladdr(), which waits for the lock that dlopen() holds while constructors run: one of
	 * them may wait for this thread.
	 */
	if (!path && start && dl_iterate_phdr(holds, &where))
		path = *where.path ? where.path : program(room);
	length = path ? strnlen(path, PATH - 1) : 0;
	as.from_base = where.from_base;
	if (length && gw_sandbox_enter()) {
		if (!stat(path, &file))
			as.stamp = gw_file_stamp(&file);
		gw_sandbox_leave();
	}
	as.identity = identity_of(&as, path, length, start);
	if (!path && as.bytes <= COPY_MAX)
		as.digest = as.identity;
	before = as.identity ? find(as.identity, as.bytes, &as) : NULL;
	if (before)
		return before->number;
	as.number = atomic_fetch_add(&numbers, 1) + 1;
	if (as.number >= NOTES_MAX) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "more than %d modules were loaded: kernels of later ones have no code",
			   NOTES_MAX - 1);
		gw_count(GW_COUNTER_modules_unnamed, 1);
		return as.number;
	}
	n = gw_memory_new(GW_MEMORY_modules, 1, sizeof(*n) + length + 1);
	if (!n)
		return as.number;
	if (image && !path)
		as.image = copy(start, as.bytes);
	*n = as;
	memcpy(n->path, path ? path : "", length);
	if (length || as.image)
		share(n);
	else if (as.bytes)
		gw_count(GW_COUNTER_images_dropped, 1);
	atomic_store_explicit(&identities[as.number], as.identity, memory_order_relaxed);
	n->next = atomic_load(&notes);
	while (!atomic_compare_exchange_weak(&notes, &n->next, n))
		;
	return as.number;
}

void gw_module_loaded(void *handle, void *context, enum gw_module_origin origin, const void *image,
		      const char *path)
{
	const struct gw_module_note *compiled = gw_module_load_ended(!context);
	uint64_t begin = gw_ticks();
	int saved = errno;
	uint32_t number;

	if (image && image == linked)
		origin = GW_MODULE_LINKED;
	linked = NULL;
	gw_count(GW_COUNTER_images, 1);
	number = note(origin, image, path, compiled);
	/* An old entry would mean that we missed the unloading of the handle's last owner. */
	gw_map_remove(&gw_hot.shared->modules, (uintptr_t)handle, NULL);
	gw_map_put(&gw_hot.shared->modules, (uintptr_t)handle, number, 0, (uintptr_t)context);
	gw_overhead_since(begin);
	errno = saved;
}

void gw_module_of_library(void *module, void *library, void *context)
{
	struct gw_map *map = &gw_hot.shared->modules;
	uint32_t number = gw_map_get(map, (uintptr_t)library);
	int saved = errno;

	if (number && module && gw_map_get(map, (uintptr_t)module) != number) {
		gw_map_remove(map, (uintptr_t)module, NULL);
		gw_map_put(map, (uintptr_t)module, number, (uintptr_t)library, (uintptr_t)context);
	}
	errno = saved;
}

uintptr_t gw_module_owner(uintptr_t handle)
{
	uintptr_t library = handle ? gw_map_owner(&gw_hot.shared->modules, handle) : 0;

	return library ? library : handle;
}

void gw_module_gone(void *handle)
{
	gw_map_remove(&gw_hot.shared->modules, (uintptr_t)handle, NULL);
	gw_map_remove_all(&gw_hot.shared->modules, (uintptr_t)handle, 0, NULL);
	gw_map_remove_all(&gw_hot.shared->functions, (uintptr_t)handle, 0, NULL);
	atomic_fetch_add(&gw_hot.function_generation, 1);
}

void gw_module_linked(const void *image)
{
	linked = image;
}

void gw_function_found(void *handle, void *owner)
{
	struct gw_map *map = &gw_hot.shared->functions;

	if (gw_map_get(map, (uintptr_t)handle) &&
	    gw_map_owner(map, (uintptr_t)handle) != gw_module_owner((uintptr_t)owner)) {
		gw_map_remove(map, (uintptr_t)handle, NULL);
		atomic_fetch_add(&gw_hot.function_generation, 1);
	}
}

uint32_t gw_module_number(uintptr_t handle)
{
	return handle ? gw_map_get(&gw_hot.shared->modules, handle) : 0;
}

uint64_t gw_module_identity(uint32_t number)
{
	return number < NOTES_MAX ? atomic_load_explicit(&identities[number], memory_order_relaxed)
				  : 0;
}

struct gw_module_note *gw_module_notes_take(void)
{
	struct gw_module_note *n = atomic_exchange(&notes, NULL), *oldest = NULL;

	while (n) {
		struct gw_module_note *next = n->next;

		n->next = oldest;
		oldest = n;
		n = next;
	}
	return oldest;
}
