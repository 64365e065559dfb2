/*
 * What the application's threads and the worker share. Everything here is reserved once,
 * from the kernel, when the driver is first used; pages are touched as they are needed.
 */
#ifndef GW_STATE_H
#define GW_STATE_H

#include "predictor/code/digest.h"
#include "predictor/log/record.h"
#include "predictor/core/types.h"
#include "preload/maps/handle_map.h"
#include "preload/maps/slots.h"
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/hot.h"

#include <stdatomic.h>
#include <sys/types.h>

enum {
	GW_THREADS_MAX = 4096,
	GW_KERNELS_MAX =
		65536, /**< slots of kernels, never reused: one per name, resources, image */
	GW_KERNELS_IMAGES =
		49152, /**< beyond so many, kernels are no longer distinguished by their image */
	GW_STREAMS_MAX = GW_SLOTS_MAX, /**< slots of streams, reused */
	GW_GRAPHS_MAX = GW_SLOTS_MAX,  /**< slots of graph snapshots, reused */
	GW_CELLS_BITS = 16,
	GW_CELLS_MAX = 1 << GW_CELLS_BITS,
	GW_CELL_PROBE = 8,
	GW_NAMES_MAX = 64 << 20, /**< bytes of kernel names and layouts */
	GW_NAME_MAX = 16384,     /**< longest kernel name kept */
	GW_ARGUMENTS_MAX = 4096, /**< bytes of a launch's arguments; of larger ones none are kept */
	GW_ARGUMENTS_RING = 1 << 17, /**< bytes of a thread's arguments that wait for the worker: as
					a rule those of two thousand launches */
	GW_ARGUMENTS_SEEN = 2048, /**< configurations a thread remembers having copied, by hash */
	GW_KNOWN_BITS = 8,        /**< lines for kernels that a thread has looked up, two in each */
	GW_CONTEXT_CHECK = 64,    /**< a thread's launches from one question for its context on */
};

/** What a launch event is. */
enum gw_event_kind {
	GW_EVENT_KERNEL, /**< a kernel in a stream */
	GW_EVENT_GRAPH,  /**< a graph: `kernel` is the slot of its snapshot */
	GW_EVENT_TIME,   /**< the time of an earlier launch, measured by an event pair */
	GW_EVENT_MULTI,  /**< a kernel of a launch on several devices at once */
	GW_EVENT_NONE,   /**< nothing: the slot of a launch that failed or never returned */
	GW_EVENT_WAIT,   /**< the thread was in a call that waits for the GPU: gw_event_wait() */
	GW_EVENT_RANGE,  /**< the ranges that the program names have changed (launch/ranges.h) */
	GW_EVENT_COLLECTIVE, /**< NCCL has launched a collective (launch/collectives.h) */
};

/** Flags of an event. */
enum {
	GW_EVENT_COOPERATIVE = 1 << 0,
	GW_EVENT_TIMED = 1 << 1, /**< an event pair is under way; GW_EVENT_TIME follows */
	GW_EVENT_MULTIMODAL = 1 << 2,
	GW_EVENT_CORRELATED = 1 << 3, /**< `config` is the correlation id: gw_event_correlate() */
	/** Worker: `ticks` is of an earlier call of the thread. In the ring: a launch within a
	 * launch that has ended, while the outer one has not (GW_EVENT_DONE). */
	GW_EVENT_CALL_OPEN = 1 << 4,
	GW_EVENT_DONE = GW_EVENT_CALL_OPEN,
	/** In the hook: no slot was found, so the arguments are needed. In the ring: the next of
	 * the thread's arguments are this launch's. */
	GW_EVENT_ARGUMENTS = 1 << 5,
	/** Worker: the slot of its stream or graph has gone to another (slots.h). */
	GW_EVENT_LATE = 1 << 6,
	/** In the hook: no slot was found, so the stack is needed (stacks.h). */
	GW_EVENT_STACK = 1 << 7,
};

