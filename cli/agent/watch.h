/* Waits for the next snapshot, and meanwhile for processes that begin: one that soon ends is mapped
 * before it does. */
#ifndef GW_AGENT_WATCH_H
#define GW_AGENT_WATCH_H

#include "cli/top/collect.h"

struct agent_watch;

struct agent_watch *agent_watch_new(void);
void agent_watch_free(struct agent_watch *watch);

/** Until @p until_ns (top_now()), a signal at the latest. New segments are mapped as they come. */
void agent_watch_wait(struct agent_watch *watch, struct top_source *source, uint64_t until_ns);

/** Segments that came and went between two looks. */
uint64_t agent_watch_missed(const struct agent_watch *watch);

#endif
