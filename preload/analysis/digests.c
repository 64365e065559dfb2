/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/analysis/digests.h"

#include "preload/maps/configs.h"

#include <string.h>

enum { SEARCH_MEMORY = 16 << 20 }; /* of deriving one layout, freed at once */

enum state { UNDECIDED, NONE, PLANNED, TAKEN_BACK };

static struct {
	_Atomic uint8_t state;
	uint16_t all;               /* further configurations made */
	uint16_t further, returned; /* since they were last compared */
} kernels[GW_KERNELS_MAX];

void gw_digests_start(void)
{
	uint32_t count = atomic_load(&gw_hot.shared->kernel_count);

	memset((void *)kernels, 0, (count < GW_KERNELS_MAX ? count + 1 : count) * sizeof(*kernels));
	/* A forked child has its parent's layouts, which stay valid. */
	for (uint32_t i = 1; i <= count && i < GW_KERNELS_MAX; i++)
		if (atomic_load(&gw_hot.shared->kernels[i].plan))
			kernels[i].state = PLANNED;
}

/* Threads may still use the previous layout: it is never freed. */
static void publish(uint32_t slot, const struct gw_digest_plan *plan)
{
	/* Pairs with the acquires in gw_kernel_slot_of() (launch/launch.h) and node_digest()
	 * (launch/graphs.c). */
	atomic_store_explicit(&gw_hot.shared->kernels[slot].plan, plan, memory_order_release);
	atomic_fetch_add(&gw_hot.function_generation, 1);
}

void gw_digests_plan(uint32_t slot, const struct gw_ir_program *program)
{
	const struct gw_layout *layout = gw_hot.shared->kernels[slot].layout;
	struct gw_digest_plan plan, *kept;
	struct gw_arena arena;
	const char *why;

	if (kernels[slot].state != UNDECIDED)
		return;
	kernels[slot].state = NONE;
	if (!layout)
		return;
	gw_arena_init(&arena, SEARCH_MEMORY);
	why = gw_digest_plan_make(program, layout->param, layout->count, &arena, &plan);
	gw_arena_free(&arena);
	if (why || !plan.count)
		return;
	kept = gw_shared_keep(sizeof(*kept));
	if (!kept)
		return;
	*kept = plan;
	gw_count(GW_COUNTER_digest_plans, 1);
	publish(slot, kept);
	kernels[slot].state = PLANNED; /* from here on the worker may take it back */
}

uint32_t gw_digests_of(uint32_t slot, const struct gw_arguments *arguments)
{
	const struct gw_digest_plan *plan =
	        atomic_load_explicit(&gw_hot.shared->kernels[slot].plan, memory_order_relaxed);

	return plan ? gw_digest_of_buffer(plan, arguments->bytes, arguments->size) : 0;
}

static void take_back(uint32_t slot)
{
	if (kernels[slot].state != PLANNED)
		return;
	kernels[slot].state = TAKEN_BACK;
	gw_count(GW_COUNTER_digest_plans_dropped, 1);
	publish(slot, NULL);
}

/* Whether the last ones repeat. */
static bool repeat(uint32_t slot)
{
	bool enough = kernels[slot].returned >= GW_DIGESTS_AT_A_TIME;

	if (kernels[slot].further < GW_DIGESTS_AT_A_TIME)
		return true;
	kernels[slot].further = kernels[slot].returned = 0;
	return enough;
}

bool gw_digests_admit(uint32_t slot, bool further)
{
	/* The second half of the table is for configurations as such. */
	if (gw_config_count() >= GW_CONFIGS_MAX / 2 ||
	    (further && (kernels[slot].all == GW_DIGESTS_MOST || !repeat(slot))))
		take_back(slot);
	if (kernels[slot].state == TAKEN_BACK)
		return false;
	kernels[slot].all += further;
	kernels[slot].further += further;
	return true;
}

void gw_digests_returned(uint32_t slot)
{
	if (kernels[slot].returned < UINT16_MAX)
		kernels[slot].returned++;
}
