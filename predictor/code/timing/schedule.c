#include "predictor/code/sass/tensor.h"
#include "predictor/code/timing/schedule.h"
#include "predictor/code/timing/schedule_parts.h"
#include "predictor/core/device.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name, *meaning;
} names[] = {
#define WAIT(name, meaning) {#name, meaning},
#include "predictor/code/timing/schedule.def"
};

const char *gw_wait_name(unsigned wait)
{
	return wait < GW_WAITS ? names[wait].name : "?";
}

const char *gw_wait_meaning(unsigned wait)
{
	return wait < GW_WAITS ? names[wait].meaning : "?";
}

void gw_waits_clear(struct gw_waits *waits)
{
	for (unsigned i = 0; i < GW_WAITS; i++)
		waits->cycles[i] = NAN;
	waits->insn = NULL;
}

/* ---- times ---- */

static void add_fixed(struct gw_cycles *t, double cycles)
{
	t->value += cycles;
	t->fixed += cycles;
}

static void subtract(struct gw_cycles *t, const struct gw_cycles *from)
{
	t->value -= from->value;
	t->fixed -= from->fixed;
	for (unsigned i = 0; i < GW_WAITS; i++)
		t->count[i] -= from->count[i];
}

/* The later of two times; an unknown one counts as later than any. */
static void later(struct gw_cycles *t, const struct gw_cycles *than)
{
	if (isnan(t->value))
		return;
	if (isnan(than->value) || than->value > t->value)
		*t = *than;
}

/* ---- one warp ---- */

static unsigned wait_kind(const struct gw_sass_insn *insn)
{
	static const uint8_t kinds[GW_SASS_LATENCIES] = {
		[GW_SASS_LATENCY_FIXED] = GW_WAIT_other,
		[GW_SASS_LATENCY_GLOBAL] = GW_WAIT_global,
		[GW_SASS_LATENCY_LOCAL] = GW_WAIT_local,
		[GW_SASS_LATENCY_SHARED] = GW_WAIT_shared,
		[GW_SASS_LATENCY_CONSTANT] = GW_WAIT_constant,
		[GW_SASS_LATENCY_ATOMIC] = GW_WAIT_atomic,
		[GW_SASS_LATENCY_ATOMIC_SHARED] = GW_WAIT_atomic_shared,
		[GW_SASS_LATENCY_TEXTURE] = GW_WAIT_texture,
		[GW_SASS_LATENCY_SFU] = GW_WAIT_sfu,
		[GW_SASS_LATENCY_CONVERT] = GW_WAIT_convert,
		[GW_SASS_LATENCY_BITS] = GW_WAIT_bits,
		[GW_SASS_LATENCY_FP64] = GW_WAIT_fp64,
		[GW_SASS_LATENCY_TENSOR] = GW_WAIT_tensor,
		[GW_SASS_LATENCY_SHUFFLE] = GW_WAIT_shuffle,
		[GW_SASS_LATENCY_REDUCE] = GW_WAIT_reduce,
		[GW_SASS_LATENCY_MATCH] = GW_WAIT_match,
		[GW_SASS_LATENCY_SPECIAL] = GW_WAIT_special,
		[GW_SASS_LATENCY_FENCE] = GW_WAIT_fence,
		[GW_SASS_LATENCY_OTHER] = GW_WAIT_other,
	};

	return kinds[insn->latency];
}

static void add_waits(struct gw_cycles *t, const struct gw_waits *waits, unsigned kind, unsigned n)
{
	if (kind == GW_WAITS)
		return;
	t->value += n * waits->cycles[kind];
	t->count[kind] += (float)n;
}

/* What a load's further words cost; GW_WAITS: nothing. */
static unsigned wide_kind(const struct gw_sass_insn *insn)
{
	switch (insn->space) {
	case GW_SASS_SPACE_SHARED:
		return GW_WAIT_wide;
	case GW_SASS_SPACE_GLOBAL:
	case GW_SASS_SPACE_GENERIC:
	case GW_SASS_SPACE_LOCAL:
		return GW_WAIT_wide_global;
	default:
		return GW_WAITS;
	}
}

