/* Another tool in the program, which takes activity records as a profiler does that never
 * subscribes. */
#ifndef GW_TESTS_PRELOAD_TOOL_H
#define GW_TESTS_PRELOAD_TOOL_H

#include <cupti.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static void *tool_library(void)
{
	void *library = dlopen("libcupti.so.13", RTLD_NOW);

	if (!library)
		exit(9);
	return library;
}

static void CUPTIAPI tool_requested(uint8_t **buffer, size_t *size, size_t *max)
{
	static uint64_t memory[1 << 13];

	*buffer = (uint8_t *)memory;
	*size = sizeof(memory);
	*max = 0;
}

static void CUPTIAPI tool_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				    size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	(void)buffer;
	(void)size;
	(void)valid;
}

static void tool_takes(void)
{
	__typeof__(cuptiActivityRegisterCallbacks) *take;
	__typeof__(cuptiActivityEnable) *enable;

	*(void **)&take = dlsym(tool_library(), "cuptiActivityRegisterCallbacks");
	*(void **)&enable = dlsym(tool_library(), "cuptiActivityEnable");
	printf("take %d\n", (int)take(tool_requested, tool_completed));
	printf("enable %d\n", (int)enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void tool_goes(void)
{
	__typeof__(cuptiActivityDisable) *disable;

	*(void **)&disable = dlsym(tool_library(), "cuptiActivityDisable");
	printf("disable %d\n", (int)disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

#endif
