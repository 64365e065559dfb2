#include "preload/analysis/analysis_code.h"

#include "predictor/code/ptx/ptx.h"
#include "predictor/code/static_code.h"
#include "predictor/core/hash.h"
#include "preload/analysis/code.h"
#include "preload/analysis/code_open.h"
#include "preload/analysis/digests.h"
#include "preload/runtime/arch/arch.h"
#include "preload/runtime/options.h"

#include <pthread.h>
#include <string.h>

/*
 * Bounds of one evaluation: what a kernel that is like others needs, far below what the command
 * line gives itself. Where they are met, chosen warps stand for the rest, and the rows say so.
 */
enum { GRID_STEPS = 50000, WARP_STEPS = 100000, BLOCK_STEPS = 50000, WARPS = 1024, BLOCKS = 8 };
enum {
	BRIEF = 4, /* a brief analysis takes 1/BRIEF of these steps, unless no warp ends then */
	TILES = 4, /* of a kernel that goes from tile to tile a block takes more steps than of
		      others a grid: so many times as many in a brief analysis (in mode watch
		      1/BRIEF of these), then twice that; where data decide how much, 1/TRIAL */
	TRIAL = 64,
};

/* A kernel as it is evaluated. */
struct decoded {
	uint32_t slot;   /* of the kernel; 0: free */
	uint64_t used;   /* when it was last asked for */
	unsigned users;  /* evaluations under way: it stays meanwhile */
	const char *why; /* why it can't be evaluated; NULL: it can */
	struct gw_arena arena;
	struct gw_ir_program program;
	struct gw_cfg *cfg; /* NULL: from PTX */
	const char *calls;  /* as in struct gw_static_code */
	struct gw_analysis_identity code;
};

/* Of all that follows, and of code.c. Never the worker's while threads analyse. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Of the one evaluation that has all room that is left; taken before the other one. */
static pthread_mutex_t widest = PTHREAD_MUTEX_INITIALIZER;
static struct decoded decoded[GW_ANALYSIS_KERNELS];
static size_t held;
static uint64_t asked;     /* a clock of questions */
static unsigned share = 1; /* evaluations at a time */

/* A forked child begins with the parent's: left behind, as they may be half changed. */
void gw_analysis_code_start(unsigned at_a_time)
{
	pthread_mutex_init(&lock, NULL);
	pthread_mutex_init(&widest, NULL);
	share = at_a_time;
	memset(decoded, 0, sizeof(decoded));
	held = 0;
	asked = 0;
}

size_t gw_analysis_code_held(void)
{
	return held;
}

_Static_assert(GW_ANALYSIS_KERNELS_MEMORY + GW_CODE_MEMORY + GW_ANALYSIS_ROOM <= GW_ANALYSIS_MEMORY,
	       "one of many evaluations stays within the bound of all");

/* What evaluations use stays beyond its bound. In mode watch there is one at a time, whatever
 * threads there may be, and it has no more than it needs. */
static size_t room_of(unsigned at_a_time)
{
	size_t others = held + gw_code_held(),
	       left = others < GW_ANALYSIS_MEMORY ? (GW_ANALYSIS_MEMORY - others) / at_a_time : 0,
	       least = share == 1 || gw_options_watch() ? GW_ANALYSIS_ROOM_ALONE : GW_ANALYSIS_ROOM;

	return left > least && !gw_options_watch() ? left : least;
}

size_t gw_analysis_code_room(void)
{
	return room_of(share);
}

static void let_go(struct decoded *d)
{
	held -= d->arena.used;
	gw_arena_free(&d->arena);
	*d = (struct decoded){0};
}

/* A free place, or that of the one not asked for the longest; none that is evaluated. NULL: none.
 */
static struct decoded *oldest(bool in_use)
{
	struct decoded *found = NULL;

	for (struct decoded *d = decoded; d < decoded + GW_ANALYSIS_KERNELS; d++) {
		if (!d->slot && !in_use)
			return d;
		if (d->slot && !d->users && (!found || d->used < found->used))
			found = d;
	}
	return found;
}

void gw_analysis_code_tidy(void)
{
	pthread_mutex_lock(&lock);
	for (struct decoded *d = decoded; d < decoded + GW_ANALYSIS_KERNELS; d++)
		if (d->slot && !d->users)
			let_go(d);
	gw_code_tidy();
	pthread_mutex_unlock(&lock);
}

bool gw_analysis_code_replace(struct gw_module_note *note, void *packed, size_t size)
{
	if (pthread_mutex_trylock(&lock))
		return false;
	gw_code_open_forget(note);
	/* In this order: a child may be forked between them, and reads what there is. */
	note->packed = size;
	atomic_thread_fence(memory_order_seq_cst);
	note->image = packed;
	pthread_mutex_unlock(&lock);
	return true;
}

