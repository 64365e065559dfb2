/* What a kernel of a text image may really do, on the CPU: body=NAME picks one. */
#include "si.h"
#include <string.h>

static uint64_t threads(const struct si_config *c)
{
	return (uint64_t)c->grid.x * c->grid.y * c->grid.z * c->block.x * c->block.y * c->block.z;
}

#define PARAM(type, i) (*(type *)params[i])

/* (float *c, const float *a, const float *b, int n): c[i] = a[i] + b[i] */
static void vector_add(const struct si_config *config, void **params)
{
	float *c = PARAM(float *, 0);
	const float *a = PARAM(const float *, 1), *b = PARAM(const float *, 2);
	uint64_t n = threads(config), limit = (uint64_t)PARAM(int, 3);
	for (uint64_t i = 0; i < n && i < limit; i++)
		c[i] = a[i] + b[i];
}

/* (int *p, int value, int n): p[i] = value */
static void fill(const struct si_config *config, void **params)
{
	int *p = PARAM(int *, 0), value = PARAM(int, 1);
	uint64_t n = threads(config), limit = (uint64_t)PARAM(int, 2);
	for (uint64_t i = 0; i < n && i < limit; i++)
		p[i] = value;
}

/* (int *p): adds one, whatever the configuration */
static void increment(const struct si_config *config, void **params)
{
	(void)config;
	PARAM(int *, 0)[0]++;
}

/* (int *p): p[0] = 1 where p is not null; `two` does it to p[1] */
static void set_one(const struct si_config *config, void **params)
{
	(void)config;
	if (PARAM(int *, 0))
		PARAM(int *, 0)[0] = 1;
}

static void set_two(const struct si_config *config, void **params)
{
	(void)config;
	if (PARAM(int *, 0))
		PARAM(int *, 0)[1] = 1;
}

/* Takes its time (ns=) and touches nothing. */
static void spin(const struct si_config *config, void **params)
{
	(void)config;
	(void)params;
}

/* gpuwatch calibrate's latch (kernels/support.cu), which the host has always opened in time:
 * (const uint32_t *gate, uint64_t timeout, uint32_t *held) */
static void latch(const struct si_config *config, void **params)
{
	(void)config;
	*PARAM(uint32_t *, 2) = 1;
}

/* Its kernel that keeps the SMs busy, at 1 GHz: (uint64_t ns, uint64_t *cycles, float *sink) */
static void busy(const struct si_config *config, void **params)
{
	(void)config;
	PARAM(uint64_t *, 1)[0] = PARAM(uint64_t *, 1)[1] = PARAM(uint64_t, 0);
}

/* Its kernel that reads the clock, 16 times a round and warp: (int64_t *cost, uint32_t rounds).
 * Every fourth pair costs 40 cycles, the others 41. */
static void clock_cost(const struct si_config *config, void **params)
{
	int64_t *cost = PARAM(int64_t *, 0);
	uint64_t n = threads(config) / 32 * 16 * PARAM(uint32_t, 1);
	for (uint64_t i = 0; i < n; i++)
		cost[i] = i % 4 ? 41 : 40;
}

si_body *si_body_find(const char *name, int *params)
{
	static const struct {
		const char *name;
		si_body *body;
		int params;
	} bodies[] = {{"vector_add", vector_add, 4}, {"fill", fill, 3},
		      {"increment", increment, 1},   {"set_one", set_one, 1},
		      {"set_two", set_two, 1},       {"spin", spin, 0},
		      {"latch", latch, 3},           {"busy", busy, 3},
		      {"clock_cost", clock_cost, 2}};
	for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++)
		if (strcmp(bodies[i].name, name) == 0) {
			*params = bodies[i].params;
			return bodies[i].body;
		}
	return NULL;
}
