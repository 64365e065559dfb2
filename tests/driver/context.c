/* Contexts: the per-thread stack, primary contexts, limits, and waiting for all of one. */
#include "si.h"
#include "capture.h"
#include <string.h>

#define MAX_DEVICES 8

static CUcontext contexts; /* live ones, through ->next */
static struct {
	CUcontext ctx;
	int references;
	unsigned flags;
} primary[MAX_DEVICES];
static uint32_t context_ids;

CUcontext si_context_list(void)
{
	return contexts;
}

CUcontext si_current_or_null(void)
{
	CUcontext ctx = si_tls.depth > 0 ? si_tls.stack[si_tls.depth - 1] : NULL;
	return si_is(ctx, SI_CTX) ? ctx : NULL;
}

CUresult si_current(CUcontext *out)
{
	CUresult ready = si_ready();
	CUcontext ctx;
	if (ready != CUDA_SUCCESS)
		return ready;
	ctx = si_tls.depth > 0 ? si_tls.stack[si_tls.depth - 1] : NULL;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!si_is(ctx, SI_CTX))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*out = ctx;
	return CUDA_SUCCESS;
}

/* Lock held. */
static CUcontext context_new(CUdevice dev, unsigned flags, bool is_primary)
{
	CUcontext ctx = si_object_new(SI_CTX, sizeof *ctx);
	if (!ctx)
		return NULL;
	ctx->id = ++context_ids;
	ctx->device = dev;
	ctx->flags = flags;
	ctx->primary = is_primary;
	ctx->api_version = 3020;
	ctx->limits[CU_LIMIT_STACK_SIZE] = 1024;
	ctx->limits[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
	ctx->limits[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
	/* The driver's own streams, before the legacy one (so 7 in the first context) and after. */
	si_stream_ids_skip(1);
	ctx->legacy = si_stream_new(ctx, CU_STREAM_DEFAULT, 0);
	if (!ctx->legacy) {
		si_object_free(ctx);
		return NULL;
	}
	ctx->legacy->legacy = true;
	si_stream_ids_skip(5);
	si_cupti_context();
	ctx->next = contexts;
	contexts = ctx;
	return ctx;
}

/* Lock held. */
static void context_destroy(CUcontext ctx)
{
	CUcontext *link = &contexts;
	while (*link && *link != ctx)
		link = &(*link)->next;
	if (*link)
		*link = ctx->next;
	si_context_drop(ctx);
	si_object_free(ctx);
}

static void push(CUcontext ctx)
{
	if (si_tls.depth < 15)
		si_tls.stack[si_tls.depth++] = ctx;
}

static CUresult create(CUcontext *pctx, unsigned flags, CUdevice dev)
{
	CUresult ready = si_ready();
	CUcontext ctx;
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	SI_LOCK();
	ctx = context_new(dev, flags, false);
	SI_UNLOCK();
	if (!ctx)
		return CUDA_ERROR_OUT_OF_MEMORY;
	push(ctx);
	*pctx = ctx;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxCreate(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev);
}

CUresult si_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
	return create(pctx, flags, dev);
}

CUresult si_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray, int numParams,
			   unsigned int flags, CUdevice dev)
{
	if (numParams < 0 || (numParams > 0 && !paramsArray))
		return CUDA_ERROR_INVALID_VALUE;
	return numParams > 0 ? CUDA_ERROR_NOT_SUPPORTED : create(pctx, flags, dev);
}

CUresult si_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams, unsigned int flags,
			   CUdevice dev)
{
	if (ctxCreateParams && ctxCreateParams->numExecAffinityParams > 0)
		return CUDA_ERROR_NOT_SUPPORTED;
	return create(pctx, flags, dev);
}

CUresult si_cuCtxDestroy_v2(CUcontext ctx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!ctx)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(ctx, SI_CTX))
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	si_context_wait(ctx);
	if (si_tls.depth > 0 && si_tls.stack[si_tls.depth - 1] == ctx)
		si_tls.depth--;
	si_modules_drop(ctx);
	SI_LOCKED();
	context_destroy(ctx);
	return CUDA_SUCCESS;
}

CUresult si_cuCtxDestroy(CUcontext ctx)
{
	return si_cuCtxDestroy_v2(ctx);
}

