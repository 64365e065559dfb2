/* Shared state: the lock, objects, the clock, start-up, and the private table for libcupti. */
#include "si.h"
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

pthread_mutex_t si_lock = PTHREAD_MUTEX_INITIALIZER;
struct si_options si_options;
_Thread_local struct si_thread si_tls;
struct si_cupti_hooks *_Atomic si_cupti;
static _Atomic uint32_t correlation;

/* Dead objects by type, newest first, so that the next one of a type gets the last handle. */
static struct {
	uint32_t magic;
	struct si_head *first;
} free_lists[16];
static pthread_mutex_t object_lock = PTHREAD_MUTEX_INITIALIZER;

void *si_object_new(enum si_magic type, size_t size)
{
	unsigned slot = (unsigned)type & 15;
	static struct si_head *made;
	struct si_head *head, *next_made;
	pthread_mutex_lock(&object_lock);
	head = free_lists[slot].first;
	if (head) {
		free_lists[slot].first = head->next_free;
	} else if ((head = malloc(size))) {
		head->next_made = made;
		made = head;
	}
	pthread_mutex_unlock(&object_lock);
	if (!head)
		return NULL;
	next_made = head->next_made;
	memset(head, 0, size);
	head->next_made = next_made;
	head->magic = (uint32_t)type;
	return head;
}

void si_object_free(void *object)
{
	struct si_head *head = object;
	unsigned slot = head->magic & 15;
	head->magic = SI_DEAD;
	pthread_mutex_lock(&object_lock);
	head->next_free = free_lists[slot].first;
	free_lists[slot].first = head;
	pthread_mutex_unlock(&object_lock);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t ahead; /* of CLOCK_REALTIME at the start, before CLOCK_MONOTONIC */

__attribute__((constructor)) static void clock_start(void)
{
	ahead = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
}

uint64_t si_now(void)
{
	return clock_ns(CLOCK_MONOTONIC) + ahead;
}

/* Sleeping costs some 50 us here, so what is shorter is waited for awake. */
void si_wait_until(uint64_t time)
{
	for (uint64_t now = si_now(); now < time; now = si_now()) {
		if (time - now < 60000) {
			sched_yield();
			continue;
		}
		uint64_t at = time - ahead;
		struct timespec t = {(time_t)(at / 1000000000u), (long)(at % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
	}
}

uint64_t si_env_u64(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);
	char *end;
	unsigned long long value;
	if (!text || !*text)
		return fallback;
	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end || errno || *text == '-') {
		fprintf(stderr, "stand-in: %s: \"%s\" is not a whole number\n", name, text);
		exit(2);
	}
	return value;
}

uint32_t si_correlation_next(void)
{
	return atomic_fetch_add_explicit(&correlation, 1, memory_order_relaxed) + 1;
}

/* ---- the private table ---- */

static bool cupti_used;

void si_cupti_context(void)
{
	if (cupti_used)
		si_stream_ids.driver++;
}

static void cupti_use(void)
{
	SI_LOCKED();
	if (!cupti_used)
		for (CUcontext ctx = si_context_list(); ctx; ctx = ctx->next)
			si_stream_ids.driver++;
	cupti_used = true;
}

static void hooks_set(struct si_cupti_hooks *hooks)
{
	if (hooks)
		cupti_use();
	atomic_store(&si_cupti, hooks);
}

static void watch(uint32_t cbid, bool on)
{
	for (int i = 0; i < SI_COUNT; i++) {
		if (cbid && si_rows[i].cbid != cbid)
			continue;
		if (on)
			atomic_fetch_or(&si_watch[i], SI_WATCH_CALLBACK);
		else
			atomic_fetch_and(&si_watch[i], (unsigned char)~SI_WATCH_CALLBACK);
	}
}

static bool context_id(void *context, uint32_t *id)
{
	CUcontext ctx = context ? context : si_current_or_null();
	if (!si_is(ctx, SI_CTX))
		return false;
	*id = ctx->id;
	return true;
}

static bool stream_id(void *context, void *stream, bool per_thread, uint32_t *id)
{
	CUstream found = NULL;
	CUcontext ctx = context ? context : si_current_or_null();
	bool ok;
	cupti_use();
	if (!si_is(ctx, SI_CTX) || si_tls.depth >= 15)
		return false;
	si_tls.stack[si_tls.depth++] = ctx;
	SI_LOCK();
	ok = si_stream(stream, per_thread, &found) == CUDA_SUCCESS;
	if (ok)
		*id = found->id;
	SI_UNLOCK();
	si_tls.depth--;
	return ok;
}

static const char *symbol(uint32_t cbid)
{
	for (int i = 0; i < SI_COUNT; i++)
		if (si_rows[i].cbid == cbid)
			return si_rows[i].symbol;
	return NULL;
}

/* In every launch call's parameters the function comes first, but for the Ex form's. */
static const char *kernel_name(uint32_t cbid, const void *params)
{
	const char *name = symbol(cbid);
	const CUfunction *fields = params;
	struct si_kernel *kernel = NULL;
	if (!name || !params || strncmp(name, "cuLaunch", 8) != 0 || strstr(name, "MultiDevice") ||
	    strstr(name, "HostFunc"))
		return NULL;
	kernel = si_kernel_of(fields[strncmp(name, "cuLaunchKernelEx", 16) == 0 ? 1 : 0]);
	return kernel ? kernel->name : NULL;
}

static void wait_current(void)
{
	CUcontext ctx = si_current_or_null();
	if (ctx)
		si_context_wait(ctx);
}

static void settle(void)
{
	SI_LOCKED();
}

SI_EXPORT const struct si_private *standin_private(void);
SI_EXPORT const struct si_private *standin_private(void)
{
	static const struct si_private table = {
		.size = (int)sizeof(struct si_private),
		.hooks_set = hooks_set,
		.watch = watch,
		.fault = si_tool_fault,
		.trace = si_trace_line,
		.now = si_now,
		.env_u64 = si_env_u64,
		.context_id = context_id,
		.stream_id = stream_id,
		.graph_id = si_graph_id,
		.exec_id = si_exec_id,
		.node_id = si_node_id,
		.symbol = symbol,
		.kernel_name = kernel_name,
		.wait = wait_current,
		.settle = settle,
	};
	return &table;
}

/* ---- start and fork ---- */

static void fork_child(void)
{
	/* As on the real driver, a child cannot use what its parent initialised. */
	if (atomic_load(&si_initialized))
		atomic_store(&si_forked, true);
	pthread_mutex_init(&si_lock, NULL);
	pthread_mutex_init(&object_lock, NULL);
	si_truth_forget();
}

__attribute__((constructor)) static void start(void)
{
	si_options.latency_ns = si_env_u64("STANDIN_LATENCY_NS", 1500);
	si_options.jitter_percent = (int)si_env_u64("STANDIN_JITTER", 0);
	si_options.seed = si_env_u64("STANDIN_SEED", 1);
	si_fault_start();
	si_truth_start();
	pthread_atfork(NULL, NULL, fork_child);
}
