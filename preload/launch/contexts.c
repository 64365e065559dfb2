/* Contexts that end without being named: primary ones by their device, green ones by another
 * handle. */
#include "preload/launch/object_lifetime.h"
#include "preload/runtime/degrade.h"

static _Atomic uintptr_t primaries[64];

void gw_primary_set(int device, void *context)
{
	if (device >= 0 && device < 64)
		atomic_store(&primaries[device], (uintptr_t)context);
}

bool gw_primary_active(int device)
{
	unsigned flags;
	int active = 1;

	/* Where the driver can't say, nothing that may be alive is forgotten. */
	if (gw_driver.cuDevicePrimaryCtxGetState &&
	    gw_driver.cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS)
		active = 1;
	return active != 0;
}

void gw_primary_gone(int device)
{
	uintptr_t context = device >= 0 && device < 64 ? atomic_load(&primaries[device]) : 0;

	if (!context)
		return;
	gw_captures_over(gw_captures_take(NULL, (CUcontext)context));
	gw_context_gone((CUcontext)context);
}

void gw_primary_changed(int device)
{
	if (!gw_primary_active(device))
		gw_primary_gone(device);
}

enum { GREENS = 64 }; /* green contexts at a time; of more, stale streams may be taken for new */
static struct {
	_Atomic uintptr_t green, context;
} greens[GREENS];

/* Called often for the same pair, and by several threads. */
void gw_green_set(void *green, void *context)
{
	uintptr_t key = (uintptr_t)green;

	for (int i = 0; i < GREENS; i++) {
		uintptr_t free_place = 0;

		if (atomic_load(&greens[i].green) != key &&
		    !atomic_compare_exchange_strong(&greens[i].green, &free_place, key))
			continue;
		atomic_store(&greens[i].context, (uintptr_t)context);
		return;
	}
	gw_degrade(GW_DEGRADED_TABLE_FULL,
		   "more than %d green contexts at a time: streams of the others may be taken for "
		   "those of ended ones",
		   GREENS);
}

/* It is in several places when several threads set it at once. */
void *gw_green_take(void *green)
{
	uintptr_t context = 0;

	for (int i = 0; green && i < GREENS; i++)
		if (atomic_load(&greens[i].green) == (uintptr_t)green) {
			uintptr_t here = atomic_exchange(&greens[i].context, 0);

			context = here ? here : context;
			atomic_store(&greens[i].green, 0);
		}
	return (void *)context;
}
