/* The bench: modules, memory, bounded launches. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "calib/bench_state.h"
#include "calib/calibrate.h"
#include "kernels/kernels.h"

/* Our kernels take seconds at most; a GPU that needs longer than this hangs. */
static const double wait_limit = 20;

double gw_bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void report(struct gw_bench *b, const char *text)
{
	const struct gw_bench_state *s = b->state;
	const struct gw_calibration_listener *l = s->listener;

	/* Nothing will be written: the final message is the only one. */
	if (*s->failure || (s->stop && *s->stop))
		return;
	if (l && l->note)
		l->note(l->arg, b->state->group, text);
}

void gw_bench_note(struct gw_bench *b, const char *format, ...)
{
	char text[400];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	report(b, text);
}

/* Note what is unavailable, and keep it as the reason for missing values. */
__attribute__((format(printf, 2, 3))) static void lack(struct gw_bench *b, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(b->state->reason, sizeof(b->state->reason), format, arguments);
	va_end(arguments);
	report(b, b->state->reason);
}

const char *gw_bench_reason(const struct gw_bench *b, const char *otherwise)
{
	if (b->state->stopped)
		return b->state->stopped;
	return *b->state->reason ? b->state->reason : otherwise;
}

bool gw_bench_good(struct gw_bench *b, CUresult result, const char *call)
{
	struct gw_bench_state *s = b->state;

	if (result == CUDA_SUCCESS)
		return true;
	if (s->lost || *s->failure)
		return false; /* after a fault every call fails: the first one has the cause */
	if (result == CUDA_ERROR_OUT_OF_MEMORY || result == CUDA_ERROR_INVALID_VALUE ||
	    result == CUDA_ERROR_NOT_SUPPORTED) {
		lack(b, "%s failed with %s", call, gw_cuda_error(b->cu, result));
		return false;
	}
	snprintf(s->failure, sizeof(s->failure), "%s failed with %s in group %s", call,
		 gw_cuda_error(b->cu, result), s->group);
	s->stopped = "the driver reported an error";
	return false;
}

bool gw_bench_stopped(struct gw_bench *b)
{
	struct gw_bench_state *s = b->state;
	double now = gw_bench_now();

	if (s->stopped)
		return true;
	if (s->stop && *s->stop)
		s->stopped = "stopped by the user";
	else if (now > s->limit || now > s->full_limit) {
		s->stopped = "its time was up";
		gw_bench_note(b, "stopped after %.1f s, its time limit", now - s->started);
	}
	return s->stopped != NULL;
}

bool gw_bench_wait(struct gw_bench *b)
{
	static const struct timespec nap = {.tv_nsec = 20000};
	struct gw_bench_state *s = b->state;
	double start = gw_bench_now();
	CUresult result;

	if (s->lost)
		return false;

	while ((result = b->cu->cuStreamQuery(b->stream)) == CUDA_ERROR_NOT_READY) {
		double waited = gw_bench_now() - start;

		if (waited > wait_limit) {
			s->lost = true;
			s->stopped = "the GPU does not answer";
			snprintf(s->failure, sizeof(s->failure),
				 "a kernel of group %s did not end within %.0f s: the GPU hangs; "
				 "look at dmesg for what the driver says",
				 s->group, wait_limit);
			return false;
		}
		if (waited > 1e-3)
			nanosleep(&nap, NULL);
	}
	return gw_bench_good(b, result, "a kernel");
}

CUfunction gw_bench_kernel(struct gw_bench *b, const char *name)
{
	CUfunction f = NULL;

	for (size_t i = 0; i < b->state->module_count; i++)
		if (b->cu->cuModuleGetFunction(&f, b->state->modules[i], name) == CUDA_SUCCESS)
			return f;
	lack(b, "no kernel %s for this GPU", name);
	return NULL;
}

size_t gw_bench_memory_free(struct gw_bench *b)
{
	const size_t margin = (size_t)256 << 20;
	size_t left = 0, total = 0;

	if (!gw_bench_good(b, b->cu->cuMemGetInfo_v2(&left, &total), "cuMemGetInfo"))
		return 0;
	return left > margin ? left - margin : 0;
}

CUdeviceptr gw_bench_memory(struct gw_bench *b, size_t bytes)
{
	struct gw_bench_state *s = b->state;
	CUdeviceptr memory = 0;

	if (s->stopped || !bytes)
		return 0;
	if (s->buffer_count == GW_BENCH_BUFFERS) {
		lack(b, "holds %d pieces of memory already", GW_BENCH_BUFFERS);
		return 0;
	}
	if (b->cu->cuMemAlloc_v2(&memory, bytes) != CUDA_SUCCESS) {
		lack(b, "%.1f MiB of device memory could not be allocated",
		     (double)bytes / (1 << 20));
		return 0;
	}
	s->buffers[s->buffer_count++] = memory;
	if (!gw_bench_good(b, b->cu->cuMemsetD8Async(memory, 0, bytes, b->stream), "cuMemset"))
		return 0;
	return memory;
}

bool gw_bench_read(struct gw_bench *b, void *host, CUdeviceptr from, size_t bytes)
{
	return gw_bench_wait(b) &&
	       gw_bench_good(b, b->cu->cuMemcpyDtoH_v2(host, from, bytes), "cuMemcpyDtoH");
}

bool gw_bench_write(struct gw_bench *b, CUdeviceptr to, const void *host, size_t bytes)
{
	/* In the bench's stream: cuMemcpyHtoD may return before the bytes have arrived, and this
	 * stream waits for no other. */
	return gw_bench_good(b, b->cu->cuMemcpyHtoDAsync_v2(to, host, bytes, b->stream),
			     "cuMemcpyHtoDAsync") &&
	       gw_bench_wait(b);
}

