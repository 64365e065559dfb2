/*
 * The tables of the live segment that other processes watch: configurations with their predictions
 * and what was measured, GPUs, streams, totals. Worker only; each entry under a sequence number, so
 * that no reader holds it up.
 */
#include "preload/live/live_part.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/options.h"

#include <math.h>
#include <string.h>

_Static_assert(GW_COUNTERS <= sizeof(((struct gw_live_totals *)0)->counter) / sizeof(uint64_t),
	       "they fit");
#define SLOW_CAUSE(NAME, name, meaning) +1
_Static_assert(0
#include "predictor/log/slow.def"
		       <= sizeof(((struct gw_live_device *)0)->lost_ns) / sizeof(uint64_t),
	       "causes fit");
#undef SLOW_CAUSE
_Static_assert((int)GW_STREAMS_MAX <= (int)GW_LIVE_STREAMS, "each has a place");

static uint64_t configs_ready; /* bytes of the table that are reserved */
static bool stream_pages[GW_LIVE_STREAMS * sizeof(struct gw_live_stream) / GW_LIVE_PAGE + 1];
static uint64_t bound_ns[8], bound_kernels[8]; /* for the totals */
static uint32_t configs_refused;
static bool fixed_ready; /* GPUs and totals */

void gw_live_tables_abandon(void)
{
	configs_ready = 0;
	configs_refused = 0;
	fixed_ready = false;
	memset(stream_pages, 0, sizeof(stream_pages));
	memset(bound_ns, 0, sizeof(bound_ns));
	memset(bound_kernels, 0, sizeof(bound_kernels));
}

