/* An image with its selected kernels, with readable names. */
#include "cli/inspect/inspect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/demangle.h"
#include "cli/common/memory.h"

enum { IMAGE_MAX = 1 << 30 }; /* bytes of an image, unpacked, and of what is known of it */

const char *inspect_code(const struct gw_image *image, char *out)
{
	enum { LINK_TIME = 8 }; /* the compiler's own form, which nvJitLink and nvlink finish */
	char arch[24];

	if (image->kind == GW_IMAGE_OTHER && image->entry_kind == LINK_TIME) {
		gw_code_arch_text(image->arch, false, arch);
		snprintf(out, 24, "lto_%.18s", arch[0] == 's' ? arch + 3 : "?");
	} else if (image->kind == GW_IMAGE_OTHER)
		snprintf(out, 24, "code %u", image->entry_kind);
	else
		gw_code_arch_text(image->arch, image->kind == GW_IMAGE_PTX, out);
	return out;
}

bool inspect_wanted(const struct inspect_job *job, size_t index)
{
	size_t first = index;

	if (!job->arch)
		return true;
	while (first &&
	       job->images.image[first - 1].container == job->images.image[index].container)
		first--;
	return gw_image_choose(&job->images.image[first], gw_images_together(&job->images, first),
			       job->arch) == &job->images.image[index];
}

/* A fault inside an image that is not packed has a place in the file, too. */
static bool fault_in(const struct inspect_view *view, struct gw_fault *fault)
{
	fault->offset = view->image->offset +
			(view->image->compression == GW_COMPRESSION_NONE ? fault->offset : 0);
	return false;
}

bool inspect_kernel_wanted(const struct inspect_job *job, const char *name, const char *plain)
{
	if (job->kernel && *job->kernel == '=')
		return !strcmp(name, job->kernel + 1) || !strcmp(plain, job->kernel + 1);
	return !job->kernel || strstr(name, job->kernel) || strstr(plain, job->kernel);
}

/* All names of a cubin at a time: some need a process of their own to be demangled. */
static char **plain_names(const struct gw_cubin *cubin)
{
	const char **names = gw_alloc(cubin->count * sizeof(*names));
	char **plain = gw_alloc(cubin->count * sizeof(*plain));

	for (uint32_t i = 0; i < cubin->count; i++)
		names[i] = cubin->kernel[i].name;
	gw_demangle_many(names, plain, cubin->count);
	free(names);
	return plain;
}

static bool read_kernels(struct inspect_view *view, struct gw_fault *fault)
{
	struct gw_cubin *cubin = &view->cubin;
	bool good = true;
	char **plain;

	if (!gw_cubin_open(view->bytes, &view->arena, cubin, fault))
		return fault_in(view, fault);
	plain = plain_names(cubin);
	view->plain = gw_alloc(cubin->count * sizeof(*view->plain));
	view->kernel = gw_alloc(cubin->count * sizeof(*view->kernel));
	for (uint32_t i = 0; i < cubin->count; i++) {
		if (good && inspect_kernel_wanted(view->job, cubin->kernel[i].name, plain[i])) {
			view->plain[view->count] = gw_copy(plain[i]);
			good = gw_cubin_kernel(cubin, i, &view->arena, &view->kernel[view->count++],
					       fault);
		}
		free(plain[i]);
	}
	free(plain);
	return good || fault_in(view, fault);
}

static void extent(uint32_t to[3], struct gw_dim3 from)
{
	const uint32_t given[3] = {from.x, from.y ? from.y : 1, from.z ? from.z : 1};

	for (unsigned i = 0; i < 3; i++)
		to[i] = from.x ? given[i] : GW_CODE_UNKNOWN;
}

/* What PTX declares; what the compiler is still to decide is unknown. */
static bool declared(struct inspect_view *view, const struct gw_ptx_kernel *k,
		     struct gw_code_kernel *out)
{
	*out = (struct gw_code_kernel){
		.name = k->name,
		.arch = view->image->arch,
		.registers = GW_CODE_UNKNOWN,
		.static_shared = GW_CODE_UNKNOWN,
		.reserved_shared = GW_CODE_UNKNOWN,
		.frame = GW_CODE_UNKNOWN,
		.min_stack = GW_CODE_UNKNOWN,
		.crs_stack = GW_CODE_UNKNOWN,
		.barriers = GW_CODE_UNKNOWN,
		.param_base = GW_CODE_UNKNOWN,
		.param_size = k->param_bytes,
		.param_count = k->param_count,
		.max_registers = k->max_registers ? k->max_registers : GW_CODE_UNKNOWN,
	};
	extent(out->max_threads, k->max_threads);
	extent(out->required_threads, k->threads);
	extent(out->cluster, k->cluster);
	out->param = gw_arena_array(&view->arena, k->param_count, sizeof(*out->param));
	for (uint32_t i = 0; out->param && i < k->param_count; i++)
		out->param[i] = (struct gw_code_param){k->params[i].offset, k->params[i].size};
	return out->param || !k->param_count;
}

/* A text that can't be read is an image all the same: what is wrong with it is said below it. */
static bool read_declared(struct inspect_view *view, struct gw_fault *fault)
{
	const char **names;
	struct gw_ptx ptx;
	bool good = true;
	char **plain;

	if (!gw_ptx_list(view->bytes, &view->arena, &ptx, &view->unread))
		return true;
	names = gw_alloc(ptx.kernel_count * sizeof(*names));
	plain = gw_alloc(ptx.kernel_count * sizeof(*plain));
	view->plain = gw_alloc(ptx.kernel_count * sizeof(*view->plain));
	view->kernel = gw_alloc(ptx.kernel_count * sizeof(*view->kernel));
	for (uint32_t i = 0; i < ptx.kernel_count; i++)
		names[i] = ptx.kernels[i].name;
	gw_demangle_many(names, plain, ptx.kernel_count);
	for (uint32_t i = 0; i < ptx.kernel_count; i++) {
		if (good && inspect_kernel_wanted(view->job, names[i], plain[i])) {
			view->plain[view->count] = gw_copy(plain[i]);
			good = declared(view, &ptx.kernels[i], &view->kernel[view->count++]);
		}
		free(plain[i]);
	}
	free(plain);
	free(names);
	if (!good)
		*fault = (struct gw_fault){.what = "there is no memory for its kernels",
					   .offset = view->image->offset};
	return good;
}

bool inspect_view_begin(struct inspect_view *view, const struct inspect_job *job, size_t index,
			struct gw_fault *fault)
{
	*view = (struct inspect_view){
		.job = job, .image = &job->images.image[index], .number = index + 1};
	gw_arena_init(&view->arena, IMAGE_MAX);
	if (view->image->kind == GW_IMAGE_OTHER)
		return true;
	if (!gw_image_bytes(view->image, &view->arena, &view->bytes, fault))
		return false;
	return view->image->kind == GW_IMAGE_CUBIN ? read_kernels(view, fault)
						   : read_declared(view, fault);
}

void inspect_view_end(struct inspect_view *view)
{
	gw_arena_free(&view->arena);
	for (size_t i = 0; i < view->count; i++)
		free(view->plain[i]);
	free(view->plain);
	free(view->kernel);
}
