/*
 * Where the numbers of a stream or graph, or a kernel's name, are unknown, a launch and its
 * record cannot be matched and would be logged twice; whichever arrives second is dropped. Worker
 * only.
 */
#ifndef GW_UNPAIRED_H
#define GW_UNPAIRED_H

#include <stdbool.h>
#include <stdint.h>

/** Start with none. */
void gw_unpaired_start(void);

/** A launch of configuration @p config (0: not known), in a graph or not, that no record matched:
 * false when its record was written, without it. */
bool gw_unpaired_launch(uint32_t config, bool graph);

/** The same of a record that matched no launch; its kernel started at @p start_ns, 0: not known. */
bool gw_unpaired_record(uint32_t config, bool graph, uint64_t start_ns);

/**
 * A launch of configuration @p config called at @p call_ns, which is seen only now: whether a
 * record that may be its own was written without it, as its call took longer than its kernel. It
 * then must not wait for a record: it would take the next launch's, and all later ones likewise.
 */
bool gw_unpaired_late(uint32_t config, bool graph, uint64_t call_ns);

#endif