CUresult si_cuCtxPushCurrent_v2(CUcontext ctx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!si_is(ctx, SI_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (si_tls.depth >= 15)
		return CUDA_ERROR_OUT_OF_MEMORY;
	push(ctx);
	return CUDA_SUCCESS;
}

CUresult si_cuCtxPushCurrent(CUcontext ctx)
{
	return si_cuCtxPushCurrent_v2(ctx);
}

CUresult si_cuCtxPopCurrent_v2(CUcontext *pctx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (si_tls.depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	si_tls.depth--;
	if (pctx)
		*pctx = si_tls.stack[si_tls.depth];
	return CUDA_SUCCESS;
}

CUresult si_cuCtxPopCurrent(CUcontext *pctx)
{
	return si_cuCtxPopCurrent_v2(pctx);
}

CUresult si_cuCtxSetCurrent(CUcontext ctx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (ctx && !si_is(ctx, SI_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (si_tls.depth > 0)
		si_tls.depth--;
	if (ctx)
		push(ctx);
	return CUDA_SUCCESS;
}

CUresult si_cuCtxGetCurrent(CUcontext *pctx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	*pctx = si_tls.depth > 0 ? si_tls.stack[si_tls.depth - 1] : NULL;
	return CUDA_SUCCESS;
}

/* `ctx`, or the current context where it is NULL. */
static CUresult context_of(CUcontext ctx, CUcontext *out)
{
	if (!ctx)
		return si_current(out);
	if (si_ready() != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_INITIALIZED;
	*out = ctx;
	return si_is(ctx, SI_CTX) ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

CUresult si_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
	CUcontext found;
	SI_TRY(context_of(ctx, &found));
	if (!ctxId)
		return CUDA_ERROR_INVALID_VALUE;
	*ctxId = found->id;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
	CUcontext found;
	SI_TRY(context_of(ctx, &found));
	if (!device)
		return CUDA_ERROR_INVALID_VALUE;
	*device = found->device;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxGetDevice(CUdevice *device)
{
	return si_cuCtxGetDevice_v2(device, NULL);
}

CUresult si_cuCtxGetFlags(unsigned int *flags)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!flags)
		return CUDA_ERROR_INVALID_VALUE;
	*flags = ctx->flags;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
	CUcontext found;
	SI_TRY(context_of(ctx, &found));
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = found->api_version;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxSynchronize_v2(CUcontext ctx)
{
	CUcontext found;
	CUresult result = CUDA_SUCCESS;
	SI_TRY(context_of(ctx, &found));
	SI_LOCK();
	for (CUstream s = found->streams; s; s = s->next)
		if (s->capture)
			result = si_capture_refuse(s);
	SI_UNLOCK();
	return result == CUDA_SUCCESS ? si_context_wait(found) : result;
}

CUresult si_cuCtxSynchronize(void)
{
	return si_cuCtxSynchronize_v2(NULL);
}

CUresult si_cuCtxSetLimit(CUlimit limit, size_t value)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if ((unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	ctx->limits[limit] = value;
	return CUDA_SUCCESS;
}

CUresult si_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	if (!pvalue)
		return CUDA_ERROR_INVALID_VALUE;
	if ((unsigned)limit >= CU_LIMIT_MAX)
		return CUDA_ERROR_UNSUPPORTED_LIMIT;
	*pvalue = ctx->limits[limit];
	return CUDA_SUCCESS;
}

/* Settings that change nothing in a simulation: checked for a context, then accepted. */
static CUresult accept(bool ok)
{
	CUcontext ctx;
	CUresult result = si_current(&ctx);
	if (result == CUDA_SUCCESS && !ok)
		result = CUDA_ERROR_INVALID_VALUE;
	return result;
}

CUresult si_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
	if (pconfig)
		*pconfig = CU_FUNC_CACHE_PREFER_NONE;
	return accept(pconfig != NULL);
}

CUresult si_cuCtxSetCacheConfig(CUfunc_cache config)
{
	return accept((unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL);
}

CUresult si_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
	if (pConfig)
		*pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
	return accept(pConfig != NULL);
}

CUresult si_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
	return accept((unsigned)config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
}

CUresult si_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
	if (leastPriority)
		*leastPriority = 0;
	if (greatestPriority)
		*greatestPriority = -5;
	return accept(true);
}

CUresult si_cuCtxResetPersistingL2Cache(void)
{
	return accept(true);
}

CUresult si_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
	return accept(si_is(peerContext, SI_CTX) && Flags == 0);
}

CUresult si_cuCtxDisablePeerAccess(CUcontext peerContext)
{
	return accept(si_is(peerContext, SI_CTX));
}

/* ---- primary contexts ---- */

static CUresult primary_check(CUdevice dev)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	return si_device_ok(dev) && dev < MAX_DEVICES ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult si_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
	SI_TRY(primary_check(dev));
	if (!pctx)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	if (!primary[dev].ctx)
		primary[dev].ctx = context_new(dev, primary[dev].flags, true);
	*pctx = primary[dev].ctx;
	if (*pctx)
		primary[dev].references++;
	return *pctx ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void primary_destroy(CUdevice dev)
{
	CUcontext ctx;
	SI_LOCK();
	ctx = primary[dev].ctx;
	primary[dev].ctx = NULL;
	primary[dev].references = 0;
	SI_UNLOCK();
	if (!ctx)
		return;
	si_context_wait(ctx);
	si_modules_drop(ctx);
	SI_LOCK();
	context_destroy(ctx);
	SI_UNLOCK();
}

CUresult si_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
	CUresult result = primary_check(dev);
	int left;
	if (result != CUDA_SUCCESS)
		return result;
	SI_LOCK();
	left = primary[dev].ctx ? --primary[dev].references : -1;
	SI_UNLOCK();
	if (left < 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (left == 0)
		primary_destroy(dev);
	return CUDA_SUCCESS;
}

CUresult si_cuDevicePrimaryCtxRelease(CUdevice dev)
{
	return si_cuDevicePrimaryCtxRelease_v2(dev);
}

CUresult si_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
	CUresult result = primary_check(dev);
	if (result == CUDA_SUCCESS)
		primary_destroy(dev);
	return result;
}

CUresult si_cuDevicePrimaryCtxReset(CUdevice dev)
{
	return si_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult si_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
	SI_TRY(primary_check(dev));
	SI_LOCKED();
	primary[dev].flags = flags;
	if (primary[dev].ctx)
		primary[dev].ctx->flags = flags;
	return CUDA_SUCCESS;
}

CUresult si_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned int flags)
{
	return si_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult si_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
	SI_TRY(primary_check(dev));
	if (!flags || !active)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	*flags = primary[dev].flags;
	*active = primary[dev].ctx != NULL;
	return CUDA_SUCCESS;
}

