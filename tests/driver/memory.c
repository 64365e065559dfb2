/* Device memory is host memory. Copies run when issued and take their time on the stream. */
#include "si.h"
#include "capture.h"
#include <stdlib.h>
#include <string.h>

#define COPY_NS(bytes) (500 + (bytes) / 16) /* a latency, and 16 bytes a nanosecond */

/* Every allocation, in a hash by address. */
struct block {
	uintptr_t base;
	size_t size;
	enum { DEVICE, MANAGED, PINNED, REGISTERED } kind;
	unsigned flags;
	struct block *next;
};
static struct block *blocks[1024];
static size_t used;
#define TOTAL ((size_t)4 << 30)

static struct block **bucket(uintptr_t base)
{
	return &blocks[(base >> 8) & 1023];
}

static CUresult block_new(void *own, size_t size, int kind, unsigned flags, void **out)
{
	struct block *block;
	CUcontext ctx;
	CUresult result;
	SI_TRY(si_current(&ctx));
	if (!out || !size)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCK();
	result = si_capture_unsafe();
	if (result == CUDA_SUCCESS && size > TOTAL - used)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	if (result == CUDA_SUCCESS)
		used += size;
	SI_UNLOCK();
	if (result != CUDA_SUCCESS)
		return result;
	block = malloc(sizeof *block);
	*out = own ? own : aligned_alloc(256, (size + 255) / 256 * 256);
	if (!block || !*out) {
		free(block);
		SI_LOCK();
		used -= size;
		SI_UNLOCK();
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*block = (struct block){(uintptr_t)*out, size, (unsigned)kind, flags, NULL};
	SI_LOCK();
	block->next = *bucket(block->base);
	*bucket(block->base) = block;
	SI_UNLOCK();
	return CUDA_SUCCESS;
}

/* Takes the block out of the table; NULL where there is none. */
static struct block *block_take(uintptr_t base, bool host)
{
	struct block *found = NULL;
	SI_LOCKED();
	for (struct block **link = bucket(base); *link; link = &(*link)->next)
		if ((*link)->base == base && ((*link)->kind >= PINNED) == host) {
			found = *link;
			*link = found->next;
			used -= found->size;
			break;
		}
	return found;
}

/* The block an address lies in. Lock held. */
static struct block *block_of(uintptr_t address)
{
	for (int i = 0; i < 1024; i++)
		for (struct block *b = blocks[i]; b; b = b->next)
			if (address >= b->base && address < b->base + b->size)
				return b;
	return NULL;
}

CUresult si_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	SI_LOCKED();
	if (free_bytes)
		*free_bytes = TOTAL - used;
	if (total)
		*total = TOTAL;
	return CUDA_SUCCESS;
}

CUresult si_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
	return block_new(NULL, bytesize, DEVICE, 0, (void **)dptr);
}

CUresult si_cuMemAllocManaged(CUdeviceptr *dptr, size_t bytesize, unsigned int flags)
{
	if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
		return CUDA_ERROR_INVALID_VALUE;
	return block_new(NULL, bytesize, MANAGED, 0, (void **)dptr);
}

CUresult si_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
			       size_t Height, unsigned int ElementSizeBytes)
{
	if (!pPitch || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
		return CUDA_ERROR_INVALID_VALUE;
	*pPitch = (WidthInBytes + 511) / 512 * 512;
	return block_new(NULL, *pPitch * Height, DEVICE, 0, (void **)dptr);
}

CUresult si_cuMemAllocAsync(bool pt, CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
	CUstream stream = NULL;
	CUresult result;
	SI_LOCK();
	result = si_stream(hStream, pt, &stream);
	SI_UNLOCK();
	return result == CUDA_SUCCESS ? si_cuMemAlloc_v2(dptr, bytesize) : result;
}

CUresult si_cuMemFree_v2(CUdeviceptr dptr)
{
	struct block *block;
	CUcontext ctx;
	CUresult result = si_current(&ctx);
	if (result != CUDA_SUCCESS || !dptr)
		return result;
	block = block_take(dptr, false);
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	si_context_wait(ctx); /* as the real one, it waits for the work that may use the memory */
	free((void *)dptr);
	free(block);
	return CUDA_SUCCESS;
}

CUresult si_cuMemFreeAsync(bool pt, CUdeviceptr dptr, CUstream hStream)
{
	CUstream stream = NULL;
	struct block *block;
	CUresult result;
	SI_LOCK();
	result = si_stream(hStream, pt, &stream);
	if (result == CUDA_SUCCESS)
		si_host_drain(stream);
	SI_UNLOCK();
	if (result != CUDA_SUCCESS)
		return result;
	block = block_take(dptr, false);
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	free((void *)dptr);
	free(block);
	return CUDA_SUCCESS;
}

CUresult si_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
	struct block *block;
	CUcontext ctx;
	SI_TRY(si_current(&ctx));
	SI_LOCKED();
	block = block_of(dptr);
	if (block && pbase)
		*pbase = block->base;
	if (block && psize)
		*psize = block->size;
	return block ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult si_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
	return Flags > 7 ? CUDA_ERROR_INVALID_VALUE : block_new(NULL, bytesize, PINNED, Flags, pp);
}