/* The module's code may be let go before the kernel's is: a copy of its own, and a name that stays.
 */
static const char *lower_machine(struct decoded *d, const struct gw_code_kernel *k)
{
	struct gw_sass_kernel kernel = gw_sass_kernel_of(k);
	struct gw_bytes code = {NULL, k->code.size};
	struct gw_sass_lowered lowered;
	struct gw_fault fault;
	const char *why;

	d->code.digest = gw_hash(0, k->code.data, k->code.size);
	d->code.bytes = (uint32_t)k->code.size;
	if (k->arch.number < 70)
		return "machine code from before sm_70 is not decoded";
	if (k->code.size > GW_ANALYSIS_CODE_MAX)
		return "its code is longer than " GW_TEXT(GW_ANALYSIS_CODE_MIB) " MiB";
	code.data = gw_arena_copy(&d->arena, k->code.data, k->code.size);
	d->cfg = gw_arena_array(&d->arena, 1, sizeof(*d->cfg));
	if (!code.data || !d->cfg)
		return "there is no memory for it";
	if (!gw_cfg_build(d->cfg, code, k->arch.number, &d->arena, &fault))
		return fault.what;
	kernel.name = gw_hot.shared->kernels[d->slot].name;
	why = gw_sass_lower(&lowered, d->cfg, &kernel, &d->arena);
	d->program = lowered.program;
	if (!why)
		d->calls = lowered.calls ? lowered.calls : gw_sass_indirect(&lowered);
	return why;
}

static const char *lower_ptx(struct decoded *d, struct gw_bytes text)
{
	struct gw_ptx_fault fault;
	struct gw_bytes copy = {gw_arena_copy(&d->arena, text.data, text.size), text.size};
	struct gw_ptx ptx;
	uint32_t at;

	if (text.size > GW_ANALYSIS_PTX_MAX)
		return "its PTX is longer than " GW_TEXT(GW_ANALYSIS_PTX_MIB) " MiB";
	if (!copy.data)
		return "there is no memory for it";
	if (!gw_ptx_parse(copy, &d->arena, &ptx, &fault))
		return fault.what;
	at = gw_ptx_find(&ptx, gw_hot.shared->kernels[d->slot].name);
	if (at == UINT32_MAX)
		return "its PTX does not hold the kernel";
	return gw_ptx_lower(&ptx, at, &d->arena, &d->program, &fault) ? NULL : fault.what;
}

static void decode(struct decoded *d, uint32_t slot)
{
	struct gw_code code;

	*d = (struct decoded){.slot = slot};
	gw_arena_init(&d->arena, GW_ANALYSIS_KERNELS_MEMORY);
	if (!gw_code_of(slot, &code))
		d->why = code.why;
	else
		d->why = code.machine ? lower_machine(d, &code.kernel) : lower_ptx(d, code.ptx);
	if (d->why) /* only the reason is worth keeping */
		gw_arena_free(&d->arena);
	else
		gw_digests_plan(slot, &d->program);
	held += d->arena.used;
}

static struct decoded *decoded_kernel(uint32_t slot)
{
	struct decoded *d = decoded;

	asked++;
	while (d < decoded + GW_ANALYSIS_KERNELS && d->slot != slot)
		d++;
	if (d == decoded + GW_ANALYSIS_KERNELS) {
		d = oldest(false);
		if (d->slot)
			let_go(d);
		decode(d, slot);
	}
	d->used = asked;
	/* The newest is never the oldest, unless it is the only one that nobody evaluates. */
	while (held > GW_ANALYSIS_KERNELS_MEMORY && oldest(true) && oldest(true) != d)
		let_go(oldest(true));
	return d;
}

void gw_analysis_code_decode(uint32_t slot)
{
	pthread_mutex_lock(&lock);
	decoded_kernel(slot);
	pthread_mutex_unlock(&lock);
}

/* Until it is put down it stays. @p room: bytes that its evaluation may take. */
static struct decoded *pick_up(uint32_t slot, size_t *room)
{
	struct decoded *d;

	pthread_mutex_lock(&lock);
	d = decoded_kernel(slot);
	d->users++;
	*room = gw_analysis_code_room();
	pthread_mutex_unlock(&lock);
	return d;
}

static void put_down(struct decoded *d)
{
	pthread_mutex_lock(&lock);
	d->users--;
	pthread_mutex_unlock(&lock);
}

/* Whether it copies tiles of tensors. */
static bool copies_tiles(const struct gw_ir_program *p)
{
	for (uint32_t i = 0; i < p->insn_count; i++)
		if (p->insns[i].flags & IR_MEM_BULK && p->insns[i].flags & IR_MEM_TENSOR)
			return true;
	return false;
}

