/*
 * Group `waits`: latencies that the schedule of a lone warp needs
 * (predictor/code/timing/schedule.def) beyond those of instruction_latency. Chains as there
 * (kernels/waits.def); a second instruction that links a chain is measured too, and subtracted.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calib/groups/operation.h"
#include "calib/levels.h"
#include "calib/stats.h"
#include "kernels/shape.h"

enum {
	ROUNDS = 52,
	WARM_UP = 4,
	RUNS = 3,
	SAMPLES = RUNS * (ROUNDS - WARM_UP),
	TRIPS = 4096,     /* of the loop that a branch is measured in */
	OWN_BYTES = 16,   /* of memory, of each lane */
	WORD = 3,         /* the constants of a step: x never is the guard */
	GUARD = 0x40000001,
	FIRST = 0x4e800005, /* of x; as a float a large whole number */
};

enum kind { number, mask, pointer, sm, paging };

/* The rows of waits.def. */
enum chain {
#define WAITED(name, type, steps, kind, result, sass, ...) CHAIN_##name,
#include "kernels/waits.def"
	CHAINS
};

#define WAITED(name, type, steps, kind, result, sass, ...) \
	static uint32_t step_##name(uint32_t x, uint32_t w, uint32_t g) \
	{ \
		(void)x, (void)w, (void)g; \
		return result; \
	}
#include "kernels/waits.def"

static const struct {
	const char *name;
	unsigned steps;
	size_t bytes;
	enum kind kind;
	uint32_t (*step)(uint32_t x, uint32_t w, uint32_t g);
} chains[CHAINS] = {
#define BYTES_b32 4
#define BYTES_b64 8
#define WAITED(name, type, steps, kind, result, sass, ...) \
	{#name, steps, BYTES_##type, kind, step_##name},
#include "kernels/waits.def"
};

/* Cycles of a step of each chain, sample by sample. */
struct measured {
	double cycles[SAMPLES];
	size_t count; /* 0: nothing, noted */
};

static uint32_t first_of(enum kind kind, unsigned lane)
{
	return kind == mask ? UINT32_C(1) << lane : FIRST;
}

static bool operands(struct gw_lab *lab, enum kind kind)
{
	uint32_t words[3 * GW_LANES];

	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		words[lane] = first_of(kind, lane);
		words[GW_LANES + lane] = WORD;
		words[2 * GW_LANES + lane] = GUARD;
	}
	return gw_bench_write(lab->b, lab->in, words, sizeof(words));
}

/* Is what lane @p lane of @p c has left, @p x, what a round's steps make of its first? */
static bool lane_right(const struct gw_lab *lab, enum chain c, unsigned lane, uint64_t x,
		       uint64_t of_lane_0)
{
	uint32_t expected = first_of(chains[c].kind, lane);

	if (chains[c].kind == pointer)
		return x == of_lane_0 + OWN_BYTES * lane;
	if (chains[c].kind == sm)
		return x == of_lane_0 && x < lab->sms;
	for (unsigned i = 0; i < (1 + GW_LONG) * chains[c].steps; i++)
		expected = chains[c].step(expected, WORD, GUARD);
	return x == expected;
}

static bool right(struct gw_lab *lab, enum chain c)
{
	uint64_t words[GW_LANES] = {0};
	char *from = lab->results;

	if (!gw_bench_read(lab->b, from, lab->out, GW_LANES * chains[c].bytes))
		return false;
	for (unsigned lane = 0; lane < GW_LANES; lane++) {
		memcpy(&words[lane], from + lane * chains[c].bytes, chains[c].bytes);
		if (!lane_right(lab, c, lane, words[lane], words[0])) {
			gw_bench_note(lab->b, "lane %u of %s is wrong", lane, chains[c].name);
			return false;
		}
	}
	return true;
}

static void measure(struct gw_lab *lab, enum chain c, struct measured *m)
{
	const struct gw_shape shape = {1, GW_LANES, OWN_BYTES * GW_LANES};
	double apart = (double)(GW_LONG - 1) * chains[c].steps;
	char name[64];
	CUfunction f;
	size_t n = 0;

	m->count = 0;
	snprintf(name, sizeof(name), "gw_chain_wait_%s", chains[c].name);
	f = gw_bench_kernel(lab->b, name);
	if (!f || !operands(lab, chains[c].kind))
		return;
	for (unsigned run = 0; run < (lab->b->quick ? 1 : RUNS); run++) {
		if (!gw_lab_run(lab, f, shape, ROUNDS, 2 * ROUNDS))
			return;
		for (unsigned i = WARM_UP; i < ROUNDS; i++)
			m->cycles[n++] =
				((double)lab->readings[2 * i + 1] - lab->readings[2 * i]) / apart;
	}
	if (!right(lab, c))
		return;
	m->count = n;
	snprintf(name, sizeof(name), "wait-%s", chains[c].name);
	gw_bench_samples(lab->b, name, "cycles", m->cycles, n, 1);
}

