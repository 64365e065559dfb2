#include "preload/counters/gpu_clock.h"

#include "calib/nvml/nvml.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/driver.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/maps/own_use.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/spawn.h"
#include "preload/maps/state.h"
#include "preload/maps/devices.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
	DEVICES = 64,
	ANSWERS = 128,       /* that can wait for the worker */
	PAUSE_MS = 100,      /* between samples at least … */
	PAUSE_SUMS_MS = 200, /* … and where launches are in sums: what is slow there lasts */
	SUMMED_MS = 10000,   /* between their records where launches are in sums */
	OTHERS_MS = 1000,    /* between looks at other processes: NVML averages over as long … */
	OTHERS_SUMS_MS = 2000, /* … and there: half of what asking costs is this */
	STOP_MS = 1000,        /* how long the end of a program waits for an answer */
};
/*
 * Of a CPU that asking may take, for each percent of GPUWATCH_BUDGET; on the H200 a sample takes
 * 0.18 ms and a look at other processes 0.2 ms, where there are any 1.8 ms, the first ones several
 * ms, for which there is an advance.
 */
static const double SHARE = 0.004;
static const uint64_t ADVANCE_NS = 20000000;

/* NVML's answer, on its way to the worker. */
struct answer {
	int device;
	struct gw_clock_sample sample;
	uint32_t temperature, power_mw;
	uint64_t cost_ns;
};

/* Shared by the worker and the thread that asks. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t wake, ended;
	bool running, stop;
	uint64_t wanted;       /* devices to be asked about, by bit */
	char bus[DEVICES][32]; /* of those that were ever wanted */
	struct answer answers[ANSWERS];
	_Atomic uint32_t head, tail;
} ask;

/* The asking thread's. */
static struct {
	struct gw_nvml nvml[DEVICES];
	uint64_t opened; /* by bit: tried */
	uint64_t others_ns[DEVICES];
	uint32_t others[DEVICES];
} asker;

/* The worker's. */
static struct {
	uint64_t used, known; /* by bit: launched on since the last question; bus id was got */
	uint64_t seen;        /* by bit: NVML reported the SM clock */
	uint64_t begun_ns, asked_ns, spent_ns;
	bool off;
	struct gw_clocks clocks[DEVICES];
	struct logged {
		uint64_t ns, reasons; /* of the latest record */
	} logged[DEVICES];
} own;

void gw_gpu_clock_start(void)
{
	/* A forked child leaves the parent's lock as it was; its thread is not there. */
	memset(&ask, 0, sizeof(ask));
	memset(&asker, 0, sizeof(asker));
	memset(&own, 0, sizeof(own));
	pthread_mutex_init(&ask.lock, NULL);
	pthread_cond_init(&ask.wake, NULL);
	pthread_cond_init(&ask.ended, NULL);
	if (gw_options.mode == GW_MODE_AUDIT && !gw_options.budget)
		gw_degrade_asked(GW_DEGRADED_CLOCK,
				 "GPUWATCH_BUDGET is 0: the GPU's clocks are unknown");
}

void gw_gpu_clock_used(int ordinal)
{
	if (ordinal >= 0 && ordinal < DEVICES)
		own.used |= UINT64_C(1) << ordinal;
}

/* @p value in whole units; @p unknown for NaN. */
static uint32_t whole(double value, double unit, uint32_t unknown)
{
	return value >= 0 && value / unit < UINT32_MAX ? (uint32_t)(value / unit + 0.5) : unknown;
}

static uint32_t others_of(int device, uint64_t now)
{
	const uint64_t pause = gw_options_sum() ? OTHERS_SUMS_MS : OTHERS_MS;

	if (now - asker.others_ns[device] >= pause * GW_MS) {
		asker.others[device] = whole(gw_nvml_others(&asker.nvml[device]), 0.01, UINT32_MAX);
		asker.others_ns[device] = now;
	}
	return asker.others[device];
}

