#include "preload/analysis/digests.h"

#include "preload/maps/configs.h"
#include "preload/maps/memory.h"

#include <string.h>

enum { SEARCH_MEMORY = 16 << 20 }; /* of deriving one layout, freed at once */

/* Configurations of one kind of hash. */
struct hashes {
	uint16_t all;              /* further configurations made */
	uint16_t once;             /* launched but once so far; of one by the code since its last */
	uint8_t further, returned; /* since they were last compared */
};

/* A layout as the code gives it; never freed, nor changed but for: */
struct whole {
	struct gw_digest_plan plan;
	_Atomic uint32_t used; /* words of it that launches analysed so far use */
	uint32_t differ;       /* words of it that differ each time … */
	uint32_t rough;        /* … and of them those that may be hashed by magnitude */
	uint64_t words;        /* those that are hashed; in the upper half, roughly */
};

static struct {
	struct whole *_Atomic whole; /* NULL: none */
	struct hashes hashes[2];     /* by the code; provisional */
	bool taken_back[2];          /* the same */
	_Atomic bool tried;          /* by the code */
	_Atomic bool independent;    /* the code depends on no argument */
} * kernels;                         /* [GW_KERNELS_MAX] */

static bool is_provisional(uint32_t digest)
{
	return (digest & GW_DIGEST_IS_PROVISIONAL) != 0;
}

static struct hashes *hashes_of(uint32_t slot, uint32_t digest)
{
	return &kernels[slot].hashes[is_provisional(digest)];
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
			kernels[i].tried = true;
}

/* Threads may still use the previous layout: it is never freed. */
static void publish(uint32_t slot, const struct gw_digest_plan *plan)
{
	/* Pairs with the acquires in gw_kernel_look_up() (launch/launch.c) and node_digest()
	 * (launch/graphs.c). */
	atomic_store_explicit(&gw_hot.shared->kernels[slot].plan, plan, memory_order_release);
	atomic_fetch_add(&gw_hot.function_generation, 1);
}

static const char *derive(uint32_t slot, const struct gw_ir_program *program,
			  const struct gw_eval_block *ran, struct gw_digest_plan *plan)
{
	const struct gw_layout *layout = gw_hot.shared->kernels[slot].layout;
	struct gw_arena arena;
	const char *why;

	gw_arena_init(&arena, SEARCH_MEMORY);
	why = gw_digest_plan_run(program, ran, layout->param, layout->count, &arena, plan);
	gw_arena_free(&arena);
	return why;
}

void gw_digests_plan(uint32_t slot, const struct gw_ir_program *program)
{
	struct gw_digest_plan plan;
	struct whole *kept;

	if (atomic_exchange(&kernels[slot].tried, true))
		return;
	if (!gw_hot.shared->kernels[slot].layout || derive(slot, program, NULL, &plan))
		return; /* the provisional one stays */
	if (!plan.count) {
		atomic_store(&kernels[slot].independent, true);
		if (plan_of(slot))
			publish(slot, NULL);
		return;
	}
	kept = gw_shared_keep_line(sizeof(*kept));
	if (!kept)
		return;
	*kept = (struct whole){.plan = plan, .words = (UINT64_C(1) << plan.count) - 1};
	gw_count(GW_COUNTER_digest_plans, 1);
	publish(slot, &kept->plan); /* first: else the worker could narrow it before */
	/* Pairs with the loads in gw_digests_ran(), narrow() and gw_digests_admit(). */
	atomic_store(&kernels[slot].whole, kept);
}

void gw_digests_ran(uint32_t slot, const struct gw_ir_program *program,
		    const struct gw_eval_block *ran)
{
	struct whole *w = atomic_load(&kernels[slot].whole);
	const struct gw_digest_plan *whole;
	uint32_t used = UINT32_MAX;
	struct gw_digest_plan plan;

	if (!w || atomic_load(&w->used) == used)
		return;
	whole = &w->plan;
	if (ran && !derive(slot, program, ran, &plan)) {
		used <<= whole->count;
		for (uint32_t i = 0; i < whole->count; i++)
			for (uint32_t n = 0; n < plan.count; n++)
				if (whole->word[i].offset <
					    plan.word[n].offset + plan.word[n].size &&
				    plan.word[n].offset <
					    whole->word[i].offset + whole->word[i].size)
					used |= UINT32_C(1) << i;
	}
	atomic_fetch_or(&w->used, used);
}

bool gw_digests_fit(uint32_t slot, const struct gw_arguments *arguments, uint32_t digest)
{
	const struct gw_digest_plan *plan = plan_of(slot);

	if (!digest)
		return atomic_load(&kernels[slot].independent);
	/* What is like it roughly may have done other work. */
	return plan && !plan->provisional && !gw_digest_is_rough(plan) &&
	       gw_digest_of_buffer(plan, arguments->bytes, arguments->size) == digest;
}

