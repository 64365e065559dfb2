/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/deep_sets.h"

#include "predictor/code/timing/waits.h"
#include "preload/analysis/code.h"
#include "preload/runtime/state.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

enum {
#define METRIC(name, field, factor) METRIC_##field,
#include "preload/counters/range_metric.def"
#undef METRIC
	METRICS,
	STUDY_MEMORY = 16 << 20,
	STUDY_A_CYCLE = 4, /* kernels */
};

static const struct {
	const char *name;
	enum gw_work_field field;
	double factor;
} metrics[METRICS] = {
#define METRIC(name, field, factor) {name, GW_WORK_##field, factor},
#include "preload/counters/range_metric.def"
#undef METRIC
};

/* A set, and which metrics it is made of. */
struct set {
	struct gw_cupti_set set;
	const char *names[METRICS];
	uint8_t metric[METRICS];
	uint32_t count;
};

/* What is known of a kernel. */
enum { UNKNOWN, ASKED, ALLOWED, REFUSED };

static struct set sets[GW_DEEP_SETS];
static uint32_t set_count, tried; /* sets begun; metrics tried */
static const char *chip;
static CUptiResult why;
static _Atomic uint32_t ready;
static pthread_mutex_t host; /* held in libcupti's host functions, which exit() takes apart */
static bool stopped;
static _Atomic uint8_t kernels[GW_KERNELS_MAX];
static _Atomic uint32_t asked; /* kernels that wait to be studied */

void gw_deep_sets_start(void)
{
	pthread_mutex_init(&host, NULL);
	memset(sets, 0, sizeof(sets));
	memset(kernels, 0, sizeof(kernels));
	set_count = tried = 0;
	chip = NULL;
	why = CUPTI_SUCCESS;
	stopped = false;
	atomic_store(&ready, 0);
	atomic_store(&asked, 0);
}

/* The set with one metric more; false when it does not fit into one pass, or is refused. */
static bool extend(struct set *s, uint32_t metric)
{
	struct gw_cupti_set wider;

	s->names[s->count] = metrics[metric].name;
	why = gw_cupti_set_make(&wider, CUPTI_PROFILER_TYPE_RANGE_PROFILER, chip, NULL, s->names,
	                        s->count + 1);
	if (why != CUPTI_SUCCESS)
		return false;
	if (wider.passes != 1) {
		gw_cupti_set_free(&wider);
		return false;
	}
	gw_cupti_set_free(&s->set);
	s->set = wider;
	s->metric[s->count++] = (uint8_t)metric;
	return true;
}

/* The next metric: into the last set, else alone into a new one, else left out. */
static void try_next(void)
{
	uint32_t metric = tried++;

	if (set_count && extend(&sets[set_count - 1], metric))
		return;
	if (set_count < GW_DEEP_SETS && extend(&sets[set_count], metric))
		set_count++;
}

bool gw_deep_sets_make(void)
{
	pthread_mutex_lock(&host);
	if (stopped || tried == METRICS)
		goto out;
	if (!chip)
		chip = gw_cupti_chip(0, &why);
	if (chip)
		try_next();
	else
		tried = METRICS;
	if (tried == METRICS)
		atomic_store(&ready, set_count);
out:
	pthread_mutex_unlock(&host);
	return tried == METRICS;
}

uint32_t gw_deep_sets_ready(void)
{
	return atomic_load_explicit(&ready, memory_order_acquire);
}

const struct gw_cupti_set *gw_deep_set(uint32_t index)
{
	return &sets[index].set;
}

CUptiResult gw_deep_sets_why(void)
{
	return why;
}

bool gw_deep_sets_work(uint32_t index, const uint8_t *data, size_t size, struct gw_work *out)
{
	const struct set *s = &sets[index];
	double value[METRICS];
	bool asked_it, told = false, any = false;

	gw_work_clear(out);
	pthread_mutex_lock(&host);
	asked_it = !stopped;
	if (asked_it)
		told = gw_cupti_set_values(&s->set, data, size, 0, value) == CUPTI_SUCCESS;
	pthread_mutex_unlock(&host);
	for (uint32_t i = 0; told && i < s->count; i++) {
		if (!(value[i] >= 0) || !isfinite(value[i]))
			continue;
		any = true;
		out->q[metrics[s->metric[i]].field] = (struct gw_quantity){
		        .value = metrics[s->metric[i]].factor * value[i],
		        .source = GW_SOURCE_COUNTED,
		        .confidence = 1,
		};
	}
	return any || !asked_it;
}

void gw_deep_sets_stop(void)
{
	pthread_mutex_lock(&host);
	stopped = true;
	pthread_mutex_unlock(&host);
}

bool gw_deep_kernel_allowed(uint32_t slot)
{
	uint8_t unknown = UNKNOWN;

	if (!slot || slot >= GW_KERNELS_MAX)
		return false;
	if (atomic_compare_exchange_strong(&kernels[slot], &unknown, ASKED))
		atomic_fetch_add(&asked, 1);
	return atomic_load_explicit(&kernels[slot], memory_order_acquire) == ALLOWED;
}

static bool contains(const char *text, const char *word)
{
	for (; *text; text++) {
		size_t i = 0;

		while (word[i] && tolower((unsigned char)text[i]) == word[i])
			i++;
		if (!word[i])
			return true;
	}
	return false;
}

/* Kernels that talk to other GPUs wait for them, however their code does it. */
static bool is_communication(const char *name)
{
	return contains(name, "nccl") || contains(name, "nvshmem");
}

static bool may_wait(uint32_t slot)
{
	struct gw_arena arena;
	struct gw_code code;
	bool may = true;

	if (is_communication(gw_hot.shared->kernels[slot].name))
		return true;
	gw_arena_init(&arena, STUDY_MEMORY);
	if (gw_code_of(slot, &code) && code.machine)
		may = gw_code_waits(&code.kernel, &arena) != NULL;
	gw_arena_free(&arena);
	return may;
}

void gw_deep_kernels_analysis(void)
{
	uint32_t n = atomic_load(&gw_hot.shared->kernel_count), left = STUDY_A_CYCLE;

	for (uint32_t slot = 1; slot <= n && slot < GW_KERNELS_MAX && left && atomic_load(&asked);
	     slot++) {
		if (atomic_load(&kernels[slot]) != ASKED)
			continue;
		if (may_wait(slot)) {
			gw_count(GW_COUNTER_deep_refused, 1);
			atomic_store_explicit(&kernels[slot], REFUSED, memory_order_release);
		} else {
			atomic_store_explicit(&kernels[slot], ALLOWED, memory_order_release);
		}
		atomic_fetch_sub(&asked, 1);
		left--;
	}
}
