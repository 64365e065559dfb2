/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a file that `gpuwatch inspect --sass` shows: refused, or printed and read as text.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/inspect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* "" is in every name: all that there is to show is shown. */
	struct inspect_job job = {.path = "fuzz",
	                          .file = {size ? data : NULL, size},
	                          .kernel = "",
	                          .sass = true,
	                          .ptx = true};
	static FILE *nowhere;
	struct gw_fault fault;
	struct gw_arena arena;

	if (!nowhere)
		nowhere = freopen("/dev/null", "w", stdout);
	gw_arena_init(&arena, 4 << 20);
	gw_images_open(job.file, &arena, &job.images, &fault);
	if (job.images.count)
		inspect_images_text(&job);
	for (size_t i = 0; i < job.images.count; i++) {
		struct inspect_view view;

		if (inspect_view_begin(&view, &job, i, &fault))
			inspect_view_text(&view);
		inspect_view_end(&view);
	}
	gw_arena_free(&arena);
	return 0;
}
