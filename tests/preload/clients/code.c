/*
 * Loads a real image and launches its kernels, which the stand-in does not run: what is reported of
 * them is read off their code. The image is named by CODE_IMAGE, else it is bytes that are none.
 */
#include "nodes.h"

#include "../../driver/si_private.h"

#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#ifdef CODE_FATBIN /* what the compiler would have put here */
__asm__(".section .nv_fatbin,\"a\"\n"
	".balign 8\n"
	"embedded:\n"
	".incbin \"" CODE_FATBIN "\"\n"
	".balign 8\n"
	".previous\n");
extern const unsigned char embedded[];
#endif

/* Mangled as the compiler does: of tests/code/kernels.cu. */
#define SAXPY "_Z5saxpyifPKfPf"

static void load(void)
{
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, client_image()));
}

static void saxpy(unsigned blocks, int n)
{
	float a = 2;
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	void *params[] = {&n, &a, &x, &y};

	CK(cuLaunchKernel(client_function(SAXPY), blocks, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
}

/* One launch alone, and time for the worker to get to it. */
static void one(void)
{
	load();
	saxpy(4, 500);
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("one launch");
}

/* The same, and another shape of the kernel. */
static void two(void)
{
	one();
	saxpy(8, 1000);
	CK(cuCtxSynchronize());
	client_nap(200);
}

#ifdef CODE_FATBIN
/* The program's own, as the CUDA runtime loads it; what it was called as leads to no file. */
static void own(void)
{
	if (chdir("/"))
		exit(9);
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&client_module, embedded));
	saxpy(4, 500);
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("one launch");
}
#endif

static void *load_module(void *unused)
{
	CUmodule module;

	(void)unused;
	CK(cuCtxSetCurrent(client_context));
	CK(cuModuleLoadData(&module, client_image()));
	return NULL;
}

__attribute__((visibility("default"))) void client_called_back(void);

/* By the constructor of a library that is being opened: the loader's lock is held. */
void client_called_back(void)
{
	struct timespec until;
	pthread_t thread;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	pthread_create(&thread, NULL, load_module, NULL);
	puts(pthread_timedjoin_np(thread, NULL, &until) ? "it waits for the constructor"
							: "loaded meanwhile");
}

static void constructor(void)
{
	load();
	saxpy(4, 500);
	if (!dlopen(getenv("CODE_LIBRARY"), RTLD_NOW))
		puts(dlerror());
	CK(cuCtxSynchronize());
}

/* Another object of the process: it is there, whatever of it is run. */
static void map_object(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) ||
	    mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		exit(9);
	close(fd);
}

/* As the runtimes up to CUDA 11 load what is in a program's fat binary: no hook sees that. */
static void unseen(void)
{
	static const CUuuid id = {SI_PRIVATE_LOADS};
	const void *table;
	void *address;

	if (getenv("CODE_MAPPED"))
		map_object(getenv("CODE_MAPPED"));
	if (getenv("CODE_ASKS"))
		CK(cuGetProcAddress(getenv("CODE_ASKS"), &address, 12000, 0, NULL));
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuGetExportTable(&table, &id));
	CK((CUresult)((const struct si_private_loads *)table)
		   ->load((void **)&client_module, client_image()));
	saxpy(4, 500);
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("a module that nobody saw");
}

/* As the runtime launches what is in a program's own fat binary: a library, its kernel, and the
   function that this is in the context. */
