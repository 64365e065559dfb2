/*
 * The live segment: a file that a process under gpuwatch maps and shares, so that what it committed
 * survives its death. The writer is preload/live/live.c, the reader cli/live/file.c.
 *
 * live.def lays it out: a head, the sections, and rings with the words of their threads. A launch
 * is in one of three places: a ring    from its commit until the worker has taken it: positions
 * from tail to head an entry  from then until its record is in the log's file the log   from then
 * on An entry names its ring and position, and the block of the log that its record was put into.
 * It does not count while its position is not before the ring's tail (the ring has it then), nor
 * when that block is in the file. So a launch counts once, whichever instruction the process died
 * at.
 *
 * Where launches go into sums, a sum takes the place of the log: its launches have no entry that
 * counts, and it does not count itself once its AGGREGATE is in the file.
 *
 * A kernel may have ended, and its record be written as one without a launch, before the call that
 * launched it has returned. An entry stands for such a record until the worker meets its launch:
 * one launch of that configuration called before the kernel's start does not count.
 */
#ifndef GW_LIVE_H
#define GW_LIVE_H

#include "predictor/core/sketch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Why nothing ran on a GPU between two kernels. */
enum gw_idle_cause {
#define IDLE(NAME, name, meaning) GW_IDLE_##NAME,
#include "predictor/log/idle.def"
#undef IDLE
	GW_IDLE_CAUSES /**< how many there are */
};

enum { GW_IDLE_PACE = 20000 /**< ns between launch calls that follow each other at once */ };

/**
 * Why nothing ran from @p from to @p until. The launch that ended it was called at @p call, by a
 * thread whose call before was at @p before, the latest launch without a time at @p untimed; ns, 0:
 * not known. GW_IDLE_HOST where the host did something until the call, which the gap's rest
 * followed.
 */
enum gw_idle_cause gw_idle_cause(uint64_t from, uint64_t until, uint64_t untimed, uint64_t call,
				 uint64_t before);

/**
 * Whether the launching threads waited for input from @p begin to @p end, when child processes were
 * at work. @p threads_ns is their CPU time of a span around that, which they may have used wherever
 * they like: it is so where they cannot have been on a CPU for half of it.
 */
static inline bool gw_idle_input(uint64_t begin, uint64_t end, uint64_t threads_ns)
{
	return end > begin && threads_ns < (end - begin) / 2;
}

enum {
	GW_LIVE_MAGIC = 0x4c565747, /**< "GWVL" in the file */
	GW_LIVE_VERSION = 8,
	GW_LIVE_BEFORE = 7, /**< the version before, which readers take, too */
	GW_LIVE_RINGS = 256,
	GW_LIVE_KERNELS = 1 << 20, /**< bytes of kernels */
	GW_LIVE_STEP = 1 << 20,    /**< bytes of entries that are reserved at once */
	GW_LIVE_NO_BLOCK = UINT32_MAX,
	GW_LIVE_IN_SUM = UINT32_MAX - 1, /**< in place of an entry's block */
	GW_LIVE_SUMS = 1 << 13,
	GW_LIVE_LONE = UINT32_MAX, /**< in place of an entry's ring: a record without a launch */
	GW_LIVE_BULKS = 8,         /**< more than blocks are filled and not in the file at a time */
	GW_LIVE_AS_IT_IS = UINT32_MAX,     /**< in a request: this is not to change */
	GW_LIVE_SECONDS_MOST = 31 * 86400, /**< of a request */
	GW_LIVE_CHECK = 1398030674,        /**< in the check word of a request */
	GW_LIVE_PAGE = 4096,
	GW_LIVE_GRAPHS = 1 << 14,  /**< snapshots of graphs; one more than is ever used */
	GW_LIVE_CHUNKS = 1 << 14,  /**< of nodes of graphs, at most; the same */
	GW_LIVE_STREAMS = 1 << 14, /**< slots of streams */
	GW_LIVE_GRAPH_TIMES = 256, /**< graphs that are timed whole */
	GW_LIVE_DEVICES = 16,
	GW_LIVE_IDLE = 16,         /**< room for causes of idle time */
	GW_LIVE_CONFIGS = 1 << 16, /**< at most */
	GW_LIVE_ENTRIES = 1 << 24, /**< at most */
};

/** The graph that events name by this number: GW_LIVE_GRAPH_* and its first chunk, 0 for none. */
typedef uint64_t gw_live_graph;
enum {
	GW_LIVE_GRAPH_KNOWN = 1, /**< above the 32 bits of the chunk; else its nodes are not here */
	GW_LIVE_GRAPH_MORE = 2,  /**< it has kernels that no node stands for */
};

#define STRUCT(name, meaning)                         struct gw_live_##name {
#define FIELD(name, type, field, dims, unit, meaning) type field dims;
#define STRUCT_END(name) \
	} \
	;
#include "predictor/log/live.def"
#undef STRUCT
#undef FIELD
#undef STRUCT_END
_Static_assert(sizeof(struct gw_live_event) == 48 && sizeof(struct gw_live_entry) == 80 &&
		       sizeof(struct gw_live_ring) == 48 && sizeof(struct gw_live_chunk) == 128 &&
		       sizeof(struct gw_live_stream) == 24 &&
		       sizeof(struct gw_live_config) == 112 + 2 * sizeof(struct gw_sketch),
	       "the layout is the format");

struct gw_live_head {
#define HEAD_FIELD(type, field, dims, unit, meaning) type field dims;
#define SECTION(name, type, share, most, meaning)    struct gw_live_section name;
#include "predictor/log/live.def"
#undef HEAD_FIELD
#undef SECTION
};

/** The check word of a request. */
static inline uint32_t gw_live_check_word(const struct gw_live_control *c)
{
	return c->sequence ^ c->pid ^ c->mode ^ c->budget ^ c->seconds ^ GW_LIVE_CHECK;
}

/** Bytes of the smallest file that is worth it: a ring of 16384 slots fits. */
#define GW_LIVE_LEAST (UINT64_C(8) << 20)

/** Whether a segment of version @p version can be read. */
static inline bool gw_live_version_read(uint32_t version)
{
	return version == GW_LIVE_VERSION || version == GW_LIVE_BEFORE;
}

/** Lay out the sections of a file of @p size bytes: in @p head, what follows them begins at the
 * offset that is returned. That may be beyond @p size. */
uint64_t gw_live_layout(struct gw_live_head *head, uint64_t size);

/** Whether the sections that @p head names lie within a file of @p size bytes and have elements of
 * its version. */
bool gw_live_layout_valid(const struct gw_live_head *head, uint64_t size);

#endif
