/*
 * episodes_runs SEED RUNS SCENARIO FILE.csv...: processes in mode watch whose kernels take what
 * recorded ones took (gpuwatch export --format=csv), under the test of sampled times
 * (predictor/counters/slow_windows.c). SCENARIO:
 *
 *   usual     an hour each; prints "hours kernels episodes of_phases": the latter of kernels whose
 *             data change for seconds to minutes
 *   kernel, cache, clock, others, copies
 *             each runs 10 minutes and then something becomes 3% slower for 5 minutes, or as
 * WHAT:SECONDS:RATIO says: prints a line "error seconds right" for each kernel that did: the
 * standard error of the mean of a minute's times, how long until its episode began (-1: not within
 * 5 minutes), and whether the cause was the right one
 *
 * kernel: one kernel, and nothing says why. cache: one, that moves half as many bytes more. clock:
 * the SM clock falls by 4%, and kernels by what they follow it. others: all kernels, and NVML sees
 * another process. copies: all kernels of one class, and kernels overlap.
 *
 * Every half second or so there is a window, in which each configuration is timed as often as its
 * rate says, by neighbouring recorded launches. What the recordings are too short for is assumed:
 * see the constants.
 */
#include "cli/common/memory.h"
#include "predictor/counters/slow.h"
#include "tests/campaign/fleet_pool.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 60, LEAST = 20, SECONDS_BEFORE = 600, SECONDS_AFTER = 300, HOUR = 3600 };

static double slower = 1.03, slow_seconds = SECONDS_AFTER; /* of SCENARIO */

static const double COMMON = 0.002, CLASS = 0.0015; /* noise that lasts for minutes */
static const double WINDOW = 0.003;                 /* of one configuration in one window */
static const double PAIR = 0.15e-6;                 /* error of an event pair, s */
static const double OUTLIER = 0.01; /* share of the times that are up to three times as long */
static const double MODES = 0.15;   /* share of the configurations with two modes */
static const double PHASES = 0.05;  /* share of those whose modes last */
static const double BURSTS = 0.25;  /* an hour: a neighbour slows all by up to 8% up to 10 s */
static const double DIURNAL = 0.01; /* of all times over a day */
static const double CLOCK_WARM = 0.007, CLOCK_NOISE = 0.002, CLOCK_READ = 0.002;

struct kernel {
	const struct config *config;
	double rate;  /* samples a window */
	double apart; /* its second mode, a logarithm; 0: none */
	double mix;   /* share of that */
	double lasts; /* windows that a mode lasts; 0: each launch has its own */
	bool second;  /* mode now */
	double samples;
	double bytes;
};

struct run {
	struct gw_slow *slow;
	struct kernel kernel[MOST];
	unsigned kernels, burst;
	double t, common, class[HEALTH_RESOURCES], clock, day, burst_size;
	bool faulty;
	const char *what;
	unsigned which;
};

static void wander(double *x, double size)
{
	*x = 0.998 * *x + size * 0.0632 * normal();
}

static void begin(struct run *r, unsigned files, const char *what)
{
	unsigned file;

	do
		file = below(files);
	while (first[file + 1] - first[file] < LEAST);
	*r = (struct run){.slow = gw_slow_new(MOST), .what = what};
	r->kernels = LEAST + below(MOST - LEAST + 1);
	r->day = 6.283185307179586 * uniform();
	for (unsigned i = 0; i < r->kernels; i++) {
		struct kernel *k = &r->kernel[i];
		const bool modes = uniform() < MODES, lasts = uniform() < PHASES;

		*k = (struct kernel){
			.config = &configs[first[file] + below(first[file + 1] - first[file])],
			.rate = 0.1 * pow(40, uniform()),
			.apart = modes || lasts ? 0.05 + 0.15 * uniform() : 0,
			.mix = 0.1 + 0.8 * uniform(),
			.lasts = lasts ? 10 * pow(20, uniform()) : 0,
			.bytes = 1e6};
	}
	r->which = below(r->kernels);
}

