/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/work.h"

#include "cli/log/profile.h"
#include "cli/common/memory.h"
#include "predictor/learner/predictor.h"

#include <stdlib.h>
#include <string.h>

/* What is known in a work, without what is not: most configurations have a fifth of the parts. */
struct packed {
	size_t count;
	struct gw_record_quantity parts[];
};

/* A configuration of the log. */
struct config {
	struct packed *code; /* by the code, before more was known; NULL: nothing */
	struct packed *last; /* of its last WORK; NULL: nothing */
};

struct log_works {
	struct config *configs;
	size_t count, room;
	struct gw_predictor *predictor; /* of kernels of which something was counted */
};

struct log_works *log_works_new(void)
{
	return gw_alloc(sizeof(struct log_works));
}

void log_works_free(struct log_works *w)
{
	for (size_t i = 0; i < w->count; i++) {
		free(w->configs[i].code);
		free(w->configs[i].last);
	}
	gw_predictor_free(w->predictor);
	free(w->configs);
	free(w);
}

static struct packed *pack(const struct gw_work *work)
{
	struct gw_record_quantity parts[GW_WORK_FIELDS];
	struct packed *p;
	size_t count = 0;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source != GW_SOURCE_NONE)
			parts[count++] =
			        (struct gw_record_quantity){.field = (uint16_t)i,
			                                    .source = (uint8_t)work->q[i].source,
			                                    .confidence = work->q[i].confidence,
			                                    .value = work->q[i].value};
	p = gw_alloc(sizeof(*p) + count * sizeof(*parts));
	p->count = count;
	memcpy(p->parts, parts, count * sizeof(*parts));
	return p;
}

/* What @p p (NULL: nothing) says of amounts, not only of what they are at most; false: nothing. */
static bool unpack(const struct packed *p, struct gw_work *out)
{
	log_work_unpack(p ? p->parts : NULL, p ? p->count : 0, out);
	return !gw_work_drop_most(out);
}

static bool counts(const struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > GW_SOURCE_STATIC)
			return true;
	return false;
}

void log_works_add(struct log_works *w, uint32_t config, const struct gw_log_record *record)
{
	const struct gw_record_work *r = (const void *)record->head;
	struct gw_work work, last;
	struct packed *before;
	struct config *c;

	w->configs = gw_grow(w->configs, &w->room, config + 1u, sizeof(*w->configs));
	w->count = w->count > config ? w->count : config + 1u;
	c = &w->configs[config];
	before = c->last;
	log_work_unpack((const void *)record->tail, r->count, &work);
	c->last = pack(&work);
	/* What the code says helps to scale what was counted later. */
	if (!c->code && unpack(before, &work) && !counts(&work) &&
	    (!unpack(c->last, &last) || counts(&last)))
		c->code = before;
	else
		free(before);
}

static struct gw_predictor *predictor_for(size_t configs)
{
	struct gw_predictor *p = gw_predictor_new((uint32_t)configs);

	return p ? p : gw_alloc(SIZE_MAX); /* ends with the message for want of memory */
}

void log_works_end(struct log_works *w, const struct gw_log *log)
{
	bool *counted = gw_alloc(log->kernel_count + 1);
	struct gw_work work;

	for (uint32_t i = 0; i < w->count; i++)
		counted[log->configs[i].kernel] |=
		        unpack(w->configs[i].last, &work) && counts(&work);
	w->predictor = predictor_for(log->config_count);
	for (uint32_t i = 0; i < log->config_count; i++) {
		const struct config *c = i < w->count ? &w->configs[i] : NULL;
		const struct gw_launch launch = gw_log_launch(log, i);

		if (!counted[log->configs[i].kernel])
			continue;
		gw_predictor_configure(w->predictor, i + 1, log->configs[i].kernel + 1, &launch);
		if (c && unpack(c->code, &work))
			gw_predictor_work(w->predictor, i + 1, &work);
		if (c && unpack(c->last, &work))
			gw_predictor_work(w->predictor, i + 1, &work);
	}
	free(counted);
}

/* Scaled, or from the code: beside it stand, from @p most, its own samples' limits stand beside. */
static bool add_most(struct gw_work *out, const struct gw_work *most)
{
	bool any = false;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		enum gw_work_field at = gw_work_most((enum gw_work_field)i);

		if (at == GW_WORK_FIELDS || most->q[at].source == GW_SOURCE_NONE)
			continue;
		out->q[at] = most->q[at];
		any = true;
	}
	return any;
}

bool log_works_of(const struct log_works *w, uint32_t config, struct gw_work *out)
{
	const struct packed *packed = config < w->count ? w->configs[config].last : NULL;
	struct gw_work last, most;
	bool known = unpack(packed, &last);

	log_work_unpack(packed ? packed->parts : NULL, packed ? packed->count : 0, &most);
	gw_predictor_known_work(w->predictor, config + 1, out);
	if (known && !counts(out))
		*out = last;
	known |= counts(out);
	return add_most(out, &most) || known;
}
