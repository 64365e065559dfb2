#include "calib/groups/chase.h"

#include <math.h>
#include <stdint.h>

#include "kernels/permutation.h"

enum {
	THREADS = 1024,     /* threads of the block that chases: all of them warm L2 */
	BLOCKS_PER_SM = 2,  /* launched: one of them reaches every SM */
	MOST_BLOCKS = 4096, /* that lay a chain out */
};

/* As kernels/chase.cu. */
struct result {
	uint64_t cycles, next;
};

bool gw_chase_open(struct gw_chase *c, struct gw_bench *b, size_t bytes)
{
	size_t most = gw_bench_memory_free(b) / 2;

	*c = (struct gw_chase){.bench = b, .bytes = bytes < most ? bytes : most};
	c->bytes -= c->bytes % GW_PAGE;
	c->build = gw_bench_kernel(b, "gw_chain_build");
	c->ca = gw_bench_kernel(b, "gw_chase_ca");
	c->cg = gw_bench_kernel(b, "gw_chase_cg");
	c->each_ca = gw_bench_kernel(b, "gw_chase_each_ca");
	c->each_cg = gw_bench_kernel(b, "gw_chase_each_cg");
	c->each_none = gw_bench_kernel(b, "gw_chase_each_none");
	if (!c->build || !c->ca || !c->cg || !c->each_ca || !c->each_cg || !c->each_none)
		return false;
	c->claim = gw_bench_memory(b, sizeof(uint32_t));
	c->result = gw_bench_memory(b, sizeof(struct result));
	c->cycles = gw_bench_memory(b, GW_CHASE_LOADS * sizeof(uint32_t));
	c->memory = c->bytes ? gw_bench_memory(b, c->bytes) : 0;
	return c->claim && c->result && c->cycles && c->memory;
}

bool gw_chase_lay(struct gw_chase *c, size_t footprint, size_t stride)
{
	uint64_t step = stride;
	unsigned links = (unsigned)(footprint / stride), seed = links;
	unsigned blocks = links / THREADS < MOST_BLOCKS ? links / THREADS + 1 : MOST_BLOCKS;
	void *args[] = {&c->memory, &links, &step, &seed};

	if (!links || footprint > c->bytes)
		return false;
	c->links = links;
	c->next = c->memory + gw_link_offset(0, links, stride, seed);
	return gw_bench_run(c->bench, c->build, (struct gw_shape){blocks, THREADS, 0}, args);
}

/* Launch @p run; every result is in device memory afterwards. False: noted. */
static bool follow(struct gw_chase *c, const struct gw_chase_run *run, unsigned shared,
		   struct result *result)
{
	static const uint32_t unclaimed;
	struct gw_bench *b = c->bench;
	unsigned skip = run->skip, loads = run->loads, sm = run->sm;
	uint64_t warm = run->warm;
	void *args[] = {&c->memory, &warm,     &c->next,   &skip,     &loads,
			&sm,        &c->claim, &c->result, &c->cycles};
	unsigned blocks = BLOCKS_PER_SM * (unsigned)gw_param(b->known, GW_PARAM_sm_count);

	*result = (struct result){0};
	if (!gw_bench_write(b, c->claim, &unclaimed, sizeof(unclaimed)) ||
	    !gw_bench_write(b, c->result, result, sizeof(*result)) ||
	    !gw_bench_run(b, run->kernel, (struct gw_shape){blocks, THREADS, shared}, args) ||
	    !gw_bench_read(b, result, c->result, sizeof(*result)))
		return false;
	if (!result->cycles) {
		gw_bench_note(b, "no block of the chase came to run on SM %u", run->sm);
		return false;
	}
	c->next = result->next;
	return true;
}

double gw_chase_mean(struct gw_chase *c, const struct gw_chase_run *run)
{
	struct result result;

	return follow(c, run, 0, &result) ? (double)result.cycles / run->loads : NAN;
}

bool gw_chase_each(struct gw_chase *c, const struct gw_chase_run *run, double *cycles)
{
	uint32_t raw[GW_CHASE_LOADS];
	struct result result;

	if (run->loads > GW_CHASE_LOADS ||
	    !follow(c, run, run->loads * (unsigned)sizeof(*raw), &result) ||
	    !gw_bench_read(c->bench, raw, c->cycles, run->loads * sizeof(*raw)))
		return false;
	for (unsigned i = 0; i < run->loads; i++)
		cycles[i] = raw[i];
	return true;
}