/* Green contexts: here each is a context of its own that has the whole device. */

#define MULTIPROCESSORS 16 /* as device.c reports */

struct CUgreenCtx_st {
	struct si_head head;
	CUcontext ctx;
};
struct CUdevResourceDesc_st {
	char unused;
};

CUresult si_cuDeviceGetDevResource(CUdevice device, CUdevResource *resource, CUdevResourceType type)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!si_device_ok(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	if (!resource)
		return CUDA_ERROR_INVALID_VALUE;
	*resource = (CUdevResource){.type = type, .sm.smCount = MULTIPROCESSORS};
	return CUDA_SUCCESS;
}

/* There is one choice of resources, so there is one description. */
CUresult si_cuDevResourceGenerateDesc(CUdevResourceDesc *phDesc, CUdevResource *resources,
				      unsigned int nbResources)
{
	static struct CUdevResourceDesc_st whole_device;
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!phDesc || !resources || nbResources != 1)
		return CUDA_ERROR_INVALID_VALUE;
	*phDesc = &whole_device;
	return CUDA_SUCCESS;
}

CUresult si_cuGreenCtxCreate(CUgreenCtx *phCtx, CUdevResourceDesc desc, CUdevice dev,
			     unsigned int flags)
{
	CUgreenCtx green;
	CUcontext ctx;
	if (!phCtx || !desc || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	SI_TRY(si_cuCtxCreate_v2(&ctx, 0, dev));
	si_cuCtxPopCurrent_v2(NULL);
	green = si_object_new(SI_GREEN, sizeof *green);
	if (!green) {
		si_cuCtxDestroy_v2(ctx);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	green->ctx = ctx;
	*phCtx = green;
	return CUDA_SUCCESS;
}

CUresult si_cuGreenCtxDestroy(CUgreenCtx hCtx)
{
	CUresult result;
	SI_TRY(si_ready());
	if (!si_is(hCtx, SI_GREEN))
		return CUDA_ERROR_INVALID_VALUE;
	result = si_cuCtxDestroy_v2(hCtx->ctx);
	si_object_free(hCtx);
	return result;
}

CUresult si_cuCtxFromGreenCtx(CUcontext *pContext, CUgreenCtx hCtx)
{
	CUresult ready = si_ready();
	if (ready != CUDA_SUCCESS)
		return ready;
	if (!pContext || !si_is(hCtx, SI_GREEN))
		return CUDA_ERROR_INVALID_VALUE;
	*pContext = hCtx->ctx;
	return CUDA_SUCCESS;
}

CUresult si_cuGreenCtxStreamCreate(CUstream *phStream, CUgreenCtx greenCtx, unsigned int flags,
				   int priority)
{
	CUresult result;
	SI_TRY(si_ready());
	if (!si_is(greenCtx, SI_GREEN) || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	SI_TRY(si_cuCtxPushCurrent_v2(greenCtx->ctx));
	result = si_cuStreamCreateWithPriority(phStream, flags, priority);
	si_cuCtxPopCurrent_v2(NULL);
	return result;
}
