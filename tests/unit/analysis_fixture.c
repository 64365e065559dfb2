#include "tests/unit/analysis_fixture.h"

#include "preload/analysis/code.h"
#include "preload/analysis/digests.h"
#include "preload/analysis/known_work.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"
#include "tests/code/corpus.h"
#include "tests/unit/preload_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

struct gw_arena arena;
uint32_t offered[64], offers;
struct gw_work work;
unsigned looks;

/* In place of what keeps the work. */
void gw_work_offer(uint32_t config, const struct gw_work *part)
{
	offered[offers++ % 64] = config;
	work = *part;
}

void gw_work_by_code(uint32_t config, struct gw_work *out)
{
	(void)config;
	gw_work_clear(out);
}

struct analysis_end ends[64];
bool log_full;

void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
			 size_t tail_size);
bool __wrap_gw_log_sums(void);

void __wrap_gw_log_write(enum gw_record_kind kind, void *head, size_t size, const void *tail,
			 size_t tail_size)
{
	const struct gw_record_analysis *r = head;

	(void)size;
	if (kind != GW_RECORD_ANALYSIS)
		return;
	ends[r->config % 64].said++;
	ends[r->config % 64].end = r->end;
	ends[r->config % 64].bare = r->bare;
	snprintf(ends[r->config % 64].why, sizeof(ends->why), "%.*s", (int)tail_size,
		 (const char *)tail);
}

/*
 * An analysis takes 1 to 17 ms here and is given up after 60: where processors are shared, CPU time
 * runs several times as fast. What it is given up for are hours.
 */
int __real_clock_gettime(clockid_t id, struct timespec *t);
int __wrap_clock_gettime(clockid_t id, struct timespec *t);

uint64_t stopped;
_Atomic bool threads_held;

int __wrap_clock_gettime(clockid_t id, struct timespec *t)
{
	enum { UNHURRIED = 16 };
	int r = __real_clock_gettime(id, t);
	uint64_t ns = (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;

	if (id == CLOCK_MONOTONIC && stopped) {
		t->tv_sec = (time_t)(stopped / 1000000000u);
		t->tv_nsec = (long)(stopped % 1000000000u);
	}
	if (id != CLOCK_THREAD_CPUTIME_ID)
		return r;
	while (threads_held && gettid() != getpid())
		usleep(1000);
	t->tv_sec = (time_t)(ns / UNHURRIED / 1000000000u);
	t->tv_nsec = (long)(ns / UNHURRIED % 1000000000u);
	return r;
}

bool __wrap_gw_log_sums(void)
{
	return log_full;
}

void module_of(uint32_t number, const char *file, size_t most)
{
	struct gw_bytes bytes = corpus_file(&arena, file);
	struct gw_module_note *n = gw_arena_array(&arena, 1, sizeof(*n) + 1);

	n->number = number;
	n->bytes = bytes.size < most ? bytes.size : most;
	n->image = (void *)(uintptr_t)bytes.data;
	gw_code_module(n);
}

void kernel(uint32_t slot, const char *name, uint32_t module)
{
	gw_hot.shared->kernels[slot] = (struct gw_kernel_slot){.name = name,
							       .hash = slot,
							       .module = module,
							       .registers = 16,
							       .static_shared = 0,
							       .local = 0,
							       .max_threads = 1024,
							       .binary_version = 90};
}

int analysis_start(void **state)
{
	(void)state;
	fixture_start();
	gw_options.analyze_code = true;
	gw_options.mode = GW_MODE_AUDIT;
	assert_true(gw_registry_start());
	gw_code_start();
	gw_digests_start();
	gw_analysis_start(0);
	gw_arena_init(&arena, 128 << 20);
	module_of(1, "sm_90.cubin", SIZE_MAX);
	module_of(2, "sm_90.cubin", 3000); /* cut off */
	kernel(SAXPY, "_Z5saxpyifPKfPf", 1);
	kernel(POWERS, "powers", 1);
	kernel(REDUCE, "_Z6reduce6recordhPKfPf", 1);
	kernel(BROKEN, "powers", 2);
	kernel(LOST, "powers", 0);
	module_of(3, "../../sass/undecided_sm_90.cubin", SIZE_MAX);
	kernel(GATHER, "gather", 3);
	offers = looks = 0;
	memset(ends, 0, sizeof(ends));
	log_full = false;
	return 0;
}

int analysis_end(void **state)
{
	(void)state;
	gw_arena_free(&arena);
	return 0;
}

bool look(void)
{
	looks++;
	return true;
}

bool program_ends(void)
{
	looks++;
	return false;
}

uint32_t config_of(uint32_t slot, uint32_t blocks, uint32_t threads)
{
	struct gw_config c = {{blocks, 1, 1}, {threads, 1, 1}, {1, 1, 1}, 0, 0};

	return gw_intern_config(slot, 0, &c);
}

void arguments_of(uint32_t config, int32_t n)
{
	struct gw_arguments *a = gw_arena_array(&arena, 1, sizeof(*a));
	const uint64_t at[] = {0x700000000000, 0x710000000000};
	const float factor = 2;

	a->size = 24;
	memcpy(a->bytes, &n, 4);
	memcpy(a->bytes + 4, &factor, 4);
	memcpy(a->bytes + 8, at, 16);
	gw_config_entry(config)->arguments = a;
}

void know_parameters(void)
{
	static union {
		struct gw_layout layout;
		char room[sizeof(struct gw_layout) + 4 * sizeof(struct gw_code_param)];
	} four;

	four.layout.bytes = 24;
	four.layout.count = 4;
	for (uint32_t i = 0; i < 4; i++)
		four.layout.param[i] =
			(struct gw_code_param){i < 2 ? 4 * i : 8 * i - 8, i < 2 ? 4 : 8};
	gw_hot.shared->kernels[SAXPY].layout = &four.layout;
	atomic_store(&gw_hot.shared->kernel_count, GATHER);
	gw_digests_start(); /* forgets what the tests before found */
}

uint32_t config_by_factor(uint32_t factor, int32_t n)
{
	struct gw_config c = {
		{4, 1, 1}, {128, 1, 1}, {1, 1, 1}, 0, GW_DIGEST_IS_PROVISIONAL | (factor + 1)};
	uint32_t config = gw_intern_config(SAXPY, 0, &c);
	float value = (float)factor;

	arguments_of(config, n);
	memcpy((void *)(uintptr_t)(gw_config_entry(config)->arguments->bytes + 4), &value,
	       sizeof(value));
	return config;
}

uint64_t counted(enum gw_counter c)
{
	return atomic_load(&gw_counters[c]);
}

double row(enum gw_work_field f)
{
	return work.q[f].value;
}
