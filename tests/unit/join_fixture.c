#include "tests/unit/join_fixture.h"

#include "preload/runtime/clock.h"
#include "preload/maps/memory.h"

#include <string.h>

struct meeting met[64];
uint32_t wrong;
uint32_t met_count, lost[64], lost_count, orphan_count;
uint64_t now = 1000000000000, asked;
struct gw_config_entry configs[4];

/* What the join stands on. */
struct gw_config_entry *gw_config_entry(uint32_t id)
{
	asked++;
	return &configs[id];
}

uint64_t gw_wall_ns(void)
{
	return now;
}

uint64_t gw_steady_ns(void)
{
	return now;
}

static void joined(struct gw_record_launch *r, const struct gw_activity *a, double seconds)
{
	wrong += a && a->end - a->start != r->known;
	met[met_count % COUNT(met)].launch = r->known;
	met[met_count % COUNT(met)].duration = a ? a->end - a->start : 0;
	met[met_count++ % COUNT(met)].seconds = seconds;
}

static void unmatched(struct gw_record_launch *r)
{
	lost[lost_count++ % COUNT(lost)] = r->known;
}

static void orphan(const struct gw_activity *a)
{
	(void)a;
	orphan_count++;
}

uint32_t records_there;
static void queue_full(void);

int join_start(void **state)
{
	static const struct gw_join_sink sink = {joined, unmatched, orphan, queue_full};

	(void)state;
	gw_memory_start();
	gw_join_start(&sink);
	met_count = lost_count = orphan_count = records_there = 0;
	memset(met, 0, sizeof(met));
	memset(gw_counters, 0, sizeof(gw_counters));
	for (uint32_t i = 1; i < COUNT(configs); i++) {
		configs[i].name = i == 1 ? "first" : i == 2 ? "second" : "third";
		configs[i].signature = 0;
		configs[i].config = (struct gw_config){{i, 1, 1}, {32, 1, 1}, {1, 1, 1}, 0, 0};
	}
	return 0;
}

int join_stop(void **state)
{
	(void)state;
	gw_join_batch(true);
	return 0;
}

void wait_in(enum gw_join_by by, uint64_t key, uint32_t number, uint32_t config, uint32_t launch)
{
	struct gw_record_launch r = {.config = config, .known = launch, .call_ns = now};

	gw_join_wait(by, key, number, &r);
}

void launch(uint32_t stream, uint32_t config, uint32_t number)
{
	wait_in(GW_JOIN_STREAM, gw_join_stream_key(1, stream), 0, config, number);
}

struct gw_activity activity(uint32_t config, uint32_t correlation, uint64_t duration)
{
	return (struct gw_activity){.name = configs[config].name,
				    .start = now,
				    .end = now + duration,
				    .context = 1,
				    .correlation = correlation,
				    .grid = {configs[config].config.grid.x, 1, 1},
				    .block = {32, 1, 1}};
}

void record(uint32_t stream, uint32_t config, uint32_t correlation, uint64_t duration)
{
	struct gw_activity a = activity(config, correlation, duration);

	a.stream = stream;
	gw_join_record(&a);
}

void node(uint32_t config, uint32_t correlation, uint64_t duration)
{
	struct gw_activity a = activity(config, correlation, duration);

	a.graph = GRAPH;
	a.stream = STREAM_A;
	gw_join_record(&a);
}

static void queue_full(void)
{
	for (uint32_t i = 0; i < records_there; i++)
		record(STREAM_A, 1, i + 1, i);
	records_there = 0;
	gw_join_batch(false);
}
