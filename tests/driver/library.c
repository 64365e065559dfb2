/* Libraries, kernels, functions, and what can be asked of them. */
#include "si.h"
#include <stdlib.h>
#include <string.h>

struct si_kernel *si_kernel_of(CUfunction f)
{
	if (si_is(f, SI_FUNC))
		return f->kernel;
	if (si_is(f, SI_KERN))
		return ((CUkernel)f)->kernel;
	return NULL;
}

/* ---- libraries ---- */

CUresult si_cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
			      void **jitOptionsValues, unsigned int numJitOptions,
			      CUlibraryOption *libraryOptions, void **libraryOptionValues,
			      unsigned int numLibraryOptions)
{
	struct si_image image;
	CUlibrary lib;
	SI_TRY(si_ready());
	if (!library || !code || (numJitOptions && (!jitOptions || !jitOptionsValues)) ||
	    (numLibraryOptions && (!libraryOptions || !libraryOptionValues)))
		return CUDA_ERROR_INVALID_VALUE;
	SI_TRY(si_image_parse(code, &image));
	lib = si_object_new(SI_LIBRARY, sizeof *lib);
	if (!lib)
		return CUDA_ERROR_OUT_OF_MEMORY;
	lib->image = image;
	lib->kernels = calloc((size_t)image.count + 1, sizeof *lib->kernels);
	for (int i = 0; lib->kernels && i < image.count; i++) {
		CUkernel k = lib->kernels[i] = si_object_new(SI_KERN, sizeof *k);
		if (!k)
			break;
		k->kernel = image.kernels[i];
		k->library = lib;
		k->index = i;
	}
	*library = lib;
	return CUDA_SUCCESS;
}

CUresult si_cuLibraryLoadFromFile(CUlibrary *library, const char *fileName,
				  CUjit_option *jitOptions, void **jitOptionsValues,
				  unsigned int numJitOptions, CUlibraryOption *libraryOptions,
				  void **libraryOptionValues, unsigned int numLibraryOptions)
{
	char *text = NULL;
	CUresult result;
	SI_TRY(si_ready());
	if (!fileName)
		return CUDA_ERROR_INVALID_VALUE;
	result = si_image_read(fileName, &text);
	if (result == CUDA_SUCCESS)
		result = si_cuLibraryLoadData(library, text, jitOptions, jitOptionsValues,
					      numJitOptions, libraryOptions, libraryOptionValues,
					      numLibraryOptions);
	free(text);
	return result;
}

