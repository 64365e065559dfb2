/* Windows of counter samples whose truth is known. */
#ifndef GW_TESTS_UNIT_ATTRIBUTION_H
#define GW_TESTS_UNIT_ATTRIBUTION_H

#include "predictor/counters/attribute.h"
#include "tests/test.h"

enum { SAMPLES = 200, RUNS = 4096, STEP = 20000 };

/* A window under construction: what ran, and what that counts. */
static struct {
	struct gw_interval run[RUNS];
	size_t runs;
	struct gw_sample sample[SAMPLES];
	uint64_t begin, at; /* ns */
} w;

/* What a launch of a configuration counts: two metrics. */
static inline double truth(uint32_t config, unsigned metric)
{
	return config * (metric ? 1e6 : 300.0);
}

static inline void window_begin(uint64_t begin)
{
	memset(&w, 0, sizeof(w));
	w.begin = w.at = begin;
	for (unsigned i = 0; i < SAMPLES; i++) {
		w.sample[i].begin = begin + i * STEP;
		w.sample[i].end = begin + (i + 1) * STEP;
	}
}

/* Count into the samples what an even rate from @p start to @p end comes to. */
static inline void count(uint32_t config, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < SAMPLES; i++) {
		uint64_t from = start > w.sample[i].begin ? start : w.sample[i].begin;
		uint64_t to = end < w.sample[i].end ? end : w.sample[i].end;

		for (unsigned m = 0; m < 2 && to > from; m++)
			w.sample[i].value[m] +=
				truth(config, m) * (double)(to - from) / (double)(end - start);
	}
}

static inline void ran(uint32_t config, uint64_t start, uint64_t end)
{
	assert_in_range(w.runs, 0, RUNS - 1);
	w.run[w.runs++] = (struct gw_interval){start, end, config};
	count(config, start, end);
}

/* The next kernel, @p gap after the last. */
static inline void next(uint32_t config, uint64_t length, uint64_t gap)
{
	w.at += gap;
	ran(config, w.at, w.at + length);
	w.at += length;
}

static inline bool room(void)
{
	return w.at < w.begin + (uint64_t)(SAMPLES - 20) * STEP;
}

static inline enum gw_window_fate take(struct gw_attribution *a)
{
	return gw_attribution_window(a, w.sample, SAMPLES, w.run, w.runs);
}

static inline struct gw_counted counted(const struct gw_attribution *a, uint32_t config)
{
	struct gw_counted c;
	uint32_t found;

	for (unsigned i = 0; (found = gw_attribution_get(a, i, &c)) != 0; i++)
		if (found == config)
			return c;
	return (struct gw_counted){.value = {NAN, NAN}, .error = {NAN, NAN}};
}

static inline void assert_reported(const struct gw_attribution *a, uint32_t config,
				   double tolerance)
{
	struct gw_counted c = counted(a, config);

	for (unsigned m = 0; m < 2; m++) {
		assert_true(fabs(c.value[m] - truth(config, m)) <= tolerance * truth(config, m));
		assert_true(c.error[m] < 0.25);
	}
}

static inline bool is_reported(const struct gw_attribution *a, uint32_t config)
{
	return counted(a, config).error[0] < 0.25;
}

static inline struct gw_attribution *fresh(void)
{
	struct gw_attribution *a = gw_attribution_new(2, 1);

	assert_non_null(a);
	return a;
}

/* A test of an attribution of its own. */
#define ATTRIBUTION_TEST(name) \
	static void name##_by(struct gw_attribution *a); \
	TEST(name) \
	{ \
		struct gw_attribution *a = fresh(); \
		name##_by(a); \
		gw_attribution_free(a); \
	} \
	static void name##_by(struct gw_attribution *a)

#endif