static void ask_about(int device)
{
	uint32_t head = atomic_load_explicit(&ask.head, memory_order_relaxed);
	struct answer *a = &ask.answers[head % ANSWERS];
	struct gw_nvml *n = &asker.nvml[device];
	uint64_t cpu;

	if (!(asker.opened >> device & 1)) {
		asker.opened |= UINT64_C(1) << device;
		gw_nvml_open(n, ask.bus[device]);
		if (!n->device)
			gw_degrade(GW_DEGRADED_CLOCK,
				   "NVML does not report the GPU's clocks: they are unknown%s",
				   gw_options.counters == GW_COUNT_PM
					   ? " but while counters are sampled"
					   : "");
	}
	/* Pairs with the release in gw_gpu_clock_tick(): the answer that was here has been taken.
	 */
	if (!n->device || head - atomic_load_explicit(&ask.tail, memory_order_acquire) == ANSWERS)
		return;
	cpu = gw_thread_cpu_ns(); /* waiting for an answer costs nobody anything */
	*a = (struct answer){
		.device = device,
		.sample = {.ns = gw_wall_ns(),
			   .sm_khz = whole(gw_nvml_sm_clock(n), 1e3, 0),
			   .mem_khz = whole(gw_nvml_memory_clock(n), 1e3, 0),
			   .reasons = gw_nvml_throttle(n),
			   .others = others_of(device, gw_steady_ns())},
		.temperature = whole(gw_nvml_temperature(n), 1, UINT32_MAX),
		.power_mw = whole(gw_nvml_power(n), 1e-3, UINT32_MAX),
	};
	a->cost_ns = gw_thread_cpu_ns() - cpu;
	/* Pairs with the acquire in gw_gpu_clock_tick(). */
	atomic_store_explicit(&ask.head, head + 1, memory_order_release);
}

static void run(void)
{
	pthread_mutex_lock(&ask.lock);
	while (!ask.stop) {
		uint64_t wanted = ask.wanted;

		ask.wanted = 0;
		if (!wanted) {
			pthread_cond_wait(&ask.wake, &ask.lock);
			continue;
		}
		pthread_mutex_unlock(&ask.lock);
		for (; wanted && gw_sandbox_enter(); wanted &= wanted - 1) {
			ask_about(__builtin_ctzll(wanted));
			gw_sandbox_leave();
		}
		pthread_mutex_lock(&ask.lock);
	}
	ask.running = false;
	pthread_cond_signal(&ask.ended);
	pthread_mutex_unlock(&ask.lock);
}

/* Bus ids of the devices in use, asked once; without one a device is left out. */
static uint64_t with_bus(uint64_t devices)
{
	for (uint64_t left = devices & ~own.known; left; left &= left - 1) {
		int device = __builtin_ctzll(left);

		own.known |= UINT64_C(1) << device;
		if (!gw_driver.cuDeviceGetPCIBusId ||
		    gw_driver.cuDeviceGetPCIBusId(ask.bus[device], sizeof(ask.bus[device]),
						  device) != CUDA_SUCCESS)
			ask.bus[device][0] = 0;
	}
	for (uint64_t left = devices; left; left &= left - 1)
		if (!ask.bus[__builtin_ctzll(left)][0])
			devices &= ~(left & -left);
	return devices;
}

/* Beside sums, records say what clocks were, not during which launch: the change of what throttles
 * them, and one sample in ten seconds. */
static bool worth_a_record(int device, const struct gw_record_clock *r)
{
	struct logged *last = &own.logged[device];

	if (gw_options_sum() && r->reasons == last->reasons && r->ns - last->ns < SUMMED_MS * GW_MS)
		return false;
	*last = (struct logged){.ns = r->ns, .reasons = r->reasons};
	return true;
}

