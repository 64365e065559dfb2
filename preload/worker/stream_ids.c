/* Streams as the log numbers them. What is known of one that ended is forgotten in time. */
#include "preload/maps/idmap.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"

#include <string.h>

enum {
	UNSEEN_MAX = 1 << 14, /* streams that no hook saw and are known by libcupti's numbers */
	ENDED_MAX = 1 << 16,  /* streams that ended and whose GPU is known: launches may wait */
};

static struct {
	uint32_t count;
	uint32_t before, state; /* what they were when the file or the mode changed last */
	uint32_t generation[GW_STREAMS_MAX], ids[GW_STREAMS_MAX]; /* by slot: its latest use … */
	uint64_t keys[GW_STREAMS_MAX];                            /* … and its key in `seen` */
	uint32_t ended[ENDED_MAX], ended_count;
} streams;
static struct gw_idmap seen, unseen; /* libcupti's numbers -> id; hooked and not */
static struct gw_idmap devices;      /* id -> ordinal of the GPU, plus one */

void gw_stream_ids_start(void)
{
	/* A forked child begins with the parent's maps: leave them, start empty ones. */
	seen = unseen = devices = (struct gw_idmap){.use = GW_MEMORY_streams};
	memset(&streams, 0, sizeof(streams));
}

/*
 * Whether stream @p id has no record in this file: where launches go into sums, and in a new file
 * of a ring, only the first ones do. There it gets another id.
 */
static bool unnamed(uint32_t id)
{
	const uint32_t now = (gw_log_ring() ? gw_log_losses() << 1 : 0) | gw_options_sum();

	if (now != streams.state)
		streams.before = streams.count;
	streams.state = now;
	return id > GW_NAMED_FIRST && (gw_options_sum() || id <= streams.before);
}

static bool lacks_record(uint32_t id)
{
	return unnamed(id) && !gw_options_sum();
}

void gw_stream_leave_out(struct gw_record_launch *r)
{
	if (unnamed(r->stream))
		r->stream = 0;
}

static uint64_t device_key(uint32_t id)
{
	return gw_idmap_key(id, 1);
}

/* @p slot: 0 where no hook saw it. */
static uint32_t stream_write(uint32_t slot, int device, uint64_t context, uint32_t kind,
			     uint32_t cupti_id)
{
	struct gw_record_stream r = {
		.device = gw_device_id(device),
		.kind = kind,
		.cupti_id = cupti_id,
		.context = context,
	};

	r.id = ++streams.count;
	if (r.device)
		gw_idmap_put(&devices, device_key(r.id), (uint32_t)device + 1);
	if (!gw_options_sum() || r.id <= GW_NAMED_FIRST)
		gw_log_write(GW_RECORD_STREAM, &r, sizeof(r), NULL, 0);
	if (slot)
		gw_live_stream(slot, &r);
	return r.id;
}

/* Its GPU stays known until as many others have ended. */
static void stream_ended(uint32_t id)
{
	uint32_t *place = &streams.ended[streams.ended_count++ % ENDED_MAX];

	if (*place)
		gw_idmap_remove(&devices, device_key(*place));
	*place = id;
}

int gw_stream_device(uint32_t id)
{
	return (int)gw_idmap_get(&devices, device_key(id)) - 1;
}

/* The slot has a new use: what stood for the one before goes. */
static void slot_forget(uint32_t slot)
{
	if (!streams.ids[slot])
		return;
	if (streams.keys[slot] && gw_idmap_get(&seen, streams.keys[slot]) == streams.ids[slot])
		gw_idmap_remove(&seen, streams.keys[slot]);
	stream_ended(streams.ids[slot]);
	streams.keys[slot] = 0;
}

uint32_t gw_intern_stream(uint32_t slot)
{
	const struct gw_stream_slot *s = &gw_hot.shared->stream_slots[slot];

	if (!slot)
		return 0;
	if (lacks_record(streams.ids[slot]) || streams.generation[slot] != s->generation) {
		slot_forget(slot);
		streams.generation[slot] = s->generation;
		streams.ids[slot] =
			stream_write(slot, s->device, s->context_id, s->kind, s->cupti_stream);
		if (s->cupti_stream) {
			streams.keys[slot] = gw_idmap_key(s->cupti_context, s->cupti_stream);
			gw_idmap_put(&seen, streams.keys[slot], streams.ids[slot]);
		}
	}
	return streams.ids[slot];
}

uint32_t gw_intern_stream_of_activity(const struct gw_activity *a)
{
	uint64_t key = gw_idmap_key(a->context, a->stream);
	uint32_t id = gw_idmap_get(&seen, key);

	if (!id)
		id = gw_idmap_get(&unseen, key);
	if (lacks_record(id))
		id = 0;
	/* A stream that no hook saw: inside a graph, or the device's own. Nobody says when it ends.
	 */
	if (!id) {
		if (unseen.used >= UNSEEN_MAX)
			gw_idmap_clear(&unseen);
		id = stream_write(0, (int)a->device, a->context, GW_STREAM_CREATED, a->stream);
		gw_idmap_put(&unseen, key, id);
		stream_ended(id);
	}
	return id;
}
