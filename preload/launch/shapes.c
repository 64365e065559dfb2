/* Launches by calls that are deprecated: those of CUDA 1, and of several devices at once. */
#include "preload/launch/object_lifetime.h"

#include "preload/launch/launch.h"

#include <stdatomic.h>

enum { SHAPES = 256 }; /* functions launched the old way; a full table forgets the oldest */

/* Written where the driver itself asks for one thread at a time per function. */
static struct shape {
	_Atomic uintptr_t function;
	_Atomic uint32_t block[3], shared;
} shapes[SHAPES];
static _Atomic uint32_t next;

static struct shape *find(CUfunction f, bool make)
{
	struct shape *s;

	for (int i = 0; i < SHAPES; i++)
		if (atomic_load(&shapes[i].function) == (uintptr_t)f)
			return &shapes[i];
	if (!make)
		return NULL;
	s = &shapes[atomic_fetch_add(&next, 1) % SHAPES];
	for (int i = 0; i < 3; i++)
		atomic_store(&s->block[i], 1);
	atomic_store(&s->shared, 0);
	atomic_store(&s->function, (uintptr_t)f);
	return s;
}

void gw_shape_block(CUfunction f, int x, int y, int z)
{
	struct shape *s = find(f, true);

	atomic_store(&s->block[0], (uint32_t)x);
	atomic_store(&s->block[1], (uint32_t)y);
	atomic_store(&s->block[2], (uint32_t)z);
}

void gw_shape_shared(CUfunction f, unsigned bytes)
{
	atomic_store(&find(f, true)->shared, bytes);
}

void gw_shape_of(CUfunction f, uint32_t block[3], uint32_t *shared)
{
	struct shape *s = find(f, false);

	for (int i = 0; i < 3; i++)
		block[i] = s ? atomic_load(&s->block[i]) : 1;
	*shared = s ? atomic_load(&s->shared) : 0;
}

void gw_launch_grid(struct gw_call *call, CUfunction f, int width, int height, CUstream stream)
{
	uint32_t block[3], shared;

	gw_shape_of(f, block, &shared);
	gw_kernel_event_rare(call, f, (uint32_t)width, (uint32_t)height, 1, block[0], block[1],
			     block[2], shared, stream, NULL, NULL, 0, GW_EVENT_KERNEL);
}

void gw_launched_multi(struct gw_call *call, CUresult result, CUDA_LAUNCH_PARAMS *list,
		       unsigned count)
{
	for (unsigned i = 0; result == CUDA_SUCCESS && i < count; i++) {
		const CUDA_LAUNCH_PARAMS *p = &list[i];

		gw_kernel_event_rare(call, p->function, p->gridDimX, p->gridDimY, p->gridDimZ,
				     p->blockDimX, p->blockDimY, p->blockDimZ, p->sharedMemBytes,
				     p->hStream, p->kernelParams, NULL, GW_EVENT_COOPERATIVE,
				     GW_EVENT_MULTI);
		gw_launch_end_rare(call, result, p->kernelParams, NULL);
	}
}
