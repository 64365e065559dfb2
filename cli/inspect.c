/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch inspect: what a file tells of the kernels in it, without a GPU. */
#include "cli/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/demangle.h"
#include "cli/memory.h"
#include "cli/say.h"

enum {
	LIST_MAX = 1 << 30,  /* bytes that the list of a file's images may take */
	IMAGE_MAX = 1 << 30, /* bytes of an image, unpacked, and of what is known of it */
};

struct values {
	const char *kernel;
	uint64_t device;
	bool ptx, json;
};

static const struct gw_option options[] = {
        {.name = "kernel",
         .type = GW_OPTION_TEXT,
         .argument = "NAME",
         .choices = "",
         .offset = offsetof(struct values, kernel),
         .meaning = "only kernels whose name, mangled or not, holds this text, and more of each"},
        {.name = "device",
         .type = GW_OPTION_COUNT,
         .argument = "CC",
         .choices = "",
         .low = 10,
         .high = 999,
         .offset = offsetof(struct values, device),
         .meaning = "only the images that the driver takes for a GPU of this compute capability: "
                    "90 for 9.0"},
        {.name = "ptx",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, ptx),
         .meaning = "also print the text of PTX images"},
        {.name = "json",
         .type = GW_OPTION_FLAG,
         .argument = "",
         .choices = "",
         .offset = offsetof(struct values, json),
         .meaning = "print JSON; numbers that are not known are null"},
        {0},
};

const char *inspect_code(const struct gw_image *image, char *out)
{
	if (image->kind == GW_IMAGE_OTHER)
		snprintf(out, 24, "code %u", image->entry_kind);
	else
		gw_code_arch_text(image->arch, image->kind == GW_IMAGE_PTX, out);
	return out;
}

bool inspect_wanted(const struct inspect_job *job, size_t index)
{
	size_t first = index;

	if (!job->device)
		return true;
	while (first &&
	       job->images.image[first - 1].container == job->images.image[index].container)
		first--;
	return gw_image_choose(&job->images.image[first], gw_images_together(&job->images, first),
	                       job->device) == &job->images.image[index];
}

static bool kernel_wanted(const struct inspect_job *job, const char *name)
{
	char *plain;
	bool wanted;

	if (!job->kernel || strstr(name, job->kernel))
		return true;
	plain = gw_demangle(name);
	wanted = strstr(plain, job->kernel) != NULL;
	free(plain);
	return wanted;
}

/* A fault inside an image that is not packed has a place in the file, too. */
static bool fault_in(const struct inspect_view *view, struct gw_fault *fault)
{
	fault->offset = view->image->offset +
	                (view->image->compression == GW_COMPRESSION_NONE ? fault->offset : 0);
	return false;
}

static bool read_kernels(struct inspect_view *view, struct gw_fault *fault)
{
	struct gw_cubin *cubin = &view->cubin;

	if (!gw_cubin_open(view->bytes, &view->arena, cubin, fault))
		return fault_in(view, fault);
	view->kernel = gw_alloc(cubin->count * sizeof(*view->kernel));
	for (uint32_t i = 0; i < cubin->count; i++) {
		if (!kernel_wanted(view->job, cubin->kernel[i].name))
			continue;
		if (!gw_cubin_kernel(cubin, i, &view->arena, &view->kernel[view->count++], fault))
			return fault_in(view, fault);
	}
	return true;
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
	return view->image->kind != GW_IMAGE_CUBIN || read_kernels(view, fault);
}

void inspect_view_end(struct inspect_view *view)
{
	gw_arena_free(&view->arena);
	free(view->kernel);
}

/* What was met while going through the images. */
struct outcome {
	size_t shown, kernels, broken;
	char first[512]; /* fault */
};

static void note_broken(struct outcome *o, const struct inspect_job *job, size_t index,
                        const struct gw_fault *fault)
{
	char code[24];

	if (!o->broken++)
		snprintf(o->first, sizeof(o->first), "image %zu (%s) at byte %" PRIu64 ": %s",
		         index + 1, inspect_code(&job->images.image[index], code), fault->offset,
		         fault->what);
}

static void show_image(const struct inspect_job *job, size_t index, struct outcome *o)
{
	struct gw_fault fault = {0};
	struct inspect_view view;
	bool good = inspect_view_begin(&view, job, index, &fault);

	if (!good)
		note_broken(o, job, index, &fault);
	o->kernels += view.count;
	if (job->json) {
		printf(o->shown++ ? ",\n" : "\n");
		json_t *value = inspect_image_json(job, index, good ? &view : NULL, fault.what);

		json_dumpf(value, stdout, JSON_INDENT(2));
		json_decref(value);
	} else if (good) {
		o->shown++;
		inspect_view_text(&view);
	}
	inspect_view_end(&view);
}

