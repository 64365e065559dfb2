#include "cli/spent/ranges.h"

#include "cli/common/index.h"
#include "cli/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void log_range_name(struct log_ranges *r, const struct gw_record_range_name *n, const char *text)
{
	const char *domain = NULL;
	size_t size;
	char *name;

	if (!n->id || n->id >= LOG_RANGE_NAMES)
		return;
	if (n->domain && n->domain < r->name_room)
		domain = r->names[n->domain];
	size = (domain ? strlen(domain) + 2 : 0) + strlen(text) + 1;
	name = gw_alloc(size);
	snprintf(name, size, "%s%s%s", domain ? domain : "", domain ? ": " : "", text);
	GW_GROW(r->names, &r->name_room, n->id + 1u);
	free(r->names[n->id]);
	r->names[n->id] = name;
}

void log_range_change(struct log_ranges *r, uint32_t thread, const struct gw_record_range *record)
{
	const uint32_t at = thread == GW_INDEX_NONE ? 0 : thread + 1;
	struct log_range_timeline *c;

	GW_GROW(r->timelines, &r->timeline_room, at + 1u);
	c = &r->timelines[at];
	if (c->count == LOG_RANGE_CHANGES) {
		c->count /= 2;
		memmove(c->list, c->list + c->count, c->count * sizeof(*c->list));
	}
	GW_GROW(c->list, &c->room, c->count + 1);
	c->list[c->count++] = (struct log_range_change){record->ns, record->name};
}

/* The id of the range that holds at @p ns, 0: none. */
static uint32_t id_at(const struct log_ranges *r, uint32_t at, uint64_t ns)
{
	const struct log_range_timeline *c = at < r->timeline_room ? &r->timelines[at] : NULL;
	size_t low = 0, high = c ? c->count : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->list[middle].ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? c->list[low - 1].name : 0;
}

const char *log_range_text(const struct log_ranges *r, uint32_t name)
{
	if (!name)
		return NULL;
	if (name >= r->name_room || !r->names[name])
		return "[unknown]"; /* it is in a lost part */
	return *r->names[name] ? r->names[name] : "[unnamed]";
}

const char *log_range_at(const struct log_ranges *r, uint32_t thread, uint64_t call_ns)
{
	uint32_t id = 0;

	if (!call_ns)
		return "[unknown]";
	if (thread != GW_INDEX_NONE)
		id = id_at(r, thread + 1, call_ns);
	if (!id)
		id = id_at(r, 0, call_ns);
	return id ? log_range_text(r, id) : "[no range]";
}

void log_ranges_free(struct log_ranges *r)
{
	for (size_t i = 0; i < r->name_room; i++)
		free(r->names[i]);
	for (size_t i = 0; i < r->timeline_room; i++)
		free(r->timelines[i].list);
	free(r->names);
	free(r->timelines);
	*r = (struct log_ranges){0};
}