CUresult si_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
	return block_new(NULL, bytesize, PINNED, 0, pp);
}

CUresult si_cuMemAllocHost(void **pp, unsigned int bytesize)
{
	return si_cuMemAllocHost_v2(pp, bytesize);
}

CUresult si_cuMemFreeHost(void *p)
{
	struct block *block = block_take((uintptr_t)p, true);
	if (!block)
		return CUDA_ERROR_INVALID_VALUE;
	free(p);
	free(block);
	return CUDA_SUCCESS;
}

CUresult si_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned int Flags)
{
	return p ? block_new(p, bytesize, REGISTERED, Flags, &p) : CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuMemHostRegister(void *p, size_t bytesize, unsigned int Flags)
{
	return si_cuMemHostRegister_v2(p, bytesize, Flags);
}

CUresult si_cuMemHostUnregister(void *p)
{
	struct block *block = block_take((uintptr_t)p, true);
	if (!block)
		return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
	free(block);
	return CUDA_SUCCESS;
}

CUresult si_cuMemHostGetDevicePointer_v2(CUdeviceptr *pdptr, void *p, unsigned int Flags)
{
	if (!pdptr || !p || Flags)
		return CUDA_ERROR_INVALID_VALUE;
	*pdptr = (CUdeviceptr)p;
	return CUDA_SUCCESS;
}

CUresult si_cuMemHostGetFlags(unsigned int *pFlags, void *p)
{
	struct block *block;
	if (!pFlags)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	block = block_of((uintptr_t)p);
	if (block)
		*pFlags = block->flags;
	return block ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr)
{
	CUresult result = CUDA_SUCCESS;
	struct block *block;
	if (!data)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCKED();
	block = block_of(ptr);
	if (!block)
		result = CUDA_ERROR_INVALID_VALUE;
	else if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
		*(unsigned *)data =
			block->kind >= PINNED ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
	else if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_POINTER)
		*(CUdeviceptr *)data = ptr;
	else if (attribute == CU_POINTER_ATTRIBUTE_HOST_POINTER)
		*(void **)data = (void *)ptr;
	else if (attribute == CU_POINTER_ATTRIBUTE_IS_MANAGED)
		*(unsigned *)data = block->kind == MANAGED;
	else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		*(CUdeviceptr *)data = block->base;
	else if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
		*(size_t *)data = block->size;
	else
		result = CUDA_ERROR_NOT_SUPPORTED;
	return result;
}

/* ---- copies and sets ---- */

struct rows { /* `height` rows of `bytes`, one row being the plain case */
	void *dst;
	const void *src; /* NULL: a set */
	size_t bytes, height, dst_pitch, src_pitch;
	unsigned value, element;
};

static void rows_run(const struct rows *r)
{
	for (size_t y = 0; y < r->height; y++) {
		unsigned char *dst = (unsigned char *)r->dst + y * r->dst_pitch;
		if (r->src)
			memmove(dst, (const unsigned char *)r->src + y * r->src_pitch, r->bytes);
		else
			for (size_t i = 0; i < r->bytes; i += r->element)
				memcpy(dst + i, &r->value, r->element);
	}
}

/* Lock held. */
static uint8_t kind_of(const struct rows *r)
{
	const struct block *dst = block_of((uintptr_t)r->dst);
	const struct block *src = r->src ? block_of((uintptr_t)r->src) : NULL;
	bool to = dst && dst->kind == DEVICE, from = src && src->kind == DEVICE;

	if (to && from)
		return SI_COPY_DTOD;
	return to ? SI_COPY_HTOD : (from ? SI_COPY_DTOH : SI_COPY_HTOH);
}

static void report(CUstream stream, const struct rows *r, uint64_t start, uint64_t end)
{
	struct si_cupti_hooks *hooks = atomic_load_explicit(&si_cupti, memory_order_acquire);
	void (*hook)(const struct si_execution *) = hooks ? atomic_load(&hooks->copy) : NULL;

	if (hook)
		hook(&(struct si_execution){.start = start,
					    .end = end,
					    .context_id = stream->ctx->id,
					    .stream_id = stream->id,
					    .device_id = (uint32_t)stream->ctx->device,
					    .set = !r->src,
					    .copy = r->src ? kind_of(r) : 0,
					    .bytes = r->bytes * r->height});
}

