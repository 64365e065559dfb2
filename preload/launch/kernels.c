/* First sight of a kernel: its name and resources, asked of the driver once. */
#include "preload/live/live.h"
#include "preload/launch/arguments.h"
#include "preload/launch/call.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/degrade.h"
#include "preload/maps/memory.h"
#include "preload/launch/module_reports.h"
#include "preload/launch/modules.h"
#include "predictor/code/digest_provisional.h"
#include "predictor/core/hash.h"

#include <errno.h>
#include <string.h>

/* What the driver says of one handle. */
struct asked {
	const char *name;
	uintptr_t owner;   /* module or library */
	uintptr_t context; /* a CUfunction dies with its context, a CUkernel does not */
	CUkernel kernel;   /* set when the handle is a CUkernel */
	CUdevice device;
};

static bool ask(CUfunction f, struct asked *a)
{
	memset(a, 0, sizeof(*a));
	/* Each call answers CUDA_ERROR_INVALID_HANDLE for a handle of the other kind. */
	if (gw_driver.cuKernelGetName &&
	    gw_driver.cuKernelGetName(&a->name, (CUkernel)f) == CUDA_SUCCESS && a->name) {
		CUlibrary library = NULL;

		a->kernel = (CUkernel)f;
		if (gw_driver.cuKernelGetLibrary)
			gw_driver.cuKernelGetLibrary(&library, a->kernel);
		a->owner = (uintptr_t)library;
		if (gw_driver.cuCtxGetDevice)
			gw_driver.cuCtxGetDevice(&a->device);
		return true;
	}
	if (gw_driver.cuFuncGetName && gw_driver.cuFuncGetName(&a->name, f) == CUDA_SUCCESS &&
	    a->name) {
		CUmodule module = NULL;

		if (gw_driver.cuFuncGetModule)
			gw_driver.cuFuncGetModule(&module, f);
		a->owner = gw_module_owner((uintptr_t)module);
		a->context = (uintptr_t)gw_context_current();
		return true;
	}
	return false;
}

static uint32_t attribute(const struct asked *a, CUfunction f, CUfunction_attribute which)
{
	int value = 0;
	CUresult r = CUDA_ERROR_NOT_FOUND;

	if (a->kernel && gw_driver.cuKernelGetAttribute)
		r = gw_driver.cuKernelGetAttribute(&value, which, a->kernel, a->device);
	else if (!a->kernel && gw_driver.cuFuncGetAttribute)
		r = gw_driver.cuFuncGetAttribute(&value, which, f);
	return r == CUDA_SUCCESS && value >= 0 ? (uint32_t)value : UINT32_MAX;
}

