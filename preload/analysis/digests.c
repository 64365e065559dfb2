#include "preload/analysis/digests.h"

#include "preload/maps/configs.h"
#include "preload/maps/memory.h"

#include <string.h>

enum { SEARCH_MEMORY = 16 << 20 }; /* of deriving one layout, freed at once */

enum state { UNDECIDED, NONE, PLANNED, TAKEN_BACK };

/* Configurations of one kind of hash. */
struct hashes {
	uint16_t all;               /* further configurations made */
	uint16_t further, returned; /* since they were last compared */
	uint16_t once; /* launched but once so far; of one by the code since its last */
};

static struct {
	_Atomic uint8_t state;
	_Atomic bool independent; /* the code depends on no argument */
	bool provisional_taken_back;
	struct hashes by_code, provisional;
} * kernels; /* [GW_KERNELS_MAX] */

static bool is_provisional(uint32_t digest)
{
	return (digest & GW_DIGEST_IS_PROVISIONAL) != 0;
}

static struct hashes *hashes_of(uint32_t slot, uint32_t digest)
{
	return is_provisional(digest) ? &kernels[slot].provisional : &kernels[slot].by_code;
}

/* Pairs with the release in publish(). */
static const struct gw_digest_plan *plan_of(uint32_t slot)
{
	return atomic_load_explicit(&gw_hot.shared->kernels[slot].plan, memory_order_acquire);
}

void gw_digests_start(void)
{
	uint32_t count = atomic_load(&gw_hot.shared->kernel_count);

	kernels = gw_memory_table(GW_KERNELS_MAX * sizeof(*kernels));
	/* A forked child has its parent's layouts, which stay valid. */
	for (uint32_t i = 1; kernels && i <= count && i < GW_KERNELS_MAX; i++)
		if (plan_of(i) && !plan_of(i)->provisional)
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
	if (why)
		return; /* the provisional one stays */
	if (!plan.count) {
		atomic_store(&kernels[slot].independent, true);
		if (plan_of(slot))
			publish(slot, NULL);
		return;
	}
	kept = gw_shared_keep(sizeof(*kept));
	if (!kept)
		return;
	*kept = plan;
	gw_count(GW_COUNTER_digest_plans, 1);
	publish(slot, kept);
	kernels[slot].state = PLANNED; /* from here on the worker may take it back */
}

bool gw_digests_fit(uint32_t slot, const struct gw_arguments *arguments, uint32_t digest)
{
	const struct gw_digest_plan *plan = plan_of(slot);

	if (!digest)
		return atomic_load(&kernels[slot].independent);
	return plan && !plan->provisional &&
	       gw_digest_of_buffer(plan, arguments->bytes, arguments->size) == digest;
}

bool gw_digests_alike(uint32_t slot, const struct gw_arguments *a, const struct gw_arguments *b)
{
	const struct gw_digest_plan *plan = plan_of(slot);

	/* Its words are not of the sizes that gw_digest_of_buffer() reads. */
	if (plan && plan->provisional)
		return false;
	return gw_digests_fit(slot, a, plan ? gw_digest_of_buffer(plan, b->bytes, b->size) : 0);
}

/* A configuration of kernel @p slot that was launched but once, with @p size bytes of arguments. */
static const struct gw_config_entry *lone(uint32_t id, uint32_t slot, uint32_t size)
{
	const struct gw_config_entry *c = gw_config_entry(id);

	return id <= gw_config_count() && c->slot == slot && c->launches < 2 && c->arguments &&
			       c->arguments->size >= size
		       ? c
		       : NULL;
}

/* Whether a word is equal in most of these and the next one of their shape, where that is near. */
static bool mostly_equal(const struct gw_digest_word *w, uint32_t slot, uint32_t size)
{
	const struct gw_config_entry *a, *b;
	int more = 0;

	for (uint32_t id = 1; id <= gw_config_count(); id++) {
		a = lone(id, slot, size);
		for (uint32_t n = 1; a && n <= GW_DIGESTS_AT_A_TIME; n++) {
			b = lone(id + n, slot, size);
			if (!b || b->head != a->head)
				continue;
			more += memcmp(a->arguments->bytes + w->offset,
				       b->arguments->bytes + w->offset, w->size)
					? -1
					: 1;
			break;
		}
	}
	return more > 0;
}

/* Leave such words alone in a layout. False: that is all of them, or none. */
static bool narrow(uint32_t slot)
{
	const struct gw_digest_plan *was = plan_of(slot);
	struct gw_digest_plan *plan = was ? gw_shared_keep(sizeof(*plan)) : NULL;

	if (!plan)
		return false;
	*plan = (struct gw_digest_plan){.end = was->end};
	for (uint32_t i = 0; i < was->count; i++) {
		if (!mostly_equal(&was->word[i], slot, was->end))
			continue;
		plan->word[plan->count++] = was->word[i];
		plan->fours = i < was->fours ? plan->count : plan->fours;
		plan->wide = i < was->wide ? plan->count : plan->wide;
	}
	if (!plan->count || plan->count == was->count)
		return false;
	publish(slot, plan);
	kernels[slot].by_code.once = 0;
	return true;
}

static void take_back(uint32_t slot)
{
	if (kernels[slot].state != PLANNED)
		return;
	kernels[slot].state = TAKEN_BACK;
	gw_count(GW_COUNTER_digest_plans_dropped, 1);
	publish(slot, NULL);
}

/* Unless an analysis thread has just published the one by the code. */
static void take_provisional_back(uint32_t slot)
{
	const struct gw_digest_plan *plan = plan_of(slot);

	if (kernels[slot].provisional_taken_back)
		return;
	kernels[slot].provisional_taken_back = true;
	gw_count(GW_COUNTER_digest_provisional_dropped, 1);
	if (plan && plan->provisional &&
	    atomic_compare_exchange_strong(&gw_hot.shared->kernels[slot].plan, &plan, NULL))
		atomic_fetch_add(&gw_hot.function_generation, 1);
}

/* Whether the last ones repeat. */
static bool repeat(struct hashes *h)
{
	bool enough = h->returned >= GW_DIGESTS_AT_A_TIME;

	if (h->further < GW_DIGESTS_AT_A_TIME)
		return true;
	h->further = h->returned = 0;
	return enough && h->once < GW_DIGESTS_ONCE;
}

bool gw_digests_admit(uint32_t slot, uint32_t digest, bool further)
{
	bool provisional = is_provisional(digest);
	struct hashes *h = hashes_of(slot, digest);
	uint16_t most = provisional ? GW_DIGESTS_PROVISIONAL : GW_DIGESTS_MOST;

	/* The second half of the table is for configurations as such. */
	if (gw_config_count() >= GW_CONFIGS_MAX / 2 || (further && h->all == most) ||
	    (further && !repeat(h) && (provisional || !narrow(slot)))) {
		if (provisional)
			take_provisional_back(slot);
		else
			take_back(slot);
	}
	if (provisional ? kernels[slot].provisional_taken_back : kernels[slot].state == TAKEN_BACK)
		return false;
	if (further) {
		h->all++;
		h->further++;
		h->once++;
	}
	return true;
}

void gw_digests_returned(uint32_t slot, uint32_t digest)
{
	struct hashes *h = hashes_of(slot, digest);

	if (h->returned < UINT16_MAX)
		h->returned++;
}

void gw_digests_again(uint32_t slot, uint32_t digest)
{
	struct hashes *h = hashes_of(slot, digest);

	if (h->once)
		h->once--;
}
