/* A linked program for the tests of other preloads: prints, allocates, launches. */
#include "client.h"

#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>

static void launches(void)
{
	client_compute(1, 10);
	puts("ten launches");
}

/* The last launch never returns: a wrapper below ends the thread. */
static void *leave(void *unused)
{
	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	client_launch(2, 3);
	puts("not reached");
	return NULL;
}

static void unwound(void)
{
	pthread_t thread;

	client_compute(1, 2);
	pthread_create(&thread, NULL, leave, NULL);
	pthread_join(thread, NULL);
	client_launch(3, 2);
	puts("main goes on");
}

static jmp_buf place;

__attribute__((visibility("default"))) void client_jump(void);

void client_jump(void)
{
	longjmp(place, 1);
}

static void jumped(void)
{
	client_compute(1, 2);
	if (setjmp(place) == 0)
		client_launch(2, 3);
	else
		puts("back by longjmp");
	client_launch(3, 5);
	CK(cuCtxSynchronize());
}

static void dlsym_kept(void)
{
	int *asked = dlsym(RTLD_DEFAULT, "other_asked");

	printf("the other dlsym was %s\n", asked ? "asked" : "not asked");
	launches();
}

static void limit(int which, rlim_t value)
{
	const struct rlimit to = {value, value};

	if (setrlimit((__rlimit_resource_t)which, &to) != 0)
		exit(9);
}

/* As when a server has used up its descriptors. */
static void no_descriptor(void)
{
	limit(RLIMIT_NOFILE, 3);
	client_compute(1, 10);
	puts("ten launches");
}

static void *launch_ten(void *unused)
{
	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	client_launch(2, 10);
	return NULL;
}

static long pages_taken(void)
{
	long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	if (!statm || fscanf(statm, "%ld", &pages) != 1)
		exit(9);
	fclose(statm);
	return pages;
}

/* CUDA has begun, and whoever watches; then there is no room for more than a few threads. */
static void tight_memory(void)
{
	long pages;

	client_compute(1, 10);
	pages = pages_taken();
	for (int same = 0; same < 50; same++) {
		long before = pages;

		client_nap(10);
		pages = pages_taken();
		same = pages == before ? same : 0;
	}
	limit(RLIMIT_AS, (rlim_t)(pages * 4096 + (1 << 20)));
	for (int i = 0; i < 40; i++) {
		pthread_attr_t attributes;
		pthread_t thread;

		pthread_attr_init(&attributes);
		pthread_attr_setstacksize(&attributes, 64 << 10);
		if (pthread_create(&thread, &attributes, launch_ten, NULL) != 0)
			puts("no thread");
		else
			pthread_join(thread, NULL);
	}
	client_launch(3, 10);
	puts("done");
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"launches", launches},
					       {"unwound", unwound},
					       {"jumped", jumped},
					       {"dlsym_kept", dlsym_kept},
					       {"no_descriptor", no_descriptor},
					       {"tight_memory", tight_memory},
					       {NULL, NULL}};

	return client_main(argc, argv, list);
}
