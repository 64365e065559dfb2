#include "preload/runtime/degrade.h"
#include "preload/launch/launch.h"
#include "preload/worker/launches.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/stack/stack_log.h"
#include "preload/worker/registry.h"
#include "preload/runtime/options.h"

#include <string.h>

static void store(_Atomic uint32_t *to, double value)
{
	float f = (float)value;
	uint32_t bits;

	memcpy(&bits, &f, sizeof(bits));
	atomic_store_explicit(to, bits, memory_order_relaxed);
}

/*
 * What cells said when they were read last, until a prediction changes. Cells lie far apart in a
 * large table: between windows a worker that has slept would wait for the memory of each.
 */
enum { READINGS = 256 };
static struct reading {
	uint64_t changes, since; /* UINT64_MAX: there is no cell */
	uint32_t config, known, cell;
	float predicted, low, high;
	uint8_t flags;
} readings[READINGS];
static uint64_t begun; /* what a forked child's changes differ by from those of its parent */

static struct gw_cell *cell_of(uint64_t key)
{
	struct gw_cell *cells = gw_hot.shared->cells;
	uint32_t at = (uint32_t)(key >> (64 - GW_CELLS_BITS));

	for (unsigned i = 0; i < GW_CELL_PROBE; i++, at = (at + 1) & (GW_CELLS_MAX - 1)) {
		uint64_t k = atomic_load_explicit(&cells[at].key, memory_order_relaxed);

		if (!k || k == key)
			return &cells[at];
	}
	return NULL;
}

/* A configuration without a cell is predicted late, from the same state. */
static void changed(void *unused, uint32_t config, const struct gw_prediction *p)
{
	const struct gw_config_entry *e = gw_config_entry(config);
	const uint32_t grid[3] = {e->config.grid.x, e->config.grid.y, e->config.grid.z};
	const struct gw_dim3 *c = &e->config.cluster;
	uint32_t cluster = gw_dim3_count(*c) > 1 ? c->x | c->y << 10 | c->z << 20 : 0;
	uint64_t key;
	struct gw_cell *cell;
	uint32_t sequence;

	(void)unused;
	gw_live_published(config, p);
	if (!e->slot)
		return;
	key = gw_cell_key(gw_cell_kernel(e->slot, e->device), grid, e->config.block.x,
			  e->config.block.y, e->config.block.z, cluster, e->config.dynamic_shared,
			  e->config.digest);
	cell = cell_of(key);
	if (!cell)
		return;
	sequence = atomic_load_explicit(&cell->sequence, memory_order_relaxed);
	atomic_store_explicit(&cell->sequence, sequence + 1, memory_order_relaxed);
	/* Pairs with the acquire fence in gw_cell_read() (launch/launch.h). */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&cell->config, gw_cell_config(config, p->tier, p->work),
			      memory_order_relaxed);
	store(&cell->predicted, p->seconds * 1e9);
	store(&cell->low, p->low * 1e9);
	store(&cell->high, p->high * 1e9);
	atomic_store_explicit(&cell->known, (uint32_t)p->known, memory_order_relaxed);
	atomic_store_explicit(&cell->flags,
			      (p->multimodal ? GW_EVENT_MULTIMODAL : 0u) |
				      (gw_stack_lacks(config) ? GW_EVENT_STACK : 0u),
			      memory_order_relaxed);
	cell->since = gw_ticks();
	/* Pair with the acquires of `sequence` and `key` in gw_cell_read() (launch/launch.h). */
	atomic_store_explicit(&cell->sequence, sequence + 2, memory_order_release);
	atomic_store_explicit(&cell->key, key, memory_order_release);
}

void gw_publish_predictions(void)
{
	struct gw_predictor_set *f = gw_launches_predictors();
	struct gw_record_published r = {.known = gw_predictor_set_observations(f)};

	if (!gw_predictor_set_advance(f, changed, NULL))
		return;
	if (!gw_options_sum()) /* where hardly a launch is there to be predicted again */
		gw_log_write(GW_RECORD_PUBLISHED, &r, sizeof(r), NULL, 0);
	/* Pairs with the acquire in gw_event_begin() (launch/launch.h): the cells are published,
	 * and what the predictor has for kernels of graphs is made (predict_from_call(),
	 * launches.c). */
	atomic_store_explicit(&gw_hot.known, (uint32_t)r.known, memory_order_release);
}

static void read_cell(const struct gw_event *e, uint32_t config, uint64_t changes,
		      struct reading *out)
{
	struct gw_shared *s = gw_hot.shared;
	struct gw_event found = *e;
	uint32_t at;

	found.flags = 0;
	found.known = atomic_load_explicit(&gw_hot.known, memory_order_relaxed);
	at = gw_cell_read(s, gw_slot_device(s, e->stream), &found);
	*out = (struct reading){.changes = changes,
				.since = at ? s->cells[at - 1].since : UINT64_MAX,
				.config = config,
				.known = found.known,
				.cell = found.config,
				.predicted = found.predicted,
				.low = found.low,
				.high = found.high,
				.flags = found.flags};
}

void gw_launch_read_start(void)
{
	begun += UINT64_C(1) << 48;
}

void gw_launch_read(struct gw_event *e, uint32_t config)
{
	struct reading *r = &readings[config % READINGS];
	const uint64_t changes = begun + gw_predictor_set_changes(gw_launches_predictors());

	if (!e->known ||
	    e->config) /* nothing stood published; it has read, or has another number */
		return;
	if (!config || r->config != config || r->changes != changes)
		read_cell(e, config, changes, r);
	if (r->since >= e->ticks)
		return;
	e->predicted = r->predicted;
	e->low = r->low;
	e->high = r->high;
	e->known = r->known;
	e->config = r->cell;
	e->flags |= r->flags;
}