/** One launch, as an application thread leaves it for the worker: a cache line. */
struct gw_event {
	uint64_t ticks; /**< when the call was made; 0: after the event before it */
	uint8_t kind;   /**< enum gw_event_kind; correlated: gw_event_kind() and its like */
	uint8_t flags;
	uint16_t block_z;
	uint16_t kernel; /**< slot of the kernel or graph snapshot */
	uint16_t stream; /**< slot of the stream */
	uint32_t grid[3];
	uint16_t block_x, block_y;
	uint32_t cluster; /**< x | y << 10 | z << 20 */
	uint32_t shared;  /**< dynamic shared memory, bytes */
	uint32_t digest;  /**< of the scalar arguments, as in struct gw_config */
	uint32_t known;   /**< observations the prediction could know */
	uint32_t config;  /**< as in the cell when one was found, else 0 */
	float predicted, low,
		high; /**< ns; GW_EVENT_TIME: predicted is the time, known the ticket */
};
_Static_assert(sizeof(struct gw_event) == 64, "an event is a cache line");

/** What the event pair around the launch at @p position of its ring is called; never 0. By the
 * place, because a launch may be lost between its hook and the worker. */
static inline uint32_t gw_event_ticket(uint32_t position)
{
	return position + 1 ? position + 1 : 1;
}

/** What launch @p e was made with. */
static inline struct gw_config gw_event_config(const struct gw_event *e)
{
	return (struct gw_config){
		.grid = {e->grid[0], e->grid[1], e->grid[2]},
		.block = {e->block_x, e->block_y, e->block_z},
		.cluster = gw_cluster_of(e->cluster),
		.dynamic_shared = e->shared,
		.digest = e->digest,
	};
}

_Static_assert(GW_KERNELS_MAX <= 1 << 16 && GW_STREAMS_MAX <= 1 << 16 && GW_GRAPHS_MAX <= 1 << 16,
	       "an event has 16 bits for a slot");

/**
 * What a cell says of a configuration, in one word, so that a launch copies no more for it: its
 * id, and what the prediction rested on (enum gw_tier, enum gw_source).
 */
static inline uint32_t gw_cell_config(uint32_t id, unsigned tier, unsigned work)
{
	return id | tier << 24 | work << 28;
}

static inline uint32_t gw_cell_id(uint32_t word)
{
	return word & 0xffffff;
}

static inline uint8_t gw_cell_tier(uint32_t word)
{
	return word >> 24 & 15;
}

static inline uint8_t gw_cell_work(uint32_t word)
{
	return (uint8_t)(word >> 28);
}

/**
 * The correlation id takes the place of `config`. What that said of the prediction goes into
 * `kind`: 3 bits for the kind, 2 for the tier (NONE: no cell was read), 3 for the work's source.
 */
static inline void gw_event_correlate(struct gw_event *e, uint32_t id)
{
	e->kind = (uint8_t)((e->kind & 7) | gw_cell_tier(e->config) << 3 |
			    gw_cell_work(e->config) << 5);
	e->flags |= GW_EVENT_CORRELATED;
	e->config = id;
}

/** GW_EVENT_WAIT: `ticks` is when it was called, and it lasted for @p ticks; @p call: enum
 * gw_wait_call. */
static inline void gw_event_wait(struct gw_event *e, unsigned call, uint64_t ticks)
{
	e->kind = GW_EVENT_WAIT;
	e->block_x = (uint16_t)call;
	e->grid[0] = (uint32_t)ticks;
	e->grid[1] = (uint32_t)(ticks >> 32);
}

static inline uint64_t gw_event_wait_ticks(const struct gw_event *e)
{
	return (uint64_t)e->grid[1] << 32 | e->grid[0];
}

static inline enum gw_event_kind gw_event_kind(const struct gw_event *e)
{
	return (enum gw_event_kind)(e->kind & 7);
}

/** Whether it is a launch, of a kernel or a graph. */
static inline bool gw_event_is_launch(const struct gw_event *e)
{
	const unsigned kinds = 1u << GW_EVENT_KERNEL | 1u << GW_EVENT_GRAPH | 1u << GW_EVENT_MULTI;

	return kinds >> gw_event_kind(e) & 1;
}

/** What the prediction of a launch whose cell was read rested on. */
static inline uint8_t gw_event_tier(const struct gw_event *e)
{
	return e->flags & GW_EVENT_CORRELATED ? e->kind >> 3 & 3 : gw_cell_tier(e->config);
}