/* Paired with the reader's look before and after (cli/live/tables.c). */
static void begin(uint32_t *sequence)
{
	__atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end(uint32_t *sequence)
{
	__atomic_store_n(sequence, *sequence + 1, __ATOMIC_RELEASE);
}

/* ---- configurations ---- */

static struct gw_live_config *config_at(struct gw_live_head *h, uint32_t id)
{
	return (struct gw_live_config *)(void *)((char *)h + h->configs.offset) + id - 1;
}

/* NULL where it has no entry. */
static struct gw_live_config *config(uint32_t id)
{
	struct gw_live_head *h = gw_live_mapped();
	struct gw_live_config *c;

	if (!h || !id || id * sizeof(*c) > configs_ready)
		return NULL;
	c = config_at(h, id);
	return c->id ? c : NULL;
}

static bool config_room(struct gw_live_head *h, uint32_t id)
{
	const uint64_t step = 16 * GW_LIVE_PAGE, all = (uint64_t)h->configs.size * h->configs.count;

	while (id <= h->configs.count && id * sizeof(struct gw_live_config) > configs_ready) {
		uint64_t size = all - configs_ready < step ? all - configs_ready : step;

		if (!gw_live_reserve(h, h->configs.offset + configs_ready, size))
			return false;
		configs_ready += size;
	}
	return id <= h->configs.count;
}

void gw_live_config(uint32_t id, uint32_t kernel, uint32_t device, const struct gw_config *as)
{
	struct gw_live_head *h = gw_live_mapped();
	struct gw_live_config *c;

	if (!h)
		return;
	if (!config_room(h, id)) {
		if (!configs_refused++)
			gw_live_table_full("configurations", h->configs.count);
		return;
	}
	c = config_at(h, id);
	begin(&c->sequence);
	c->id = id;
	c->kernel = kernel;
	c->device = device;
	c->grid[0] = as->grid.x;
	c->grid[1] = as->grid.y;
	c->grid[2] = as->grid.z;
	c->block[0] = as->block.x;
	c->block[1] = as->block.y;
	c->block[2] = as->block.z;
	c->cluster[0] = as->cluster.x;
	c->cluster[1] = as->cluster.y;
	c->cluster[2] = as->cluster.z;
	c->shared = as->dynamic_shared;
	c->digest = as->digest;
	c->predicted = c->low = c->high = NAN;
	end(&c->sequence);
}

void gw_live_published(uint32_t id, const struct gw_prediction *p)
{
	struct gw_live_config *c = config(id);

	if (!c)
		return;
	begin(&c->sequence);
	c->tier = p->tier;
	c->work = p->work;
	c->bound = p->bound;
	c->predicted = p->seconds * 1e9;
	c->low = p->low * 1e9;
	c->high = p->high * 1e9;
	c->known = p->known;
	end(&c->sequence);
}

void gw_live_launched(uint32_t id, uint64_t launches)
{
	struct gw_live_config *c = config(id);

	if (!c)
		return;
	begin(&c->sequence);
	c->launches += launches;
	end(&c->sequence);
}

void gw_live_measured(uint32_t id, uint64_t duration_ns, double predicted_ns)
{
	struct gw_live_config *c = config(id);
	const uint32_t bound = c && c->bound < 8 ? c->bound : 0;

	bound_ns[bound] += duration_ns;
	bound_kernels[bound]++;
	if (!c)
		return;
	begin(&c->sequence);
	gw_sketch_add(&c->time, (double)duration_ns, 1);
	if (predicted_ns > 0)
		gw_sketch_add(&c->ratio, (double)duration_ns / predicted_ns, 1);
	end(&c->sequence);
}

/* ---- GPUs and totals ---- */

static bool have_fixed(struct gw_live_head *h)
{
	if (h && !fixed_ready)
		fixed_ready = gw_live_reserve(h, h->totals.offset, sizeof(struct gw_live_totals)) &&
			      gw_live_reserve(h, h->devices.offset,
					      GW_LIVE_DEVICES * sizeof(struct gw_live_device));
	return h && fixed_ready;
}

static struct gw_live_device *device(uint32_t ordinal)
{
	struct gw_live_head *h = gw_live_mapped();

	if (ordinal >= GW_LIVE_DEVICES || !have_fixed(h))
		return NULL;
	return (struct gw_live_device *)(void *)((char *)h + h->devices.offset) + ordinal;
}

uint64_t gw_live_ran(uint32_t ordinal, uint64_t start_ns, uint64_t end_ns)
{
	struct gw_live_device *d = device(ordinal);
	uint64_t before;

	if (!d)
		return 0;
	begin(&d->sequence);
	before = start_ns > d->last_end_ns ? d->last_end_ns : 0;
	if (before)
		gw_sketch_add(&d->gap, (double)(start_ns - before), 1);
	d->used = 1;
	d->kernels++;
	if (end_ns > d->last_end_ns) {
		d->busy_ns += end_ns - (start_ns > d->last_end_ns ? start_ns : d->last_end_ns);
		d->last_end_ns = end_ns;
	}
	end(&d->sequence);
	return before;
}

void gw_live_idled(uint32_t ordinal, const uint64_t ns[GW_LIVE_IDLE])
{
	struct gw_live_device *d = device(ordinal);

	if (!d)
		return;
	begin(&d->sequence);
	for (unsigned i = 0; i < GW_LIVE_IDLE; i++)
		d->idle_ns[i] += ns[i];
	end(&d->sequence);
}

void gw_live_clock_set(void)
{
	gw_live_idle_forget();
	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++) {
		struct gw_live_device *d = device(i);

		if (!d || !d->used)
			continue;
		begin(&d->sequence);
		d->last_end_ns = 0;
		end(&d->sequence);
	}
}

void gw_live_clocks(int ordinal, const struct gw_clock_sample *s, uint32_t power_mw)
{
	struct gw_live_device *d = device((uint32_t)ordinal);

	if (!d)
		return;
	begin(&d->sequence);
	d->clock_ns = s->ns;
	d->sm_khz = s->sm_khz;
	d->mem_khz = s->mem_khz;
	d->reasons = s->reasons;
	d->others = s->others;
	d->power_mw = power_mw;
	end(&d->sequence);
}