static enum gw_analysis_end evaluate(const struct decoded *d, const struct gw_analysis_launch *in,
				     size_t room, struct gw_work *work, const char **why,
				     bool *limited, bool *refused)
{
	const bool tiles = copies_tiles(&d->program);
	const uint64_t part = in->brief && (!tiles || gw_options_watch()) ? BRIEF : 1,
		       times = tiles ? (uint64_t)TILES << !in->brief : 1, wide = tiles ? 2 : 1;
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[in->slot];
	const struct gw_kernel kernel = {k->name,     k->registers,   k->static_shared, k->local,
					 k->constant, k->max_threads, k->binary_version};
	const struct gw_launch launch = {.kernel = &kernel, .config = in->config};
	const struct gw_eval_launch at = {.config = in->config,
					  .arguments = {in->arguments ? in->arguments->bytes : NULL,
							in->arguments ? in->arguments->size : 0}};
	const struct gw_gather_limits limits = {.eval = {.steps = times * GRID_STEPS / part,
							 .warp_steps = wide * WARP_STEPS / part,
							 .warps = WARPS,
							 .go_on = in->go_on,
							 .go_on_arg = in->go_on_arg},
						.blocks = BLOCKS,
						.steps = wide * BLOCK_STEPS / part,
						.long_warp = wide * WARP_STEPS,
						.trial = tiles ? TRIAL : 0};
	const struct gw_eval_block *ran = NULL;
	const struct gw_static_code code = {.program = &d->program,
					    .cfg = d->cfg,
					    .calls = d->calls,
					    .device = in->device,
					    .launch = &launch,
					    .at = &at,
					    .limits = &limits,
					    .memory = in->memory,
					    .memory_count = in->memory_count,
					    .limited = limited,
					    .ran = &ran};
	struct gw_arena arena;
	const char *open;

	gw_arena_init(&arena, room);
	*why = gw_static_code_work(&code, &arena, work, &open);
	if (in->arguments)
		gw_digests_ran(in->slot, &d->program, ran);
	*refused = arena.refused;
	gw_arena_free(&arena);
	if (*why)
		return GW_ANALYSIS_UNSUPPORTED;
	if (gw_work_spread(work) > 0)
		open = "memory contents decide some of what it does: predicted from what is likely";
	if (!open && gw_work_least(work) > 0)
		open = "what it does, or where, depends on what is not known before the launch";
	*why = open;
	return GW_ANALYSIS_DONE;
}

/* Remembers that it was said no. */
struct asking {
	const struct gw_analysis_launch *launch;
	bool stopped;
};

static bool go_on(void *arg)
{
	struct asking *a = arg;

	a->stopped = a->stopped || !a->launch->go_on(a->launch->go_on_arg);
	return !a->stopped;
}

static enum gw_analysis_end evaluate_asking(const struct decoded *d,
					    const struct gw_analysis_launch *launch, size_t room,
					    struct gw_work *work, const char **why, bool *limited,
					    bool *refused)
{
	struct asking asking = {.launch = launch};
	struct gw_analysis_launch in = *launch;
	enum gw_analysis_end end;

	*why = d->why;
	if (d->why)
		return GW_ANALYSIS_NO_CODE;
	in.go_on = go_on;
	in.go_on_arg = &asking;
	if (!go_on(&asking))
		return GW_ANALYSIS_ABANDONED;
	end = evaluate(d, &in, room, work, why, limited, refused);
	return asking.stopped ? GW_ANALYSIS_ABANDONED : end;
}

enum gw_analysis_end gw_analysis_code(const struct gw_analysis_launch *launch, struct gw_work *work,
				      const char **why, bool *limited,
				      struct gw_analysis_identity *code)
{
	enum gw_analysis_end end;
	struct decoded *d;
	bool refused = false;
	size_t room, wide;

	gw_work_clear(work);
	if (limited)
		*limited = false;
	d = pick_up(launch->slot, &room);
	end = evaluate_asking(d, launch, room, work, why, limited, &refused);
	if (refused) { /* its share is too small for it */
		pthread_mutex_lock(&widest);
		pthread_mutex_lock(&lock);
		wide = room_of(1);
		pthread_mutex_unlock(&lock);
		if (wide > room)
			end = evaluate_asking(d, launch, wide, work, why, limited, &refused);
		pthread_mutex_unlock(&widest);
	}
	if (code)
		*code = d->code;
	put_down(d);
	return end;
}

bool gw_analysis_lacks_bytes(const struct gw_work *work)
{
	return work->q[GW_WORK_inst_executed].source && !work->q[GW_WORK_l1_bytes].source;
}