static inline uint8_t gw_event_work(const struct gw_event *e)
{
	return e->flags & GW_EVENT_CORRELATED ? (uint8_t)(e->kind >> 5) : gw_cell_work(e->config);
}

/** A published prediction; written by the worker, read by every launch (seqlock). */
struct gw_cell {
	_Atomic uint64_t key;      /**< hash of kernel slot and configuration, 0 = free */
	_Atomic uint32_t sequence; /**< odd while being written */
	_Atomic uint32_t config;   /**< gw_cell_config() */
	union {
		struct {
			_Atomic uint32_t predicted, low; /**< bits of floats, ns */
		};
		_Atomic uint64_t predicted_low; /**< both, as an event has them */
	};
	_Atomic uint32_t high;  /**< the same */
	_Atomic uint32_t known; /**< observations it is made from */
	_Atomic uint32_t flags; /**< GW_EVENT_MULTIMODAL */
	uint64_t since;         /**< worker: ticks when it was last written */
	uint32_t pad[4];
};
_Static_assert(sizeof(struct gw_cell) == 64 &&
		       offsetof(struct gw_event, low) == offsetof(struct gw_event, predicted) + 4,
	       "a cell is a cache line, and is copied in parts");

/** How a kernel's parameters lie; immutable. */
struct gw_layout {
	uint32_t bytes; /**< of all */
	uint32_t count;
	struct gw_code_param param[]; /**< in order of declaration */
};

/** The arguments of a launch, laid out as the kernel finds them. */
struct gw_arguments {
	uint32_t size; /**< bytes in use */
	unsigned char bytes[GW_ARGUMENTS_MAX];
};

/** A kernel as first seen; immutable once its slot is in the map, but for its
 * argument hash's layout. */
struct gw_kernel_slot {
	const char *name; /**< in gw_shared.names, NUL-terminated */
	uint64_t hash;    /**< of name, resources and image */
	uint64_t image;   /**< gw_module_identity() of its code, 0 = not distinguished by it */
	uint32_t next;    /**< chain of the hash, slot */
	uint32_t module;  /**< number of its module among gw_module notes, 0 = unknown */
	uint32_t registers, static_shared, local, constant, max_threads, binary_version;
	uint32_t cluster;               /**< compiled-in cluster, as in gw_event; 0 = none */
	const struct gw_layout *layout; /**< of its parameters, NULL = unknown */
	/** What of its arguments is hashed; NULL: nothing. By the worker (digests.h); what it
	 * points to is never freed. */
	const struct gw_digest_plan *_Atomic plan;
};

/** Life of a thread's record, which is reused. */
enum gw_slot_state { GW_SLOT_FREE, GW_SLOT_BUSY, GW_SLOT_USED, GW_SLOT_RETIRED };

/** A stream of a context. */
struct gw_stream_slot {
	uint32_t kind;                        /**< enum gw_stream_kind */
	uintptr_t context;                    /**< handle, for the end of its context */
	uint64_t context_id;                  /**< the driver's number of the context */
	uint32_t cupti_context, cupti_stream; /**< numbers in activity records, 0 = unknown */
	int32_t device;                       /**< ordinal, -1 = unknown */
	uint32_t generation;                  /**< distinguishes uses of the slot */
};

/** A kernel node of an executable graph. */
struct gw_graph_node {
	uintptr_t node;   /**< handle of the node in the graph it was instantiated from */
	uintptr_t parent; /**< top-level child-graph node it lies under, 0 for none */
	uint32_t kernel;  /**< slot */
	struct gw_config config;
	const struct gw_arguments *arguments; /**< never freed; NULL: not known */
	bool enabled, cooperative;
	uintptr_t context; /**< it runs in, 0: that of the launch */
	uint32_t device;   /**< of that context, ordinal + 1; 0: not known, that of the launch */
	uint32_t config_id,
		node_id; /**< worker, last here: ids in the log, 0 until the first launch */
};