/* Publish (chain - less) / parts; @p less NaN: not known. */
static void publish(struct gw_bench *b, enum gw_param p, const struct measured *m, double less,
		    double parts, const char *how)
{
	double samples[SAMPLES];

	if (!m->count || isnan(less)) {
		gw_bench_refuse(b, p,
				gw_bench_reason(b, m->count ? "its reference is unknown"
							    : "its kernel's result was wrong"));
		return;
	}
	for (size_t i = 0; i < m->count; i++)
		samples[i] = (m->cycles[i] - less) / parts;
	gw_bench_publish(b, p, samples, m->count, how);
}

static double middle(const struct measured *m)
{
	return m->count ? gw_median(m->cycles, m->count) : NAN;
}

/* Some rounds hit the near side of L2, others the far one: use a run's mean. */
static void publish_fence(struct gw_bench *b, const struct measured *m)
{
	enum { PLACES = ROUNDS - WARM_UP };
	struct measured means = {.count = m->count / PLACES};

	for (size_t run = 0; run < means.count; run++)
		means.cycles[run] = gw_mean_within(m->cycles + run * PLACES, PLACES, 0, 1);
	publish(b, GW_PARAM_lat_fence, &means, 0, 1,
		"slope between chains of a store and a fence, one warp; mean over 48 places in L2");
}

static void publish_chains(struct gw_bench *b, const struct measured *all)
{
	const struct gw_device *d = b->known;
	double guard = middle(&all[CHAIN_guarded]) - gw_param(d, GW_PARAM_lat_op_popc_b32);
	double queued = middle(&all[CHAIN_queued]) - gw_param(d, GW_PARAM_lat_op_shuffle_b32);

	publish(b, GW_PARAM_lat_convert, &all[CHAIN_convert], 0, 1,
		"slope between chains of fp32 to integer, one warp");
	publish(b, GW_PARAM_lat_match, &all[CHAIN_match], 0, 1,
		"slope between chains of match.any, 32 different values, one warp");
	publish(b, GW_PARAM_lat_reduce, &all[CHAIN_reduce],
		2 * gw_param(d, GW_PARAM_lat_imad), 1,
		"slope between chains of redux and multiply-add, less lat_imad twice: the move from "
		"the uniform register, the multiply-add");
	publish(b, GW_PARAM_lat_special, &all[CHAIN_special], guard, 1,
		"slope between chains of guarded reads of %smid, less the guard as seen with popc");
	publish(b, GW_PARAM_lat_operand, &all[CHAIN_operand], queued, 1,
		"slope between chains of a global store and a multiply-add over what it stores, less "
		"the multiply-add as seen with a shuffle");
	publish(b, GW_PARAM_lat_shared_store, &all[CHAIN_shared_store], 0, 1,
		"slope between chains of a store and a block-wide barrier, one warp: at most that");
	publish(b, GW_PARAM_lat_shared_wide, &all[CHAIN_shared_128],
		gw_param(d, GW_PARAM_lat_op_load_shared), 3,
		"a third of what a load of 128 bits takes beyond one of 32 (lat_op_load_shared)");
	publish(b, GW_PARAM_lat_global_wide, &all[CHAIN_global_128], middle(&all[CHAIN_global_32]),
		3, "a third of what a load of 128 bits that hits L1 takes beyond one of 32, one warp");
	publish_fence(b, &all[CHAIN_fence]);
}

static void measure_branch(struct gw_lab *lab)
{
	const struct gw_shape shape = {1, GW_LANES, 0};
	CUfunction f = gw_bench_kernel(lab->b, "gw_wait_branch");
	double samples[RUNS * WARM_UP];
	size_t n = 0, runs = lab->b->quick ? WARM_UP : RUNS * WARM_UP;
	uint32_t trips = 0;

	for (size_t run = 0; run < runs && f && gw_lab_run(lab, f, shape, TRIPS, 1); run++)
		/* One cycle is the reading's own, before the branch issues. */
		samples[n++] = (double)lab->readings[0] / (TRIPS - 1) - 1;
	if (n < runs || !gw_bench_read(lab->b, &trips, lab->out, sizeof(trips)) || trips != TRIPS) {
		gw_bench_refuse(lab->b, GW_PARAM_lat_branch,
				gw_bench_reason(lab->b, "its kernel's result was wrong"));
		return;
	}
	gw_bench_samples(lab->b, "wait-branch", "cycles", samples, n, 1);
	gw_bench_publish(lab->b, GW_PARAM_lat_branch, samples, n,
			 "from a reading of the clock before the branch of a loop to one after it, "
			 "less the reading's own issue; mean of 4095 turns, one warp");
}

bool gw_group_waits(struct gw_bench *b)
{
	struct measured all[CHAINS] = {{.count = 0}};
	struct gw_lab lab;
	bool open = gw_lab_open(&lab, b);

	for (unsigned c = 0; open && c < CHAINS && !gw_bench_stopped(b); c++) {
		measure(&lab, (enum chain)c, &all[c]);
		gw_bench_step(b, (c + 1.0) / (CHAINS + 1));
	}
	if (open && !gw_bench_stopped(b)) {
		publish_chains(b, all);
		measure_branch(&lab);
	}
	gw_bench_step(b, 1);
	gw_lab_close(&lab);
	return open;
}