/* When the result of @p insn, the @p index-th, issued at @p now, is there. */
static struct gw_cycles result_time(const struct gw_sass_insn *insn, uint32_t index,
				    const struct gw_cycles *now, const struct gw_waits *waits)
{
	struct gw_cycles t = *now;

	if (waits->insn && !isnan(waits->insn[index]))
		add_fixed(&t, waits->insn[index]);
	else
		add_waits(&t, waits, wait_kind(insn), 1);
	if (insn->cls == GW_SASS_LOAD && insn->width > 32)
		add_waits(&t, waits, wide_kind(insn), insn->width / 32u - 1);
	return t;
}

static bool is_load(const struct gw_sass_insn *insn)
{
	return (insn->cls == GW_SASS_LOAD &&
		(insn->space == GW_SASS_SPACE_GLOBAL || insn->space == GW_SASS_SPACE_GENERIC ||
		 insn->space == GW_SASS_SPACE_LOCAL)) ||
	       (insn->cls == GW_SASS_TEXTURE && insn->op != GW_SASS_OP_TXQ);
}

/* Scoreboards that @p insn waits for. DEPBAR.LE names one and how many may stay outstanding; with
 * none allowed it is a wait, with some it is taken for none, since the newest are not awaited. */
static unsigned wait_mask(const struct gw_sass_insn *insn)
{
	unsigned mask = insn->wait_mask;

	if (insn->op == GW_SASS_OP_DEPBAR && !gw_sass_bits(insn, 38, 6))
		mask |= 1u << gw_sass_bits(insn, 44, 3);
	return mask & ((1u << GW_SASS_BARRIERS) - 1);
}

/* The warp waits for @p mask, if anything of it is still out; what it waited for is in. */
static void wait_for(struct gw_warp *w, unsigned mask, struct gw_schedule_block *b)
{
	struct gw_cycles until = w->now;
	bool load = false;

	for (unsigned i = 0; i < GW_SASS_BARRIERS; i++) {
		if (!(mask >> i & 1))
			continue;
		load |= w->loads[i] && !(w->scoreboard[i].value <= w->now.value);
		later(&until, &w->scoreboard[i]);
	}
	if (load && b) {
		b->waits++;
		for (unsigned i = 0; i < GW_SASS_BARRIERS; i++)
			if (!(w->scoreboard[i].value <= w->now.value))
				b->in_flight += w->loads[i];
	}
	w->now = until;
	for (unsigned i = 0; i < GW_SASS_BARRIERS; i++)
		if (w->scoreboard[i].value <= w->now.value || mask >> i & 1)
			w->loads[i] = 0;
}

static void take(struct gw_warp *w, unsigned barrier, const struct gw_cycles *until)
{
	if (isnan(w->scoreboard[barrier].value) || w->scoreboard[barrier].value <= w->now.value)
		w->scoreboard[barrier] = *until;
	else
		later(&w->scoreboard[barrier], until);
}

/* Issue one instruction; afterwards w->now is the next one's earliest slot. */
void gw_warp_issue(struct gw_warp *w, const struct gw_sass_insn *insn, uint32_t index,
		   const struct gw_waits *waits, struct gw_schedule_block *b)
{
	struct gw_cycles t;

	wait_for(w, wait_mask(insn), b);
	if (insn->write_barrier < GW_SASS_BARRIERS) {
		t = result_time(insn, index, &w->now, waits);
		take(w, insn->write_barrier, &t);
		w->loads[insn->write_barrier] += is_load(insn);
	}
	if (insn->read_barrier < GW_SASS_BARRIERS) {
		t = w->now;
		add_waits(&t, waits, GW_WAIT_operand, 1);
		take(w, insn->read_barrier, &t);
	}
	if (insn->cls == GW_SASS_STORE && insn->space == GW_SASS_SPACE_SHARED) {
		t = w->now;
		add_waits(&t, waits, GW_WAIT_store, 1);
		later(&w->stored, &t);
	}
	if (insn->op == GW_SASS_OP_WARPGROUP)
		gw_warp_await(w, insn);
	else if (gw_sass_is_group(insn))
		gw_warp_matrix(w, insn, waits);
	t = w->now;
	add_fixed(&w->now, insn->stall);
	/* A barrier or a fence holds the warp itself. */
	if (insn->op == GW_SASS_OP_BAR) {
		add_waits(&t, waits, GW_WAIT_barrier, 1);
		later(&t, &w->stored);
	} else if (insn->op == GW_SASS_OP_MEMBAR) {
		add_waits(&t, waits, GW_WAIT_fence, 1);
	}
	later(&w->now, &t);
}