/** What an executable graph runs; immutable once launched, replaced when the graph changes. */
struct gw_graph_slot {
	_Atomic uint32_t launched; /**< 1 after its first launch: no more changes in place */
	uint32_t exec;             /**< number of the executable graph, ours, from 1 */
	uint32_t cupti_exec;       /**< its number in activity records, 0 = unknown */
	bool unknown;              /**< holds nodes that can't be listed */
	uint32_t count;
	_Atomic uint32_t stream; /**< slot of the stream of its last launch, plus 1; 0: none yet */
	struct gw_graph_node *nodes; /**< malloc'd; freed by the worker with the slot */
	struct gw_graph_launch *as; /**< worker (launch_graph.c): predictions of a launch, summed */
};

/** Counters kept by each thread for itself; names from counter.def. */
struct gw_thread_counts {
	_Atomic uint64_t launches, captured, graph_launches, graph_unknown, failed, dropped, pairs,
		pair_ticks, events_skipped; /* event pairs, and the time that they took */
};

struct gw_event_pool;

/** What a thread's last launch looked up, for the next one. */
struct gw_last {
	uintptr_t stream_key;        /**< last stream looked up … */
	uint32_t stream_slot;        /**< … its slot … */
	uint32_t stream_device;      /**< … its GPU, from gw_slot_device() … */
	uint32_t stream_generation;  /**< … and the generation it is good for */
	uint32_t context_generation; /**< the one of stream_generation `context` is good for */
	uintptr_t context;           /**< its current one as last asked for; 0: ask anew */
	uint32_t cell;               /**< where the last prediction was found, plus one; 0 before */
	uint32_t round;              /**< gw_hot.round when the time of a call was last taken */
};

/** A kernel as a thread has looked it up. */
struct gw_known_kernel {
	uintptr_t function;  /**< its handle, 0 for none */
	uint32_t generation; /**< of gw_hot.function_generation it is good for */
	uint32_t slot, cluster;
	const struct gw_digest_plan *plan;
};

/** What a thread knows of earlier launches, by hash. */
struct gw_thread_known {
	/** By gw_known_line(). */
	_Alignas(64) struct gw_known_kernel kernel[1 << GW_KNOWN_BITS][2];
	uint32_t copied[GW_ARGUMENTS_SEEN]; /**< configurations whose arguments were copied */
};

struct gw_call;

/** A thread that launches. Written by its owner; the worker moves `tail`. */
struct gw_thread {
	_Atomic uint32_t head; /**< slots before it are the worker's */
	uint32_t next;      /**< next slot to reserve; those from head on are launches in flight */
	uint32_t tail_seen; /**< owner's last look at tail */
	uint32_t mask;      /**< slots - 1 */
	struct gw_event *ring;
	const struct gw_call *outer; /**< the call that reserved the slot at head (ring.c) */
	struct gw_last last;
	struct gw_thread_known *known;  /**< behind `arguments`; NULL like it */
	struct gw_thread_counts counts; /**< of them launches, or captured and so on, with each */
	uintptr_t own_streams[4];       /**< keys of its per-thread default streams, 0 for none */
	struct gw_event_pool *events;   /**< event pairs, where there is no activity */
	unsigned char *arguments; /**< ring of GW_ARGUMENTS_RING bytes (arguments.c); NULL: none are
				     taken */
	uint32_t arguments_head;  /**< bytes that the owner has written */
	uint32_t outer_unknown; /**< round in which no `outer` was found for the slot at head, or 0
				 */
	uint32_t serial;        /**< unlike an id, never reused: per-thread stream keys */
	uint32_t range_depth;   /**< owner: ranges it is in (launch/ranges.h) */
	pid_t tid;
	uint32_t live; /**< number of the ring in the live segment, from 1; 0: it is private */
	uint32_t id;   /**< worker: id in the log, 0 when ids ran out */
	_Atomic uint32_t state; /**< enum gw_slot_state; RETIRED: the thread has ended */
	union {
		_Alignas(64) _Atomic uint32_t tail; /**< next slot the worker reads … */
		_Atomic uint64_t tail_taken; /**< … below how many before it were launches */
	};
	uint64_t ticks;                  /**< worker: the last time of a call it met */
	_Atomic uint32_t arguments_tail; /**< bytes of arguments that the worker has read */
	uint32_t timed_serial;           /**< worker: serial whose launches event pairs time */
	uint32_t logged_serial;          /**< worker: serial whose THREAD record is written */
	_Atomic size_t charged;          /**< bytes that are taken for it (memory.h) */
	uint32_t idle_head; /**< worker: head as it was when it was last looked at … */
	uint32_t idle;      /**< … and how often it has been the same since */
	struct gw_thread_ranges
		*ranges; /**< worker: names of the ranges it is in; NULL: none yet */
	bool given;      /**< worker: most of its ring was given back */
};

