/*
 * The ranges that a program names (NVTX): on its threads, out of the launch path. A change of a
 * thread's ranges is an event of its ring, so a launch needs nothing to belong to one. No lock,
 * allocation or system call, but where a range is the first that a thread does.
 */
#ifndef GW_RANGES_H
#define GW_RANGES_H

#include "preload/launch/call.h"

#include <wchar.h>

enum {
	GW_RANGE_NAMES = 4096, /**< distinct ones that are kept */
	GW_RANGE_NAME = 112,   /**< bytes of a name that count, its NUL included */
	GW_RANGE_OTHER = 1,    /**< id that stands for all that did not fit */
	GW_RANGE_FIRST,        /**< id of the first of the others */
};

/** What an event of kind GW_EVENT_RANGE says; `block_x`. */
enum gw_range_change {
	GW_RANGE_PUSHED,  /**< grid[0] is its name, grid[1] how many the thread has now */
	GW_RANGE_POPPED,  /**< grid[1] as above */
	GW_RANGE_STARTED, /**< one of the process: grid[0] its name, grid[1] and [2] its number */
	GW_RANGE_ENDED,   /**< the same */
};

/** The id of @p text in domain @p domain (an id, or 0); NULL is an empty name, and the numbers that
 * PyTorch appends are left out. Any thread. */
GW_COLD uint32_t gw_range_name(uint32_t domain, const char *text);
/** The same of wide characters, as UTF-8. */
GW_COLD uint32_t gw_range_name_wide(uint32_t domain, const wchar_t *text);

/** @p t has just become the calling thread's record: it is in the ranges that the thread entered
 * before. */
GW_COLD void gw_ranges_enter(struct gw_thread *t);

/** The calling thread enters range @p name, and leaves the one that it entered last. */
GW_COLD void gw_range_push(uint32_t name);
GW_COLD void gw_range_pop(void);
/** A range of the process begins; its number, never 0. It ends on whatever thread. */
GW_COLD uint64_t gw_range_start(uint32_t name);
GW_COLD void gw_range_end(uint64_t number);

/** What id @p id stands for, and its domain's in @p domain; NULL: its thread is still writing it.
 */
const char *gw_range_text(uint32_t id, uint32_t *domain);
/** Whether names did not fit. */
bool gw_range_names_full(void);

#endif