static void note(const struct answer *a)
{
	struct gw_record_clock r = {
		.device = gw_device_id(a->device),
		.sm_khz = a->sample.sm_khz,
		.mem_khz = a->sample.mem_khz,
		.temperature = a->temperature,
		.power_mw = a->power_mw,
		.others = a->sample.others,
		.reasons = a->sample.reasons,
		.ns = a->sample.ns,
	};

	gw_clocks_add(&own.clocks[a->device], &a->sample);
	gw_live_clocks(a->device, &a->sample, a->power_mw);
	/* A full log holds sums only: nobody could use it there. */
	if (!gw_log_sums() && worth_a_record(a->device, &r))
		gw_log_write(GW_RECORD_CLOCK, &r, sizeof(r), NULL, 0);
}

static void take(const struct answer *a)
{
	if (a->sample.sm_khz)
		own.seen |= UINT64_C(1) << a->device;
	own.spent_ns += a->cost_ns;
	gw_count(GW_COUNTER_clock_ns, a->cost_ns);
	note(a);
}

static void question(uint64_t devices)
{
	pthread_mutex_lock(&ask.lock);
	ask.wanted |= devices;
	pthread_cond_signal(&ask.wake);
	pthread_mutex_unlock(&ask.lock);
}

/* After a pause, and within the share. */
static bool due(uint64_t now)
{
	const uint64_t pause = gw_options_sum() ? PAUSE_SUMS_MS : PAUSE_MS;

	return now - own.asked_ns >= pause * GW_MS &&
	       (double)own.spent_ns <=
		       SHARE * (double)gw_options.budget * (double)(now - own.begun_ns) +
			       (double)ADVANCE_NS;
}

void gw_gpu_clock_tick(uint64_t now)
{
	uint32_t tail = atomic_load_explicit(&ask.tail, memory_order_relaxed);
	/* Pairs with the release in ask_about(): the answers are there. */
	uint32_t head = atomic_load_explicit(&ask.head, memory_order_acquire);
	uint64_t devices;

	own.off |= gw_sandboxed(); /* NVML opens files, and asks the driver's */
	if (own.off || !gw_options_measure() || !gw_options.budget)
		return;
	while (tail != head) {
		take(&ask.answers[tail++ % ANSWERS]);
		/* Pairs with the acquire in ask_about(), before it writes there again. */
		atomic_store_explicit(&ask.tail, tail, memory_order_release);
	}
	if (!own.begun_ns) /* programs that end at once need not wait for NVML to begin */
		own.begun_ns = own.asked_ns = now;
	if (!own.used || !due(now) || gw_sheds(GW_SHED_CLOCKS))
		return;
	devices = with_bus(own.used);
	own.used = 0;
	own.asked_ns = now;
	if (!devices)
		return;
	if (!ask.running) {
		ask.running = true;
		ask.running = gw_spawn("gpuwatch-clock", run);
		own.off = !ask.running;
	}
	question(devices);
}

void gw_gpu_clock_counted(int ordinal, uint64_t ns, double sm_hz)
{
	struct answer a = {
		.device = ordinal,
		.sample = {.ns = ns, .sm_khz = whole(sm_hz, 1e3, 0), .others = UINT32_MAX},
		.temperature = UINT32_MAX,
		.power_mw = UINT32_MAX,
	};

	if (a.sample.sm_khz && ordinal >= 0 && ordinal < DEVICES && !(own.seen >> ordinal & 1))
		note(&a);
}

void gw_gpu_clock_at(int ordinal, uint64_t start_ns, uint64_t end_ns, struct gw_clock_state *out)
{
	static struct gw_clocks none; /* not const: its 2 KB of zeros would be read from the file */

	gw_clocks_at(ordinal >= 0 && ordinal < DEVICES ? &own.clocks[ordinal] : &none, start_ns,
		     end_ns, out);
}

void gw_gpu_clock_stop(void)
{
	const uint64_t deadline = gw_deadline_in(STOP_MS * GW_MS);

	own.off = true;
	pthread_mutex_lock(&ask.lock);
	ask.stop = true;
	pthread_cond_signal(&ask.wake);
	while (ask.running && gw_deadline_wait(&ask.ended, &ask.lock, deadline))
		;
	pthread_mutex_unlock(&ask.lock);
}
