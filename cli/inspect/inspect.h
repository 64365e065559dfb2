/* What the parts of `gpuwatch inspect` share. */
#ifndef GW_INSPECT_H
#define GW_INSPECT_H

#include "cli/common/json.h"
#include "predictor/code/binary/image.h"
#include "predictor/code/binary/kernel.h"
#include "predictor/code/ptx/ptx.h"
#include "predictor/core/device.h"

#include <stddef.h>

struct inspect_launch;

/** A job: which file, and what of it. */
struct inspect_job {
	const char *path;
	struct gw_bytes file;
	struct gw_images images;
	const char *kernel; /**< part of the name of the kernels to show, or all of it
			       after "="; NULL: all kernels */
	unsigned arch;      /**< show only what a GPU of this compute capability takes; 0: all */
	const struct inspect_launch *launch; /**< to evaluate kernels at; NULL: none */
	const struct gw_device *device;      /**< whose latencies the schedule takes; NULL: none */
	const char *plot;                    /**< folder for pictures of accesses; NULL: none */
	bool sass, ptx, coalescing, json;
};

/** An image with its selected kernels. Begun and ended by the functions below. */
struct inspect_view {
	const struct inspect_job *job;
	const struct gw_image *image;
	size_t number; /**< of the image in its file, from 1 */
	struct gw_arena arena;
	struct gw_bytes bytes; /**< unpacked */
	struct gw_cubin cubin; /**< where it is one */
	struct gw_code_kernel *kernel;
	char **plain; /**< their demangled names */
	struct gw_ptx_fault
		unread; /**< why the kernels of a PTX text are not known; what NULL: they are */
	size_t count;
	int launched; /**< kernels that the job's launch was evaluated for; -1: failed, after a
		       * message
		       */
};

/** Unpack an image and read its kernels; false with the fault, counted in the file's bytes. End
 * the view either way. */
bool inspect_view_begin(struct inspect_view *view, const struct inspect_job *job, size_t index,
			struct gw_fault *fault);
void inspect_view_end(struct inspect_view *view);

/** Whether the job is about this image. */
bool inspect_wanted(const struct inspect_job *job, size_t index);

/** "sm_90a" of an image, "lto_90" of code for the linker; "code 16" for kinds that have no name.
 * Returns @p out, of 24 bytes. */
const char *inspect_code(const struct gw_image *image, char *out);

/** Print the table of the selected images. */
void inspect_images_text(const struct inspect_job *job);
/** Print what is known of an image's kernels, and of what else the job asks for. Sets
 *  view->launched. */
void inspect_view_text(struct inspect_view *view);

/** Whether the job is about a kernel of this name, mangled and not. */
bool inspect_kernel_wanted(const struct inspect_job *job, const char *name, const char *plain);

/** Print the machine code of a kernel: mix, basic blocks (their cycles where @p device is not
 * NULL), listing. */
void inspect_sass_text(const struct gw_code_kernel *kernel, const struct gw_device *device);
json_t *inspect_sass_json(const struct gw_code_kernel *kernel, const struct gw_device *device);

/** An image as JSON, with its kernels where @p view is not NULL; sets view->launched. */
json_t *inspect_image_json(const struct inspect_job *job, size_t index, struct inspect_view *view,
			   const char *error);

#endif
