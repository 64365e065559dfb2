#include "preload/launch/stacks.h"

#include "preload/launch/launch.h"
#include "preload/maps/memory.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/runtime/sandbox.h"
#include "preload/runtime/self_read.h"

#include <errno.h>
#include <sys/mman.h>

enum {
	SEEN = 4096, /* configurations whose stack was taken, by hash */
	TEND_S = 5,  /* without a copy: their pages are given back */
	RESERVED = GW_STACK_SLOTS * sizeof(struct gw_stack),
};

enum state { FREE, BUSY, FULL };

static struct gw_stack *_Atomic pool; /* made before flags ask for stacks */
/* Of its copies, enum state. Apart from these: their pages go one by one, and none is to be had by
 * a thread before all have gone. */
static _Atomic uint32_t states[GW_STACK_SLOTS];
static _Atomic uint32_t seen[SEEN];
static _Atomic uint32_t taken;
static uint32_t next_full;           /* worker: where it looks first */
static bool switched;                /* worker: the mode was, after the start */
static uint64_t idle_since;          /* worker; 0: pages are in use, or were given back */
static _Atomic bool touched, failed; /* pages are in use; there is no way to read them */

static bool wanted(void)
{
	return gw_options.stacks == GW_STACKS_AUTO ? gw_options.mode == GW_MODE_AUDIT
						   : gw_options.stacks == GW_STACKS_YES;
}

/* Some containers forbid the call. */
static bool readable(void)
{
	uint32_t word = 0, there = 1;
	bool good;

	if (!gw_sandbox_enter())
		return false;
	good = gw_self_get(&word, (uintptr_t)&there, sizeof(word)) && word == there;
	gw_sandbox_leave();
	return good;
}

static void make_pool_outside(void)
{
	if (!readable()) {
		atomic_store(&failed, true);
		if (!gw_sandboxed())
			gw_degrade_asked(
				GW_DEGRADED_STACKS,
				"process_vm_readv is refused: no stack of a launch is recorded");
	} else if (gw_memory_take(GW_MEMORY_tables, RESERVED)) {
		struct gw_stack *made = gw_memory_reserve(RESERVED);

		gw_python_look();
		if (!made) {
			gw_memory_give(GW_MEMORY_tables, RESERVED);
			atomic_store(&failed, true);
		}
		atomic_store(&pool, made);
	} else {
		atomic_store(&failed, true);
	}
}

/*
 * Once stacks are needed, not before: a call of the system's less, which a filter may forbid. By
 * then the program may be about to enter a sandbox.
 */
static void make_pool(void)
{
	if (!gw_sandbox_enter()) {
		atomic_store(&failed, true);
		return;
	}
	make_pool_outside();
	gw_sandbox_leave();
}

static void look(void)
{
	bool on;

	if (wanted() && !pool && !failed)
		make_pool();
	on = pool && !failed && atomic_load(&taken) < GW_STACKS_MAX && wanted();
	gw_hot_want(GW_EVENT_STACK, on);
}

void gw_stacks_mode(void)
{
	switched = true;
	look();
}

bool gw_stacks_behind(void)
{
	return switched &&
	       atomic_load_explicit(&gw_hot.arguments, memory_order_relaxed) & GW_EVENT_STACK;
}

void gw_stacks_start(void)
{
	memset(seen, 0, sizeof(seen));
	memset(states, 0, sizeof(states));
	atomic_store(&taken, 0);
	next_full = 0;
	idle_since = 0;
	atomic_store(&touched, false);
	pool = NULL; /* a forked child leaves its parent's alone */
	atomic_store(&failed, false);
	switched = false;
	look();
}

/* ---- on the launching thread ---- */

static void set(const struct gw_stack *s, enum state state)
{
	/* Pairs with the exchange in claim() and the acquire in gw_stack_next(). */
	atomic_store_explicit(&states[s - pool], state, memory_order_release);
}

static struct gw_stack *claim(void)
{
	for (uint32_t i = 0; i < GW_STACK_SLOTS; i++) {
		uint32_t is_free = FREE;

		/* Pairs with the release in set(). */
		if (atomic_load_explicit(&states[i], memory_order_relaxed) == FREE &&
		    atomic_compare_exchange_strong(&states[i], &is_free, BUSY))
			return &pool[i];
	}
	return NULL;
}

