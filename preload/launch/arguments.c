#include "preload/launch/arguments.h"

#include "preload/maps/memory.h"
#include "preload/maps/configs.h"

#include <stdlib.h>
#include <string.h>

enum {
	KEPT_MAX = 8 << 20,       /* bytes of all arguments kept */
	NODES_KEPT_MAX = 4 << 20, /* bytes of those of graph nodes */
	NODES_BITS = 12,          /* places for the configurations of nodes, as a power of 2 */
};

static uint64_t kept; /* bytes; worker */

/* Arguments of a node, by the configuration they are of. */
struct node_arguments {
	struct node_arguments *next; /* in the same place */
	uint64_t key;
	struct gw_arguments arguments; /* no longer than its size says */
};

static struct node_arguments *_Atomic of_nodes[1 << NODES_BITS];
static _Atomic uint64_t nodes_kept; /* bytes */

static CUresult param_info(CUfunction f, size_t index, size_t *offset, size_t *size)
{
	CUresult r = CUDA_ERROR_INVALID_HANDLE;

	if (gw_driver.cuFuncGetParamInfo)
		r = gw_driver.cuFuncGetParamInfo(f, index, offset, size);
	if (r == CUDA_ERROR_INVALID_HANDLE && gw_driver.cuKernelGetParamInfo)
		r = gw_driver.cuKernelGetParamInfo((CUkernel)f, index, offset, size);
	return r;
}

/*
 * Should the handle ever have gone to another kernel unseen, then by the old layout we would read
 * behind the program's array: the last parameter has to be the last, and where it was.
 */
static bool still_fits(const struct gw_layout *layout, CUfunction f)
{
	const struct gw_code_param *last = &layout->param[layout->count - 1];
	size_t offset = 0, size = 0;

	return param_info(f, layout->count - 1, &offset, &size) == CUDA_SUCCESS &&
	       offset == last->offset && size == last->size &&
	       param_info(f, layout->count, &offset, &size) == CUDA_ERROR_INVALID_VALUE;
}

/* The parameters one by one, to where the kernel will find them. */
static bool copy_params(struct gw_arguments *a, const struct gw_layout *layout, CUfunction f,
			void **params)
{
	if (!layout || layout->bytes > GW_ARGUMENTS_MAX ||
	    (layout->count && !still_fits(layout, f)))
		return false;
	memset(a->bytes, 0, layout->bytes); /* what lies between them */
	for (uint32_t i = 0; i < layout->count; i++)
		memcpy(a->bytes + layout->param[i].offset, params[i], layout->param[i].size);
	a->size = layout->bytes;
	return true;
}

/* The parameters as the program laid them out itself. */
static bool copy_extra(struct gw_arguments *a, const struct gw_layout *layout, void **extra)
{
	size_t size;
	const unsigned char *buffer = gw_extra_buffer(extra, &size);

	if (buffer && layout && size > layout->bytes) /* the kernel reads no more */
		size = layout->bytes;
	if (!buffer || size > GW_ARGUMENTS_MAX)
		return false;
	memcpy(a->bytes, buffer, size);
	a->size = (uint32_t)size;
	return true;
}

static bool copy(struct gw_arguments *a, CUfunction f, uint32_t kernel, void **params, void **extra)
{
	const struct gw_layout *layout = gw_hot.shared->kernels[kernel].layout;

	if (params || (layout && !layout->count)) /* who passes none may pass no array either */
		return copy_params(a, layout, f, params);
	return extra && copy_extra(a, layout, extra);
}

/*
 * A thread's ring: arguments one behind the other, each as long as it is, begun where the longest
 * would still fit before the end; else at the ring's begin.
 */
struct in_ring {
	uint32_t position; /* of the launch in the ring of these */
	struct gw_arguments arguments;
};

_Static_assert(GW_ARGUMENTS_RING % _Alignof(struct in_ring) == 0 &&
		       GW_ARGUMENTS_RING > 2 * sizeof(struct in_ring),
	       "arguments lie aligned in the ring");

static uint32_t begin_of(uint32_t at)
{
	uint32_t left = GW_ARGUMENTS_RING - at % GW_ARGUMENTS_RING;

	return left < sizeof(struct in_ring) ? at + left : at;
}

static uint32_t end_of(uint32_t begin, const struct in_ring *r)
{
	uint32_t align = _Alignof(struct in_ring);

	return begin + ((uint32_t)offsetof(struct in_ring, arguments.bytes) + r->arguments.size +
			align - 1) /
			       align * align;
}

static struct in_ring *in_ring(struct gw_thread *t, uint32_t begin)
{
	return (void *)(t->arguments + begin % GW_ARGUMENTS_RING);
}