static bool is_slow(const struct run *r, unsigned i)
{
	if (!r->faulty)
		return false;
	if (!strcmp(r->what, "kernel") || !strcmp(r->what, "cache"))
		return i == r->which;
	if (!strcmp(r->what, "copies"))
		return r->kernel[i].config->resource == r->kernel[r->which].config->resource;
	return strcmp(r->what, "clock") || r->kernel[i].config->follows > 0.7;
}

static enum gw_slow_cause cause_of(const char *what)
{
	return !strcmp(what, "clock")    ? GW_SLOW_CLOCK
	       : !strcmp(what, "others") ? GW_SLOW_OTHER_WORK
	       : !strcmp(what, "cache")  ? GW_SLOW_CACHE
	       : !strcmp(what, "copies") ? GW_SLOW_CONTENTION
					 : GW_SLOW_UNKNOWN;
}

static double mode_of(struct kernel *k)
{
	if (!(k->lasts > 0))
		return uniform() < k->mix ? k->apart : 0;
	return k->second ? k->apart : 0;
}

/* The other mode comes, so that each has its share of the time. */
static void change_mode(struct kernel *k)
{
	if (k->lasts > 0 && uniform() < (k->second ? 1 - k->mix : k->mix) / k->lasts)
		k->second = !k->second;
}

static double fault_of(const struct run *r, unsigned i)
{
	return is_slow(r, i) && strcmp(r->what, "clock") ? slower : 1;
}

struct found {
	bool episode;
	enum gw_slow_cause cause;
};

static void times_of(struct run *r, unsigned i, double factor, double sm, double others,
		     struct found *found)
{
	struct kernel *k = &r->kernel[i];
	const struct config *c = k->config;
	unsigned n = (unsigned)k->rate + (uniform() < k->rate - floor(k->rate)),
		 at = below(c->count);
	const double window = exp(WINDOW * normal());

	change_mode(k);
	for (; n; n--, at++) {
		const bool slow = is_slow(r, i);
		struct gw_slow_sample s = {
			.start_ns = 1000000000000 + (uint64_t)(r->t * 1e9) + n * 1000,
			.sampled = true,
			.follows = c->resource != HEALTH_MEMORY,
			.overlapped = uniform() < (slow && !strcmp(r->what, "copies") ? 0.9 : 0.1),
			.clock = {.sm_hz = sm, .mem_hz = 3201e6, .others = others},
			.dram_bytes = slow && !strcmp(r->what, "cache") ? 1.5 * k->bytes : k->bytes,
		};
		struct gw_slow_event e;

		s.seconds = c->ns[at % c->count] * 1e-9 * window * factor * fault_of(r, i) *
				    exp(mode_of(k)) * (1 + c->follows * (1980e6 / r->clock - 1)) +
			    PAIR * normal();
		if (uniform() < OUTLIER)
			s.seconds *= 1 + 2 * uniform();
		k->samples++;
		if (!gw_slow_observe(r->slow, i + 1, &s, &e) || e.until_ns)
			continue;
		found[i] = (struct found){true, e.cause};
	}
}

/* Half a second with a window. */
static void window(struct run *r, struct found *found)
{
	static double noise;
	double day, clock, others = 0.02 * uniform();

	r->t += 0.45 + 0.15 * uniform();
	wander(&r->common, COMMON);
	wander(&noise, CLOCK_NOISE);
	if (!r->burst && uniform() < BURSTS / 7200) {
		r->burst = 1 + below(20);
		r->burst_size = 0.08 * uniform();
	}
	r->burst -= r->burst > 0;
	day = DIURNAL * sin(6.283185307179586 * r->t / 86400 + r->day);
	r->clock = 1980e6 * exp(noise) * (1 - CLOCK_WARM * (1 - exp(-r->t / 120))) *
		   (r->faulty && !strcmp(r->what, "clock") ? 0.96 : 1);
	clock = r->clock * exp(CLOCK_READ * normal());
	if (r->faulty && !strcmp(r->what, "others"))
		others += 0.3;
	for (int c = 0; c < HEALTH_RESOURCES; c++)
		wander(&r->class[c], CLASS);
	for (unsigned i = 0; i < r->kernels; i++)
		times_of(r, i,
			 exp(day + r->common + r->class[r->kernel[i].config->resource]) *
				 (r->burst ? 1 + r->burst_size : 1),
			 clock, others, found);
}

