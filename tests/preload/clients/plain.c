/* SPDX-License-Identifier: Apache-2.0 */
/* A linked program for the tests of other preloads: prints, allocates, launches. */
#include "client.h"

#include <dlfcn.h>
#include <pthread.h>

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

static void dlsym_kept(void)
{
	int *asked = dlsym(RTLD_DEFAULT, "other_asked");

	printf("the other dlsym was %s\n", asked ? "asked" : "not asked");
	launches();
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {{"launches", launches},
	                                       {"unwound", unwound},
	                                       {"dlsym_kept", dlsym_kept},
	                                       {NULL, NULL}};

	return client_main(argc, argv, list);
}
