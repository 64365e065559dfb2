#include "oracle.h"

#include <stdlib.h>
#include <string.h>

static struct oracle_access *access_of(struct oracle *o, uint64_t key, uint8_t space, uint8_t kind)
{
	for (uint32_t i = o->count; i-- > 0;)
		if (o->accesses[i].key == key && o->accesses[i].space == space &&
		    o->accesses[i].kind == kind)
			return &o->accesses[i];
	if (o->count == o->room) {
		o->room = o->room ? 2 * o->room : 256;
		o->accesses = realloc(o->accesses, o->room * sizeof(*o->accesses));
		if (!o->accesses)
			abort();
	}
	memset(&o->accesses[o->count], 0, sizeof(*o->accesses));
	return &o->accesses[o->count++];
}

void oracle_touch(struct oracle *o, uint64_t key, enum gw_ir_space space, enum gw_access_kind kind,
		  unsigned bytes, uint64_t address, enum oracle_address what)
{
	struct oracle_access *a = access_of(o, key, (uint8_t)space, (uint8_t)kind);

	if (a->mask >> o->lane & 1)
		abort(); /* a key that isn't unique: the oracle is wrong */
	a->key = key;
	a->space = (uint8_t)space;
	a->kind = (uint8_t)kind;
	a->what = (uint8_t)what;
	a->bytes = bytes;
	a->mask |= UINT32_C(1) << o->lane;
	a->address[o->lane] = address;
}

void oracle_warp(struct oracle *o, oracle_kernel *kernel, const struct gw_config *config,
		 struct gw_dim3 block, uint32_t warp, const void *arguments)
{
	struct gw_dim3 n = config->block;
	uint64_t threads = gw_dim3_count(n);

	o->count = 0;
	for (o->lane = 0; o->lane < GW_LANES; o->lane++) {
		uint32_t at = warp * GW_LANES + o->lane;
		struct oracle_thread t = {.tid = {at % n.x, at / n.x % n.y, at / n.x / n.y},
					  .ntid = n,
					  .ctaid = block,
					  .nctaid = config->grid};

		if (at < threads)
			kernel(o, &t, arguments);
	}
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

uint64_t oracle_digest(const struct oracle_access *a)
{
	uint64_t h = mix(mix(mix(1, a->mask), (uint64_t)a->space << 8 | a->kind),
			 (uint64_t)a->bytes << 8 | a->what);

	for (unsigned i = 0; i < GW_LANES; i++)
		if (a->mask >> i & 1)
			h = mix(h, a->what == ORACLE_UNKNOWN ? 0 : a->address[i]);
	return h;
}

void oracle_free(struct oracle *o)
{
	free(o->accesses);
	memset(o, 0, sizeof(*o));
}