void gw_arguments_take(struct gw_call *call, void **params, void **extra)
{
	struct gw_event *e = call->event;
	struct gw_thread *t = call->thread;
	uint64_t key =
		gw_cell_key(gw_cell_kernel(e->kernel, t->last.stream_device), e->grid, e->block_x,
			    e->block_y, e->block_z, e->cluster, e->shared, e->digest);
	uint32_t *seen, tag = (uint32_t)(key >> 32), begin = begin_of(t->arguments_head), held;
	struct in_ring *r;

	e->flags &= (uint8_t)~GW_EVENT_ARGUMENTS;
	if (!t->arguments || !e->kernel)
		return;
	seen = &t->known->copied[key / 2 % GW_ARGUMENTS_SEEN]; /* keys are odd */
	if (*seen == tag)
		return;
	/* Pairs with the release in gw_arguments_arrived(): what was there has been read. */
	held = begin - atomic_load_explicit(&t->arguments_tail, memory_order_acquire);
	r = in_ring(t, begin);
	if (held + sizeof(*r) > GW_ARGUMENTS_RING)
		return;
	*seen = tag; /* also where they can't be read: the driver is asked once */
	if (!copy(&r->arguments, call->function, e->kernel, params, extra))
		return;
	/* The event's release publishes these to the worker. */
	r->position = call->at;
	t->arguments_head = end_of(begin, r);
	e->flags |= GW_EVENT_ARGUMENTS;
}

/* Where those of the launch at the tail of @p t are, behind those of launches that were lost. */
static uint32_t begin_of_taken(struct gw_thread *t)
{
	const uint32_t position = atomic_load_explicit(&t->tail, memory_order_relaxed);
	const uint32_t first = atomic_load_explicit(&t->arguments_tail, memory_order_relaxed);
	uint32_t begin = begin_of(first);

	while ((int32_t)(in_ring(t, begin)->position - position) < 0 &&
	       begin - first < GW_ARGUMENTS_RING)
		begin = begin_of(end_of(begin, in_ring(t, begin)));
	return begin;
}

void gw_arguments_arrived(struct gw_thread *t, uint32_t config)
{
	const uint32_t begin = begin_of_taken(t);
	const struct in_ring *r = in_ring(t, begin);
	const struct gw_arguments *a = &r->arguments;
	size_t size = offsetof(struct gw_arguments, bytes) + a->size;
	struct gw_config_entry *c = config ? gw_config_entry(config) : NULL;
	struct gw_arguments *mine;

	if (c && !c->arguments && kept + size <= KEPT_MAX &&
	    (mine = gw_memory_new(GW_MEMORY_arguments, 1, size))) {
		memcpy(mine, a, size);
		c->arguments = mine;
		kept += size;
		gw_count(GW_COUNTER_arguments, 1);
	}
	/* Pairs with the acquire in gw_arguments_take(), before the thread writes there again. */
	atomic_store_explicit(&t->arguments_tail, end_of(begin, r), memory_order_release);
}

static uint64_t node_key(uint32_t slot, const struct gw_config *c)
{
	const uint32_t grid[3] = {c->grid.x, c->grid.y, c->grid.z};

	return gw_cell_key(slot, grid, c->block.x, c->block.y, c->block.z,
			   c->cluster.x | c->cluster.y << 10 | c->cluster.z << 20,
			   c->dynamic_shared, c->digest);
}

const struct gw_arguments *gw_arguments_of_node(uint32_t slot, const struct gw_config *config,
						const CUDA_KERNEL_NODE_PARAMS *node)
{
	uint64_t key = node_key(slot, config);
	struct node_arguments *_Atomic *place = &of_nodes[key >> (64 - NODES_BITS)];
	struct node_arguments *head = atomic_load(place), *mine;
	struct gw_arguments a;
	size_t size;

	for (const struct node_arguments *n = head; n; n = n->next)
		if (n->key == key)
			return &n->arguments;
	if (!(atomic_load(&gw_hot.arguments) & GW_EVENT_ARGUMENTS) || !slot ||
	    !copy(&a, node->func ? node->func : (CUfunction)node->kern, slot, node->kernelParams,
		  node->extra))
		return NULL;
	size = offsetof(struct node_arguments, arguments.bytes) + a.size;
	if (atomic_load(&nodes_kept) + size > NODES_KEPT_MAX ||
	    !(mine = gw_memory_new(GW_MEMORY_arguments, 1, size)))
		return NULL;
	atomic_fetch_add(&nodes_kept, size);
	mine->key = key;
	memcpy(&mine->arguments, &a, offsetof(struct gw_arguments, bytes) + a.size);
	do {
		mine->next = head;
	} while (!atomic_compare_exchange_weak(place, &head, mine));
	return &mine->arguments;
}

void gw_arguments_node(uint32_t config, const struct gw_arguments *arguments)
{
	struct gw_config_entry *c = config ? gw_config_entry(config) : NULL;

	if (c && arguments && !c->arguments) {
		c->arguments = arguments;
		gw_count(GW_COUNTER_arguments, 1);
	}
}

const struct gw_arguments *gw_arguments_of(uint32_t config)
{
	return config ? gw_config_entry(config)->arguments : NULL;
}

const struct gw_layout *gw_layout_keep(const struct gw_code_param *param, uint32_t count)
{
	struct gw_layout *layout;
	uint64_t bytes = 0;

	if (count > GW_LAYOUT_PARAMS)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t end = (uint64_t)param[i].offset + param[i].size;

		bytes = end > bytes ? end : bytes;
	}
	layout = gw_shared_keep(sizeof(*layout) + count * sizeof(*param));
	if (!layout)
		return NULL;
	*layout = (struct gw_layout){.bytes = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX,
				     .count = count};
	if (count)
		memcpy(layout->param, param, count * sizeof(*param));
	return layout;
}

void gw_arguments_start(void)
{
	kept = 0; /* a forked child's tables start empty, too */
}
