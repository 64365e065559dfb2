#include "preload/cupti/cupti_host.h"

#include "preload/maps/memory.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Zeroed data of libnvperf_host, in whole pages. */
struct zeroed {
	uintptr_t page; /* bytes */
	char *begin, *end;
};

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct zeroed *z = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "/libnvperf_host.so"))
		return 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uintptr_t at = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD || p->p_memsz <= p->p_filesz)
			continue;
		z->begin = (char *)((at + p->p_filesz + z->page - 1) & -z->page);
		z->end = (char *)((at + p->p_memsz) & -z->page);
	}
	return 1;
}

/* Its constructors write 101 MiB of tables, of which 67 are pages of zeroes (CUDA 13.0): given
 * back, they read as before. Nobody else may be writing. */
static void give_back(struct zeroed z)
{
	char *from = z.begin;

	madvise(z.begin, (size_t)(z.end - z.begin), MADV_NOHUGEPAGE); /* it would fill them again */
	for (char *p = z.begin; p <= z.end; p += z.page) {
		if (p < z.end && !*p && !memcmp(p, p + 1, z.page - 1))
			continue;
		if (p > from)
			madvise(from, (size_t)(p - from), MADV_DONTNEED);
		from = p + z.page;
	}
}

const char *gw_cupti_chip(size_t device, CUptiResult *why)
{
	CUpti_Profiler_Initialize_Params init = {
		.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
	CUpti_Device_GetChipName_Params name = {
		.structSize = CUpti_Device_GetChipName_Params_STRUCT_SIZE, .deviceIndex = device};
	struct zeroed z = {.page = (uintptr_t)sysconf(_SC_PAGESIZE)};
	const bool ours = !dl_iterate_phdr(find, &z); /* it is us who have it loaded */

	*why = gw_cupti.cuptiProfilerInitialize(&init);
	if (ours && dl_iterate_phdr(find, &z))
		give_back(z);
	if (*why == CUPTI_SUCCESS)
		*why = gw_cupti.cuptiDeviceGetChipName(&name);
	return *why == CUPTI_SUCCESS ? name.pChipName : NULL;
}

static CUptiResult add_metrics(struct gw_cupti_set *set)
{
	CUpti_Profiler_Host_ConfigAddMetrics_Params p = {
		.structSize = CUpti_Profiler_Host_ConfigAddMetrics_Params_STRUCT_SIZE,
		.pHostObject = set->host,
		.ppMetricNames = (const char **)(uintptr_t)set->names, /* only read */
		.numMetrics = set->count,
	};

	return gw_cupti.cuptiProfilerHostConfigAddMetrics(&p);
}

static CUptiResult take_image(struct gw_cupti_set *set)
{
	CUpti_Profiler_Host_GetConfigImageSize_Params size = {
		.structSize = CUpti_Profiler_Host_GetConfigImageSize_Params_STRUCT_SIZE,
		.pHostObject = set->host,
	};
	CUpti_Profiler_Host_GetConfigImage_Params image = {
		.structSize = CUpti_Profiler_Host_GetConfigImage_Params_STRUCT_SIZE,
		.pHostObject = set->host,
	};
	CUptiResult r = gw_cupti.cuptiProfilerHostGetConfigImageSize(&size);

	if (r != CUPTI_SUCCESS)
		return r;
	set->image = gw_memory_new(GW_MEMORY_counting, size.configImageSize, 1);
	if (!set->image)
		return CUPTI_ERROR_OUT_OF_MEMORY;
	set->size = size.configImageSize;
	image.configImageSize = set->size;
	image.pConfigImage = set->image;
	return gw_cupti.cuptiProfilerHostGetConfigImage(&image);
}

static CUptiResult count_passes(struct gw_cupti_set *set)
{
	CUpti_Profiler_Host_GetNumOfPasses_Params p = {
		.structSize = CUpti_Profiler_Host_GetNumOfPasses_Params_STRUCT_SIZE,
		.configImageSize = set->size,
		.pConfigImage = set->image,
	};
	CUptiResult r = gw_cupti.cuptiProfilerHostGetNumOfPasses(&p);

	set->passes = p.numOfPasses;
	return r;
}

CUptiResult gw_cupti_set_make(struct gw_cupti_set *set, const char *chip,
			      const uint8_t *availability, const char *const *names, size_t count)
{
	CUpti_Profiler_Host_Initialize_Params p = {
		.structSize = CUpti_Profiler_Host_Initialize_Params_STRUCT_SIZE,
		.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING,
		.pChipName = chip,
		.pCounterAvailabilityImage = availability,
	};
	CUptiResult r;

	*set = (struct gw_cupti_set){.names = names, .count = count};
	r = gw_cupti.cuptiProfilerHostInitialize(&p);
	if (r != CUPTI_SUCCESS)
		return r;
	set->host = p.pHostObject;
	r = add_metrics(set);
	if (r == CUPTI_SUCCESS)
		r = take_image(set);
	if (r == CUPTI_SUCCESS)
		r = count_passes(set);
	if (r != CUPTI_SUCCESS)
		gw_cupti_set_free(set);
	return r;
}

CUptiResult gw_cupti_set_values(const struct gw_cupti_set *set, const uint8_t *data, size_t size,
				size_t index, double *values)
{
	CUpti_Profiler_Host_EvaluateToGpuValues_Params p = {
		.structSize = CUpti_Profiler_Host_EvaluateToGpuValues_Params_STRUCT_SIZE,
		.pHostObject = set->host,
		.pCounterDataImage = data,
		.counterDataImageSize = size,
		.rangeIndex = index,
		.ppMetricNames = (const char **)(uintptr_t)set->names,
		.numMetrics = set->count,
		.pMetricValues = values,
	};

	return gw_cupti.cuptiProfilerHostEvaluateToGpuValues(&p);
}

void gw_cupti_set_free(struct gw_cupti_set *set)
{
	CUpti_Profiler_Host_Deinitialize_Params p = {
		.structSize = CUpti_Profiler_Host_Deinitialize_Params_STRUCT_SIZE,
		.pHostObject = set->host,
	};

	if (set->host)
		gw_cupti.cuptiProfilerHostDeinitialize(&p);
	gw_memory_free(GW_MEMORY_counting, set->image, set->size, 1);
	*set = (struct gw_cupti_set){0};
}
