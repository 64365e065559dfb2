/* The bench: timed launches, and the SM clock under load. */
#include <math.h>
#include <string.h>

#include "calib/bench_state.h"
#include "calib/calibrate.h"

enum {
	QUEUE = 512,          /* launches that fit the driver's queue while the latch holds */
	LATCH_NS = 500000000, /* longest time a latch holds: the host may be slow, but not dead */
	TRIES = 3,            /* of a sample whose latch gave up */
};
/* Least time between two clock samples, and their duration. */
static const double look_every = 0.1, look_takes = 300e-6;

/* Queue the latch; it opens when the host writes the gate. */
static bool close_gate(struct gw_bench *b)
{
	struct gw_bench_state *s = b->state;
	CUdeviceptr held = s->gate_device + 64;
	uint64_t timeout = LATCH_NS;
	void *args[] = {&s->gate_device, &timeout, &held};

	__atomic_store_n(&s->gate[0], 0, __ATOMIC_SEQ_CST);
	return gw_bench_launch(b, s->latch, (struct gw_shape){1, 1, 0}, args);
}

static void open_gate(struct gw_bench *b)
{
	__atomic_store_n(&b->state->gate[0], 1, __ATOMIC_SEQ_CST);
}

/* One sample, the seconds of one launch, NaN when the latch gave up first; false on an error. */
static bool sample(struct gw_bench *b, CUfunction f, struct gw_shape shape, void **args,
		   unsigned launches, double *seconds)
{
	struct gw_bench_state *s = b->state;
	float ms = 0;
	bool good = close_gate(b) &&
		    gw_bench_good(b, b->cu->cuEventRecord(s->before, b->stream), "cuEventRecord");

	for (unsigned i = 0; good && i < launches; i++)
		good = gw_bench_launch(b, f, shape, args);
	good = good && gw_bench_good(b, b->cu->cuEventRecord(s->after, b->stream), "cuEventRecord");
	open_gate(b); /* also after a failure: the latch must be released */
	if (!good || !gw_bench_wait(b) ||
	    !gw_bench_good(b, b->cu->cuEventElapsedTime(&ms, s->before, s->after),
			   "cuEventElapsedTime"))
		return false;
	*seconds = s->gate[16] ? (double)ms * 1e-3 / launches : NAN;
	return true;
}

size_t gw_bench_time(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args,
		     unsigned launches, double *seconds, size_t count)
{
	size_t got = 0, tries = 0;

	launches = launches > QUEUE ? QUEUE : launches ? launches : 1;
	if (!gw_bench_run(b, f, s, args))
		return 0;
	while (got < count && !gw_bench_stopped(b)) {
		if (!sample(b, f, s, args, launches, &seconds[got]))
			return got;
		if (!isnan(seconds[got]))
			got++;
		else if (++tries > TRIES * count) {
			gw_bench_note(b, "the host is too slow to queue %u launches", launches);
			return got;
		}
	}
	return got;
}

double gw_bench_load(struct gw_bench *b, double seconds)
{
	struct gw_bench_state *s = b->state;
	double sms = gw_param(b->known, GW_PARAM_sm_count);
	uint64_t ns = (uint64_t)(seconds * 1e9), seen[2] = {0};
	CUdeviceptr sink = s->cycles + 32;
	void *args[] = {&ns, &s->cycles, &sink};
	struct gw_shape all = {sms > 0 ? (unsigned)sms : 1, 256, 0};

	if (!gw_bench_run(b, s->busy, all, args) ||
	    !gw_bench_read(b, seen, s->cycles, sizeof(seen)) || !seen[1])
		return NAN;
	return (double)seen[0] / (double)seen[1] * 1e9;
}

/*
 * The clock decays within milliseconds of a load's end, so sample it right after one, with a
 * kernel: NVML's value is older.
 */
static void look(struct gw_bench *b)
{
	struct gw_bench_state *s = b->state;
	double clock = gw_bench_load(b, look_takes);

	s->throttle |= gw_nvml_throttle(&s->nvml);
	if (clock > 0 && s->clock_count < GW_BENCH_CLOCKS)
		s->clocks[s->clock_count++] = clock;
	s->looked = gw_bench_now();
}

void gw_bench_step(struct gw_bench *b, double done)
{
	struct gw_bench_state *s = b->state;
	const struct gw_calibration_listener *l = s->listener;

	if (!s->stopped && gw_bench_now() - s->looked > look_every)
		look(b);
	done = done < 0 ? 0 : done > 1 ? 1 : done;
	if (l && l->progress)
		l->progress(l->arg, s->group, done, (s->done_before + done * s->share) / s->all);
}
