#include "tests/unit/preload_fixture.h"

#include "preload/counters/counter_attribution.h"
#include "preload/counters/pm.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The worker's lists are left behind when it starts anew, as it does in a forked child. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:gw_idmap_put\nleak:preload/join\nleak:gw_intern_config_of_activity\n"
	       "leak:gw_arguments_arrived\nleak:preload/analysis/code\nleak:gw_work_offer\n"
	       "leak:preload/analysis/analysis_code.c\nleak:preload/live/aggregate.c\n"
	       "leak:preload/live/graph_sums.c\n";
}

static bool activity, by_device;

static void check(bool ok, const char *what)
{
	if (!ok) {
		perror(what);
		abort();
	}
}

void fixture_start(void)
{
	if (gw_hot.shared) {
		struct gw_thread *t;

		for (uint32_t i = 0; (t = atomic_load(&gw_hot.shared->threads[i])); i++) {
			free(t->ring);
			free(t);
		}
		munmap(gw_hot.shared, sizeof(struct gw_shared));
	}
	memset(&gw_hot, 0, sizeof(gw_hot));
	memset(gw_counters, 0, sizeof(gw_counters));
	memset(&gw_driver, 0, sizeof(gw_driver));
	gw_hot.shared = mmap(NULL, sizeof(struct gw_shared), PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	check(gw_hot.shared != MAP_FAILED, "mmap");
	activity = false;
}

struct gw_thread *fixture_thread(uint32_t slots)
{
	struct gw_thread *t = aligned_alloc(64, sizeof(*t));

	check(t != NULL, "aligned_alloc");
	memset(t, 0, sizeof(*t));
	t->ring = calloc(slots, sizeof(*t->ring));
	check(t->ring != NULL, "calloc");
	t->mask = slots - 1;
	t->id = t->serial = atomic_load(&gw_hot.shared->thread_count) + 1;
	atomic_store(&t->state, GW_SLOT_USED);
	atomic_store(&gw_hot.shared->threads[t->id - 1], t);
	atomic_store(&gw_hot.shared->thread_count, t->id);
	return t;
}

void fixture_activity(bool on)
{
	activity = on;
}

void fixture_by_device(bool on)
{
	by_device = on;
}

struct started {
	pthread_t thread;
	pthread_barrier_t *gate;
	void (*body)(unsigned);
	unsigned number;
};

static void *run(void *arg)
{
	struct started *s = arg;

	pthread_barrier_wait(s->gate);
	s->body(s->number);
	return NULL;
}

void fixture_threads(unsigned threads, void (*body)(unsigned number))
{
	struct started s[16];
	pthread_barrier_t gate;

	check(threads <= COUNT(s), "threads");
	pthread_barrier_init(&gate, NULL, threads);
	for (unsigned i = 0; i < threads; i++) {
		s[i] = (struct started){.gate = &gate, .body = body, .number = i};
		check(!pthread_create(&s[i].thread, NULL, run, &s[i]), "pthread_create");
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(s[i].thread, NULL);
	pthread_barrier_destroy(&gate);
}

/* No windows of samples here: what ran is not counted, but where a test asks for the library's own.
 */
void gw_pm_launched(int device)
{
	(void)device;
}

__attribute__((weak)) void gw_counter_attribution_kernel(uint32_t device, uint32_t config,
							 uint64_t start_ns, uint64_t end_ns)
{
	(void)device;
	(void)config;
	(void)start_ns;
	(void)end_ns;
}

__attribute__((weak)) void gw_counter_attribution_copy(uint32_t device, uint64_t start_ns,
						       uint64_t end_ns)
{
	(void)device;
	(void)start_ns;
	(void)end_ns;
}

__attribute__((weak)) void gw_counter_attribution_launched(uint32_t serial, uint32_t ticket,
							   const struct gw_event *e)
{
	(void)serial;
	(void)ticket;
	(void)e;
}

__attribute__((weak)) void gw_counter_attribution_timed(uint32_t serial, uint32_t config,
							const struct gw_event *e)
{
	(void)serial;
	(void)config;
	(void)e;
}

uint32_t gw_attach_count(void)
{
	return 0;
}

bool gw_activity_on(void)
{
	return activity;
}

uint64_t gw_activity_take(const struct gw_activity_sink *sink)
{
	(void)sink;
	return 0;
}

bool gw_activity_overran(const struct gw_activity *record)
{
	(void)record;
	return false;
}

bool gw_activity_of_call(const struct gw_activity *record, uint64_t call_ns)
{
	return !by_device || record->start >= call_ns;
}

bool gw_activity_by_device(void)
{
	return by_device;
}

bool gw_activity_covers(uint64_t ticks, bool correlated)
{
	(void)ticks;
	(void)correlated;
	return activity;
}

bool gw_activity_edges(const struct gw_activity *record)
{
	(void)record;
	return false;
}

uint32_t gw_activity_graph_id(CUgraphExec exec)
{
	return (uint32_t)(uintptr_t)exec;
}

void gw_activity_stream_ids(CUcontext context, CUstream stream, bool per_thread,
			    uint32_t *context_id, uint32_t *stream_id)
{
	(void)per_thread;
	*context_id = (uint32_t)(uintptr_t)context;
	*stream_id = (uint32_t)(uintptr_t)stream;
}

struct gw_event fixture_launch(uint16_t kernel)
{
	return (struct gw_event){.kind = GW_EVENT_KERNEL,
				 .kernel = kernel,
				 .grid = {2, 1, 1},
				 .block_x = 32,
				 .block_y = 1,
				 .block_z = 1,
				 .predicted = NAN};
}

struct gw_activity fixture_record(uint32_t correlation)
{
	return (struct gw_activity){.name = "kernel",
				    .start = 5000000000,
				    .end = 5000001500,
				    .correlation = correlation,
				    .grid = {2, 1, 1},
				    .block = {32, 1, 1},
				    .cluster = {1, 1, 1}};
}
