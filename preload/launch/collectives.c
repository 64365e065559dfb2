#include "preload/launch/collectives.h"

#include "preload/launch/launch.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"

/* A place is taken once and for all: an event may still name a communicator that has ended. */
static struct {
	uint64_t hash;
	uint32_t rank, ranks;
} communicators[GW_COMMUNICATORS];
static _Atomic uint32_t communicator_count;

uint32_t gw_communicator_new(uint64_t hash, uint32_t rank, uint32_t ranks)
{
	uint32_t at = atomic_load_explicit(&communicator_count, memory_order_relaxed);

	do
		if (at == GW_COMMUNICATORS) {
			gw_degrade(GW_DEGRADED_TABLE_FULL,
				   "more than %d communicators: collectives of later ones are not "
				   "recorded",
				   GW_COMMUNICATORS);
			return 0;
		}
	while (!atomic_compare_exchange_weak(&communicator_count, &at, at + 1));
	communicators[at].hash = hash;
	communicators[at].rank = rank;
	communicators[at].ranks = ranks;
	return at + 1;
}

/* Its maker has written it before any event named it; the ring orders both. */
void gw_communicator(uint32_t id, uint64_t *hash, uint32_t *rank, uint32_t *ranks)
{
	*hash = communicators[id - 1].hash;
	*rank = communicators[id - 1].rank;
	*ranks = communicators[id - 1].ranks;
}

static uint16_t function_of(const char *name)
{
#define COLLECTIVE(NAME, text, meaning) \
	if (*text && name && !strcmp(name, text)) \
		return GW_COLLECTIVE_##NAME;
#include "predictor/log/value.def"
	return GW_COLLECTIVE_OTHER;
}

static uint16_t datatype_of(const char *name)
{
#define DATATYPE(NAME, text, meaning) \
	if (*text && name && !strcmp(name, text)) \
		return GW_DATATYPE_##NAME;
#include "predictor/log/value.def"
	return GW_DATATYPE_OTHER;
}

/* A slot for an event of the calling thread; NULL: there is none. Launches first. */
static struct gw_event *slot_of(struct gw_call *call)
{
	struct gw_thread *t = call->thread;
	uint32_t head;

	if (!t)
		return NULL;
	head = atomic_load_explicit(&t->head, memory_order_relaxed);
	/* Pairs with the release of `tail` (worker/drain.c): the slot has been read. */
	if (t->next != head || /* within a launch */
	    head - atomic_load_explicit(&t->tail, memory_order_acquire) > t->mask / 2)
		return NULL;
	return gw_ring_slot(call);
}

void gw_collective(uint32_t id, const char *function, const char *datatype, uint64_t sequence,
		   uint64_t count)
{
	struct gw_call call = {.thread = gw_self};
	struct gw_event *e;

	if (gw_options.mode != GW_MODE_AUDIT ||
	    !atomic_load_explicit(&gw_hot.active, memory_order_acquire))
		return;
	e = id ? slot_of(&call) : NULL;
	if (!e) {
		gw_count(GW_COUNTER_collectives_dropped, 1);
		return;
	}
	e->ticks = gw_ticks();
	e->flags = call.how == GW_CALL_OUTER ? 0 : GW_EVENT_DONE;
	e->kind = GW_EVENT_COLLECTIVE;
	e->block_x = function_of(function);
	e->block_y = datatype_of(datatype);
	e->grid[0] = (uint32_t)sequence;
	e->grid[1] = (uint32_t)(sequence >> 32);
	e->grid[2] = id;
	e->shared = (uint32_t)count;
	e->digest = (uint32_t)(count >> 32);
	if (call.how == GW_CALL_OUTER)
		gw_event_end(&call, call.at);
}
