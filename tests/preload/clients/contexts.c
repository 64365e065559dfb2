/* Launches into the default streams of two GPUs, the current context changed in every way. */
#include "client.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

static CUcontext contexts[2];
static CUkernel kernel;

static void start(void)
{
	CUlibrary library;

	CK(cuInit(0));
	for (int d = 0; d < 2; d++)
		CK(cuDevicePrimaryCtxRetain(&contexts[d], d));
	CK(cuLibraryLoadData(&library, CLIENT_IMAGE, NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, library, "empty"));
	CK(cuCtxSetCurrent(contexts[0]));
}

/* Into the current context's default stream. */
static void launch(int n)
{
	for (int i = 0; i < n; i++)
		CK(cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
}

static void *on_the_second(void *arg)
{
	(void)arg;
	CK(cuCtxSetCurrent(contexts[1]));
	launch(11);
	return NULL;
}

/* 3 + 7 + 2 + 1 + 6 + 5 = 24 on the first GPU, 4 + 8 + 10 + 11 = 33 on the second. */
static void switched(void)
{
	CUcontext made;
	pthread_t other;

	start();
	launch(3);
	CK(cuCtxSetCurrent(contexts[1]));
	launch(4);
	CK(cuCtxPushCurrent(contexts[0]));
	launch(7);
	CK(cuCtxPopCurrent(&made));
	launch(8);
	CK(cuCtxCreate(&made, NULL, 0, 0));
	launch(2);
	pthread_create(&other, NULL, on_the_second, NULL);
	pthread_join(other, NULL);
	launch(1);
	CK(cuCtxDestroy(made));
	launch(10);
	CK(cuCtxSetCurrent(contexts[0]));
	launch(6);
	CK(cuDevicePrimaryCtxReset(1));
	launch(5);
}

/* A green context on the first GPU goes, and its handle comes back as that of a context on the
   second. */
static void green(void)
{
	CUdevResource resource;
	CUdevResourceDesc all;
	CUcontext context, after;
	CUgreenCtx made;

	start();
	CK(cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
	CK(cuDevResourceGenerateDesc(&all, &resource, 1));
	CK(cuGreenCtxCreate(&made, all, 0, CU_GREEN_CTX_DEFAULT_STREAM));
	CK(cuCtxFromGreenCtx(&context, made));
	CK(cuCtxSetCurrent(context));
	launch(3);
	CK(cuCtxSetCurrent(contexts[0]));
	CK(cuGreenCtxDestroy(made));
	CK(cuCtxCreate(&after, NULL, 0, 1));
	printf("the same handle: %d\n", after == context);
	launch(5);
	CK(cuCtxSetCurrent(contexts[0]));
	launch(4);
}

/* The driver's own function, past whoever stands in for it: its symbol table is read directly. */
static void *hidden(const char *name)
{
	struct link_map *map = NULL;
	const ElfW(Sym) *symbols = NULL;
	const char *strings = NULL;

	if (dlinfo(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), RTLD_DI_LINKMAP, &map))
		exit(9);
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			strings = (const char *)d->d_un.d_ptr;
	}
	/* Linkers put the strings behind the symbols. */
	for (const ElfW(Sym) *s = symbols; (const char *)s < strings; s++)
		if (s->st_value && !strcmp(strings + s->st_name, name))
			return (char *)map->l_addr + s->st_value;
	exit(9);
}

/* 100 and 200 launches on the first GPU, 300 on the second. */
static void past_us(void)
{
	CUresult (*set_current)(CUcontext) = NULL;

	start();
	*(void **)&set_current = hidden("cuCtxSetCurrent");
	launch(100);
	CK(set_current(contexts[1]));
	launch(300);
	CK(set_current(contexts[0]));
	launch(200);
}

static void *destroy(void *context)
{
	CK(cuCtxDestroy(context));
	return NULL;
}

/* A launch, the first one there, in a context that another thread has destroyed. */
static void ended(void)
{
	CUcontext made;
	pthread_t other;

	start();
	launch(3);
	CK(cuCtxCreate(&made, NULL, 0, 0));
	pthread_create(&other, NULL, destroy, made);
	pthread_join(other, NULL);
	printf("refused: %d\n",
	       cuLaunchKernel((CUfunction)kernel, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
	CK(cuCtxSetCurrent(contexts[0]));
	launch(3);
}

int main(int argc, char **argv)
{
	static const struct scenario list[] = {
		{"switched", switched}, {"ended", ended}, {"green", green},
		{"past_us", past_us},   {NULL, NULL},
	};

	return client_main(argc, argv, list);
}