bool gw_digests_alike(uint32_t slot, const struct gw_arguments *a, const struct gw_arguments *b)
{
	const struct whole *w = atomic_load(&kernels[slot].whole);
	const struct gw_digest_plan *plan = plan_of(slot);

	/* What differs each time may decide much. The words of a provisional one are not of the
	 * sizes that gw_digest_of_buffer() reads. */
	if ((w && w->differ) || (plan && plan->provisional))
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

/* In most of these and the next one of their shape, where that is near, a word is equal: 0;
 * differs: 1; differs by its highest bit: 2. */
static unsigned difference(const struct gw_digest_word *w, uint32_t slot, uint32_t size)
{
	const struct gw_config_entry *a, *b;
	int equal = 0, near = 0;

	for (uint32_t id = 1; id <= gw_config_count(); id++) {
		a = lone(id, slot, size);
		for (uint32_t n = 1; a && n <= GW_DIGESTS_AT_A_TIME; n++) {
			const unsigned char *x, *y;

			b = lone(id + n, slot, size);
			if (!b || b->head != a->head)
				continue;
			x = a->arguments->bytes + w->offset;
			y = b->arguments->bytes + w->offset;
			equal += memcmp(x, y, w->size) ? -1 : 1;
			near += w->size > 8 || gw_digest_magnitude(x, w->size, 0) ==
							gw_digest_magnitude(y, w->size, 0)
					? 1
					: -1;
			break;
		}
	}
	return (unsigned)(equal <= 0) + (near < 0);
}

/* A size becomes rough where it differs; what is rough already, or counts, leaves. */
static void judge(struct whole *w, uint32_t slot)
{
	w->rough = 0;
	for (uint32_t i = 0; i < w->plan.count; i++) {
		if (w->differ >> i & 1)
			continue;
		unsigned how = difference(&w->plan.word[i], slot, w->plan.end);

		w->differ |= (how + 1) / 2 << i;
		w->rough |= how / 2 << i;
	}
}

/* Of @p whole those of @p words, as in struct whole. */
static struct gw_digest_plan *plan_with(const struct gw_digest_plan *whole, uint64_t words)
{
	struct gw_digest_plan *plan = gw_shared_keep_line(sizeof(*plan));

	if (!plan)
		return NULL;
	*plan = (struct gw_digest_plan){.end = whole->end};
	for (uint32_t i = 0; i < 64; i++) {
		if (!(words >> i & 1))
			continue;
		plan->word[plan->count] = whole->word[i % 32];
		plan->word[plan->count++].size |= i / 32 ? GW_DIGEST_ROUGH : 0;
	}
	gw_digest_plan_spans(plan);
	return plan;
}

/*
 * Leave words out that no launch analysed so far uses, and, @p often, make rough, or leave out,
 * those that differ; back come those that one has used since. Where none was analysed, and hashes
 * return beside those that do not, there is no layout until one is. False: it stays as it was.
 */
static bool narrow(uint32_t slot, bool often)
{
	struct whole *w = atomic_load(&kernels[slot].whole);
	struct hashes *h = hashes_of(slot, 0);
	struct gw_digest_plan *plan = NULL;
	uint64_t words;
	uint32_t used;

	if (!w || kernels[slot].taken_back[false])
		return false;
	used = atomic_load(&w->used);
	if (often && !used)
		used = UINT32_MAX;
	if (often)
		judge(w, slot);
	used &= (UINT32_C(1) << w->plan.count) - 1;
	words = (used & ~w->differ) | (uint64_t)(used & w->rough) << 32;
	if (words == w->words || (!words && (often || h->returned < GW_DIGESTS_UNREAD)))
		return false;
	if (words && !(plan = plan_with(&w->plan, words)))
		return false;
	publish(slot, plan);
	w->words = words;
	h->once = 0;
	return true;
}

void gw_digests_analysed(uint32_t slot)
{
	if (!plan_of(slot))
		narrow(slot, false);
}

/* Unless an analysis thread has just published the one by the code in place of a provisional one.
 */
static void take_back(uint32_t slot, bool provisional)
{
	const struct gw_digest_plan *plan = plan_of(slot);

	if (kernels[slot].taken_back[provisional])
		return;
	kernels[slot].taken_back[provisional] = true;
	gw_count(provisional ? GW_COUNTER_digest_provisional_dropped
			     : GW_COUNTER_digest_plans_dropped,
		 1);
	if (plan && plan->provisional == provisional &&
	    atomic_compare_exchange_strong(&gw_hot.shared->kernels[slot].plan, &plan, NULL))
		atomic_fetch_add(&gw_hot.function_generation, 1);
}

/* Whether the last ones repeat. Rough ones are few and may need long to, unless they are of several
 * words; a counter never does. */
static bool repeat(struct hashes *h, uint16_t at_a_time, bool rough)
{
	uint16_t least = !rough ? at_a_time : h->all < GW_DIGESTS_MOST / 2 ? 1 : UINT16_MAX;
	bool enough = h->returned >= least;

	if (h->further < at_a_time)
		return true;
	h->further = h->returned = 0;
	return enough && h->once < GW_DIGESTS_ONCE;
}

bool gw_digests_admit(uint32_t slot, uint32_t digest, bool further)
{
	bool provisional = is_provisional(digest);
	struct hashes *h = hashes_of(slot, digest);
	uint16_t most = provisional ? GW_DIGESTS_PROVISIONAL : GW_DIGESTS_MOST;
	uint16_t at_a_time = provisional ? GW_DIGESTS_UNREAD : GW_DIGESTS_AT_A_TIME;
	const struct whole *w = provisional ? NULL : atomic_load(&kernels[slot].whole);

	if (further && w && (h->once >= GW_DIGESTS_UNREAD || plan_of(slot) != &w->plan))
		narrow(slot, false);
	/* The second half of the table is for configurations as such. */
	if (gw_config_count() >= GW_CONFIGS_MAX / 2 || (further && h->all == most) ||
	    (further && !repeat(h, at_a_time, w && w->rough) &&
	     (provisional || !narrow(slot, true))))
		take_back(slot, provisional);
	if (kernels[slot].taken_back[provisional])
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

	if (h->returned < UINT8_MAX)
		h->returned++;
}

void gw_digests_again(uint32_t slot, uint32_t digest)
{
	struct hashes *h = hashes_of(slot, digest);

	if (h->once)
		h->once--;
}
