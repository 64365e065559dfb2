#include "preload/maps/state.h"

#include "preload/maps/memory.h"

_Thread_local struct gw_thread *gw_self __attribute__((tls_model("initial-exec")));

/* What is refused takes nothing: neither of the account nor of names[]. */
void *gw_shared_keep(size_t size)
{
	struct gw_shared *s = gw_hot.shared;
	uint64_t room = (size + 7) & ~(uint64_t)7, at = atomic_load(&s->names_used);

	if (room > GW_NAMES_MAX - at || !gw_memory_take(GW_MEMORY_kernels, room))
		return NULL;
	do {
		if (room > GW_NAMES_MAX - at) {
			gw_memory_give(GW_MEMORY_kernels, room);
			return NULL;
		}
	} while (!atomic_compare_exchange_weak(&s->names_used, &at, at + room));
	return s->names + at;
}

void *gw_shared_keep_line(size_t size)
{
	uintptr_t at = (uintptr_t)gw_shared_keep(size + 56);

	return (void *)((at + 63) & ~(uintptr_t)63);
}
