#include "preload/live/unnamed.h"

#include "preload/runtime/options.h"

#include <string.h>

enum { KEPT = 1 << 17 /* latest ids of which it is known */ };

/* A bit each, by id modulo KEPT: it has no record. */
static uint8_t streams[KEPT / 8], nodes[KEPT / 8];

void gw_unnamed_start(void)
{
	memset(streams, 0, sizeof(streams));
	memset(nodes, 0, sizeof(nodes));
}

static bool is(const uint8_t *set, uint32_t id)
{
	return id > GW_UNNAMED_FROM && (set[id % KEPT / 8] >> id % 8 & 1);
}

static bool add(uint8_t *set, uint32_t id)
{
	const bool unnamed = gw_options_sum() && id > GW_UNNAMED_FROM;
	const uint8_t bit = (uint8_t)(1u << id % 8);

	if (unnamed)
		set[id % KEPT / 8] |= bit;
	else
		set[id % KEPT / 8] &= (uint8_t)~bit;
	return unnamed;
}

bool gw_unnamed_stream(uint32_t id)
{
	return add(streams, id);
}

bool gw_unnamed_node(uint32_t id)
{
	return add(nodes, id);
}

bool gw_unnamed_now(uint32_t id)
{
	return !gw_options_sum() && is(streams, id);
}

void gw_unnamed_leave_out(struct gw_record_launch *r)
{
	if (is(streams, r->stream))
		r->stream = 0;
	if (is(nodes, r->node))
		r->node = 0;
}
