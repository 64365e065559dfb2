/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live segment: a file that a watched process maps and shares, so that what it committed
 * survives its death. The writer is preload/live/live.c, the reader cli/live/file.c.
 *
 * The file is a head, kernels, graphs, entries, and rings. A launch is in one of three places:
 *   a ring    from its commit until the worker has taken it: positions from tail to head
 *   an entry  from then until its record is in the log's file
 *   the log   from then on
 * An entry names its ring and position, and the block of the log that its record was put into. It
 * does not count while its position is not before the ring's tail (the ring has it then), nor when
 * that block is in the file. So a launch counts once, whichever instruction the process died at.
 *
 * A kernel may have ended, and its record be written as one without a launch, before the call that
 * launched it has returned. An entry stands for such a record until the worker meets its launch:
 * one launch of that configuration called before the kernel's start does not count.
 */
#ifndef GW_LIVE_H
#define GW_LIVE_H

#include <stddef.h>
#include <stdint.h>

enum {
	GW_LIVE_MAGIC = 0x4c565747, /**< "GWVL" in the file */
	GW_LIVE_VERSION = 2,
	GW_LIVE_RINGS = 256,
	GW_LIVE_KERNELS = 1 << 20, /**< bytes of kernels */
	GW_LIVE_STEP = 1 << 20,    /**< bytes of entries that are reserved at once */
	GW_LIVE_NO_BLOCK = UINT32_MAX,
	GW_LIVE_LONE = UINT32_MAX, /**< in place of an entry's ring: a record without a launch */
	GW_LIVE_GRAPHS = 1 << 14,  /**< snapshots of graphs; one more than is ever used */
	GW_LIVE_CHUNKS = 1 << 14,  /**< of nodes of graphs, at most; the same */
};

/** What a ring's slot and an entry hold of a launch: the first 48 bytes of struct gw_event. */
struct gw_live_event {
	uint64_t ticks; /**< 0: after the event before it */
	uint8_t kind;   /**< the low 3 bits: 0 or 3 a kernel, 1 a graph, else none */
	uint8_t flags;  /**< bit 0 cooperative, bit 4 an inner launch that has ended */
	uint16_t block_z;
	uint16_t kernel, stream;
	uint32_t grid[3];
	uint16_t block_x, block_y;
	uint32_t cluster, shared, digest;
};
_Static_assert(sizeof(struct gw_live_event) == 48, "the layout is the format");

/** A launch that the worker has taken. */
struct gw_live_entry {
	uint32_t ring; /**< number of its ring + 1; 0: the entry is free */
	uint32_t
	        position; /**< in the ring; LONE: 0, or the number, from 1, of its launch's entry */
	uint32_t node;    /**< number among the kernels of a graph launch, from 1; 0: no graph */
	uint32_t block;   /**< of the log, that has its record; GW_LIVE_NO_BLOCK: none yet */
	uint64_t call_ns;
	uint32_t tid;    /**< the kernel's number of the thread */
	uint32_t thread; /**< the log's; LONE: the log's number of the configuration */
	struct gw_live_event
	        event; /**< LONE: its ticks are when the kernel started, no more of it */
};
_Static_assert(sizeof(struct gw_live_entry) == 80, "the layout is the format");

/** Where a ring and the words of its thread lie in the file. */
struct gw_live_ring {
	uint64_t head, next, tail, tid; /**< offsets of 32-bit words */
	uint64_t slots;                 /**< offset of 64-byte slots that begin with the event */
	uint32_t mask, used;            /**< 1 once all of the above is set */
};

/** A kernel; the next begins `length` behind it. */
struct gw_live_kernel {
	uint32_t length; /**< of all, a multiple of 8; set first; 0: no more */
	uint32_t slot;   /**< as events name it; set last; 0: not complete */
	uint32_t registers, static_shared, local, constant, max_threads, binary_version;
	char name[]; /**< NUL-terminated */
};

/** A kernel node of a graph. Entries name it by its place, from 1, of all that the graph has. */
struct gw_live_node {
	uint16_t kernel;
	uint8_t enabled, cooperative;
	uint32_t grid[3];
	uint16_t block[3], none;
	uint32_t cluster, shared, digest; /**< as in events */
};

/** Nodes of a graph, in order. */
struct gw_live_chunk {
	uint32_t next;  /**< number of the chunk that follows; 0: none */
	uint32_t count; /**< of nodes here */
	struct gw_live_node node[3];
	uint32_t none[3];
};
_Static_assert(sizeof(struct gw_live_chunk) == 128, "the layout is the format");

/** The graph that events name by this number: GW_LIVE_GRAPH_* and its first chunk, 0 for none. */
typedef uint64_t gw_live_graph;
enum {
	GW_LIVE_GRAPH_KNOWN = 1, /**< above the 32 bits of the chunk; else its nodes are not here */
	GW_LIVE_GRAPH_MORE = 2,  /**< it has kernels that no node stands for */
};

struct gw_live_head {
	uint32_t magic, version;
	uint64_t size;                  /**< of the file */
	uint64_t start_time;            /**< of the process, field 22 of /proc/PID/stat */
	uint64_t start_ns, start_ticks; /**< one moment by both clocks */
	uint32_t pid, tick_khz;
	uint32_t ring_slots, rings;     /**< rings handed out */
	uint64_t kernels, kernels_used; /**< offset, bytes */
	uint64_t graphs, chunks;        /**< offsets of GW_LIVE_GRAPHS and of the chunks */
	uint64_t chunks_max;            /**< numbers of chunks are below it */
	uint64_t entries;               /**< offset */
	uint32_t entries_max, entries_used;
	char boot_id[64];
	char exe[256];
	char log[4112]; /**< empty until there is one */
	struct gw_live_ring ring[GW_LIVE_RINGS];
};

#endif
