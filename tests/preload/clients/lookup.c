/* Ways to find the driver's functions at run time. Not linked to libcuda. */
#include <cuda.h>
#include <cudaTypedefs.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AS(type, pointer) (*(type *)(void *)&(void *){pointer})

typedef int number_fn(unsigned number);

static void *library;
static PFN_cuGetProcAddress_v12000 find_v2;
static PFN_cuGetProcAddress_v11030 find_v1;
static CUfunction kernel;

static void *need(void *pointer, const char *what)
{
	if (!pointer) {
		printf("%s was not found\n", what);
		exit(9);
	}
	return pointer;
}

static void *get(const char *name, int version, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *pointer = NULL;
	CUresult r = find_v2(name, &pointer, version, flags, &status);

	return r == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS ? pointer : NULL;
}

#define GET(name, version) AS(PFN_##name##_v##version, need(get(#name, version, 0), #name))

static void begin(int flags)
{
	CUcontext context;
	CUmodule module;

	library = need(dlopen("libcuda.so.1", flags), "libcuda.so.1");
	find_v2 = AS(PFN_cuGetProcAddress_v12000,
		     need(dlsym(library, "cuGetProcAddress_v2"), "cuGetProcAddress_v2"));
	find_v1 = AS(PFN_cuGetProcAddress_v11030,
		     need(dlsym(library, "cuGetProcAddress"), "cuGetProcAddress"));
	if (GET(cuInit, 2000)(0) || GET(cuDevicePrimaryCtxRetain, 7000)(&context, 0) ||
	    GET(cuCtxSetCurrent, 4000)(context) ||
	    GET(cuModuleLoadData, 2000)(&module,
					"gpuwatch-stand-in-module\nkernel empty ns=800\n") ||
	    GET(cuModuleGetFunction, 2000)(&kernel, module, "empty")) {
		puts("set-up failed");
		exit(9);
	}
}

/* The grid distinguishes the ways: each must be seen once. */
static void launch(const char *how, unsigned grid, void *function)
{
	PFN_cuLaunchKernel_v4000 f = AS(PFN_cuLaunchKernel_v4000, function);

	printf("%s: %d\n", how,
	       function ? (int)f(kernel, grid, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL) : -1);
}

static void launch_ex(const char *how, unsigned grid, void *function)
{
	PFN_cuLaunchKernelEx_v11060 f = AS(PFN_cuLaunchKernelEx_v11060, function);
	CUlaunchConfig c = {.gridDimX = grid,
			    .gridDimY = 1,
			    .gridDimZ = 1,
			    .blockDimX = 32,
			    .blockDimY = 1,
			    .blockDimZ = 1};

	printf("%s: %d\n", how, function ? (int)f(&c, kernel, NULL, NULL) : -1);
}

static void *by_v1(cuuint64_t flags)
{
	void *pointer = NULL;

	return find_v1("cuLaunchKernel", &pointer, 7000, flags) == CUDA_SUCCESS ? pointer : NULL;
}

