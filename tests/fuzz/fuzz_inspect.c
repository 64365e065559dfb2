/*
 * Any bytes as a file that `gpuwatch inspect --sass` shows: refused, or printed and read as text,
 * or as JSON. The file's length says which kernels, for which GPU and in which form.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/inspect/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Everything of every kernel in most of the cases: "" is in every name. */
static struct inspect_job job_of(const uint8_t *data, size_t size)
{
	static const char *const kernels[] = {"", NULL, "=k", "k"};
	static struct gw_device device;
	struct inspect_job job = {.path = "fuzz",
				  .file = {size ? data : NULL, size},
				  .kernel = "",
				  .sass = true,
				  .ptx = true};

	if (size % 8 == 7) { /* latencies that are known, and some that are not */
		gw_device_clear(&device, "fuzz");
		for (unsigned p = 0; p < GW_PARAMS; p += size >> 3 & 1 ? 2 : 1)
			gw_device_set(&device, (enum gw_param)p, 30, GW_METHOD_PAPER);
		job.device = &device;
	} else if (size % 8 == 6) {
		job.kernel = kernels[size >> 3 & 3];
		job.sass = size >> 5 & 1;
		job.arch = size >> 6 & 1 ? 90 : 0;
	}
	job.json = size >> 7 & 1;
	return job;
}

static void show(struct inspect_job *job, size_t index)
{
	struct gw_fault fault = {0};
	struct inspect_view view;
	bool good;

	if (!inspect_wanted(job, index))
		return;
	good = inspect_view_begin(&view, job, index, &fault);
	if (job->json) {
		json_t *value = inspect_image_json(job, index, good ? &view : NULL, fault.what);

		if (json_dumpf(value, stdout, 0)) /* a part that is no JSON has no other sign */
			abort();
		json_decref(value);
	} else if (good) {
		inspect_view_text(&view);
	}
	inspect_view_end(&view);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inspect_job job = job_of(data, size);
	static FILE *nowhere;
	struct gw_fault fault;
	struct gw_arena arena;

	if (!nowhere)
		nowhere = freopen("/dev/null", "w", stdout);
	gw_arena_init(&arena, 4 << 20);
	gw_images_open(job.file, &arena, &job.images, &fault);
	if (job.images.count && !job.json)
		inspect_images_text(&job);
	for (size_t i = 0; i < job.images.count; i++)
		show(&job, i);
	gw_arena_free(&arena);
	return 0;
}
