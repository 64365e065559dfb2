/* Compiled kernels, evaluated: every access of every warp, and the totals of the grid, are those of
 * the same kernel in plain C. */
#include "oracle.h"
#include "tests/test.h"

enum { ARENA = 64 << 20, DIGESTS_MAX = 1 << 16 };

/* What one warp did, order aside. */
struct digests {
	uint64_t of[DIGESTS_MAX];
	size_t count;
};

static struct gw_bytes text;
static struct gw_arena parsed;
static struct gw_ptx ptx;
static const char *current; /* kernel, for messages */

static void add_digest(struct digests *d, const struct oracle_access *a)
{
	assert_true(d->count < DIGESTS_MAX);
	d->of[d->count++] = oracle_digest(a);
}

static enum oracle_address kind_of(uint32_t base)
{
	return base == GW_BASE_NONE      ? ORACLE_NUMBER
	       : base == GW_BASE_UNKNOWN ? ORACLE_UNKNOWN
					 : ORACLE_RELATIVE;
}

/* An access that stands for several iterations, iteration by iteration. */
static void expand(struct digests *d, struct oracle_access a, const struct gw_eval_access *x,
		   uint32_t level)
{
	if (level >= GW_EVAL_LOOPS || level == x->repeats) {
		add_digest(d, &a);
		return;
	}
	for (uint64_t n = 0; n < x->repeat[level].count; n++) {
		expand(d, a, x, level + 1);
		assert_true(x->repeat[level].linear || x->repeat[level].count == 1 ||
			    a.what != ORACLE_NUMBER);
		for (unsigned i = 0; i < GW_LANES; i++)
			a.address[i] += (uint64_t)x->repeat[level].step;
	}
}

