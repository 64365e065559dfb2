/* What every launch reads first. */
#ifndef GW_HOT_H
#define GW_HOT_H

#include "preload/runtime/arch/arch.h"

#include <stdatomic.h>
#include <stdint.h>

/** In gw_hot.captures: the next launch wakes the worker (bell.h). */
enum { GW_HOT_ASLEEP = 1 << 30 };

/** gw_hot.reads: a launch reads the prediction that stands published for it. */
enum { GW_HOT_READS = 1 };

/** gw_hot.untimed in modes watch and count: of a thread's launches each eighth has its time. */
enum { GW_UNTIMED = 7 };

/** Values of gw_hot.active. */
enum gw_hot_state {
	GW_HOT_OFF,    /**< pass everything through */
	GW_HOT_ON,     /**< all hooks act */
	GW_HOT_UNSEEN, /**< mode idle: launches pass through; the first one has the live segment
			  made */
	GW_HOT_IDLE,   /**< mode idle: launches pass through, by the test of this word alone */
};

/** Stream captures under way, of a value of gw_hot.captures. */
static inline int gw_captures_of(int captures)
{
	return captures >= GW_HOT_ASLEEP / 2 ? captures - GW_HOT_ASLEEP : captures;
}

/**
 * Read on every launch; one cache line. A page of its own: where there is a live segment, the
 * kernel zeroes it in every child that does not share our memory, also one that no handler hears
 * of, so that none writes into the segment.
 */
struct gw_hot {
	_Alignas(4096) _Atomic int active; /**< enum gw_hot_state */
	_Atomic int captures;              /**< stream captures under way, never too low; and
						GW_HOT_ASLEEP while the worker sleeps */
	_Atomic int events;         /**< one launch in so many is timed by an event pair; 0: none */
	_Atomic uint32_t arguments; /**< what launches without a published prediction leave:
					 GW_EVENT_ARGUMENTS, GW_EVENT_STACK, both or 0 */
	_Atomic uint32_t known;     /**< observations behind the published predictions */
	_Atomic uint32_t stream_generation;   /**< changes when a stream or context ends */
	_Atomic uint32_t function_generation; /**< changes when a function may have ended, or has
						   another plan */
	_Atomic uint32_t round; /**< rounds of the worker: changes at least every 20 ms while there
				     are launches, and with the first after a pause */
	_Atomic uint32_t untimed; /**< mask of a thread's launches: those with such a bit in
			       their number need no time; set before active, and by
			       the worker when the mode is switched */
	_Atomic uint32_t reads;   /**< 0: a launch reads no prediction, the worker does it for the
				       launch, and leaves nothing; else it reads the one that stands
				       published, and this is GW_HOT_READS with `arguments`. */
	struct gw_shared *shared; /**< set before active */
	_Atomic uint32_t exact;   /**< number of the window in which event pairs are around every
				       launch, and show when it ran; 0: none */
};
extern struct gw_hot gw_hot;

/** Launches without a published prediction are to leave what @p flag stands for, or no more. */
static inline void gw_hot_want(uint32_t flag, int on)
{
	if (on) {
		atomic_fetch_or(&gw_hot.arguments, flag);
		atomic_fetch_or(&gw_hot.reads, GW_HOT_READS | flag);
	} else {
		atomic_fetch_and(&gw_hot.arguments, ~flag);
		atomic_fetch_and(&gw_hot.reads, ~flag);
	}
}

#endif
