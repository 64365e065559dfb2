#include "predictor/log/live.h"

enum gw_idle_cause gw_idle_cause(uint64_t from, uint64_t until, uint64_t untimed, uint64_t call,
				 uint64_t before)
{
	if (!call || (untimed > from && untimed < until))
		return GW_IDLE_UNKNOWN;
	/* Where the queue is not empty a launch starts later after its call. */
	if (before && call - before <= GW_IDLE_PACE && until <= call + GW_IDLE_PACE)
		return GW_IDLE_LAUNCH_BOUND;
	return call <= from ? GW_IDLE_QUEUED : GW_IDLE_HOST;
}

static uint64_t pages(uint64_t size)
{
	return (size + GW_LIVE_PAGE - 1) / GW_LIVE_PAGE * GW_LIVE_PAGE;
}

static uint32_t count_of(uint64_t file, uint32_t size, uint32_t share, uint32_t most)
{
	uint64_t fit = share ? file / share / size : most;

	return fit < most ? (uint32_t)fit : most;
}

uint64_t gw_live_layout(struct gw_live_head *h, uint64_t size)
{
	uint64_t at = pages(sizeof(*h));

#define SECTION(name, type, share, most, meaning) \
	h->name = (struct gw_live_section){at, sizeof(type), \
					   count_of(size, sizeof(type), share, most)}; \
	at += pages((uint64_t)h->name.size * h->name.count);
#include "predictor/log/live.def"
#undef SECTION
	return at;
}

static bool within(const struct gw_live_section *s, uint64_t file, uint32_t size, uint32_t share,
		   uint32_t most)
{
	return s->size == size && (share ? s->count <= most : s->count == most) &&
	       s->offset % 8 == 0 && s->offset <= file &&
	       (uint64_t)s->size * s->count <= file - s->offset;
}

/* Bytes of an element whose type has @p size of them now. */
static uint32_t size_in(const struct gw_live_head *h, const struct gw_live_section *s,
			uint32_t size)
{
	enum { BEFORE = offsetof(struct gw_live_sum, counter) };

	return h->version == GW_LIVE_BEFORE && s == &h->sums ? BEFORE : size;
}

bool gw_live_layout_valid(const struct gw_live_head *h, uint64_t size)
{
#define SECTION(name, type, share, most, meaning) \
	if (!within(&h->name, size, size_in(h, &h->name, sizeof(type)), share, most)) \
		return false;
#include "predictor/log/live.def"
#undef SECTION
	return true;
}
