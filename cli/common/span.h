/* Spans of time as people write them: 90s, 10m, 2h, 1h30m, 250ms. */
#ifndef GW_SPAN_H
#define GW_SPAN_H

#include <stdbool.h>
#include <stdint.h>

/**
 * @p text, numbers each followed by d, h, m, s or ms, in falling order, as nanoseconds into @p ns.
 * False where it is no such text, is 0, or is longer than 10,000 days.
 */
bool gw_span_read(const char *text, uint64_t *ns);

#endif
