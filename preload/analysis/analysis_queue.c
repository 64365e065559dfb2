#include "preload/analysis/analysis_queue.h"

#include "preload/maps/configs.h"
#include "preload/maps/memory.h"

#include <string.h>

/* In the order they came. */
struct queue {
	uint32_t config[GW_ANALYSIS_QUEUE], head, count;
};

/* None of the first two had been timed; the first holds one of each kernel. */
static struct queue first_of_kernel, untimed_rest, args_arrived, timed_ones, shallow;
static uint8_t timed[GW_KERNELS_MAX / 8]; /* … of each that has a time of a configuration */
static uint8_t met[GW_KERNELS_MAX / 8];   /* a bit of each kernel that was in `first_of_kernel` */
/* Of each kernel: how long its last analysis took, 0: none; how many of its configurations had
 * their turn, and how long their first analyses took. */
static struct {
	uint32_t us, turns, spent_us;
} * kernels; /* [GW_KERNELS_MAX] */
static bool by_time;

void gw_analysis_queue_start(void)
{
	first_of_kernel.count = untimed_rest.count = args_arrived.count = timed_ones.count =
		shallow.count = 0;
	memset(timed, 0, sizeof(timed));
	memset(met, 0, sizeof(met));
	kernels = gw_memory_table(GW_KERNELS_MAX * sizeof(*kernels));
}

void gw_analysis_queue_by_time(bool on)
{
	by_time = on;
}

static bool push(struct queue *q, uint32_t config)
{
	if (q->count == GW_ANALYSIS_QUEUE)
		return false;
	q->config[(q->head + q->count++) % GW_ANALYSIS_QUEUE] = config;
	return true;
}

static uint32_t at(const struct queue *q, uint32_t place)
{
	return q->config[(q->head + place) % GW_ANALYSIS_QUEUE];
}

/* Those before it close up. */
static uint32_t take(struct queue *q, uint32_t place)
{
	uint32_t config = at(q, place);

	for (; place; place--)
		q->config[(q->head + place) % GW_ANALYSIS_QUEUE] = at(q, place - 1);
	q->head = (q->head + 1) % GW_ANALYSIS_QUEUE;
	q->count--;
	return config;
}

bool gw_analysis_queue_new_kernel(uint32_t config)
{
	const struct gw_config_entry *c = gw_config_entry(config);

	return !c->measured && !((met[c->slot / 8] | timed[c->slot / 8]) >> c->slot % 8 & 1);
}

/* Whether launches of its kernel need not wait for their analysis. */
static bool is_frequent(uint32_t slot)
{
	return kernels[slot].spent_us >= GW_ANALYSIS_EACH_MS * 1000;
}

uint32_t gw_analysis_queue_turns(uint32_t config)
{
	return kernels[gw_config_entry(config)->slot].turns;
}

void gw_analysis_queue_back(uint32_t config)
{
	kernels[gw_config_entry(config)->slot].turns--;
}

bool gw_analysis_queue_put(uint32_t config, bool open)
{
	const struct gw_config_entry *c = gw_config_entry(config);
	uint8_t bit = (uint8_t)(1u << c->slot % 8);

	if (open)
		return push(&args_arrived, config);
	if (c->measured) {
		timed[c->slot / 8] |= bit;
		return push(&timed_ones, config);
	}
	if (is_frequent(c->slot))
		return push(&timed_ones, config);
	if (met[c->slot / 8] & bit || first_of_kernel.count == GW_ANALYSIS_QUEUE)
		return push(&untimed_rest, config);
	met[c->slot / 8] |= bit;
	return push(&first_of_kernel, config);
}

bool gw_analysis_queue_put_brief(uint32_t config)
{
	return push(&shallow, config);
}

/* Those of the kernel that wait, or with slot 0 those timed meanwhile, go to the timed ones; where
 * these are full they stay. */
static void make_way(struct queue *q, uint32_t slot)
{
	for (uint32_t n = q->count; n; n--) {
		uint32_t config = take(q, 0);
		const struct gw_config_entry *c = gw_config_entry(config);

		if (!(slot ? c->slot == slot : c->measured) || !push(&timed_ones, config))
			push(q, config);
	}
}