/* Its own frame is the first that is unwound. */
static __attribute__((noinline)) void copy(struct gw_stack *s)
{
	GW_UNWIND_FROM_HERE(s->registers);
	s->bytes = (uint32_t)gw_self_read(s->copy, s->registers[GW_UNWIND_SP], GW_STACK_BYTES);
	s->python = s->text_used = 0;
	s->python_cut = false;
	gw_python_frames(s);
}

static uint32_t tag_of(uint64_t key)
{
	return (uint32_t)(key >> 32) | 1;
}

static bool was_seen(uint64_t key)
{
	return atomic_load_explicit(&seen[key / 2 % SEEN], memory_order_relaxed) == tag_of(key);
}

/* One more stack; false where none is to be taken. */
static bool take(uint64_t key, uint32_t kernel, uint32_t device, const struct gw_event *e,
		 bool captured)
{
	struct gw_stack *s;

	if (!pool || !kernel || was_seen(key) || !(s = claim()))
		return false;
	if (!gw_sandbox_enter()) {
		set(s, FREE);
		return false;
	}
	atomic_store_explicit(&touched, true, memory_order_relaxed);
	s->kernel = kernel;
	s->device = device;
	s->captured = captured;
	s->config = gw_event_config(e);
	copy(s);
	gw_sandbox_leave();
	atomic_store_explicit(&seen[key / 2 % SEEN], tag_of(key), memory_order_relaxed);
	if (atomic_fetch_add(&taken, 1) + 1 >= GW_STACKS_MAX)
		gw_hot_want(GW_EVENT_STACK, false);
	set(s, FULL);
	return true;
}

static uint64_t key_of(const struct gw_event *e, uint32_t kernel, uint32_t device)
{
	return gw_cell_key(gw_cell_kernel(kernel, device), e->grid, e->block_x, e->block_y,
			   e->block_z, e->cluster, e->shared, e->digest);
}

void gw_stack_take(struct gw_call *call)
{
	struct gw_event *e = call->event;
	const uint32_t device = call->thread->last.stream_device;

	e->flags &= (uint8_t)~GW_EVENT_STACK;
	take(key_of(e, e->kernel, device), e->kernel, device, e, false);
}

/* The node's configuration will name the context's GPU, as it does in graphs.c. */
void gw_stack_captured(struct gw_call *call, CUfunction f, const struct gw_event *shape,
		       void **params, void **extra)
{
	struct gw_event e = *shape;
	const struct gw_known_kernel *k = gw_kernel_known(call, f);
	const uint32_t kernel = k->slot;
	const int saved = errno;
	CUcontext context;
	uint64_t key;

	if (!kernel)
		return;
	e.digest = k->plan ? gw_digest_read(k->plan, params, extra) : 0;
	if (!e.cluster)
		e.cluster = k->cluster;
	key = key_of(&e, kernel, 0);
	if (was_seen(key)) /* the driver is asked once */
		return;
	context = gw_context_of(call->thread, atomic_load_explicit(&gw_hot.stream_generation,
								   memory_order_acquire));
	take(key, kernel, context ? (uint32_t)(gw_context_device(context) + 1) : 0, &e, true);
	errno = saved;
}

/* ---- on the worker ---- */

struct gw_stack *gw_stack_next(void)
{
	for (uint32_t i = 0; pool && i < GW_STACK_SLOTS; i++) {
		const uint32_t at = (next_full + i) % GW_STACK_SLOTS;

		/* Pairs with the release in set(). */
		if (atomic_load_explicit(&states[at], memory_order_acquire) == FULL) {
			next_full = at + 1;
			return &pool[at];
		}
	}
	return NULL;
}

void gw_stack_done(struct gw_stack *s)
{
	idle_since = 0;
	set(s, FREE);
}

void gw_stacks_tend(uint64_t now_ns)
{
	if (!pool || !atomic_load_explicit(&touched, memory_order_relaxed))
		return;
	if (!idle_since)
		idle_since = now_ns;
	if (now_ns - idle_since < TEND_S * UINT64_C(1000000000))
		return;
	atomic_store_explicit(&touched, false, memory_order_relaxed);
	for (uint32_t i = 0; i < GW_STACK_SLOTS; i++) {
		uint32_t is_free = FREE;

		if (!atomic_compare_exchange_strong(&states[i], &is_free, BUSY))
			continue;
		madvise(&pool[i], sizeof(pool[i]), MADV_DONTNEED);
		set(&pool[i], FREE);
	}
}