static CUresult issue(bool pt, CUstream handle, const struct rows *r, bool synchronous)
{
	CUstream stream = NULL;
	CUresult result;
	uint64_t start, end = 0;
	if (!r->dst && r->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	SI_LOCK();
	result = si_stream(handle, pt, &stream);
	if (result == CUDA_SUCCESS && synchronous)
		result = stream->capture ? si_capture_refuse(stream) : si_capture_unsafe();
	if (result == CUDA_SUCCESS)
		result = si_capture_implicit(stream);
	if (result == CUDA_SUCCESS && stream->capture) {
		result = r->src ? si_capture_memcpy(stream, r->dst, r->src, r->bytes)
				: si_capture_memset(stream, r->dst, r->value, r->element,
						    r->bytes / r->element);
	} else if (result == CUDA_SUCCESS) {
		si_host_drain(stream);
		rows_run(r);
		start = si_stream_begin(stream, si_now());
		end = start + COPY_NS(r->bytes * r->height);
		si_stream_end(stream, end);
		report(stream, r, start, end);
	}
	SI_UNLOCK();
	if (synchronous)
		si_wait_until(end);
	return result;
}

static CUresult copy(bool pt, CUstream stream, uint64_t dst, uint64_t src, size_t bytes,
		     bool synchronous)
{
	struct rows r = {.dst = (void *)dst, .src = (void *)src, .bytes = bytes, .height = 1};
	return bytes && !src ? CUDA_ERROR_INVALID_VALUE : issue(pt, stream, &r, synchronous);
}

static CUresult set(bool pt, CUstream stream, CUdeviceptr dst, unsigned value, unsigned element,
		    size_t count, bool synchronous)
{
	struct rows r = {.dst = (void *)dst,
			 .bytes = count * element,
			 .height = 1,
			 .value = value,
			 .element = element};
	return dst % element ? CUDA_ERROR_INVALID_VALUE : issue(pt, stream, &r, synchronous);
}

CUresult si_cuMemcpy(bool pt, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount)
{
	return copy(pt, NULL, dst, src, ByteCount, true);
}

CUresult si_cuMemcpyHtoD_v2(bool pt, CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount)
{
	return copy(pt, NULL, dstDevice, (uintptr_t)srcHost, ByteCount, true);
}

CUresult si_cuMemcpyDtoH_v2(bool pt, void *dstHost, CUdeviceptr srcDevice, size_t ByteCount)
{
	return copy(pt, NULL, (uintptr_t)dstHost, srcDevice, ByteCount, true);
}

CUresult si_cuMemcpyDtoD_v2(bool pt, CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount)
{
	return copy(pt, NULL, dstDevice, srcDevice, ByteCount, true);
}

CUresult si_cuMemcpyPeer(bool pt, CUdeviceptr dstDevice, CUcontext dstContext,
			 CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount)
{
	if (!si_is(dstContext, SI_CTX) || !si_is(srcContext, SI_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(pt, NULL, dstDevice, srcDevice, ByteCount, true);
}

CUresult si_cuMemcpyAsync(bool pt, CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
			  CUstream hStream)
{
	return copy(pt, hStream, dst, src, ByteCount, false);
}

CUresult si_cuMemcpyHtoDAsync_v2(bool pt, CUdeviceptr dstDevice, const void *srcHost,
				 size_t ByteCount, CUstream hStream)
{
	return copy(pt, hStream, dstDevice, (uintptr_t)srcHost, ByteCount, false);
}

CUresult si_cuMemcpyDtoHAsync_v2(bool pt, void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
				 CUstream hStream)
{
	return copy(pt, hStream, (uintptr_t)dstHost, srcDevice, ByteCount, false);
}

CUresult si_cuMemcpyDtoDAsync_v2(bool pt, CUdeviceptr dstDevice, CUdeviceptr srcDevice,
				 size_t ByteCount, CUstream hStream)
{
	return copy(pt, hStream, dstDevice, srcDevice, ByteCount, false);
}

CUresult si_cuMemcpyPeerAsync(bool pt, CUdeviceptr dstDevice, CUcontext dstContext,
			      CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
			      CUstream hStream)
{
	if (!si_is(dstContext, SI_CTX) || !si_is(srcContext, SI_CTX))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy(pt, hStream, dstDevice, srcDevice, ByteCount, false);
}

static uint64_t side(CUmemorytype type, const void *host, CUdeviceptr device, size_t x, size_t y,
		     size_t pitch)
{
	uint64_t base = type == CU_MEMORYTYPE_HOST ? (uintptr_t)host : device;
	return base ? base + y * pitch + x : 0;
}

static CUresult copy_2d(bool pt, const CUDA_MEMCPY2D *c, CUstream stream, bool synchronous)
{
	struct rows r;
	if (!c || c->srcMemoryType == CU_MEMORYTYPE_ARRAY ||
	    c->dstMemoryType == CU_MEMORYTYPE_ARRAY)
		return CUDA_ERROR_INVALID_VALUE;
	r = (struct rows){.dst = (void *)side(c->dstMemoryType, c->dstHost, c->dstDevice,
					      c->dstXInBytes, c->dstY, c->dstPitch),
			  .src = (void *)side(c->srcMemoryType, c->srcHost, c->srcDevice,
					      c->srcXInBytes, c->srcY, c->srcPitch),
			  .bytes = c->WidthInBytes,
			  .height = c->Height,
			  .dst_pitch = c->dstPitch ? c->dstPitch : c->WidthInBytes,
			  .src_pitch = c->srcPitch ? c->srcPitch : c->WidthInBytes};
	return r.src ? issue(pt, stream, &r, synchronous) : CUDA_ERROR_INVALID_VALUE;
}

CUresult si_cuMemcpy2D_v2(bool pt, const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(pt, pCopy, NULL, true);
}

CUresult si_cuMemcpy2DUnaligned_v2(bool pt, const CUDA_MEMCPY2D *pCopy)
{
	return copy_2d(pt, pCopy, NULL, true);
}

CUresult si_cuMemcpy2DAsync_v2(bool pt, const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
	return copy_2d(pt, pCopy, hStream, false);
}

/* Plane by plane; every plane is a 2D copy of its own. */
static CUresult copy_3d(bool pt, const CUDA_MEMCPY3D *c, CUstream stream, bool synchronous)
{
	CUresult result = c ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	for (size_t z = 0; result == CUDA_SUCCESS && z < c->Depth; z++) {
		CUDA_MEMCPY2D plane = {.srcXInBytes = c->srcXInBytes,
				       .srcY = c->srcY + (c->srcZ + z) * c->srcHeight,
				       .srcMemoryType = c->srcMemoryType,
				       .srcHost = c->srcHost,
				       .srcDevice = c->srcDevice,
				       .srcPitch = c->srcPitch,
				       .dstXInBytes = c->dstXInBytes,
				       .dstY = c->dstY + (c->dstZ + z) * c->dstHeight,
				       .dstMemoryType = c->dstMemoryType,
				       .dstHost = c->dstHost,
				       .dstDevice = c->dstDevice,
				       .dstPitch = c->dstPitch,
				       .WidthInBytes = c->WidthInBytes,
				       .Height = c->Height};
		result = copy_2d(pt, &plane, stream, synchronous);
	}
	return result;
}

CUresult si_cuMemcpy3D_v2(bool pt, const CUDA_MEMCPY3D *pCopy)
{
	return copy_3d(pt, pCopy, NULL, true);
}

CUresult si_cuMemcpy3DAsync_v2(bool pt, const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
	return copy_3d(pt, pCopy, hStream, false);
}

#define SET_FUNCTIONS(bits, type) \
	CUresult si_cuMemsetD##bits##_v2(bool pt, CUdeviceptr dstDevice, type value, size_t N) \
	{ \
		return set(pt, NULL, dstDevice, value, sizeof(type), N, true); \
	} \
	CUresult si_cuMemsetD##bits##Async(bool pt, CUdeviceptr dstDevice, type value, size_t N, \
					   CUstream hStream) \
	{ \
		return set(pt, hStream, dstDevice, value, sizeof(type), N, false); \
	}
SET_FUNCTIONS(8, unsigned char)
SET_FUNCTIONS(16, unsigned short)
SET_FUNCTIONS(32, unsigned int)

static CUresult set_2d(bool pt, CUstream stream, CUdeviceptr dst, size_t pitch, unsigned char value,
		       size_t width, size_t height, bool synchronous)
{
	struct rows r = {.dst = (void *)dst,
			 .bytes = width,
			 .height = height,
			 .dst_pitch = pitch,
			 .value = value,
			 .element = 1};
	return issue(pt, stream, &r, synchronous);
}

CUresult si_cuMemsetD2D8_v2(bool pt, CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
			    size_t Width, size_t Height)
{
	return set_2d(pt, NULL, dstDevice, dstPitch, uc, Width, Height, true);
}

CUresult si_cuMemsetD2D8Async(bool pt, CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
			      size_t Width, size_t Height, CUstream hStream)
{
	return set_2d(pt, hStream, dstDevice, dstPitch, uc, Width, Height, false);
}