static uint32_t compiled_cluster(const struct asked *a, CUfunction f)
{
	uint32_t x = attribute(a, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
	uint32_t y = attribute(a, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
	uint32_t z = attribute(a, f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);

	if (!x || x > 1023 || y > 1023 || z > 1023)
		return 0;
	return x | (y ? y : 1) << 10 | (z ? z : 1) << 20;
}

static const char *name_keep(const char *name, size_t length)
{
	char *out = gw_shared_keep(length + 1);

	if (out) {
		memcpy(out, name, length);
		out[length] = 0;
	}
	return out;
}

/* The layout of the parameters, as far as the driver reports it. */
struct asked_layout {
	bool known;
	uint32_t count;
	struct gw_code_param param[GW_LAYOUT_PARAMS];
};

static void ask_layout(const struct asked *a, CUfunction f, struct asked_layout *out)
{
	CUresult r;

	out->count = 0;
	do {
		size_t offset = 0, size = 0;

		r = CUDA_ERROR_NOT_FOUND;
		if (a->kernel && gw_driver.cuKernelGetParamInfo)
			r = gw_driver.cuKernelGetParamInfo(a->kernel, out->count, &offset, &size);
		else if (!a->kernel && gw_driver.cuFuncGetParamInfo)
			r = gw_driver.cuFuncGetParamInfo(f, out->count, &offset, &size);
		if (r == CUDA_SUCCESS)
			out->param[out->count++] =
				(struct gw_code_param){(uint32_t)offset, (uint32_t)size};
	} while (r == CUDA_SUCCESS && out->count < GW_LAYOUT_PARAMS);
	/* The index behind the last parameter is an invalid one. */
	out->known = r == CUDA_ERROR_INVALID_VALUE;
}

/*
 * The layout is part of a kernel's identity: arguments are copied by it, and another kernel
 * of this name may have fewer. So is the image: compilers that work while the program runs give
 * many kernels one name.
 */
static uint64_t hash_of(const struct gw_kernel_slot *k, const char *name, size_t length,
			const struct asked_layout *layout)
{
	uint64_t h = gw_hash_plain(0, name, length);

	for (uint32_t i = 0; layout->known && i < layout->count; i++)
		h = (h ^ layout->param[i].offset ^ (uint64_t)layout->param[i].size << 32) *
		    UINT64_C(0x9fb21c651e98df25);
	h ^= (uint64_t)k->registers << 32 | k->static_shared;
	h = (h ^ (h >> 29) ^ k->image) * UINT64_C(0x9fb21c651e98df25);
	return h ^ (h >> 32);
}

static bool same_layout(const struct gw_layout *l, const struct asked_layout *layout)
{
	if (!l || !layout->known)
		return !l && !layout->known;
	return l->count == layout->count &&
	       !memcmp(l->param, layout->param, l->count * sizeof(*l->param));
}

/*
 * The slot of kernels for which there is no place, which has no name. A handle that has it is not
 * asked about again.
 */
enum { NO_PLACE = GW_KERNELS_MAX - 1 };

/*
 * What of its arguments is hashed until its code is read, where that will be tried; NULL: nothing,
 * or there is no room.
 */
static const struct gw_digest_plan *provisional(const struct gw_layout *layout)
{
	struct gw_digest_plan plan, *kept;

	if (!layout || !(atomic_load(&gw_hot.arguments) & GW_EVENT_ARGUMENTS))
		return NULL;
	gw_digest_provisional_make(layout->param, layout->count, &plan);
	kept = plan.count ? gw_shared_keep_line(sizeof(*kept)) : NULL;
	if (kept)
		*kept = plan;
	return kept;
}

static uint32_t number_new(struct gw_shared *s)
{
	uint32_t count = atomic_load(&s->kernel_count);

	while (count < NO_PLACE - 1)
		if (atomic_compare_exchange_weak(&s->kernel_count, &count, count + 1))
			return count + 1;
	gw_degrade(GW_DEGRADED_TABLE_FULL, "more than %d kernels: later ones have no name",
		   NO_PLACE - 1);
	return NO_PLACE;
}

/*
 * A slot that is new, its name kept; NO_PLACE where there is none. Its number comes last: without
 * a name it would be taken for good, and each handle of each unnamed kernel would take another.
 */
static uint32_t slot_new(struct gw_shared *s, struct gw_kernel_slot *k, const char *name,
			 size_t length)
{
	const size_t size = sizeof(*k) + s->kernel_bytes;
	uint32_t slot = NO_PLACE;

	if (atomic_load(&s->kernel_count) >= NO_PLACE - 1)
		return number_new(s);
	if (!gw_memory_take(GW_MEMORY_kernels, size))
		return NO_PLACE;
	k->name = name_keep(name, length);
	if (k->name)
		slot = number_new(s);
	else
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "no room for names of more kernels (%d MiB, or GPUWATCH_MEMORY_MAX)",
			   GW_NAMES_MAX >> 20);
	if (slot == NO_PLACE)
		gw_memory_give(GW_MEMORY_kernels, size);
	return slot;
}

/* One slot for each name, resources, layout and image: reloading a module makes no new ones. */
static uint32_t intern(struct gw_shared *s, struct gw_kernel_slot *k, const char *name,
		       const struct asked_layout *layout)
{
	size_t length = strnlen(name, GW_NAME_MAX);
	uint64_t hash = hash_of(k, name, length, layout);
	_Atomic uint32_t *chain = &s->kernel_chain[hash & (GW_KERNELS_MAX - 1)];
	/* Pairs with the exchange below, of another thread: the slots of the chain are filled. */
	uint32_t head = atomic_load_explicit(chain, memory_order_acquire), slot;

	for (uint32_t i = head; i; i = s->kernels[i].next)
		if (s->kernels[i].hash == hash && s->kernels[i].image == k->image &&
		    !strncmp(s->kernels[i].name, name, length) && !s->kernels[i].name[length] &&
		    same_layout(s->kernels[i].layout, layout))
			return i;
	k->hash = hash;
	slot = slot_new(s, k, name, length);
	if (slot == NO_PLACE)
		return slot;
	k->layout = layout->known ? gw_layout_keep(layout->param, layout->count) : NULL;
	atomic_store_explicit(&k->plan, provisional(k->layout), memory_order_relaxed);
	s->kernels[slot] = *k;
	gw_live_kernel(slot);
	do {
		s->kernels[slot].next = head;
	} while (!atomic_compare_exchange_weak(chain, &head, slot));
	return slot;
}

/* A function of a module that no call gave, and what the driver says of it. */
struct unresolved {
	const struct asked *asked;
	const struct gw_kernel_slot *slot;
	CUlibrary library; /* that the module is of */
};

/* Fields that are the same for a kernel of a library and for its function in a context. */
static bool alike(const struct gw_kernel_slot *a, const struct gw_kernel_slot *b)
{
	return a->registers == b->registers && a->static_shared == b->static_shared &&
	       a->local == b->local && a->constant == b->constant &&
	       a->max_threads == b->max_threads && a->binary_version == b->binary_version;
}

/* A function dies with its context, so what has none is the kernel of a library. */
static bool is_of_library(void *arg, uintptr_t key, uint32_t value, uintptr_t context)
{
	struct unresolved *s = arg;
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[value];
	CUkernel kernel = (CUkernel)key;
	CUmodule module = NULL;
	CUfunction f = NULL;

	return !context && value && alike(k, s->slot) && !strcmp(k->name, s->asked->name) &&
	       gw_driver.cuKernelGetFunction(&f, kernel) == CUDA_SUCCESS &&
	       gw_driver.cuFuncGetModule(&module, f) == CUDA_SUCCESS &&
	       (uintptr_t)module == s->asked->owner &&
	       gw_driver.cuKernelGetLibrary(&s->library, kernel) == CUDA_SUCCESS;
}

/*
 * A graph's node has a kernel's function in the context, of a module that the driver made of the
 * library for itself. Which library that is, the kernel of this name says that was launched,
 * captured or made a node of.
 */
static void find_library(struct asked *a, struct gw_kernel_slot *k)
{
	struct unresolved s = {.asked = a, .slot = k};

	if (a->kernel || !a->owner || !gw_driver.cuKernelGetFunction ||
	    !gw_driver.cuKernelGetLibrary ||
	    !gw_map_find(&gw_hot.shared->functions, is_of_library, &s))
		return;
	gw_module_of_library((void *)a->owner, s.library, gw_context_current());
	a->owner = gw_module_owner(a->owner);
	k->module = gw_module_number(a->owner);
}

/* Where there is no place for the handle, another's is taken: else each of its launches would come
 * here, as long as the others live. */
static void remember(CUfunction f, uint32_t slot, const struct asked *a)
{
	struct gw_map *map = &gw_hot.shared->functions;

	if (gw_map_put(map, (uintptr_t)f, slot, a->owner, a->context))
		return;
	gw_map_make_room(map, (uintptr_t)f);
	gw_map_put(map, (uintptr_t)f, slot, a->owner, a->context);
}

uint32_t gw_kernel_resolve(CUfunction f)
{
	struct gw_shared *s = gw_hot.shared;
	uint64_t begin = gw_ticks();
	struct asked_layout parameters;
	struct gw_kernel_slot k;
	struct asked a;
	int saved = errno;
	uint32_t slot = 0;

	if (f && ask(f, &a)) {
		memset(&k, 0, sizeof(k));
		k.registers = attribute(&a, f, CU_FUNC_ATTRIBUTE_NUM_REGS);
		k.static_shared = attribute(&a, f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
		k.local = attribute(&a, f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
		k.constant = attribute(&a, f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
		k.max_threads = attribute(&a, f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
		k.binary_version = attribute(&a, f, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
		k.cluster = compiled_cluster(&a, f);
		k.module = gw_module_number(a.owner);
		if (!k.module)
			find_library(&a, &k);
		if (!k.module)
			gw_module_unseen();
		if (atomic_load_explicit(&s->kernel_count, memory_order_relaxed) <
		    GW_KERNELS_IMAGES)
			k.image = gw_module_identity(k.module);
		ask_layout(&a, f, &parameters);
		slot = intern(s, &k, a.name, &parameters);
		if (slot)
			remember(f, slot, &a);
	}
	gw_overhead_since(begin);
	errno = saved;
	return slot;
}

/*
 * Whether a handle is that of a library's kernel. Of others the driver answers with an error, which
 * a program may have the driver log: each is asked about once, until handles may have been reused.
 */
static bool of_library(CUfunction function)
{
	enum { PLACES = 256 };
	static _Atomic uintptr_t others[PLACES]; /* with the generation they were seen in */
	uintptr_t generation = atomic_load(&gw_hot.function_generation);
	uintptr_t mark = (uintptr_t)function ^ generation << 48;
	_Atomic uintptr_t *place = &others[gw_map_hash((uintptr_t)function) % PLACES];
	CUlibrary library;

	if (!gw_driver.cuKernelGetLibrary || atomic_load(place) == mark)
		return false;
	if (gw_driver.cuKernelGetLibrary(&library, (CUkernel)function) == CUDA_SUCCESS)
		return true;
	atomic_store(place, mark);
	return false;
}

void gw_kernel_in_graph(CUfunction function)
{
	int saved = errno;

	/* A function that is no library's kernel the node names as it is, with its context. */
	if (function && !gw_map_get(&gw_hot.shared->functions, (uintptr_t)function) &&
	    of_library(function))
		gw_kernel_resolve(function);
	errno = saved;
}

/* The runtime may launch the kernels of its fat binaries by such functions; their module is none
   that was ever loaded as one. */
void gw_function_of_kernel(CUfunction f, CUkernel kernel)
{
	CUlibrary library = NULL;
	CUmodule module = NULL;

	if (!gw_driver.cuKernelGetLibrary || !gw_driver.cuFuncGetModule ||
	    gw_driver.cuKernelGetLibrary(&library, kernel) != CUDA_SUCCESS ||
	    gw_driver.cuFuncGetModule(&module, f) != CUDA_SUCCESS)
		return;
	gw_module_of_library(module, library, gw_context_current());
	gw_function_found(f, library);
}
