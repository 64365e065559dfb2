/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `gpuwatch inspect` share. */
#ifndef GW_INSPECT_H
#define GW_INSPECT_H

#include "cli/json.h"
#include "predictor/code/image.h"
#include "predictor/code/kernel.h"

#include <stddef.h>

/** A job: which file, and what of it. */
struct inspect_job {
	const char *path;
	struct gw_bytes file;
	struct gw_images images;
	const char *kernel; /**< part of the name of the kernels to show; NULL: all */
	unsigned device;    /**< show only what a device of this compute capability takes; 0: all */
	bool ptx, json;
};

/** An image with its kernels, as far as they are wanted. Begun and ended by the functions below. */
struct inspect_view {
	const struct inspect_job *job;
	const struct gw_image *image;
	size_t number; /**< of the image in its file, from 1 */
	struct gw_arena arena;
	struct gw_bytes bytes; /**< unpacked */
	struct gw_cubin cubin; /**< where it is one */
	struct gw_code_kernel *kernel;
	size_t count;
};

/** Unpack an image and read its kernels; false with the fault, counted in the file's bytes. End
 * the view either way. */
bool inspect_view_begin(struct inspect_view *view, const struct inspect_job *job, size_t index,
                        struct gw_fault *fault);
void inspect_view_end(struct inspect_view *view);

/** Whether the job is about this image. */
bool inspect_wanted(const struct inspect_job *job, size_t index);

/** "sm_90a" of an image; "code 8" for kinds that have no name. Returns @p out, of 24 bytes. */
const char *inspect_code(const struct gw_image *image, char *out);

/** Print the table of images, of those that are wanted. */
void inspect_images_text(const struct inspect_job *job);
/** Print what is known of an image's kernels, and its PTX when asked for. */
void inspect_view_text(const struct inspect_view *view);

/** An image as JSON, with its kernels where @p view is not NULL. */
json_t *inspect_image_json(const struct inspect_job *job, size_t index,
                           const struct inspect_view *view, const char *error);

#endif