CUresult si_cuLibraryUnload(CUlibrary library)
{
	SI_TRY(si_ready());
	if (!si_is(library, SI_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	if (library->module)
		si_module_free(library->module);
	for (int i = library->image.count - 1; library->kernels && i >= 0; i--)
		if (library->kernels[i])
			si_object_free(library->kernels[i]);
	free(library->kernels);
	si_image_free(&library->image);
	si_object_free(library);
	return CUDA_SUCCESS;
}

CUresult si_cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library, const char *name)
{
	SI_TRY(si_ready());
	if (!pKernel || !name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(library, SI_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	for (int i = 0; i < library->image.count; i++)
		if (strcmp(library->image.kernels[i]->name, name) == 0) {
			*pKernel = library->kernels[i];
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_NOT_FOUND;
}

CUresult si_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
	CUcontext ctx;
	CUmodule made;
	SI_TRY(si_current(&ctx));
	if (!pMod)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(library, SI_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_LOCK();
	if (!library->module)
		library->module = si_module_new(ctx, &library->image, library);
	made = library->module;
	SI_UNLOCK();
	*pMod = made;
	return made ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult si_cuLibraryGetKernelCount(unsigned int *count, CUlibrary lib)
{
	if (!count)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(lib, SI_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	*count = (unsigned)lib->image.count;
	return CUDA_SUCCESS;
}

CUresult si_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int numKernels, CUlibrary lib)
{
	if (!kernels || !numKernels)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(lib, SI_LIBRARY))
		return CUDA_ERROR_INVALID_HANDLE;
	for (unsigned i = 0; i < numKernels && (int)i < lib->image.count; i++)
		kernels[i] = lib->kernels[i];
	return CUDA_SUCCESS;
}

/* ---- kernels ---- */

CUresult si_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
	CUmodule module;
	if (!pFunc)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(kernel, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	SI_TRY(si_cuLibraryGetModule(&module, kernel->library));
	*pFunc = module->functions[kernel->index];
	return CUDA_SUCCESS;
}

CUresult si_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
	if (!pLib)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(kernel, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	*pLib = kernel->library;
	return CUDA_SUCCESS;
}

CUresult si_cuKernelGetName(const char **name, CUkernel hfunc)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hfunc, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = hfunc->kernel->name;
	return CUDA_SUCCESS;
}

static CUresult attribute_get(const struct si_kernel *k, CUfunction_attribute attrib, int *out)
{
	switch ((int)attrib) {
	case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
		*out = k->max_threads;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
		*out = k->static_shared;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
		*out = k->constant;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
		*out = k->local;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_NUM_REGS:
		*out = k->regs;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PTX_VERSION:
	case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
		*out = 90;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		*out = k->dynamic_limit;
		return CUDA_SUCCESS;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		*out = -1;
		return CUDA_SUCCESS;
	default:
		*out = 0;
		return (unsigned)attrib < CU_FUNC_ATTRIBUTE_MAX ? CUDA_SUCCESS
								: CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult attribute_set(struct si_kernel *k, CUfunction_attribute attrib, int value)
{
	if ((unsigned)attrib >= CU_FUNC_ATTRIBUTE_MAX ||
	    (unsigned)attrib < CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return CUDA_ERROR_INVALID_VALUE;
	if (attrib != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
		return CUDA_SUCCESS;
	if (value < 0 || value > 232448 - k->static_shared)
		return CUDA_ERROR_INVALID_VALUE;
	k->dynamic_limit = value;
	return CUDA_SUCCESS;
}

CUresult si_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
				 CUdevice dev)
{
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(kernel, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!si_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return attribute_get(kernel->kernel, attrib, pi);
}

CUresult si_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
				 CUdevice dev)
{
	if (!si_is(kernel, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!si_device_ok(dev))
		return CUDA_ERROR_INVALID_DEVICE;
	return attribute_set(kernel->kernel, attrib, val);
}

CUresult si_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	if (!si_is(kernel, SI_KERN))
		return CUDA_ERROR_INVALID_HANDLE;
	return si_device_ok(dev) && (unsigned)config <= CU_FUNC_CACHE_PREFER_EQUAL
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

static CUresult param_info(const struct si_kernel *kernel, size_t index, size_t *offset,
			   size_t *size)
{
	size_t at = 0;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!offset || index >= (size_t)kernel->params)
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0;; i++) {
		size_t bytes = kernel->param_size[i], align = bytes > 8 ? 8 : bytes;
		at = (at + align - 1) / align * align;
		if (i == index)
			break;
		at += bytes;
	}
	*offset = at;
	if (size)
		*size = kernel->param_size[index];
	return CUDA_SUCCESS;
}

CUresult si_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
				 size_t *paramSize)
{
	return param_info(si_is(kernel, SI_KERN) ? kernel->kernel : NULL, paramIndex, paramOffset,
			  paramSize);
}

/* ---- functions ---- */

CUresult si_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
			       size_t *paramSize)
{
	return param_info(si_is(func, SI_FUNC) ? func->kernel : NULL, paramIndex, paramOffset,
			  paramSize);
}

CUresult si_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
	if (!pi)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	return attribute_get(hfunc->kernel, attrib, pi);
}

CUresult si_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	return attribute_set(hfunc->kernel, attrib, value);
}

CUresult si_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
	(void)config;
	return si_is(hfunc, SI_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult si_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
	(void)config;
	return si_is(hfunc, SI_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult si_cuFuncGetName(const char **name, CUfunction hfunc)
{
	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*name = hfunc->kernel->name;
	return CUDA_SUCCESS;
}

CUresult si_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
	if (!hmod)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(hfunc, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*hmod = hfunc->module;
	return CUDA_SUCCESS;
}

CUresult si_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function)
{
	if (!state)
		return CUDA_ERROR_INVALID_VALUE;
	if (!si_is(function, SI_FUNC))
		return CUDA_ERROR_INVALID_HANDLE;
	*state = CU_FUNCTION_LOADING_STATE_LOADED;
	return CUDA_SUCCESS;
}

CUresult si_cuFuncLoad(CUfunction function)
{
	return si_is(function, SI_FUNC) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- occupancy: by threads, registers and shared memory of one multiprocessor ---- */

static int blocks_per_sm(const struct si_kernel *k, int block, size_t shared)
{
	size_t used = shared + (size_t)k->static_shared + 1024;
	int by_threads = 2048 / block;
	int by_regs = k->regs > 0 ? 65536 / (k->regs * ((block + 31) / 32 * 32)) : 32;
	int by_shared = (int)(233472 / used);
	int blocks = by_threads < by_regs ? by_threads : by_regs;
	blocks = blocks < by_shared ? blocks : by_shared;
	return blocks < 32 ? blocks : 32;
}

CUresult si_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *numBlocks, CUfunction func,
								 int blockSize,
								 size_t dynamicSMemSize,
								 unsigned int flags)
{
	struct si_kernel *kernel = si_kernel_of(func);
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!numBlocks || blockSize <= 0 || flags > 1)
		return CUDA_ERROR_INVALID_VALUE;
	*numBlocks = blocks_per_sm(kernel, blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}

CUresult si_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
							int blockSize, size_t dynamicSMemSize)
{
	return si_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(numBlocks, func, blockSize,
								       dynamicSMemSize, 0);
}

CUresult si_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
					     CUoccupancyB2DSize blockSizeToDynamicSMemSize,
					     size_t dynamicSMemSize, int blockSizeLimit)
{
	struct si_kernel *kernel = si_kernel_of(func);
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!minGridSize || !blockSize || blockSizeLimit < 0)
		return CUDA_ERROR_INVALID_VALUE;
	*blockSize = kernel->max_threads;
	if (blockSizeLimit && blockSizeLimit < *blockSize)
		*blockSize = blockSizeLimit;
	if (blockSizeToDynamicSMemSize)
		dynamicSMemSize = blockSizeToDynamicSMemSize(*blockSize);
	*minGridSize = 16 * blocks_per_sm(kernel, *blockSize, dynamicSMemSize);
	return CUDA_SUCCESS;
}

CUresult si_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize, CUfunction func,
						    int numBlocks, int blockSize)
{
	struct si_kernel *kernel = si_kernel_of(func);
	size_t each;
	if (!kernel)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	each = 233472 / (size_t)numBlocks;
	*dynamicSmemSize = each > (size_t)kernel->static_shared + 1024
				   ? each - (size_t)kernel->static_shared - 1024
				   : 0;
	return CUDA_SUCCESS;
}
