/* gpuwatch inspect: the kernels in a file and their resources, without a GPU. */
#include "cli/inspect/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/common/device_set.h"
#include "cli/inspect/launch.h"
#include "cli/message.h"

enum {
	LIST_MAX = 1 << 30, /* bytes that the list of a file's images may take */
	LARGE = 256 << 10,  /* bytes from which memory goes back to the system when it is freed */
};

struct options {
	const char *kernel, *device, *launch, *plot;
	uint64_t arch;
	bool sass, ptx, coalescing, json;
};

static const struct gw_option options[] = {
	GW_OPT_TEXT(kernel, "NAME",
		    "only kernels whose name, mangled or not, contains this text (=NAME: is this), "
		    "and more of each, without the list of images"),
	GW_OPT_COUNT(arch, "CC", 10, 999,
		     "only the images that the driver takes for a GPU of this compute capability: "
		     "90 for 9.0"),
	GW_OPT_FLAG(sass, "also print machine code: its mix by loops, basic blocks, and of each "
			  "instruction class, stall and scoreboards"),
	GW_OPT_TEXT(device, "NAME|FILE",
		    "with --sass: also the cycles that a lone warp needs for each block on this "
		    "GPU, by where its global loads find their data; with --launch: the work by "
		    "static analysis and every model's estimate from it"),
	GW_OPT_TEXT(launch, "LAUNCH",
		    "evaluate this launch: \"grid=4,2 block=128 args=100,2.5,pointer,?\"; also "
		    "cluster= and shared="),
	GW_OPT_FLAG(coalescing,
		    "with --launch: also each access's coalescing and the blocks' locality"),
	GW_OPT_OUT(plot, "DIR", "with --coalescing: also write its graphs into this folder (SVG)"),
	GW_OPT_FLAG(ptx, "also print the text of PTX images"),
	GW_OPT_FLAG(json, "print JSON; numbers that are not known are null"),
	{0},
};

/* What going through the images found. */
struct outcome {
	size_t shown, kernels, broken, launched;
	bool failed;     /* after a message */
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
	o->failed |= view.launched < 0;
	o->launched += view.launched > 0 ? (size_t)view.launched : 0;
	inspect_view_end(&view);
}

/* The file's pages that have been looked at need not stay in memory. */
static void forget_pages(const struct inspect_job *job)
{
	if (job->file.size)
		madvise((void *)(uintptr_t)job->file.data, job->file.size, MADV_DONTNEED);
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
	for (size_t i = 0; i < job->images.count && !o->failed; i++)
		if (inspect_wanted(job, i)) {
			show_image(job, i, o);
			forget_pages(job);
		}
	if (job->json)
		printf("\n]\n}\n");
	json_decref(path);
}

/* One message for what the file lacks or where it is broken; @p fault: of its list of images. */
static int conclude(const struct inspect_job *job, const struct outcome *o,
		    const struct gw_fault *fault)
{
	const char *path = job->path;

	if (o->failed)
		return GW_EXIT_USAGE;
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
				"--arch to see all",
				path, job->arch);
	if (job->launch && !o->launched)
		return gw_error("%s: no such kernel to evaluate; --kernel and --arch may leave "
				"out too much, or no kernel takes such arguments",
				path);
	if (job->kernel && !o->kernels && !o->launched)
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
	forget_pages(job);
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
		gw_error("%s: %s%s", job->path, strerror(errno), gw_open_remedy(errno));
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
	struct options v = {0};
	struct inspect_launch launch = {0};
	struct device_set devices = {0};
	struct inspect_job job;
	int status = gw_command_parse(command, &argc, argv, &v);

	if (status >= 0)
		return status;
	if (argc != 1)
		return gw_error("inspect: %s; see gpuwatch inspect --help",
				argc ? "more than one file argument" : "missing file argument");
	if (v.coalescing && !v.launch)
		return gw_error("inspect: --coalescing is about a launch: give --launch, too");
	if (v.plot && !v.coalescing)
		return gw_error("inspect: --plot draws accesses: give --coalescing, too");
	if (v.device && !v.sass && !v.launch)
		return gw_error(
			"inspect: --device is about machine code or a launch: give --sass or "
			"--launch, too");
	if ((v.launch && !inspect_launch_read(&launch, v.launch)) ||
	    (v.device && !device_set_open(&devices, &v.device, 1)))
		status = GW_EXIT_USAGE;
	job = (struct inspect_job){
		.path = argv[0],
		.kernel = v.kernel,
		.arch = (unsigned)v.arch,
		.launch = v.launch ? &launch : NULL,
		.device = devices.count ? &devices.profiles[0]->device : NULL,
		.plot = v.plot,
		.sass = v.sass,
		.ptx = v.ptx,
		.coalescing = v.coalescing,
		.json = v.json,
	};
	mallopt(M_MMAP_THRESHOLD, LARGE);
	if (status < 0)
		status = map_file(&job) ? inspect(&job) : GW_EXIT_USAGE;
	if (job.file.size)
		munmap((void *)(uintptr_t)job.file.data, job.file.size);
	inspect_launch_free(&launch);
	device_set_free(&devices);
	return status;
}

const struct gw_command_body gw_inspect_command = {
	.run = run,
	.options = options,
	.description = "Lists the device code in a file and the resources of its kernels: "
		       "registers, shared memory,\n"
		       "stack, constants, the layout of the parameters, launch bounds, code size. "
		       "The file may be a\n"
		       "fatbin, a cubin, PTX, an object, an executable, a shared library or an "
		       "archive of objects.\n"
		       "No GPU is needed.\n"
		       "\n"
		       "An unknown value is printed as -, in JSON as null. Shared memory is the "
		       "kernel's own,\n"
		       "without what the system reserves.\n"
		       "\n"
		       "With --launch it evaluates the PTX and machine code of the kernels for a "
		       "launch: how often\n"
		       "a warp executes its memory operations and barriers over the whole grid, "
		       "how often loops run\n"
		       "and where warps diverge, as far as arguments and indices decide it; an "
		       "inexact value has its\n"
		       "reason. An argument is a whole number, a number with a point, pointer for "
		       "an address of its\n"
		       "own, bytes:HEX, or ? when it is unknown.",
	.examples = "gpuwatch inspect --arch=90 /usr/lib/libfoo.so\n"
		    "What a GPU of compute capability 9.0 would run from this library.\n"
		    "gpuwatch inspect --kernel=saxpy --json a.out\n"
		    "Everything known of the kernels with saxpy in their names.\n"
		    "gpuwatch inspect --kernel=saxpy --launch=\"grid=80 block=128 "
		    "args=10000,2.5,pointer,pointer\" --coalescing a.ptx\n"
		    "What that launch would do, and how its accesses coalesce.\n",
};