static void ways(void)
{
	begin(RTLD_NOW);
	launch("v2, default", 1, get("cuLaunchKernel", 4000, 0));
	launch("v2, default, 13.0", 2, get("cuLaunchKernel", 13000, 0));
	launch("v2, legacy", 3, get("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_LEGACY_STREAM));
	launch("v2, per thread", 4,
	       get("cuLaunchKernel", 13000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	launch("v1, default", 5, by_v1(0));
	launch("v1, legacy", 6, by_v1(CU_GET_PROC_ADDRESS_LEGACY_STREAM));
	launch("v1, per thread", 7, by_v1(CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	launch("dlsym", 8, dlsym(library, "cuLaunchKernel"));
	launch("dlsym _ptsz", 9, dlsym(library, "cuLaunchKernel_ptsz"));
	launch_ex("v2 Ex", 10, get("cuLaunchKernelEx", 12000, 0));
	launch_ex("v2 Ex, per thread", 11,
		  get("cuLaunchKernelEx", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
	launch_ex("dlsym Ex", 12, dlsym(library, "cuLaunchKernelEx"));
	find_v2 = AS(PFN_cuGetProcAddress_v12000,
		     need(get("cuGetProcAddress", 12000, 0), "cuGetProcAddress by itself"));
	launch("v2 found by itself", 13, get("cuLaunchKernel", 4000, 0));
	find_v1 = AS(PFN_cuGetProcAddress_v11030,
		     need(get("cuGetProcAddress", 11030, 0), "cuGetProcAddress v1 by itself"));
	launch("v1 found by v2", 14, by_v1(0));
}

static void global(void)
{
	begin(RTLD_NOW | RTLD_GLOBAL);
	launch("RTLD_DEFAULT", 1, dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
	launch("RTLD_NEXT", 2, dlsym(RTLD_NEXT, "cuLaunchKernel"));
	launch("the program's handle", 3, dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernel"));
}

/* What is found and what is not, and what dlerror() says of it; not which library it names. */
static void tell(const char *what, void *found)
{
	const char *error = dlerror(), *text = error ? strchr(error, ':') : NULL;

	printf("%s: %s; %s\n", what, found ? "found" : "not found",
	       text    ? text
	       : error ? error
		       : "no error");
}

static void local(void)
{
	begin(RTLD_NOW | RTLD_LOCAL);
	dlerror();
	tell("local, RTLD_DEFAULT", dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
	tell("local, the program's handle", dlsym(dlopen(NULL, RTLD_NOW), "cuLaunchKernel"));
	launch("its handle", 1, dlsym(library, "cuLaunchKernel"));
}

static void errors(void)
{
	void *none = dlopen("libno-such-library.so", RTLD_NOW);

	tell("no such library", none);
	tell("no libcuda, RTLD_DEFAULT", dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
	tell("no libcuda, RTLD_NEXT", dlsym(RTLD_NEXT, "cuNoSuchFunction"));
	tell("no libcuda, the program's handle", dlsym(dlopen(NULL, RTLD_NOW), "cuInit"));
	tell("no libcupti", dlsym(RTLD_DEFAULT, "cuptiActivityRegisterCallbacks"));
	library = dlopen("libcuda.so.1", RTLD_NOW);
	dlerror();
	tell("no such function", dlsym(library, "cuNoSuchFunction"));
	tell("a function", dlsym(library, "cuLaunchKernel"));
	tell("dlvsym, no such version", dlvsym(library, "cuLaunchKernel", "NO_SUCH_VERSION"));
	tell("dlvsym, RTLD_DEFAULT", dlvsym(RTLD_DEFAULT, "cuLaunchKernel", "NO_SUCH_VERSION"));
	tell("dlvsym of the C library", dlvsym(RTLD_DEFAULT, "puts", "GLIBC_2.2.5"));
	tell("of another library", dlsym(dlopen("libm.so.6", RTLD_NOW), "cuInit"));
}

/* Whether CUDA is there is asked before it is, and errno stays what it was. */
static void errno_kept(void)
{
	void *found;
	int kept;

	errno = 77;
	found = dlsym(RTLD_DEFAULT, "cuInit");
	kept = errno;
	tell("before the driver", found);
	begin(RTLD_NOW);
	errno = 78;
	found = get("cuLaunchKernel", 4000, 0);
	printf("errno %d %d\n", kept, errno);
	launch("launch", 1, found);
}

/* A library with a function of the driver's name that is not the driver's. */
static void impostor(void)
{
	void *other = need(dlopen("impostor.so", RTLD_NOW), "impostor.so");
	number_fn *init = AS(number_fn *, need(dlsym(other, "cuInit"), "cuInit"));

	begin(RTLD_NOW);
	printf("the impostor's cuInit: %d\n", init(0));
	init = AS(number_fn *, need(dlsym(other, "cuInit"), "cuInit"));
	printf("and once more: %d\n", init(0));
	launch("the driver", 1, dlsym(library, "cuLaunchKernel"));
}

/* Hooking nothing means that the program holds the driver's own addresses. */
static void whose(void)
{
	static const char *const names[] = {"cuLaunchKernel", "cuGraphLaunch", "cuInit",
					    "cuGetProcAddress"};
	Dl_info info;

	begin(RTLD_NOW | RTLD_GLOBAL);
	for (size_t i = 0; i < 4; i++) {
		void *a = get(names[i], 13000, 0), *b = dlsym(library, names[i]);

		if (a && dladdr(a, &info))
			printf("%s by cuGetProcAddress: %s\n", names[i],
			       strrchr(info.dli_fname, '/'));
		if (b && dladdr(b, &info))
			printf("%s by dlsym: %s\n", names[i], strrchr(info.dli_fname, '/'));
	}
	launch("launch", 1, get("cuLaunchKernel", 4000, 0));
}

/* A library that is linked against libcuda launches; closed and opened again. */
static void opened(int flags, int times)
{
	for (int i = 0; i < times; i++) {
		void *user = need(dlopen("libuser.so", flags), "libuser.so");
		number_fn *run = AS(number_fn *, need(dlsym(user, "user_launch"), "it"));

		printf("round %d: %d\n", i, run((unsigned)i + 1));
		printf("closed: %d\n", dlclose(user));
	}
}

static void reopened(void)
{
	opened(RTLD_NOW | RTLD_LOCAL, 5);
}

static void deepbind(void)
{
	opened(RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, 2);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} list[] = {{"ways", ways},         {"global", global},     {"local", local},
		    {"errors", errors},     {"whose", whose},       {"impostor", impostor},
		    {"reopened", reopened}, {"deepbind", deepbind}, {"errno", errno_kept}};

	for (size_t i = 0; argc > 1 && i < sizeof(list) / sizeof(*list); i++)
		if (strcmp(list[i].name, argv[1]) == 0) {
			list[i].run();
			return 0;
		}
	return 8;
}
