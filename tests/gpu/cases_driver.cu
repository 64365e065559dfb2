/*
 * Launches through the driver API: functions of modules, kernels of libraries, and every
 * way to ask for the launch functions themselves.
 */
#include "cases.h"

#include <cuda.h>
#include <dlfcn.h>
#include <string.h>

static void launch(struct tally *t, CUfunction f, unsigned grid, unsigned shared, CUstream stream)
{
	void *args[] = {&t->sum};

	CHECK_DRIVER(cuLaunchKernel(f, grid, 1, 1, 64, 1, 1, shared, stream, args, NULL));
	t->ran++;
}

/* Arguments as one packed buffer instead of an array of pointers. */
static void launch_packed(struct tally *t, CUfunction f)
{
	ull buffer[1] = {(ull)t->sum};
	size_t size = sizeof buffer;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
			 CU_LAUNCH_PARAM_END};

	CHECK_DRIVER(cuLaunchKernel(f, 2, 3, 4, 8, 4, 2, 0, NULL, NULL, extra));
	t->ran++;
}

static void launch_ex(struct tally *t, CUfunction f, unsigned grid, unsigned cluster)
{
	CUlaunchConfig config = {};
	CUlaunchAttribute attribute = {};
	void *args[] = {&t->sum};

	attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	attribute.value.clusterDim.x = cluster;
	attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
	config.gridDimX = grid;
	config.gridDimY = config.gridDimZ = 1;
	config.blockDimX = 32;
	config.blockDimY = config.blockDimZ = 1;
	config.attrs = &attribute;
	config.numAttrs = 1;
	CHECK_DRIVER(cuLaunchKernelEx(&config, f, args, NULL));
	t->ran++;
}

static void launch_cooperative(struct tally *t, CUfunction f)
{
	void *args[] = {&t->sum};

	CHECK_DRIVER(cuLaunchCooperativeKernel(f, 4, 1, 1, 64, 1, 1, 0, NULL, args));
	t->ran++;
}

void case_module(struct tally *t)
{
	char *image = read_beside_program("kernels.fatbin");
	CUstream stream;

	CHECK_DRIVER(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	/* Loaded again and again: handles are reused by the driver. */
	for (int round = 0; round < 4; round++) {
		CUmodule module;
		CUfunction plain, shared, cooperative;

		if (round == 0)
			CHECK_DRIVER(cuModuleLoadData(&module, image));
		else if (round == 1)
			CHECK_DRIVER(cuModuleLoad(&module, beside_program("kernels.fatbin")));
		else if (round == 2)
			CHECK_DRIVER(cuModuleLoadDataEx(&module, image, 0, NULL, NULL));
		else
			CHECK_DRIVER(cuModuleLoadFatBinary(&module, image));
		/* The other order in odd rounds: a reused handle means another kernel. */
		CHECK_DRIVER(cuModuleGetFunction(round % 2 ? &shared : &plain, module,
						 round % 2 ? "bump_shared" : "bump"));
		CHECK_DRIVER(cuModuleGetFunction(round % 2 ? &plain : &shared, module,
						 round % 2 ? "bump" : "bump_shared"));
		CHECK_DRIVER(cuModuleGetFunction(&cooperative, module, "bump_cooperative"));
		launch(t, plain, 3, 0, NULL);
		launch(t, plain, 3, 0, stream);
		launch(t, shared, 2, 512, stream);
		launch_packed(t, plain);
		launch_ex(t, plain, 8, 2);
		launch_cooperative(t, cooperative);
		CHECK_DRIVER(cuCtxSynchronize());
		CHECK_DRIVER(cuModuleUnload(module));
	}
	CHECK_DRIVER(cuStreamDestroy(stream));
	free(image);
}

/* Kernels that were never asked for by name. */
static void launch_enumerated(struct tally *t, CUlibrary library)
{
	CUkernel kernels[8];
	unsigned count = 0;

	CHECK_DRIVER(cuLibraryGetKernelCount(&count, library));
	if (count > 8)
		count = 8;
	CHECK_DRIVER(cuLibraryEnumerateKernels(kernels, count, library));
	for (unsigned i = 0; i < count; i++) {
		const char *name;

		CHECK_DRIVER(cuKernelGetName(&name, kernels[i]));
		if (!strcmp(name, "bump") || !strcmp(name, "bump_cluster"))
			launch(t, (CUfunction)kernels[i], 10, 0, NULL);
	}
}

void case_library(struct tally *t)
{
	char *image = read_beside_program("kernels.fatbin");
	void *args[] = {&t->sum};

	for (int round = 0; round < 4; round++) {
		CUlibrary library;
		CUkernel plain, shared, cluster;
		CUfunction function;
		cudaLibrary_t runtime_library;
		cudaKernel_t runtime_kernel;

		if (round % 2)
			CHECK_DRIVER(cuLibraryLoadFromFile(&library,
							   beside_program("kernels.fatbin"), NULL,
							   NULL, 0, NULL, NULL, 0));
		else
			CHECK_DRIVER(
				cuLibraryLoadData(&library, image, NULL, NULL, 0, NULL, NULL, 0));
		CHECK_DRIVER(cuLibraryGetKernel(&plain, library, "bump"));
		CHECK_DRIVER(cuLibraryGetKernel(&shared, library, "bump_shared"));
		CHECK_DRIVER(cuLibraryGetKernel(&cluster, library, "bump_cluster"));
		launch(t, (CUfunction)plain, 3, 0, NULL);
		launch(t, (CUfunction)shared, 2, 512, NULL);
		launch(t, (CUfunction)cluster, 4, 0, NULL);
		launch_ex(t, (CUfunction)plain, 8, 4);
		launch_enumerated(t, library);
		CHECK_DRIVER(cuKernelGetFunction(&function, plain));
		launch(t, function, 5, 0, NULL);
		CHECK_DRIVER(cuCtxSynchronize());
		CHECK_DRIVER(cuLibraryUnload(library));

		CHECK(cudaLibraryLoadData(&runtime_library, image, NULL, NULL, 0, NULL, NULL, 0));
		CHECK(cudaLibraryGetKernel(&runtime_kernel, runtime_library, "bump"));
		CHECK(cudaLaunchKernel((void *)runtime_kernel, dim3(6), dim3(32), args, 0, 0));
		t->ran++;
		CHECK(cudaDeviceSynchronize());
		CHECK(cudaLibraryUnload(runtime_library));
	}
	free(image);
}

typedef CUresult (*launch_function)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
				    unsigned, unsigned, CUstream, void **, void **);

