/* Threads that launch: many, short-lived, ending in the midst of it. */
#include "client.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

static pthread_key_t key;
static int iterations;

/* Each thread launches with a grid of its own. */
static void *launch_some(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	client_launch((unsigned)(uintptr_t)arg, 50);
	return NULL;
}

static void *launch_one(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	client_launch((unsigned)(uintptr_t)arg, 1);
	return NULL;
}

static void *launch_and_leave(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	client_launch((unsigned)(uintptr_t)arg, 20);
	pthread_exit(NULL);
}

static void many(void *(*run)(void *), int at_once, int rounds)
{
	pthread_t thread[64];

	for (int r = 0; r < rounds; r++) {
		for (int i = 0; i < at_once; i++)
			if (pthread_create(&thread[i], NULL, run,
					   (void *)(uintptr_t)(1 + i % 16)) != 0)
				exit(9);
		for (int i = 0; i < at_once; i++)
			pthread_join(thread[i], NULL);
	}
}

static void at_once(void)
{
	client_start();
	many(launch_some, 64, 2);
}

static void leaving(void)
{
	client_start();
	many(launch_and_leave, 16, 10);
}

static void short_lived(void)
{
	client_start();
	many(launch_one, 8, 750);
}

static void detached(void)
{
	pthread_attr_t attributes;

	client_start();
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < 200; i++) {
		pthread_t thread;

		while (pthread_create(&thread, &attributes, launch_one, (void *)(uintptr_t)1) != 0)
			usleep(100);
	}
	pthread_exit(NULL); /* the last thread to end makes the process exit */
}

/* Launches from the destructors of thread-specific data, in every round there is. */
static void launch_in_destructor(void *arg)
{
	client_launch(5, 1);
	if (++iterations < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, arg);
}

static void *with_destructor(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	iterations = 0;
	pthread_setspecific(key, arg);
	client_launch(4, 3);
	return NULL;
}

static void tls_destructor(void)
{
	client_start();
	pthread_key_create(&key, launch_in_destructor);
	for (int i = 0; i < 50; i++) {
		pthread_t thread;

		pthread_create(&thread, NULL, with_destructor, &key);
		pthread_join(thread, NULL);
	}
	printf("%d rounds\n", iterations);
}

/* The same, the key made before CUDA: its destructor runs ahead of ours. */
static void tls_destructor_first(void)
{
	pthread_key_create(&key, launch_in_destructor);
	tls_destructor();
}

static pthread_barrier_t barrier;

static void *start_and_launch(void *arg)
{
	CUcontext context;
	CUmodule module;
	CUfunction f;

	pthread_barrier_wait(&barrier);
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&context, 0));
	CK(cuCtxSetCurrent(context));
	CK(cuModuleLoadData(&module, CLIENT_IMAGE));
	CK(cuModuleGetFunction(&f, module, "empty"));
	for (int i = 0; i < 20; i++)
		CK(cuLaunchKernel(f, (unsigned)(uintptr_t)arg, 1, 1, 32, 1, 1, 0, NULL, NULL,
				  NULL));
	return NULL;
}

/* Every thread initialises CUDA for itself, all of them together. */
static void init_together(void)
{
	pthread_t thread[32];

	pthread_barrier_init(&barrier, NULL, 32);
	for (int i = 0; i < 32; i++)
		pthread_create(&thread[i], NULL, start_and_launch, (void *)(uintptr_t)(1 + i));
	for (int i = 0; i < 32; i++)
		pthread_join(thread[i], NULL);
}

static void *cancelled(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	for (;;) {
		client_launch((unsigned)(uintptr_t)arg, 1);
		pthread_testcancel();
	}
	return NULL;
}

static void cancel(void)
{
	client_start();
	for (int i = 0; i < 40; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, cancelled, (void *)(uintptr_t)6);
		usleep(300);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			puts("not cancelled");
	}
}

static unsigned launched;

/* A launch is no cancellation point: the thread ends at the one after it. */
static void *cancelled_before(void *arg)
{
	CK(cuCtxSetCurrent(client_context));
	pthread_cancel(pthread_self());
	client_launch((unsigned)(uintptr_t)arg, 1);
	launched++;
	pthread_testcancel();
	return NULL;
}

static void cancel_pending(void)
{
	client_start();
	for (int i = 0; i < 3; i++) {
		pthread_t thread;
		void *result;

		pthread_create(&thread, NULL, cancelled_before, (void *)(uintptr_t)6);
		pthread_join(thread, &result);
		if (result != PTHREAD_CANCELED)
			puts("not cancelled");
	}
	printf("%u launched\n", launched);
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"at_once", at_once},
		{"leaving", leaving},
		{"short_lived", short_lived},
		{"detached", detached},
		{"tls_destructor", tls_destructor},
		{"tls_destructor_first", tls_destructor_first},
		{"init_together", init_together},
		{"cancel", cancel},
		{"cancel_pending", cancel_pending},
		{NULL, NULL},
	};

	return client_main(argc, argv, list);
}