/* Time starts anew at now. */
void gw_warp_rebase(struct gw_warp *w)
{
	for (unsigned i = 0; i < GW_SASS_BARRIERS; i++)
		subtract(&w->scoreboard[i], &w->now);
	subtract(&w->stored, &w->now);
	subtract(&w->tensor, &w->now);
	for (unsigned i = 0; i < GW_WARP_GROUPS; i++)
		subtract(&w->group[i], &w->now);
	memset(&w->now, 0, sizeof(w->now));
}

/* Either state may be the one a block is entered with: each scoreboard as late as it can be. */
void gw_warp_merge(struct gw_warp *w, const struct gw_warp *other)
{
	later(&w->stored, &other->stored);
	gw_warp_matrix_merge(w, other);
	for (unsigned i = 0; i < GW_SASS_BARRIERS; i++) {
		later(&w->scoreboard[i], &other->scoreboard[i]);
		if (other->loads[i] > w->loads[i])
			w->loads[i] = other->loads[i];
	}
}

void gw_warp_init(struct gw_warp *w)
{
	memset(w, 0, sizeof(*w));
}

/*
 * An operation of 256 columns, of which an SM ends one in 1 / rate cycles, whatever its type. The
 * latency was measured in chains, each operation waited for, whose steps hold 25 cycles that are
 * not the operation's: what stalls stand between one's end and the next (kernels/wgmma.cu;
 * test_sass_schedule counts them).
 */
static void matrix_waits(struct gw_waits *waits, const struct gw_device *device)
{
	enum { COLUMNS = 256, CHAIN_STALLS = 25 };
	double each = 1 / gw_param(device, GW_PARAM_rate_op_wgmma_f16);

	waits->cycles[GW_WAIT_matrix_columns] = 8 * each / COLUMNS;
	waits->cycles[GW_WAIT_matrix] =
		gw_param(device, GW_PARAM_lat_op_wgmma_f16) - CHAIN_STALLS - each;
}

void gw_waits_from_device(struct gw_waits *waits, const struct gw_device *device, double global)
{
	static const struct {
		uint8_t wait;
		enum gw_param param;
	} map[] = {
		{GW_WAIT_local, GW_PARAM_lat_local},
		{GW_WAIT_shared, GW_PARAM_lat_shared},
		{GW_WAIT_constant, GW_PARAM_lat_constant},
		{GW_WAIT_atomic, GW_PARAM_lat_atomic_global},
		{GW_WAIT_atomic_shared, GW_PARAM_lat_atomic_shared},
		{GW_WAIT_sfu, GW_PARAM_lat_sfu},
		{GW_WAIT_convert, GW_PARAM_lat_convert},
		{GW_WAIT_bits, GW_PARAM_lat_bits},
		{GW_WAIT_fp64, GW_PARAM_lat_fp64},
		{GW_WAIT_tensor, GW_PARAM_lat_mma},
		{GW_WAIT_shuffle, GW_PARAM_lat_shuffle},
		{GW_WAIT_reduce, GW_PARAM_lat_reduce},
		{GW_WAIT_match, GW_PARAM_lat_match},
		{GW_WAIT_wide, GW_PARAM_lat_shared_wide},
		{GW_WAIT_wide_global, GW_PARAM_lat_global_wide},
		{GW_WAIT_store, GW_PARAM_lat_shared_store},
		{GW_WAIT_special, GW_PARAM_lat_special},
		{GW_WAIT_fence, GW_PARAM_lat_fence},
		{GW_WAIT_barrier, GW_PARAM_lat_barrier},
		{GW_WAIT_operand, GW_PARAM_lat_operand},
		{GW_WAIT_branch, GW_PARAM_lat_branch},
	};

	gw_waits_clear(waits);
	for (unsigned i = 0; i < sizeof(map) / sizeof(*map); i++)
		waits->cycles[map[i].wait] = gw_param(device, map[i].param);
	waits->cycles[GW_WAIT_global] = global;
	matrix_waits(waits, device);
}