static void usual(unsigned runs, unsigned files)
{
	unsigned episodes = 0, phases = 0, kernels = 0;

	for (unsigned n = 0; n < runs; n++) {
		struct run r;

		begin(&r, files, "");
		kernels += r.kernels;
		while (r.t < HOUR) {
			struct found found[MOST] = {0};

			window(&r, found);
			for (unsigned i = 0; i < r.kernels; i++) {
				episodes += found[i].episode && !(r.kernel[i].lasts > 0);
				phases += found[i].episode && r.kernel[i].lasts > 0;
			}
		}
		gw_slow_free(r.slow);
	}
	printf("%u %u %u %u\n", runs, kernels, episodes, phases);
}

/* Standard error of the mean of what is timed in a minute, a logarithm. */
static double error_of_a_minute(const struct kernel *k)
{
	const struct config *c = k->config;
	const double pair = PAIR / (c->ns[0] * 1e-9);
	double mean = 0, variance = WINDOW * WINDOW + pair * pair;

	for (unsigned i = 0; i < c->count; i++)
		mean += log(c->ns[i]) / c->count;
	for (unsigned i = 0; i < c->count; i++)
		variance += (log(c->ns[i]) - mean) * (log(c->ns[i]) - mean) / c->count;
	variance += k->apart * k->apart * k->mix * (1 - k->mix) * (1 + 2 * k->lasts);
	return sqrt(variance / (k->samples * 60 / SECONDS_AFTER));
}

static void changes(unsigned runs, unsigned files, const char *what)
{
	for (unsigned n = 0; n < runs; n++) {
		double at[MOST];
		bool right[MOST] = {false};
		struct run r;

		begin(&r, files, what);
		while (r.t < SECONDS_BEFORE) {
			struct found found[MOST] = {0};

			window(&r, found);
		}
		for (unsigned i = 0; i < r.kernels; i++) {
			at[i] = -1;
			r.kernel[i].samples = 0;
		}
		while (r.t < SECONDS_BEFORE + SECONDS_AFTER) {
			struct found found[MOST] = {0};

			r.faulty = r.t < SECONDS_BEFORE + slow_seconds;
			window(&r, found);
			for (unsigned i = 0; i < r.kernels; i++)
				if (found[i].episode && at[i] < 0) {
					at[i] = r.t - SECONDS_BEFORE;
					right[i] = found[i].cause == cause_of(what);
				}
		}
		r.faulty = true;
		for (unsigned i = 0; i < r.kernels; i++)
			if (is_slow(&r, i))
				printf("%.5f %.1f %d\n", error_of_a_minute(&r.kernel[i]), at[i],
				       right[i]);
		gw_slow_free(r.slow);
	}
}

int main(int argc, char **argv)
{
	unsigned runs, files = 0;
	const char *what, *text;

	if (argc < 5)
		return 2;
	pool_seed = strtoull(argv[1], NULL, 10) * 7919 + 1;
	runs = (unsigned)strtoul(argv[2], NULL, 10);
	configs = gw_alloc(CONFIGS * sizeof(*configs));
	for (int i = 4; i < argc && files < FILES; i++)
		pool_read(files++, argv[i]);
	first[files] = count;
	for (unsigned i = 0; i < count; i++)
		configs[i].follows = configs[i].resource == HEALTH_MEMORY ? 0.3 * uniform()
				     : configs[i].resource == HEALTH_COMPUTE
					     ? 0.9 + 0.1 * uniform()
					     : 0.7 + 0.3 * uniform();
	what = strtok(argv[3], ":");
	if ((text = strtok(NULL, ":")))
		slow_seconds = strtod(text, NULL);
	if ((text = strtok(NULL, ":")))
		slower = strtod(text, NULL);
	if (!strcmp(what, "usual"))
		usual(runs, files);
	else
		changes(runs, files, what);
	free(configs);
	return 0;
}
