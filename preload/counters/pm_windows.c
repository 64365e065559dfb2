/* The windows of samples that are under way between the thread and the worker. */
#include "preload/counters/pm.h"

#include "preload/counters/pm_sampler.h"
#include "preload/maps/memory.h"
#include "preload/runtime/clock.h"

#include <stdlib.h>
#include <string.h>

static struct gw_pm_window *windows; /* [GW_PM_WINDOWS] */
static bool late[8];                 /* stages whose exit handler is registered */
static _Atomic int sampled;

enum {
	WINDOW_SAMPLES = 240, /* GW_PM_SAMPLES and some to spare: what does not fit is lost */
	STOP_NS = 600000,     /* that stopping takes, 0.4 to 1.1 ms on an H200: samples go on */
};

void gw_pm_windows_start(void)
{
	windows = gw_memory_table(GW_PM_WINDOWS * sizeof(*windows));
	memset(late, 0, sizeof(late));
	atomic_store(&sampled, 0);
}

struct gw_pm_window *gw_pm_window(unsigned index)
{
	return &windows[index];
}

struct gw_pm_window *gw_pm_window_in(enum gw_pm_window_state state)
{
	for (unsigned i = 0; i < GW_PM_WINDOWS; i++)
		if (atomic_load(&windows[i].state) == (int)state)
			return &windows[i];
	return NULL;
}

/* Where exit() is not called by the main thread, these handlers come before libcupti's destructors.
 */
void gw_pm_used(unsigned stage)
{
	if (late[stage])
		return;
	late[stage] = true;
	atexit(gw_pm_stop);
}

bool gw_pm_sampled(void)
{
	return atomic_load(&sampled) != 0;
}

static bool kernels_in(const struct gw_pm_window *w)
{
	const uint32_t idle = gw_pm_idle(gw_pm_set(w->set));

	for (size_t i = 0; i < w->count; i++)
		for (unsigned m = 0; idle >> m; m++)
			if (idle >> m & 1 && w->sample[i].value[m] > 0)
				return true;
	return false;
}

CUptiResult gw_pm_window_take(struct gw_pm_sampler *sampler, unsigned set, uint64_t every,
			      bool (*doze)(uint64_t ns), const char **what, int *ran)
{
	struct gw_pm_window *w = gw_pm_window_in(GW_PM_FREE);
	bool overflow = false, leaving = false;
	CUptiResult r;

	if (!w)
		return CUPTI_SUCCESS;
	w->device = (uint32_t)sampler->device;
	w->set = set;
	w->count = 0;
	atomic_store(&w->begin, gw_wall_ns());
	atomic_store(&w->state, GW_PM_OPEN);
	*what = "cuptiPmSamplingStart";
	r = gw_pm_begin(sampler);
	if (r == CUPTI_SUCCESS) {
		gw_pm_used(4);
		leaving = doze(every * WINDOW_SAMPLES - STOP_NS);
		*what = "cuptiPmSamplingStop";
		r = gw_pm_end(sampler);
	}
	if (r == CUPTI_SUCCESS && !leaving) {
		*what = "cuptiPmSamplingDecodeData";
		r = gw_pm_read(sampler, w->sample, GW_PM_SAMPLES, &w->count, &overflow);
		gw_pm_used(5);
	}
	*ran += r == CUPTI_SUCCESS && kernels_in(w);
	if (w->count)
		atomic_store(&sampled, 1);
	gw_count(GW_COUNTER_pm_windows, w->count != 0);
	gw_count(GW_COUNTER_pm_samples, w->count);
	w->ready_ns = gw_steady_ns();
	atomic_store(&w->state, GW_PM_READY);
	if (r == CUPTI_SUCCESS && overflow) {
		gw_count(GW_COUNTER_pm_overflows, 1);
		r = CUPTI_ERROR_MAX_LIMIT_REACHED; /* this sampler does not start again */
	}
	return r;
}
