/*
 * Another tool in the program: it opens libcupti and registers its own activity callbacks. It must
 * get its own buffers back, and never one of ours.
 */
#include "client.h"

#include <cupti.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

enum { SIZE = 1 << 16, BUFFERS = 64 };

static struct {
	__typeof__(cuptiActivityRegisterCallbacks) *register_callbacks;
	__typeof__(cuptiActivityEnable) *enable;
	__typeof__(cuptiActivityDisable) *disable;
	__typeof__(cuptiActivityFlushAll) *flush;
	__typeof__(cuptiActivityGetNextRecord) *next;
	__typeof__(cuptiSubscribe) *subscribe;
	__typeof__(cuptiUnsubscribe) *unsubscribe;
	__typeof__(cuptiFinalize) *finalize;
	__typeof__(cuptiEnableCallback) *enable_callback;
	__typeof__(cuptiEnableDomain) *enable_domain;
	__typeof__(cuptiActivityRegisterTimestampCallback) *register_clock;
} cupti;

static uint64_t memory[BUFFERS][SIZE / 8];
static atomic_uint given;
static atomic_int foreign, records;

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *max)
{
	*buffer = (uint8_t *)memory[atomic_fetch_add(&given, 1) % BUFFERS];
	*size = SIZE;
	*max = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
			       size_t valid)
{
	CUpti_Activity *record = NULL;

	(void)context;
	(void)stream;
	(void)size;
	if (buffer < (uint8_t *)memory || buffer >= (uint8_t *)memory + sizeof(memory)) {
		atomic_fetch_add(&foreign, 1);
		return;
	}
	while (cupti.next(buffer, valid, &record) == CUPTI_SUCCESS)
		atomic_fetch_add(&records, 1);
}

static void open_cupti(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	if (!library) {
		puts("no libcupti");
		exit(9);
	}
	*(void **)&cupti.register_callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
	*(void **)&cupti.enable = dlsym(library, "cuptiActivityEnable");
	*(void **)&cupti.disable = dlsym(library, "cuptiActivityDisable");
	*(void **)&cupti.flush = dlsym(library, "cuptiActivityFlushAll");
	*(void **)&cupti.next = dlsym(library, "cuptiActivityGetNextRecord");
	*(void **)&cupti.subscribe = dlsym(library, "cuptiSubscribe");
	*(void **)&cupti.unsubscribe = dlsym(library, "cuptiUnsubscribe");
	*(void **)&cupti.finalize = dlsym(library, "cuptiFinalize");
	*(void **)&cupti.enable_callback = dlsym(library, "cuptiEnableCallback");
	*(void **)&cupti.enable_domain = dlsym(library, "cuptiEnableDomain");
	*(void **)&cupti.register_clock = dlsym(library, "cuptiActivityRegisterTimestampCallback");
}