_Static_assert(offsetof(struct gw_thread, counts.launches) < 128,
	       "what each launch touches of its thread is two cache lines");

/*
 * The calling thread's record. Initial-exec: a general-dynamic access would call
 * __tls_get_addr, which may allocate on a thread's first use, under the allocator's lock.
 */
extern _Thread_local struct gw_thread *gw_self __attribute__((tls_model("initial-exec")));

/** The two places of a handle's kernel, in one cache line. */
static inline struct gw_known_kernel *gw_known_line(struct gw_thread_known *known,
						    uintptr_t function)
{
	return known->kernel[gw_map_hash(function) >> (GW_MAP_BITS - GW_KNOWN_BITS)];
}

/** The tables; one mapping. */
struct gw_shared {
	struct gw_map functions, streams, graphs, modules;
	struct gw_cell cells[GW_CELLS_MAX];
	struct gw_kernel_slot kernels[GW_KERNELS_MAX];
	struct gw_stream_slot stream_slots[GW_STREAMS_MAX];
	struct gw_graph_slot graph_slots[GW_GRAPHS_MAX];
	struct gw_slots streams_free, graphs_free;     /**< which of these are */
	_Atomic uint32_t kernel_chain[GW_KERNELS_MAX]; /**< heads by hash */
	_Atomic uint32_t kernel_count;                 /**< slots handed out, slot 0 unused */
	_Atomic uint64_t names_used;                   /**< bytes of names[], by gw_shared_keep() */
	struct gw_thread *_Atomic threads[GW_THREADS_MAX];
	_Atomic uint32_t thread_count;
	_Atomic uint32_t threads_freed; /**< times the record of one that ended became free */
	uint32_t kernel_bytes; /**< what a kernel takes besides its slot; the worker sets it */
	_Alignas(8) char names[GW_NAMES_MAX];
};

/** @p size bytes that are never freed, aligned to 8, out of names[]; NULL when it is full. Any
 * thread. */
void *gw_shared_keep(size_t size);

/** The same, aligned to a cache line. */
void *gw_shared_keep_line(size_t size);

/** The GPU of a stream's slot, its ordinal + 1; 0: not known. */
static inline uint32_t gw_slot_device(const struct gw_shared *s, uint32_t slot)
{
	return slot ? (uint32_t)(s->stream_slots[slot].device + 1) : 0;
}

/** What stands for a kernel's slot on one GPU (from gw_slot_device()) in a key. */
static inline uint32_t gw_cell_kernel(uint32_t slot, uint32_t device)
{
	return slot | device << 16;
}
_Static_assert(GW_KERNELS_MAX <= 1 << 16, "gw_cell_kernel has 16 bits for a slot");

/** Key of a cell: mixes the kernel's slot and every word of the configuration. Never 0. */
static inline uint64_t gw_cell_key(uint32_t kernel, const uint32_t grid[3], uint32_t block_x,
				   uint32_t block_y, uint32_t block_z, uint32_t cluster,
				   uint32_t shared, uint32_t digest)
{
	const uint64_t m = UINT64_C(0x9fb21c651e98df25);
	uint64_t a = ((uint64_t)kernel << 32) | grid[0];
	uint64_t b = ((uint64_t)grid[1] << 32) | grid[2];
	uint64_t c = ((uint64_t)shared << 32) | (block_z << 22) | (block_y << 11) | block_x;
	uint64_t h = a * m;

	h = (h ^ (h >> 29) ^ b) * m;
	h = (h ^ (h >> 32) ^ c) * m;
	h = (h ^ (h >> 29) ^ ((uint64_t)digest << 32 | cluster)) * m;
	h ^= h >> 32;
	return h | 1;
}

#endif