static void library(void)
{
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	float a = 2;
	int n = 500;
	void *params[] = {&n, &a, &x, &y};
	CUlibrary code;
	CUkernel kernel;
	CUfunction f;

	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuLibraryLoadData(&code, client_image(), NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetKernel(&kernel, code, SAXPY));
	CK(cuKernelGetFunction(&f, kernel));
	CK(cuLaunchKernel(f, 4, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("a library's function");
}

static CUlibrary library_of(const char *image)
{
	CUlibrary library;
	void *bytes;

	setenv("CODE_IMAGE", image, 1);
	bytes = client_image();
	CK(cuLibraryLoadData(&library, bytes, NULL, NULL, 0, NULL, NULL, 0));
	free(bytes);
	return library;
}

/* What is known of a graph's kernels: also launched, only captured, or only made nodes of. */
enum graph_way { LAUNCHED, CAPTURED, BUILT };

/* A node of a function of the context, or of a library's kernel. */
static void add_node(CUgraph graph, CUfunction func, CUkernel kern, unsigned blocks, void **params)
{
	CUDA_KERNEL_NODE_PARAMS p = node_params(func, kern, blocks, 128);
	CUgraphNode node;

	p.kernelParams = params;
	CK(cuGraphAddKernelNode(&node, graph, NULL, 0, &p));
}

static void launch_kernel(CUkernel kernel, unsigned blocks, CUstream stream, void **params)
{
	CK(cuLaunchKernel((CUfunction)kernel, blocks, 1, 1, 128, 1, 1, 0, stream, params, NULL));
}

/* A graph of kernels of libraries, of which its nodes keep the functions in the context. Each
   library has one of the same name. */
static void graph_of_libraries(enum graph_way way)
{
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	char first[1024];
	const char *images[] = {first, getenv("CODE_IMAGE_2")};
	float a = 2;
	int n = 500;
	void *params[] = {&n, &a, &x, &y};
	CUkernel kernel[2];
	CUgraph graph;
	CUgraphExec exec;
	CUstream stream;

	snprintf(first, sizeof(first), "%s", getenv("CODE_IMAGE"));
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 2; i++) {
		CK(cuLibraryGetKernel(&kernel[i], library_of(images[i]), SAXPY));
		if (way == LAUNCHED)
			launch_kernel(kernel[i], 4 + 4 * i, stream, params);
	}
	if (way == BUILT)
		CK(cuGraphCreate(&graph, 0));
	else
		CK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (unsigned i = 0; i < 2; i++)
		if (way == BUILT)
			add_node(graph, NULL, kernel[i], 4 + 4 * i, params);
		else
			launch_kernel(kernel[i], 4 + 4 * i, stream, params);
	if (way != BUILT)
		CK(cuStreamEndCapture(stream, &graph));
	CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CK(cuGraphLaunch(exec, stream));
	CK(cuStreamSynchronize(stream));
	client_nap(200);
	puts("libraries' graph");
}

static void library_graph(void)
{
	graph_of_libraries(LAUNCHED);
}

static void captured_only(void)
{
	graph_of_libraries(CAPTURED);
}

static void built_only(void)
{
	graph_of_libraries(BUILT);
}

/* A context goes, and its modules with it; what the next one has of a library gets the handle. */
static void context_after(void)
{
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	float a = 2;
	int n = 500;
	void *params[] = {&n, &a, &x, &y};
	CUcontext context;
	CUgraphExec exec;
	CUkernel kernel;
	CUgraph graph;

	CK(cuInit(0));
	CK(cuCtxCreate(&context, NULL, 0, 0));
	CK(cuModuleLoadData(&client_module, client_image()));
	saxpy(4, 500);
	CK(cuCtxSynchronize());
	CK(cuCtxDestroy(context));
	CK(cuCtxCreate(&context, NULL, 0, 0));
	CK(cuLibraryGetKernel(&kernel, library_of(getenv("CODE_IMAGE_2")), SAXPY));
	CK(cuGraphCreate(&graph, 0));
	add_node(graph, NULL, kernel, 8, params);
	CK(cuGraphInstantiateWithFlags(&exec, graph, 0));
	CK(cuGraphLaunch(exec, NULL));
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("the next context");
}

/* By the library's module, which nothing loaded as one. */
static void library_module(void)
{
	CUlibrary code;

	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	CK(cuLibraryLoadData(&code, client_image(), NULL, NULL, 0, NULL, NULL, 0));
	CK(cuLibraryGetModule(&client_module, code));
	saxpy(4, 500);
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("a library's module");
}

/* The image in a file; the stand-in takes it for the kernels in another. */
static CUmodule module_of(const char *image, const char *of_kernels)
{
	CUmodule module;
	void *bytes;

	setenv("CODE_IMAGE", image, 1);
	setenv("STANDIN_KERNELS", of_kernels, 1);
	bytes = client_image();
	CK(cuModuleLoadData(&module, bytes));
	free(bytes);
	return module;
}

static void saxpy_of(CUmodule module)
{
	client_module = module;
	saxpy(4, 500);
	CK(cuCtxSynchronize());
}

/* Two kernels of one name in two modules, in turns; the second module is then loaded anew. */
static void namesakes(void)
{
	char first[1024], slow[1024];
	const char *second = getenv("CODE_IMAGE_2"), *fast = getenv("CODE_KERNELS_2");
	CUmodule one, two;

	snprintf(first, sizeof(first), "%s", getenv("CODE_IMAGE"));
	snprintf(slow, sizeof(slow), "%s", getenv("STANDIN_KERNELS"));
	CK(cuInit(0));
	CK(cuDevicePrimaryCtxRetain(&client_context, 0));
	CK(cuCtxSetCurrent(client_context));
	one = module_of(first, slow);
	two = module_of(second, fast);
	for (int i = 0; i < 60; i++) {
		saxpy_of(one);
		saxpy_of(two);
	}
	CK(cuModuleUnload(two));
	saxpy_of(module_of(second, fast));
	puts("kernels of one name");
}

/* A library that brings its own libz.so.1, loaded when code has been read. */
static void own_libz(void)
{
	int (*answer)(void);
	void *library;

	one();
	library = dlopen(getenv("CODE_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		puts("its own libz was not taken");
		return;
	}
	*(void **)&answer = dlsym(library, "needs_own_z");
	printf("its own libz says %d\n", answer());
}

/* Many configurations of one kernel at once, then the end. */
static void many(void)
{
	load();
	for (unsigned i = 1; i <= 200; i++)
		saxpy(i, (int)i * 100);
	CK(cuCtxSynchronize());
	puts("many launches");
}

/* The same after a second of run time. */
static void late(void)
{
	load();
	saxpy(1000, 100);
	CK(cuCtxSynchronize());
	client_nap(1000);
	for (unsigned i = 1; i <= 200; i++)
		saxpy(i, (int)i * 100);
	CK(cuCtxSynchronize());
	puts("late launches");
}

/* Every kernel, with whatever arguments. */
static void all(void)
{
	unsigned char bytes[4096];
	void *params[16];
	const char *names[] = {SAXPY, "_Z6reduce6recordhPKfPf", "powers"};

	load();
	memset(bytes, 0xff, sizeof(bytes));
	for (unsigned i = 0; i < 16; i++)
		params[i] = bytes + 128 * i;
	for (unsigned k = 0; k < 3; k++)
		CK(cuLaunchKernel(client_function(names[k]), 0x7fffffff, 65535, 1, 32, 1, 1, 0,
				  NULL, params, NULL));
	CK(cuCtxSynchronize());
	client_nap(300);
	puts("all kernels");
}

/* From a graph, whose launches pass no arguments: its node keeps them. */
static void graph(void)
{
	int n = 1000;
	float a = 2;
	CUdeviceptr x = 0x700000000000, y = 0x710000000000;
	void *params[] = {&n, &a, &x, &y};
	CUgraph g;
	CUgraphExec exec;

	load();
	CK(cuGraphCreate(&g, 0));
	add_node(g, client_function(SAXPY), NULL, 8, params);
	CK(cuGraphInstantiateWithFlags(&exec, g, 0));
	CK(cuGraphLaunch(exec, NULL));
	CK(cuCtxSynchronize());
	client_nap(200);
	puts("a graph");
}

int main(int argc, char **argv)
{
#ifdef CODE_FATBIN
	static char name[] = "nowhere/program";
#endif
	static const struct scenario list[] = {{"one", one},
					       {"two", two},
					       {"many", many},
					       {"late", late},
					       {"all", all},
					       {"graph", graph},
					       {"unseen", unseen},
					       {"library", library},
					       {"library_graph", library_graph},
					       {"captured_only", captured_only},
					       {"built_only", built_only},
					       {"context_after", context_after},
					       {"library_module", library_module},
					       {"namesakes", namesakes},
					       {"own_libz", own_libz},
					       {"constructor", constructor},
#ifdef CODE_FATBIN
					       {"own", own},
#endif
					       {NULL, NULL}};

#ifdef CODE_FATBIN
	argv[0] = name;
#endif
	return client_main(argc, argv, list);
}