void gw_live_identity(const struct gw_record_device *as, const char *name,
		      const unsigned char uuid[16], const uint32_t pci[3])
{
	struct gw_live_device *d = device(as->ordinal);

	if (!d)
		return;
	begin(&d->sequence);
	memcpy(d->uuid, uuid, sizeof(d->uuid));
	memcpy(d->pci, pci, sizeof(d->pci));
	d->full_sm_khz = as->sm_clock_khz;
	memset(d->name, 0, sizeof(d->name));
	strncpy(d->name, name, sizeof(d->name) - 1);
	/* In mode watch nothing else may say so: no record comes of what runs. */
	d->used = d->identity = 1;
	end(&d->sequence);
}

void gw_live_lost(uint32_t id, enum gw_slow_cause cause, double ns)
{
	const struct gw_live_config *c = config(id);
	struct gw_live_device *d = c && c->device ? device(c->device - 1) : NULL;

	if (!d || !(ns > 0) || ns > 1e15)
		return;
	begin(&d->sequence);
	d->lost_ns[cause] += (uint64_t)ns;
	end(&d->sequence);
}

void gw_live_totals(const uint64_t counters[GW_COUNTERS])
{
	struct gw_live_head *h = gw_live_mapped();
	struct gw_live_totals *t;

	if (!have_fixed(h))
		return;
	t = (struct gw_live_totals *)(void *)((char *)h + h->totals.offset);
	begin(&t->sequence);
	t->mode = gw_options.mode;
	t->ns = gw_wall_ns();
	memcpy(t->bound_ns, bound_ns, sizeof(bound_ns));
	memcpy(t->bound_kernels, bound_kernels, sizeof(bound_kernels));
	t->configs_refused = configs_refused;
	t->counters = GW_COUNTERS;
	memcpy(t->counter, counters, GW_COUNTERS * sizeof(*counters));
	end(&t->sequence);
}

/* ---- requests ---- */

bool gw_live_there(void)
{
	return gw_live_mapped() != NULL;
}

bool gw_live_asked(struct gw_live_control *out)
{
	struct gw_live_head *h = gw_live_mapped();
	uint32_t sequence;

	if (!h)
		return false;
	/* Pairs with the release in ask() (cli/ctl/ask.c). */
	sequence = __atomic_load_n(&h->control.sequence, __ATOMIC_ACQUIRE);
	if (!sequence || sequence == h->answer.request)
		return false;
	memcpy(out, &h->control, sizeof(*out));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->sequence = sequence;
	return __atomic_load_n(&h->control.sequence, __ATOMIC_RELAXED) == sequence &&
	       out->check == gw_live_check_word(out) && out->pid == h->pid;
}

void gw_live_answer(const struct gw_live_answer *a)
{
	struct gw_live_head *h = gw_live_mapped();
	const size_t at = offsetof(struct gw_live_answer, request);

	if (!h)
		return;
	begin(&h->answer.sequence);
	memcpy((char *)&h->answer + at, (const char *)a + at, sizeof(*a) - at);
	end(&h->answer.sequence);
}

/* ---- streams ---- */

void gw_live_stream(uint32_t slot, const struct gw_record_stream *as)
{
	struct gw_live_head *h = gw_live_mapped();
	struct gw_live_stream *s;
	uint64_t at;

	if (!h || slot >= GW_LIVE_STREAMS)
		return;
	at = h->streams.offset + slot * sizeof(*s);
	for (uint64_t page = slot * sizeof(*s) / GW_LIVE_PAGE;
	     page <= ((slot + 1) * sizeof(*s) - 1) / GW_LIVE_PAGE; page++) {
		if (!stream_pages[page] && !as)
			return; /* none of it was ever said */
		if (!stream_pages[page] &&
		    !gw_live_reserve(h, h->streams.offset + page * GW_LIVE_PAGE, GW_LIVE_PAGE))
			return;
		stream_pages[page] = true;
	}
	s = (struct gw_live_stream *)(void *)((char *)h + at);
	/* Pair with the acquires in gw_live_stream_at() (cli/live/tables.c). */
	__atomic_store_n(&s->id, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	if (!as)
		return;
	s->device = as->device;
	s->kind = as->kind;
	s->cupti_id = as->cupti_id;
	s->context = as->context;
	__atomic_store_n(&s->id, as->id, __ATOMIC_RELEASE);
}