static void take(void)
{
	printf("register %d\n", (int)cupti.register_callbacks(requested, completed));
	printf("enable %d\n", (int)cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void tell(void)
{
	CK(cuCtxSynchronize());
	printf("flush %d\n", (int)cupti.flush(0));
	printf("disable %d\n", (int)cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	printf("records %d, foreign buffers %d\n", atomic_load(&records), atomic_load(&foreign));
}

static void in_mid_run(void)
{
	client_compute(1, 30);
	open_cupti();
	take();
	client_launch(2, 40);
	tell();
	client_launch(3, 10);
}

static void before_cuda(void)
{
	open_cupti();
	take();
	client_compute(2, 40);
	tell();
}

/* Waits until records of ours are under way in buffers of ours. */
static void after_a_while(void)
{
	client_compute(1, 30);
	client_nap(300);
	client_launch(1, 30);
	CK(cuCtxSynchronize());
	open_cupti();
	take();
	client_launch(2, 40);
	tell();
}

static atomic_int calls; /* callbacks at the start of a launch */

static void CUPTIAPI called(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			    const void *info)
{
	const CUpti_CallbackData *call = info;

	atomic_fetch_add((atomic_int *)data, domain == CUPTI_CB_DOMAIN_DRIVER_API &&
						     id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel &&
						     call->callbackSite == CUPTI_API_ENTER);
}

static void slowly(unsigned grid, int n)
{
	for (int i = 0; i < n; i++) {
		client_launch(grid, 1);
		usleep(500);
	}
}

/* A profile, as a profiler that subscribes takes one; the grids tell when. */
static void session(unsigned grid, bool finalize)
{
	CUpti_SubscriberHandle subscriber = NULL;

	printf("subscribe %d\n", (int)cupti.subscribe(&subscriber, called, &calls));
	take();
	slowly(grid, 40);
	tell();
	if (finalize)
		printf("finalize %d\n", (int)cupti.finalize());
	else
		printf("unsubscribe %d\n", (int)cupti.unsubscribe(subscriber));
	atomic_store(&records, 0);
}

/* Grids 1, 3 and 5 while it is away, 2 and 4 while it is there. */
static void sessions(void)
{
	client_compute(1, 30);
	slowly(1, 400);
	open_cupti();
	session(2, false);
	slowly(3, 2700);
	session(4, true);
	slowly(5, 2700);
	CK(cuCtxSynchronize());
}

/* There from before the first launch, for long; grid 2 while it has just gone, 3 later on. */
static void there_for_long(void)
{
	struct timespec begin, now;

	open_cupti();
	take();
	client_start();
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		client_launch(1, 1);
		usleep(10000);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
		 7200);
	CK(cuCtxSynchronize());
	printf("disable %d\n", (int)cupti.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	for (int ms = 0; ms < 2500; ms += 10) {
		client_launch(2, 1);
		client_nap(10);
	}
	client_launch(3, 100);
	CK(cuCtxSynchronize());
}

/* It never subscribes; between its profiles it only switches activity off. */
static void switches(void)
{
	client_compute(1, 30);
	slowly(1, 400);
	open_cupti();
	take();
	slowly(2, 40);
	tell();
	slowly(3, 2700);
	atomic_store(&records, 0);
	printf("enable %d\n", (int)cupti.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	slowly(4, 40);
	tell();
	slowly(5, 2700);
	CK(cuCtxSynchronize());
}

/* Ticks at three a nanosecond, from any zero. */
static uint64_t CUPTIAPI ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return 3 * ((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec) + 12345;
}

/* As torch.profiler does: subscribed until exit, for contexts alone; activity is switched off
 * between profiles. In the last session callbacks of launches tell instead. */
static void stays_subscribed(void)
{
	CUpti_SubscriberHandle subscriber = NULL;

	client_compute(1, 30);
	slowly(1, 400);
	open_cupti();
	printf("subscribe %d\n", (int)cupti.subscribe(&subscriber, called, &calls));
	printf("callback %d\n", (int)cupti.enable_callback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
							   CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
	printf("clock %d\n", (int)cupti.register_clock(ticks));
	take();
	slowly(2, 40);
	tell();
	slowly(3, 2700);
	printf("callbacks %d\n", atomic_load(&calls));
	atomic_store(&records, 0);
	take();
	slowly(4, 40);
	tell();
	slowly(5, 2700);
	printf("domain %d\n", (int)cupti.enable_domain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	for (int i = 0; i < 40; i++) {
		client_launch(6, 1);
		usleep(500);
	}
	printf("callbacks %d\n", atomic_load(&calls));
	printf("domain %d\n", (int)cupti.enable_domain(0, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
	slowly(7, 2700);
	printf("callbacks %d\n", atomic_load(&calls));
	printf("unsubscribe %d\n", (int)cupti.unsubscribe(subscriber));
	CK(cuCtxSynchronize());
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"in_mid_run", in_mid_run},
					       {"before_cuda", before_cuda},
					       {"after_a_while", after_a_while},
					       {"sessions", sessions},
					       {"there_for_long", there_for_long},
					       {"switches", switches},
					       {"stays_subscribed", stays_subscribed},
					       {NULL, NULL}};

	return client_main(argc, argv, list);
}