void gw_analysis_queue_timed(void)
{
	make_way(&first_of_kernel, 0);
	make_way(&untimed_rest, 0);
}

void gw_analysis_queue_took(uint32_t slot, uint64_t ns, bool first)
{
	kernels[slot].us = (uint32_t)(ns / 1000 + 1);
	if (!first || is_frequent(slot))
		return;
	kernels[slot].spent_us += (uint32_t)(ns / 1000);
	if (is_frequent(slot))
		make_way(&untimed_rest, slot);
}

static double likely_us(uint32_t config)
{
	uint32_t us = kernels[gw_config_entry(config)->slot].us;

	return us ? us : GW_ANALYSIS_USUAL_US;
}

/* Place of the one of @p q that is worth the most by @p worth, the oldest of equals; what it is
 * worth goes to
 * @p most, if that is more than was there. UINT32_MAX: none is. */
static uint32_t best(const struct queue *q, double (*worth)(uint32_t config), double *most)
{
	uint32_t n = q->count < GW_ANALYSIS_CHOICE ? q->count : GW_ANALYSIS_CHOICE,
		 found = UINT32_MAX;

	for (uint32_t i = 0; i < n; i++) {
		double w = worth(at(q, i));

		if (w > *most) {
			*most = w;
			found = i;
		}
	}
	return found;
}

/* GPU time per time of its analysis; a nanosecond of GPU time where none was measured. */
static double gain(uint32_t config)
{
	return ((double)gw_config_entry(config)->total_ns + 1) / likely_us(config);
}

/* GPU time of its launches where few of them are timed, and not in proportion. */
static double likely_ns(const struct gw_config_entry *c)
{
	const double each =
		c->measured ? (double)c->total_ns / (double)c->measured : GW_ANALYSIS_LAUNCH_NS;

	return (double)c->launches * each;
}

static double likely_gain(uint32_t config)
{
	return (likely_ns(gw_config_entry(config)) + 1) / likely_us(config);
}

/* Of the kernel that had fewest turns, then the cheapest. */
static double turn(uint32_t config)
{
	return 1 / (gw_analysis_queue_turns(config) * 1e9 + likely_us(config));
}

bool gw_analysis_queue_worth(uint32_t config)
{
	return !by_time || gw_analysis_queue_new_kernel(config) || likely_gain(config) >= 1e3;
}

struct choice {
	struct queue *from; /* NULL: none */
	uint32_t place;
};

/* By time of all that wait, else of the first queue with any. */
static struct choice choose(bool untimed)
{
	static struct queue *const all[] = {&first_of_kernel, &untimed_rest, &args_arrived,
					    &timed_ones, &shallow};
	const bool any = by_time && !untimed;
	struct choice c = {NULL, 0};
	double most = 0;

	for (unsigned k = 0; k < (untimed ? 2 : 5) && (!c.from || any); k++) {
		const uint32_t i = best(all[k], any ? likely_gain : k < 2 ? turn : gain, &most);

		if (i == UINT32_MAX)
			continue;
		c.from = all[k];
		c.place = i;
	}
	return c;
}

uint32_t gw_analysis_queue_peek(void)
{
	const struct choice c = choose(true);

	return c.from ? at(c.from, c.place) : 0;
}

uint32_t gw_analysis_queue_next(bool untimed)
{
	const struct choice c = choose(untimed);
	uint32_t config;

	if (!c.from)
		return 0;
	config = take(c.from, c.place);
	kernels[gw_config_entry(config)->slot].turns += c.from != &shallow;
	return config;
}

uint32_t gw_analysis_queue_untimed(void)
{
	return first_of_kernel.count + untimed_rest.count;
}

uint32_t gw_analysis_queue_first(void)
{
	return gw_analysis_queue_untimed() + args_arrived.count + timed_ones.count;
}

uint32_t gw_analysis_queue_waiting(void)
{
	return gw_analysis_queue_first() + shallow.count;
}
