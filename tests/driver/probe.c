/*
 * The conformance probe: a fixed list of calls whose normalised trace must be the same on a real
 * GPU and on the stand-in. probe [kernels.cubin]; without a file the stand-in's text image is
 * loaded. README.md says how the golden trace is made.
 *
 * Every section is a process of its own, made before this one calls CUDA: a section that crashes
 * or hangs on some driver is one line of the trace and takes no other with it.
 */
#include "probe.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct probe_api d;
void *probe_driver;
const void *probe_image;

static const char text_image[] = "gpuwatch-stand-in-module\n"
				 "kernel empty ns=900\n"
				 "kernel one ns=900 params=8 body=set_one\n"
				 "kernel two ns=900 params=8 body=set_two\n"
				 "kernel spin ns=@0 params=8 body=spin\n";

static const void *known[1024];
static int known_count;

void probe_forget(void)
{
	known_count = 0;
}

const char *probe_handle(const void *handle)
{
	static char text[4][16];
	static int turn;
	int i = 0;
	if (!handle)
		return "null";
	while (i < known_count && known[i] != handle)
		i++;
	if (i == known_count && known_count < 1024)
		known[known_count++] = handle;
	turn = (turn + 1) % 4;
	snprintf(text[turn], sizeof text[turn], "#%d", i + 1);
	return text[turn];
}

/* A call's text up to its first parenthesis. */
void probe_line(int result, const char *call, const char *format, ...)
{
	char more[256];
	va_list list;
	va_start(list, format);
	vsnprintf(more, sizeof more, format, list);
	va_end(list);
	printf("%.*s = %d%s%s\n", (int)strcspn(call, "("), call, result, *more ? "  " : "", more);
}

static void *symbol(void *library, const char *name)
{
	void *found = dlsym(library, name);
	if (!found) {
		fprintf(stderr, "probe: %s is missing from the library\n", name);
		exit(2);
	}
	return found;
}

static void *open_first(const char *const *names)
{
	void *library = NULL;
	for (int i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW);
	if (!library) {
		fprintf(stderr, "probe: cannot open %s: set LD_LIBRARY_PATH (%s)\n", names[0],
			dlerror());
		exit(77);
	}
	return library;
}

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
static void load(void)
{
	static const char *const cuda[] = {"libcuda.so.1", NULL};
	static const char *const cupti[] = {"libcupti.so.13", "libcupti.so", NULL};
	void *tools, *found;
	probe_driver = open_first(cuda);
	tools = open_first(cupti);
#define PROBE_DRIVER(name) \
	found = symbol(probe_driver, TEXT(name)), memcpy(&d.name, &found, sizeof found);
#define PROBE_CUPTI(name) found = symbol(tools, TEXT(name)), memcpy(&d.name, &found, sizeof found);
#include "probe.def"
}

static char *image_read(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *data = calloc(1, 1 << 20);
	if (!file || !data || fread(data, 1, 1 << 20, file) == 0) {
		fprintf(stderr, "probe: cannot read %s: %m\n", path);
		exit(2);
	}
	fclose(file);
	return data;
}

/* ---- cuGetProcAddress: which symbol answers for a name, a version and a flag ---- */

