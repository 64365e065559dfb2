/* SPDX-License-Identifier: Apache-2.0 */
/* Green contexts: here each is a context of its own that has the whole device. */
#include "si.h"

#define MULTIPROCESSORS 16 /* as device.c tells */

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
	CUresult result;
	if (!phCtx || !desc || flags != CU_GREEN_CTX_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	result = si_cuCtxCreate_v2(&ctx, 0, dev);
	if (result != CUDA_SUCCESS)
		return result;
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
	CUresult result = si_ready();
	if (result != CUDA_SUCCESS)
		return result;
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
	CUresult result = si_ready();
	if (result != CUDA_SUCCESS)
		return result;
	if (!si_is(greenCtx, SI_GREEN) || flags != CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	result = si_cuCtxPushCurrent_v2(greenCtx->ctx);
	if (result != CUDA_SUCCESS)
		return result;
	result = si_cuStreamCreateWithPriority(phStream, flags, priority);
	si_cuCtxPopCurrent_v2(NULL);
	return result;
}
