/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program that knows nothing of it: a thread that switches libcupti's kernel
 * activity on and off, thousands of times, in one of several ways. And the single steps of that as
 * functions for phases.py. WINDOWS is a list of what to do:
 *   delay=MS   from the loading of libcupti on (default 6000)
 *   ms=N gap=N most of a window, and of the pause after it (default 20, 5)
 *   sub=hold|each      a subscriber: for good, or of each window
 *   cb=on|toggle       callbacks of launches: for good, or in windows
 *   mem=once|each      copies and memsets too: for good, or in windows
 *   mod        callbacks of modules, with sub=each
 *   rereg      buffers registered anew with each window
 *   force      a forced flush after each window
 * Build: cc -O2 -shared -fPIC -I$CUDA/include -I$CUDA/extras/CUPTI/include -o libswitch.so switch.c
 * -ldl -lpthread
 */
#define _GNU_SOURCE
#include <cupti.h>
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FUNCTIONS                                                                                  \
	F(cuptiActivityRegisterCallbacks)                                                          \
	F(cuptiActivitySetAttribute)                                                               \
	F(cuptiActivityEnable)                                                                     \
	F(cuptiActivityDisable)                                                                    \
	F(cuptiActivityFlushAll)                                                                   \
	F(cuptiActivityGetNextRecord)                                                              \
	F(cuptiSubscribe)                                                                          \
	F(cuptiUnsubscribe)                                                                        \
	F(cuptiEnableCallback)
#define F(name) static __typeof__(name) *p_##name;
FUNCTIONS
#undef F

enum { BUFFER = 512 << 10 };
static const CUpti_ActivityKind KERNELS = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
static const CUpti_CallbackId launches[] = {
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,   CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz,
        CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch,    CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz};

static char path[4096];
static CUpti_SubscriberHandle subscriber;
static atomic_ullong windows, records, without, buffers, calls;
static atomic_int stop, stopped;
static unsigned dice;

/* ---- single steps --------------------------------------------------------------------------- */

static void CUPTIAPI requested(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(4096, BUFFER);
	*size = BUFFER;
	*most = 0;
}

static void CUPTIAPI completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                               size_t valid)
{
	CUpti_Activity *r = NULL;

	buffers++;
	while (p_cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
		if (r->kind != KERNELS)
			continue;
		records++;
		without += !((CUpti_ActivityKernel10 *)r)->start;
	}
	free(buffer);
}

static void CUPTIAPI called(void *unused, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                            const void *info)
{
	calls++;
}

static int find(struct dl_phdr_info *info, size_t size, void *unused)
{
	if (info->dlpi_name && strstr(info->dlpi_name, "/libcupti.so"))
		strcpy(path, info->dlpi_name);
	return 0;
}

/* True when the program has loaded a libcupti. */
int switch_open(void)
{
	void *handle;

	dl_iterate_phdr(find, NULL);
	handle = path[0] ? dlopen(path, RTLD_NOW) : NULL;
	if (!handle)
		return 0;
#define F(name) *(void **)&p_##name = dlsym(handle, #name);
	FUNCTIONS
#undef F
	return 1;
}

void switch_register(void)
{
	p_cuptiActivityRegisterCallbacks(requested, completed);
}

void switch_kernels(int on)
{
	on ? p_cuptiActivityEnable(KERNELS) : p_cuptiActivityDisable(KERNELS);
}

void switch_copies(int on)
{
	static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_MEMCPY,
	                                           CUPTI_ACTIVITY_KIND_MEMSET};

	for (int i = 0; i < 2; i++)
		on ? p_cuptiActivityEnable(kinds[i]) : p_cuptiActivityDisable(kinds[i]);
}

void switch_subscriber(int on)
{
	on ? p_cuptiSubscribe(&subscriber, called, NULL) : p_cuptiUnsubscribe(subscriber);
}

void switch_callbacks(int on)
{
	for (size_t i = 0; i < sizeof(launches) / sizeof(*launches); i++)
		p_cuptiEnableCallback(on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, launches[i]);
}

void switch_flush(int forced)
{
	p_cuptiActivityFlushAll(forced ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

/* ---- the thread ----------------------------------------------------------------------------- */

static const char *given(const char *what)
{
	return strstr(getenv("WINDOWS"), what);
}

static unsigned number(const char *what, unsigned usual)
{
	return given(what) ? (unsigned)atoi(given(what) + strlen(what)) : usual;
}

static unsigned up_to(unsigned most)
{
	dice = dice * 1664525 + 1013904223;
	return (dice >> 8) % most;
}

static void window(unsigned us)
{
	size_t value = 32, size = sizeof(value);

	if (given("sub=each"))
		switch_subscriber(1);
	if (given("sub=each") && given("mod"))
		p_cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
		                      CUPTI_CBID_RESOURCE_MODULE_LOADED);
	if (given("rereg")) {
		p_cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size,
		                            &value);
		switch_register();
	}
	switch_kernels(1);
	if (given("cb=toggle"))
		switch_callbacks(1);
	if (given("mem=each"))
		switch_copies(1);
	usleep(us);
	if (given("cb=toggle") && !given("sub=each"))
		switch_callbacks(0);
	switch_kernels(0);
	if (given("mem=each"))
		switch_copies(0);
	if (given("sub=each"))
		switch_subscriber(0);
	windows++;
}

static void *work(void *unused)
{
	unsigned most = number("ms=", 20), gap = number("gap=", 5);

	while (!switch_open())
		usleep(100000);
	usleep(number("delay=", 6000) * 1000);
	dice = (unsigned)getpid();
	if (given("sub=hold"))
		switch_subscriber(1);
	if (given("cb=on"))
		switch_callbacks(1);
	switch_register();
	if (given("mem=once"))
		switch_copies(1);
	while (!stop) {
		window(300 + up_to(up_to(3) ? 1500 : most * 1000));
		for (unsigned n = 1 + up_to(3); n; n--) {
			usleep(500 + up_to(gap * 500));
			switch_flush(0);
		}
		if (given("force"))
			switch_flush(1);
	}
	stopped = 1;
	return NULL;
}

/* No window is open any more: the program is about to end. Prints what there was. */
void switch_end(void)
{
	stop = 1;
	for (int i = 0; getenv("WINDOWS") && i < 1000 && !stopped; i++)
		usleep(5000);
	fprintf(stderr,
	        "WINDOWS %s: %llu windows, %llu records, %llu without times, %llu buffers, %llu "
	        "callbacks\n",
	        getenv("WINDOWS"), windows, records, without, buffers, calls);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	sigset_t all, before;

	if (!getenv("WINDOWS"))
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_create(&thread, NULL, work, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
