/*
 * Slots of streams and graphs, taken and reused without a lock. An event has 16 bits for a slot, so
 * one that is committed late may name a slot that has gone to another stream meanwhile: its call is
 * older than the end of the slot's last use, by which the worker recognises it (gw_slot_stale()).
 */
#ifndef GW_SLOTS_H
#define GW_SLOTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { GW_SLOTS_MAX = 16384 };

/** Which slots of a table are free; all zero: all are. Slot 0 is never one. */
struct gw_slots {
	_Atomic uint64_t free;    /**< the first; above its 32 bits the number of changes */
	_Atomic uint32_t taken;   /**< so many were ever taken: the next follow */
	_Atomic uint32_t retired; /**< the one whose use ended last */
	uint32_t oldest, newest;  /**< worker: retired ones, in order */
	_Atomic uint32_t next[GW_SLOTS_MAX];  /**< in the list a slot stands in */
	_Atomic uint64_t ended[GW_SLOTS_MAX]; /**< ticks when its use ended */
	uint64_t
		before[GW_SLOTS_MAX]; /**< worker: a call made before these was of an earlier use */
};

/** A free slot; 0 when there is none. Any thread. */
uint32_t gw_slot_take(struct gw_slots *s);

/** A slot that nothing names is free again. Any thread. */
void gw_slot_free(struct gw_slots *s, uint32_t at);

/** Its use has ended: no call that begins a moment from here finds it. Any thread, once a use. */
void gw_slot_retire(struct gw_slots *s, uint32_t at);

/**
 * The slot that was retired first, if that is at least @p pause ticks before @p until; it is the
 * caller's to free. 0 when there is none. Worker only.
 */
uint32_t gw_slot_rested(struct gw_slots *s, uint64_t until, uint64_t pause);

/**
 * Whether a call made at @p ticks, which named the slot, was made in a use of it after which it was
 * freed. Worker only.
 */
static inline bool gw_slot_stale(const struct gw_slots *s, uint32_t at, uint64_t ticks)
{
	return ticks < s->before[at];
}

#endif