/* Image by image, so that the largest library needs no more memory than its largest image. */
static void show(const struct inspect_job *job, struct outcome *o)
{
	json_t *path = gw_json_text(job->path);

	if (job->json) {
		printf("{\n\"file\": ");
		json_dumpf(path, stdout, JSON_ENCODE_ANY);
		printf(",\n\"form\": \"%s\",\n\"images\": [", job->images.form);
	} else {
		inspect_images_text(job);
	}
	for (size_t i = 0; i < job->images.count; i++)
		if (inspect_wanted(job, i))
			show_image(job, i, o);
	if (job->json)
		printf("\n]\n}\n");
	json_decref(path);
}

/* One message for what the file lacks or where it is broken; @p fault: of its list of images. */
static int conclude(const struct inspect_job *job, const struct outcome *o,
                    const struct gw_fault *fault)
{
	const char *path = job->path;

	if (fault->what)
		return gw_error("%s: at byte %" PRIu64 ": %s; is the file whole? Give a fatbin, "
		                "cubin, PTX, object, executable, shared library or archive",
		                path, fault->offset, fault->what);
	if (o->broken)
		return gw_error("%s: %s; %zu of %zu images could not be read: is the file whole?",
		                path, o->first, o->broken, job->images.count);
	if (!job->images.count)
		return gw_error("%s: %s without device code; name the file that holds it, for "
		                "instance one of the libraries that ldd lists",
		                path, job->images.form);
	if (!o->shown)
		return gw_error("%s: no image runs on a GPU of compute capability %u; leave out "
		                "--device to see all",
		                path, job->device);
	if (job->kernel && !o->kernels)
		return gw_error("%s: no kernel's name holds \"%s\"; leave out --kernel to see all",
		                path, job->kernel);
	return GW_EXIT_OK;
}

static int inspect(struct inspect_job *job)
{
	struct gw_fault fault;
	struct gw_arena arena;
	struct outcome outcome = {0};
	int status;

	gw_arena_init(&arena, LIST_MAX);
	gw_images_open(job->file, &arena, &job->images, &fault);
	if (job->images.count)
		show(job, &outcome);
	fflush(stdout);
	status = conclude(job, &outcome, &fault);
	gw_arena_free(&arena);
	return status;
}

/* The file's bytes, mapped: of a large library only what is looked at is read. */
static bool map_file(struct inspect_job *job)
{
	int fd = open(job->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *at;

	if (fd < 0 || fstat(fd, &st)) {
		gw_error("%s: %s", job->path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	if (!S_ISREG(st.st_mode)) {
		close(fd);
		gw_error("%s: not a regular file; give the file that holds the code", job->path);
		return false;
	}
	if (st.st_size) {
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at != MAP_FAILED)
			job->file = (struct gw_bytes){at, (size_t)st.st_size};
		else
			gw_error("%s: can't be mapped: %s", job->path, strerror(errno));
	}
	close(fd);
	return job->file.data || !st.st_size;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct values v = {0};
	struct inspect_job job = {0};
	int status = gw_command_parse(command, &argc, argv, &v);

	if (status >= 0)
		return status;
	if (argc != 1)
		return gw_error("inspect takes one file, not %d; see gpuwatch inspect --help",
		                argc);
	job.path = argv[0];
	job.kernel = v.kernel;
	job.device = (unsigned)v.device;
	job.ptx = v.ptx;
	job.json = v.json;
	if (!map_file(&job))
		return GW_EXIT_USAGE;
	status = inspect(&job);
	if (job.file.size)
		munmap((void *)(uintptr_t)job.file.data, job.file.size);
	return status;
}

const struct gw_command_body gw_inspect_command = {
        .run = run,
        .options = options,
        .description =
                "Lists the device code in a file and what the kernels in it need: registers, "
                "shared memory,\n"
                "stack, constants, the layout of the parameters, launch bounds, the size of the "
                "code. The file\n"
                "may be a fatbin, a cubin, PTX, an object, an executable, a shared library or an "
                "archive of\n"
                "objects. No GPU is needed.\n"
                "\n"
                "What the code does not tell is shown as -, in JSON as null. Shared memory "
                "includes what the\n"
                "system reserves in it (1 KiB from compute capability 9.0 on).",
        .examples = "gpuwatch inspect --device=90 /usr/lib/libfoo.so\n"
                    "What a GPU of compute capability 9.0 would run from this library.\n"
                    "gpuwatch inspect --kernel=saxpy --json a.out\n"
                    "Everything known of the kernels with saxpy in their names.\n",
};