static const char *const names[] = {
	"cuInit",
	"cuGetProcAddress",
	"cuCtxCreate",
	"cuCtxDestroy",
	"cuCtxGetDevice",
	"cuCtxSynchronize",
	"cuCtxGetId",
	"cuDevicePrimaryCtxRelease",
	"cuModuleLoadData",
	"cuModuleUnload",
	"cuModuleGetFunction",
	"cuLinkCreate",
	"cuLinkAddData",
	"cuLibraryLoadData",
	"cuLibraryUnload",
	"cuKernelGetFunction",
	"cuKernelGetName",
	"cuFuncGetName",
	"cuFuncGetModule",
	"cuMemAlloc",
	"cuMemcpy",
	"cuMemcpyHtoD",
	"cuMemcpyHtoDAsync",
	"cuMemsetD8",
	"cuMemsetD8Async",
	"cuMemAllocAsync",
	"cuStreamCreate",
	"cuStreamDestroy",
	"cuStreamGetId",
	"cuStreamSynchronize",
	"cuStreamQuery",
	"cuStreamWaitEvent",
	"cuStreamBeginCapture",
	"cuStreamEndCapture",
	"cuStreamGetCaptureInfo",
	"cuStreamBeginCaptureToGraph",
	"cuEventRecord",
	"cuEventRecordWithFlags",
	"cuEventDestroy",
	"cuEventElapsedTime",
	"cuLaunch",
	"cuLaunchGrid",
	"cuLaunchGridAsync",
	"cuLaunchKernel",
	"cuLaunchKernelEx",
	"cuLaunchCooperativeKernel",
	"cuLaunchCooperativeKernelMultiDevice",
	"cuLaunchHostFunc",
	"cuGraphAddKernelNode",
	"cuGraphKernelNodeSetParams",
	"cuGraphAddNode",
	"cuGraphGetEdges",
	"cuGraphInstantiate",
	"cuGraphInstantiateWithFlags",
	"cuGraphInstantiateWithParams",
	"cuGraphExecUpdate",
	"cuGraphExecKernelNodeSetParams",
	"cuGraphExecNodeSetParams",
	"cuGraphNodeSetEnabled",
	"cuGraphUpload",
	"cuGraphLaunch",
	"cuGraphExecDestroy",
	"cuNoSuchFunction",
	"cuLaunchKernel_ptsz",
	"",
};

static const char *suffix_of(const char *name, const void *address)
{
	static const char *const suffixes[] = {"",      "_v2",      "_v3",      "_v4",      "_ptsz",
					       "_ptds", "_v2_ptsz", "_v2_ptds", "_v3_ptsz", NULL};
	char symbol_name[128];
	if (!address)
		return "-";
	for (int i = 0; suffixes[i]; i++) {
		snprintf(symbol_name, sizeof symbol_name, "%s%s", name, suffixes[i]);
		if (dlsym(probe_driver, symbol_name) == address)
			return *suffixes[i] ? suffixes[i] : "(same)";
	}
	return "(other)";
}

static void addresses(const struct probe_kernels *k)
{
	static const int versions[] = {2000,  4000,  7000,  10000, 11010,
				       11040, 12000, 12030, 12080, 13000};
	CUdriverProcAddressQueryResult status;
	void *address;
	(void)k;
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
		for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
			printf("address %s %d:", names[i], versions[v]);
			for (unsigned flags = 0; flags < 3; flags++) {
				CUresult result;
				address = NULL;
				status = (CUdriverProcAddressQueryResult)9;
				result = d.cuGetProcAddress(names[i], &address, versions[v], flags,
							    &status);
				printf(" %d/%d%s", (int)result, (int)status,
				       suffix_of(names[i], address));
			}
			printf("\n");
		}
	TRACE(cuGetProcAddress("cuInit", &address, 12000, 0, NULL), "no status");
	TRACE(cuGetProcAddress("cuInit", &address, 12000, 4, &status), "flags 4");
}

/* Which symbol answers for `name` from which version on. */
static void row(const char *name, unsigned flags)
{
	static const int versions[] = {
		2000,  2010,  2020,  2030,  3000,  3010,  3020,  4000,  4010,  4020,  5000,
		5050,  6000,  6050,  7000,  7050,  8000,  9000,  9010,  9020,  10000, 10010,
		10020, 11000, 11010, 11020, 11030, 11040, 11050, 11060, 11070, 11080, 12000,
		12010, 12020, 12030, 12040, 12050, 12060, 12070, 12080, 12090, 13000};
	const void *last = NULL;
	printf("row %s flags %u:", name, flags);
	for (size_t v = 0; v < sizeof versions / sizeof versions[0]; v++) {
		void *address = NULL;
		CUresult result = d.cuGetProcAddress(name, &address, versions[v], flags, NULL);
		if (address != last)
			printf(" %d %s", versions[v], suffix_of(name, address));
		if (result != CUDA_SUCCESS)
			printf(" %d result %d", versions[v], (int)result);
		last = address;
	}
	printf("\n");
}