static void collect(void *arg, const struct gw_eval_access *x)
{
	struct oracle_access a = {.mask = x->active,
				  .space = (uint8_t)x->space,
				  .bytes = (uint32_t)x->op->width * x->op->elements};
	enum gw_access_kind kind;

	if (!gw_access_kind(x->op, &kind) || x->space == IR_SPACE_PARAM ||
	    x->space == IR_SPACE_LOCAL)
		return;
	if (x->active != x->certain || x->unbounded)
		fail_msg("%s, line %u: an access that isn't certain", current, x->op->source);
	a.kind = (uint8_t)kind;
	a.what = (uint8_t)kind_of(x->base[__builtin_ctz(x->active)]);
	memcpy(a.address, x->address, sizeof(a.address));
	expand(arg, a, x, 0);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void compare_warp(struct gw_eval *e, const struct oracle_case *c, struct gw_dim3 block,
			 uint32_t warp, struct oracle *o)
{
	static struct digests ours, theirs;
	struct gw_eval_warp_report report;

	ours.count = theirs.count = 0;
	assert_null(gw_eval_warp(e, block, warp, collect, &ours, &report));
	assert_true(report.complete);
	assert_true(report.control_known);
	oracle_warp(o, c->kernel, &c->config, block, warp, c->arguments);
	for (uint32_t i = 0; i < o->count; i++)
		add_digest(&theirs, &o->accesses[i]);
	qsort(ours.of, ours.count, sizeof(*ours.of), by_value);
	qsort(theirs.of, theirs.count, sizeof(*theirs.of), by_value);
	if (ours.count != theirs.count ||
	    memcmp(ours.of, theirs.of, ours.count * sizeof(*ours.of)) != 0)
		fail_msg("%s: block %u,%u,%u warp %u: %zu accesses, the oracle's %zu", c->name,
			 block.x, block.y, block.z, warp, ours.count, theirs.count);
}

static void lower(const struct oracle_case *c, struct gw_arena *arena, struct gw_ir_program *p)
{
	struct gw_ptx_fault fault;

	gw_arena_init(arena, ARENA);
	if (!gw_ptx_lower(&ptx, gw_ptx_find(&ptx, c->name), arena, p, &fault))
		fail_msg("%s: line %u: %s", c->name, fault.line, fault.what);
}

static struct gw_eval_launch launch_of(const struct oracle_case *c)
{
	return (struct gw_eval_launch){.config = c->config,
				       .arguments = {c->arguments, c->argument_bytes}};
}

TEST(each_warps_accesses_are_the_oracles)
{
	size_t count;
	const struct oracle_case *cases = oracle_cases(&count);
	struct oracle o = {0};

	for (size_t n = 0; n < count; n++) {
		const struct oracle_case *c = &cases[n];
		struct gw_eval_launch launch = launch_of(c);
		uint32_t warps = (uint32_t)((gw_dim3_count(c->config.block) + 31) / 32);
		struct gw_ir_program program;
		struct gw_arena arena;
		struct gw_eval *e;

		current = c->name;
		lower(c, &arena, &program);
		e = gw_eval_new(&program, &launch, NULL, &arena);
		assert_non_null(e);
		for (uint32_t z = 0; z < c->config.grid.z; z++)
			for (uint32_t y = 0; y < c->config.grid.y; y++)
				for (uint32_t x = 0; x < c->config.grid.x; x++)
					for (uint32_t w = 0; w < warps; w++)
						compare_warp(e, c, (struct gw_dim3){x, y, z}, w,
							     &o);
		gw_arena_free(&arena);
	}
	oracle_free(&o);
}

/* Accesses of the whole grid by space and kind, by the oracle. */
static void total(const struct oracle_case *c, double sum[GW_IR_SPACES][GW_ACCESS_KINDS])
{
	uint32_t warps = (uint32_t)((gw_dim3_count(c->config.block) + 31) / 32);
	struct gw_dim3 g = c->config.grid;
	struct oracle o = {0};

	for (uint64_t b = 0; b < gw_dim3_count(g); b++)
		for (uint32_t w = 0; w < warps; w++) {
			struct gw_dim3 block = {(uint32_t)(b % g.x), (uint32_t)(b / g.x % g.y),
						(uint32_t)(b / g.x / g.y)};

			oracle_warp(&o, c->kernel, &c->config, block, w, c->arguments);
			for (uint32_t i = 0; i < o.count; i++)
				sum[o.accesses[i].space][o.accesses[i].kind]++;
		}
	oracle_free(&o);
}

TEST(a_grids_totals_are_the_oracles_and_exact)
{
	size_t count;
	const struct oracle_case *cases = oracle_cases(&count);
	uint64_t warps = 0, run = 0;

	for (size_t n = 0; n < count; n++) {
		const struct oracle_case *c = &cases[n];
		double sum[GW_IR_SPACES][GW_ACCESS_KINDS] = {{0}};
		static struct gw_ptx_report r;
		struct gw_ptx_fault fault;
		struct gw_arena arena;

		gw_arena_init(&arena, ARENA);
		assert_true(gw_ptx_evaluate(text, c->name, &c->config, launch_of(c).arguments, NULL,
					    NULL, NULL, &arena, &r, &fault));
		if (!r.exact)
			fail_msg("%s isn't exact: %s", c->name,
				 r.eval.reason_count ? gw_why_text(r.eval.reasons[0].why) : "");
		assert_int_equal(r.eval.warps_covered, r.eval.warps);
		total(c, sum);
		for (unsigned s = 0; s < GW_IR_SPACES; s++)
			for (unsigned k = 0; k < GW_ACCESS_KINDS; k++) {
				if (s == IR_SPACE_PARAM || s == IR_SPACE_LOCAL)
					continue;
				if (r.counts.by[s][k].least != sum[s][k] ||
				    r.counts.by[s][k].most != sum[s][k])
					fail_msg("%s (case %zu): %s %s: %g to %g, the oracle's %g",
						 c->name, n, gw_ir_space_name((enum gw_ir_space)s),
						 gw_access_name((enum gw_access_kind)k),
						 r.counts.by[s][k].least, r.counts.by[s][k].most,
						 sum[s][k]);
			}
		warps += r.eval.warps;
		run += r.eval.warps_run;
		gw_arena_free(&arena);
	}
	print_message("%zu launches: %llu of %llu warps were run\n", count, (unsigned long long)run,
		      (unsigned long long)warps);
	assert_true(2 * run < warps);
}

static int setup(void **state)
{
	FILE *f = fopen(PTX "/evaluate.ptx", "rb");
	struct gw_ptx_fault fault;
	static uint8_t bytes[1 << 20];

	if (!f)
		return -1;
	text = (struct gw_bytes){bytes, fread(bytes, 1, sizeof(bytes), f)};
	fclose(f);
	gw_arena_init(&parsed, ARENA);
	return gw_ptx_parse(text, &parsed, &ptx, &fault) ? 0 : -1;
}

static int teardown(void **state)
{
	gw_arena_free(&parsed);
	return 0;
}

TESTS_MAIN(setup, teardown)