/* Shared memory above the default limit must be opted in. */
static bool opt_in(struct gw_bench *b, CUfunction f, unsigned shared)
{
	if (shared <= 48 << 10)
		return true;
	return gw_bench_good(
		b,
		b->cu->cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					  (int)shared),
		"cuFuncSetAttribute");
}

bool gw_bench_launch(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args)
{
	return f && !b->state->stopped && opt_in(b, f, s.shared) &&
	       gw_bench_good(b,
			     b->cu->cuLaunchKernel(f, s.grid, 1, 1, s.block, 1, 1, s.shared,
						   b->stream, args, NULL),
			     "cuLaunchKernel");
}

bool gw_bench_run(struct gw_bench *b, CUfunction f, struct gw_shape s, void **args)
{
	return gw_bench_launch(b, f, s, args) && gw_bench_wait(b);
}

bool gw_bench_randomise(struct gw_bench *b, CUdeviceptr to, size_t bytes)
{
	uint64_t words = bytes / 4;
	void *args[] = {&to, &words, &b->state->seed};

	b->state->seed++;
	return gw_bench_run(b, b->state->randomise, (struct gw_shape){4096, 256, 0}, args);
}

void gw_bench_begin(struct gw_bench *b, const char *group, double seconds)
{
	struct gw_bench_state *s = b->state;

	s->group = group;
	s->started = gw_bench_now();
	s->limit = s->started + seconds;
	s->published = s->refused = 0;
	if (!s->lost && !*s->failure)
		s->stopped = NULL;
	s->reason[0] = '\0';
	s->clock_count = 0;
	s->throttle = 0;
	s->looked = 0;
}

void gw_bench_end(struct gw_bench *b)
{
	struct gw_bench_state *s = b->state;

	gw_bench_wait(b);
	for (size_t i = 0; i < s->buffer_count && !s->lost; i++)
		b->cu->cuMemFree_v2(s->buffers[i]);
	s->buffer_count = 0;
}

/*
 * The modules that run on this GPU: the driver takes machine code or translates PTX. A module for
 * another architecture only is skipped.
 */
static bool load_modules(struct gw_bench *b, char *error, size_t size)
{
	struct gw_bench_state *s = b->state;
	CUresult why = CUDA_SUCCESS;

	for (const struct gw_kernel_image *i = gw_kernel_images; i->name; i++) {
		CUmodule module;
		CUresult result = b->cu->cuModuleLoadData(&module, i->data);

		if (result == CUDA_SUCCESS && s->module_count < GW_BENCH_MODULES)
			s->modules[s->module_count++] = module;
		else
			why = result;
	}
	if (!s->module_count)
		snprintf(error, size,
			 "no kernel of this gpuwatch runs on this GPU (%s): it needs compute "
			 "capability 7.5 or later and a driver for CUDA %d.%d",
			 gw_cuda_error(b->cu, why), CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
	return s->module_count > 0;
}

static bool make_latch(struct gw_bench *b)
{
	const unsigned flags = CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE;
	struct gw_bench_state *s = b->state;
	const struct gw_cuda *cu = b->cu;
	void *gate = NULL;

	s->latch = gw_bench_kernel(b, "gw_latch");
	s->busy = gw_bench_kernel(b, "gw_busy");
	s->randomise = gw_bench_kernel(b, "gw_randomise");
	if (!s->latch || !s->busy || !s->randomise ||
	    !gw_bench_good(b, cu->cuMemHostAlloc(&gate, 4096, flags), "cuMemHostAlloc"))
		return false;
	s->gate = gate;
	return gw_bench_good(b, cu->cuMemHostGetDevicePointer_v2(&s->gate_device, gate, 0),
			     "cuMemHostGetDevicePointer") &&
	       gw_bench_good(b, cu->cuMemAlloc_v2(&s->cycles, 64), "cuMemAlloc") &&
	       gw_bench_good(b, cu->cuEventCreate(&s->before, CU_EVENT_DEFAULT), "cuEventCreate") &&
	       gw_bench_good(b, cu->cuEventCreate(&s->after, CU_EVENT_DEFAULT), "cuEventCreate");
}

bool gw_bench_open(struct gw_bench *b, char *error, size_t size)
{
	CUresult result = b->cu->cuCtxCreate_v2(&b->context, CU_CTX_MAP_HOST, b->device);

	if (result == CUDA_SUCCESS)
		result = b->cu->cuStreamCreate(&b->stream, CU_STREAM_NON_BLOCKING);
	if (result != CUDA_SUCCESS) {
		snprintf(error, size,
			 "the GPU can't be used: %s; look at nvidia-smi for who holds it, its "
			 "compute mode and its memory",
			 gw_cuda_error(b->cu, result));
		return false;
	}
	if (!load_modules(b, error, size))
		return false;
	b->state->group = "bench";
	b->state->limit = b->state->full_limit = INFINITY;
	if (make_latch(b))
		return true;
	snprintf(error, size, "the GPU can't be measured: %s",
		 *b->state->failure ? b->state->failure : "too little memory is free on it");
	return false;
}

void gw_bench_close(struct gw_bench *b)
{
	struct gw_bench_state *s = b->state;

	/*
	 * Do not free on a hung GPU, which would hang us: the end of the process frees everything.
	 */
	if (s->lost || !b->context)
		return;
	if (s->gate)
		b->cu->cuMemFreeHost(s->gate);
	b->cu->cuCtxDestroy_v2(b->context);
	b->context = NULL;
}