/* Every function of the stand-in's list. */
static void rows(const struct probe_kernels *k)
{
	static const char *const list[] = {
#define SI_API(sym, since, ...)                             #sym,
#define SI_API_AS(sym, name, since, ...)                    #name,
#define SI_API_VOID(sym, since)                             #sym,
#define SI_API_PT(sym, since, ...)                          #sym,
#define SI_API_PT_AS(sym, name, since, ptsym, ptsince, ...) #name,
#include "api.def"
	};
	(void)k;
	for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
		size_t before = 0;
		while (before < i && strcmp(list[before], list[i]) != 0)
			before++;
		if (before < i)
			continue;
		row(list[i], CU_GET_PROC_ADDRESS_DEFAULT);
		row(list[i], CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	}
}

/* ---- sections ---- */

static void start(const struct probe_kernels *unused)
{
	struct probe_kernels k = {0};
	CUcontext context = NULL;
	CUdevice device = -1;
	(void)unused;
	probe_errors_early();
	TRACE(cuInit(0), "%s", "");
	TRACE(cuDeviceGet(&device, 0), "%d", device);
	TRACE(cuDevicePrimaryCtxRetain(&context, device), "%s", probe_handle(context));
	TRACE(cuCtxSetCurrent(context), "%s", "");
	TRACE(cuModuleLoadData(&k.module, probe_image), "%s", probe_handle(k.module));
	TRACE(cuModuleGetFunction(&k.empty, k.module, "empty"), "%s", probe_handle(k.empty));
	TRACE(cuModuleGetFunction(&k.one, k.module, "one"), "%s", probe_handle(k.one));
	TRACE(cuModuleGetFunction(&k.two, k.module, "two"), "%s", probe_handle(k.two));
	TRACE(cuModuleUnload(k.module), "%s", "");
	TRACE(cuDevicePrimaryCtxRelease(device), "%s", "");
}

/* A current context and the kernels, which all sections but the first begin with. */
static int prepare(struct probe_kernels *k)
{
	CUcontext context = NULL;
	return d.cuInit(0) == CUDA_SUCCESS &&
	       d.cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
	       d.cuCtxSetCurrent(context) == CUDA_SUCCESS &&
	       d.cuModuleLoadData(&k->module, probe_image) == CUDA_SUCCESS &&
	       d.cuModuleGetFunction(&k->empty, k->module, "empty") == CUDA_SUCCESS &&
	       d.cuModuleGetFunction(&k->one, k->module, "one") == CUDA_SUCCESS &&
	       d.cuModuleGetFunction(&k->two, k->module, "two") == CUDA_SUCCESS &&
	       d.cuModuleGetFunction(&k->spin, k->module, "spin") == CUDA_SUCCESS;
}

static const struct section {
	const char *name;
	void (*run)(const struct probe_kernels *k);
} sections[] = {{"start", start},
		{"addresses", addresses},
		{"rows", rows},
#define PROBE_SECTION(name) {#name, probe_##name},
#include "probe.def"
};

/* Leaves without exit handlers: only what the section asks belongs in the trace. */
static _Noreturn void section_run(const struct section *section)
{
	struct probe_kernels k = {0};
	alarm(60);
	load();
	if (section->run == start || prepare(&k))
		section->run(&k);
	else
		printf("no device, context or kernels\n");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	probe_image = argc > 1 ? image_read(argv[1]) : text_image;
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
		int status = 0;
		pid_t child;
		printf("section %s\n", sections[i].name);
		fflush(stdout);
		child = fork();
		if (child == 0)
			section_run(&sections[i]);
		if (child < 0 || waitpid(child, &status, 0) != child) {
			perror("probe: fork");
			return 2;
		}
		if (WIFSIGNALED(status))
			printf("section %s: killed by signal %d\n", sections[i].name,
			       WTERMSIG(status));
		else if (WEXITSTATUS(status) != 0)
			return WEXITSTATUS(status);
	}
	return 0;
}
