/* Launches: every way to start a kernel ends in launch(), every kernel that runs in
 * si_execute(). */
#include "si.h"
#include "capture.h"
#include <string.h>

static int64_t grid_ids;

int64_t si_grid_id_next(void)
{
	return ++grid_ids;
}

/* ---- one kernel runs ---- */

static uint64_t scatter(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t duration(struct si_kernel *kernel, const struct si_config *config, void **params)
{
	uint64_t ns = kernel->ns;
	uint64_t n = atomic_fetch_add_explicit(&kernel->launches, 1, memory_order_relaxed);
	if (kernel->ns_param >= 0 && params) {
		size_t size = kernel->param_size[kernel->ns_param];

		ns = 0; /* a shorter number fills its low bytes */
		memcpy(&ns, params[kernel->ns_param], size < sizeof ns ? size : sizeof ns);
	}
	if (kernel->block_ns > 0)
		ns += (uint64_t)(kernel->block_ns * config->grid.x * config->grid.y *
				 config->grid.z);
	if (si_options.jitter_percent > 0) {
		uint64_t span = ns * (uint64_t)si_options.jitter_percent / 100;
		ns = ns - span + scatter(n + si_options.seed) % (2 * span + 1);
	}
	return ns ? ns : 1;
}

uint64_t si_execute(struct si_kernel *kernel, const struct si_config *config, void **params,
		    struct si_execution *x, uint64_t start)
{
	struct si_cupti_hooks *hooks = atomic_load_explicit(&si_cupti, memory_order_acquire);
	si_late_objects();
	x->name = kernel->name;
	x->regs = kernel->regs;
	x->static_shared = kernel->static_shared;
	x->local = kernel->local;
	x->config = *config;
	x->start = start;
	x->end = start + duration(kernel, config, params);
	if (kernel->body)
		kernel->body(config, params);
	if (si_truth_on)
		si_truth_add(x);
	if (hooks) {
		void (*hook)(const struct si_execution *) = atomic_load(&hooks->kernel);
		if (hook)
			hook(x);
	}
	return x->end;
}

void **si_unpack(const struct si_kernel *kernel, void **params, void **extra,
		 void *slots[SI_MAX_PARAMS])
{
	unsigned char *buffer = NULL;
	size_t at = 0;
	if (params)
		return params;
	for (; extra && extra[0] != CU_LAUNCH_PARAM_END; extra += 2)
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
	if (!buffer)
		return NULL;
	for (int i = 0; i < kernel->params; i++) {
		size_t size = kernel->param_size[i], align = size > 8 ? 8 : size;
		at = (at + align - 1) / align * align;
		slots[i] = buffer + at;
		at += size;
	}
	return slots;
}

/* ---- a launch ---- */

static CUresult check(const struct si_kernel *kernel, const struct si_config *c)
{
	uint64_t threads = (uint64_t)c->block.x * c->block.y * c->block.z;
	if (!c->grid.x || !c->grid.y || !c->grid.z || !threads)
		return CUDA_ERROR_INVALID_VALUE;
	if (c->grid.y > 65535 || c->grid.z > 65535 || c->grid.x > 2147483647 || c->block.z > 64 ||
	    threads > 1024)
		return CUDA_ERROR_INVALID_VALUE;
	if (threads > (uint64_t)kernel->max_threads)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	if (c->shared > (unsigned)kernel->dynamic_limit)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* A launch on several devices at once runs in a stream of the context's own, as its records tell.
 */
static uint32_t multi_stream(CUcontext ctx)
{
	if (!ctx->multi)
		ctx->multi = si_stream_ids.cupti++;
	return ctx->multi;
}

static CUresult launch_in(CUfunction f, const struct si_config *config, CUstream handle, bool pt,
			  void **params, void **extra, bool multi)
{
	struct si_kernel *kernel = si_kernel_of(f);
	void *slots[SI_MAX_PARAMS];
	CUstream stream = NULL;
	CUcontext ctx;
	uint32_t correlation = si_tls.correlation ? si_tls.correlation : si_correlation_next();
	CUresult result = si_current(&ctx);
	si_tls.correlation = 0;
	if (result == CUDA_SUCCESS && !kernel)
		result = CUDA_ERROR_INVALID_HANDLE;
	if (result == CUDA_SUCCESS)
		result = check(kernel, config);
	params = result == CUDA_SUCCESS ? si_unpack(kernel, params, extra, slots) : NULL;
	if (result == CUDA_SUCCESS && kernel->params > 0 && !params)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result != CUDA_SUCCESS)
		return result;
	SI_LOCKED();
	result = si_stream(handle, pt, &stream);
	if (result == CUDA_SUCCESS && ctx->capturing)
		result = si_capture_implicit(stream);
	if (result == CUDA_SUCCESS && stream->capture) {
		result = si_capture_kernel(stream, f, config, params);
	} else if (result == CUDA_SUCCESS) {
		uint64_t now = si_now();
		struct si_execution x = {.context_id = stream->ctx->id,
					 .device_id = (uint32_t)stream->ctx->device,
					 .stream_id =
						 multi ? multi_stream(stream->ctx) : stream->id,
					 .correlation_id = correlation,
					 .grid_id = si_grid_id_next(),
					 .channel = stream->id & 7,
					 .launch_type = config->cooperative ? 1 : 0};
		si_host_drain(stream);
		si_stream_end(stream,
			      si_execute(kernel, config, params, &x,
					 si_stream_begin(stream, now + si_options.latency_ns)));
	}
	return result;
}

static CUresult launch(CUfunction f, const struct si_config *config, CUstream handle, bool pt,
		       void **params, void **extra)
{
	return launch_in(f, config, handle, pt, params, extra, false);
}

CUresult si_cuLaunchKernel(bool pt, CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
			   unsigned int gridDimZ, unsigned int blockDimX, unsigned int blockDimY,
			   unsigned int blockDimZ, unsigned int sharedMemBytes, CUstream hStream,
			   void **kernelParams, void **extra)
{
	struct si_config config = {.grid = {gridDimX, gridDimY, gridDimZ},
				   .block = {blockDimX, blockDimY, blockDimZ},
				   .shared = sharedMemBytes};
	if (kernelParams && extra)
		return CUDA_ERROR_INVALID_VALUE;
	return launch(f, &config, hStream, pt, kernelParams, extra);
}

CUresult si_cuLaunchCooperativeKernel(bool pt, CUfunction f, unsigned int gridDimX,
				      unsigned int gridDimY, unsigned int gridDimZ,
				      unsigned int blockDimX, unsigned int blockDimY,
				      unsigned int blockDimZ, unsigned int sharedMemBytes,
				      CUstream hStream, void **kernelParams)
{
	struct si_config config = {.grid = {gridDimX, gridDimY, gridDimZ},
				   .block = {blockDimX, blockDimY, blockDimZ},
				   .shared = sharedMemBytes,
				   .cooperative = true};
	return launch(f, &config, hStream, pt, kernelParams, NULL);
}

CUresult si_cuLaunchKernelEx(bool pt, const CUlaunchConfig *config, CUfunction f,
			     void **kernelParams, void **extra)
{
	struct si_config c;
	if (!config || (kernelParams && extra) || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	c = (struct si_config){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
			       .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
			       .shared = config->sharedMemBytes};
	for (unsigned i = 0; i < config->numAttrs; i++) {
		const CUlaunchAttribute *a = &config->attrs[i];
		if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			c.cluster = (struct si_dim){a->value.clusterDim.x, a->value.clusterDim.y,
						    a->value.clusterDim.z};
		else if (a->id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			c.cooperative = a->value.cooperative != 0;
	}
	if (c.cluster.x && (!c.cluster.y || !c.cluster.z || c.grid.x % c.cluster.x ||
			    c.grid.y % c.cluster.y || c.grid.z % c.cluster.z))
		return CUDA_ERROR_INVALID_VALUE;
	return launch(f, &c, config->hStream, pt, kernelParams, extra);
}

CUresult si_cuLaunchCooperativeKernelMultiDevice(CUDA_LAUNCH_PARAMS *launchParamsList,
						 unsigned int numDevices, unsigned int flags)
{
	CUresult result = CUDA_SUCCESS;
	if (!launchParamsList || !numDevices || flags > 3)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < numDevices && result == CUDA_SUCCESS; i++) {
		const CUDA_LAUNCH_PARAMS *p = &launchParamsList[i];
		struct si_config config = {.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
					   .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
					   .shared = p->sharedMemBytes,
					   .cooperative = true};
		if (!si_is(p->hStream, SI_STREAM)) /* default streams are not allowed here */
			return CUDA_ERROR_INVALID_VALUE;
		result = launch_in(p->function, &config, p->hStream, false, p->kernelParams, NULL,
				   true);
	}
	return result;
}

CUresult si_cuLaunchHostFunc(bool pt, CUstream hStream, CUhostFn fn, void *userData)
{
	CUstream stream = NULL;
	CUresult result;
	if (!fn)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS && stream->capture)
		result = si_capture_host(stream, fn, userData);
	else if (result == CUDA_SUCCESS)
		si_host_enqueue(stream, fn, NULL, userData, si_stream_begin(stream, si_now()));
	return result;
}

/* ---- the interface of CUDA 2 and 3: state set on the function, then launched ---- */

CUresult si_cuFuncSetBlockShape(CUfunction hfunc, int x, int y, int z)
{
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (x <= 0 || y <= 0 || z <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	hfunc->block = (struct si_dim){(unsigned)x, (unsigned)y, (unsigned)z};
	return CUDA_SUCCESS;
}

CUresult si_cuFuncSetSharedSize(CUfunction hfunc, unsigned int bytes)
{
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	hfunc->shared = bytes;
	return CUDA_SUCCESS;
}

CUresult si_cuParamSetSize(CUfunction hfunc, unsigned int numbytes)
{
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	return numbytes > sizeof hfunc->params ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult si_cuParamSetv(CUfunction hfunc, int offset, void *ptr, unsigned int numbytes)
{
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (offset < 0 || !ptr || (size_t)offset + numbytes > sizeof hfunc->params)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(hfunc->params + offset, ptr, numbytes);
	return CUDA_SUCCESS;
}

CUresult si_cuParamSeti(CUfunction hfunc, int offset, unsigned int value)
{
	return si_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult si_cuParamSetf(CUfunction hfunc, int offset, float value)
{
	return si_cuParamSetv(hfunc, offset, &value, sizeof value);
}

CUresult si_cuLaunchGridAsync(CUfunction f, int grid_width, int grid_height, CUstream hStream)
{
	struct si_config config;
	void *extra[3];
	if (!si_is(f, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	if (grid_width <= 0 || grid_height <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	config = (struct si_config){.grid = {(unsigned)grid_width, (unsigned)grid_height, 1},
				    .block = f->block,
				    .shared = f->shared};
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = f->params;
	extra[2] = CU_LAUNCH_PARAM_END;
	return launch(f, &config, hStream, false, NULL, extra);
}

CUresult si_cuLaunchGrid(CUfunction f, int grid_width, int grid_height)
{
	return si_cuLaunchGridAsync(f, grid_width, grid_height, NULL);
}

CUresult si_cuLaunch(CUfunction f)
{
	return si_cuLaunchGridAsync(f, 1, 1, NULL);
}
