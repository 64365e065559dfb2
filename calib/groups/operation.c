#include "calib/groups/operation.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/shape.h"

enum { HIDDEN_GUARD = 0x7fedcba9 }; /* as a float no number, which no operation here gives */

#define TYPE(name, bytes, steps, chains) \
	enum { bytes_##name = bytes, turn_##name = steps, chains_##name = chains };
GW_TYPES(TYPE)
#undef TYPE

const struct gw_operation gw_operations[] = {
#define CODE(name, type, place, steps, parts, sass, ptx) \
	{#name, \
	 GW_PARAM_lat_op_##name, \
	 GW_PARAM_rate_op_##name, \
	 bytes_##type, \
	 steps, \
	 parts, \
	 chains_##type, \
	 turn_##type / ((steps) <= GW_SEQUENCE ? 8 : 1), \
	 false},
#include "kernels/code.def"
#undef CODE
#define WGMMA(name, type, kind, sass, suffix, scales) \
	{#name, \
	 GW_PARAM_lat_op_##name, \
	 GW_PARAM_rate_op_##name, \
	 sizeof(uint32_t), \
	 GW_WGMMA_SLICES, \
	 1, \
	 1, \
	 GW_WGMMA_STEPS, \
	 true},
#include "kernels/wgmma.def"
#undef WGMMA
	{.name = NULL},
};

const struct gw_operation *gw_operation_of(const char *name)
{
	for (const struct gw_operation *o = gw_operations; o->name; o++)
		if (!strcmp(o->name, name))
			return o;
	return NULL;
}

bool gw_lab_open(struct gw_lab *lab, struct gw_bench *b)
{
	double sms = gw_param(b->known, GW_PARAM_sm_count);

	*lab = (struct gw_lab){.b = b, .sms = sms > 0 ? (unsigned)sms : 0};
	if (!lab->sms) {
		gw_bench_note(b, "the number of SMs is not known");
		return false;
	}
	lab->readings = malloc(GW_LAB_READINGS * sizeof(*lab->readings));
	lab->results = malloc(GW_LAB_RESULTS);
	if (!lab->readings || !lab->results) {
		gw_bench_note(b, "there is no memory");
		return false;
	}
	lab->in = gw_bench_memory(b, 1 << 16);
	lab->out = gw_bench_memory(b, (size_t)2 * lab->sms * GW_LAB_THREADS * GW_LAB_OUT_BYTES);
	lab->cycles = gw_bench_memory(b, GW_LAB_READINGS * sizeof(*lab->readings));
	lab->hidden = gw_bench_memory(b, sizeof(struct gw_hidden));
	return lab->in && lab->out && lab->cycles && lab->hidden;
}

void gw_lab_close(struct gw_lab *lab)
{
	free(lab->readings);
	free(lab->results);
	*lab = (struct gw_lab){.b = lab->b};
}

bool gw_lab_operands(struct gw_lab *lab, const struct gw_operation *o, bool random)
{
	const struct gw_reference *r = gw_reference_of(o->name);
	const size_t tile = GW_WGMMA_A_BYTES + GW_WGMMA_B_BYTES, factors = GW_LANES * o->bytes;
	const size_t bytes = o->warpgroup ? tile : 3 * factors;
	uint32_t *words = calloc(1, tile);
	bool good = r && words && bytes <= tile;

	if (good && o->warpgroup) {
		for (size_t i = 0; i < tile / sizeof(*words); i++)
			words[i] = gw_reference_word(r, i < GW_WGMMA_A_BYTES / 4 ? r->b : r->c);
		if (random)
			gw_reference_random(r, words, tile / sizeof(*words));
	} else if (good) {
		gw_reference_operands(r, o->bytes, words);
		if (random)
			gw_reference_random(r, words + factors / 4, 2 * factors / 4);
	}
	good = good && gw_bench_write(lab->b, lab->in, words, bytes);
	free(words);
	return good;
}

bool gw_lab_run(struct gw_lab *lab, CUfunction f, struct gw_shape shape, unsigned rounds,
		size_t count)
{
	struct gw_hidden hidden = {.guard = HIDDEN_GUARD, .rounds = rounds};
	struct gw_operands operands = {lab->in, lab->out, lab->cycles, lab->hidden};
	void *args[] = {&operands};

	return f && count <= GW_LAB_READINGS &&
	       gw_bench_write(lab->b, lab->hidden, &hidden, sizeof(hidden)) &&
	       gw_bench_run(lab->b, f, shape, args) &&
	       gw_bench_read(lab->b, lab->readings, lab->cycles, count * sizeof(*lab->readings));
}

bool gw_lab_right(struct gw_lab *lab, const struct gw_operation *o, size_t count, unsigned chains,
		  unsigned steps)
{
	size_t bytes = o->warpgroup ? sizeof(uint32_t) : o->bytes, bad = 0;
	const struct gw_reference *r = gw_reference_of(o->name);

	if (!r || count * bytes > GW_LAB_RESULTS ||
	    !gw_bench_read(lab->b, lab->results, lab->out, count * bytes))
		return false;
	if (gw_reference_agrees(r, bytes, lab->results, count, chains, steps, &bad))
		return true;
	gw_bench_note(lab->b, "result %zu of %s is wrong after %u steps", bad, o->name, steps);
	return false;
}

unsigned gw_lab_shared(const struct gw_operation *o, unsigned threads)
{
	if (o->warpgroup)
		return GW_WGMMA_A_BYTES + GW_WGMMA_B_BYTES;
	return strstr(o->name, "shared") ? 8 * threads : 0;
}

bool gw_lab_by_sm(const struct gw_lab *lab, size_t warps, struct gw_lab_sm *sm, unsigned sms)
{
	memset(sm, 0, sms * sizeof(*sm));
	for (size_t i = 0; i < warps; i++) {
		const uint32_t *row = lab->readings + GW_RECORD * i;
		struct gw_lab_sm *s = &sm[row[0] < sms ? row[0] : 0];

		if (row[0] >= sms)
			return false;
		/* The clock's 32 bits may wrap: differences are signed. */
		if (!s->warps || (int32_t)(row[1] - s->first) < 0)
			s->first = row[1];
		if (!s->warps || (int32_t)(row[2] - s->last) > 0)
			s->last = row[2];
		s->warps++;
	}
	return true;
}