/* One launch through a function that was asked for, with a grid of its own to tell it by. */
static void launch_by(struct tally *t, void *entry, CUfunction f, unsigned grid)
{
	void *args[] = {&t->sum};

	if (!entry) {
		fprintf(stderr, "entry %u was not found\n", grid);
		exit(1);
	}
	CHECK_DRIVER(((launch_function)entry)(f, grid, 1, 1, 32, 1, 1, 0, NULL, args, NULL));
	t->ran++;
}

/* The calls of CUDA 3, which drivers still export: shape, arguments and launch apart. */
static void launch_grid(struct tally *t, void *libcuda, CUfunction f)
{
	CUresult (*shape)(CUfunction, int, int, int);
	CUresult (*set_size)(CUfunction, unsigned);
	CUresult (*set_bytes)(CUfunction, int, void *, unsigned);
	CUresult (*grid)(CUfunction, int, int);

	*(void **)&shape = dlsym(libcuda, "cuFuncSetBlockShape");
	*(void **)&set_size = dlsym(libcuda, "cuParamSetSize");
	*(void **)&set_bytes = dlsym(libcuda, "cuParamSetv");
	*(void **)&grid = dlsym(libcuda, "cuLaunchGrid");
	if (!shape || !set_size || !set_bytes || !grid) {
		printf("cuLaunchGrid is not exported\n");
		return;
	}
	CHECK_DRIVER(shape(f, 16, 2, 1));
	CHECK_DRIVER(set_size(f, sizeof t->sum));
	CHECK_DRIVER(set_bytes(f, 0, &t->sum, sizeof t->sum));
	CUresult result = grid(f, 40, 2);
	printf("cuLaunchGrid: %d\n", (int)result);
	t->ran += result == CUDA_SUCCESS;
}

void case_entry(struct tally *t)
{
	static const unsigned long long runtime_flags[] = {
		cudaEnableDefault, cudaEnableLegacyStream, cudaEnablePerThreadDefaultStream};
	static const cuuint64_t driver_flags[] = {CU_GET_PROC_ADDRESS_DEFAULT,
						  CU_GET_PROC_ADDRESS_LEGACY_STREAM,
						  CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM};
	char *image = read_beside_program("kernels.fatbin");
	void *libcuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	cudaDriverEntryPointQueryResult found;
	CUdriverProcAddressQueryResult status;
	CUmodule module;
	CUfunction f;
	void *entry;

	if (!libcuda) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	CHECK_DRIVER(cuModuleLoadData(&module, image));
	CHECK_DRIVER(cuModuleGetFunction(&f, module, "bump"));
	for (unsigned i = 0; i < 3; i++) {
#pragma nv_diag_suppress 1444 /* deprecated, and what existing programs call */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
		CHECK(cudaGetDriverEntryPoint("cuLaunchKernel", &entry, runtime_flags[i], &found));
		launch_by(t, entry, f, 1 + i);
		CHECK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000,
						       runtime_flags[i], &found));
		launch_by(t, entry, f, 11 + i);
		CHECK_DRIVER(cuGetProcAddress("cuLaunchKernel", &entry, 12000, driver_flags[i],
					      &status));
		launch_by(t, entry, f, 21 + i);
	}
	launch_by(t, dlsym(libcuda, "cuLaunchKernel"), f, 31);
	launch_by(t, dlsym(libcuda, "cuLaunchKernel_ptsz"), f, 32);
	launch_by(t, dlsym(RTLD_DEFAULT, "cuLaunchKernel"), f, 33);
	launch_by(t, (void *)cuLaunchKernel, f, 34);
	/* cuGetProcAddress by itself, and by itself once more */
	CHECK_DRIVER(cuGetProcAddress("cuGetProcAddress", &entry, 12000, 0, &status));
	CHECK_DRIVER(((CUresult(*)(const char *, void **, int, cuuint64_t,
				   CUdriverProcAddressQueryResult *))entry)(
		"cuLaunchKernel", &entry, 12000, 0, &status));
	launch_by(t, entry, f, 35);
	launch_grid(t, libcuda, f);
	printf("unknown name: %d",
	       (int)cuGetProcAddress("cuNoSuchFunction", &entry, 12000, 0, &status));
	printf(" status %d\n", (int)status);
	CHECK_DRIVER(cuCtxSynchronize());
	CHECK_DRIVER(cuModuleUnload(module));
	free(image);
}
