/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/log/work.h"

#include "cli/log/profile.h"
#include "cli/common/memory.h"
#include "predictor/learner/predictor.h"

#include <stdlib.h>
#include <string.h>

/* A configuration of the log. */
struct config {
	uint32_t kernel;
	struct gw_config config;
	struct gw_work *told; /* by the code, before more was known; NULL: nothing */
	struct gw_work *last; /* of its last WORK; NULL: nothing */
	struct gw_work most;  /* of what that says only at most */
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
		free(w->configs[i].told);
		free(w->configs[i].last);
	}
	gw_predictor_free(w->predictor);
	free(w->configs);
	free(w);
}

void log_works_config(struct log_works *w, uint32_t kernel, const struct gw_config *config)
{
	w->configs = gw_grow(w->configs, &w->room, w->count + 1, sizeof(*w->configs));
	w->configs[w->count] = (struct config){.kernel = kernel, .config = *config};
	gw_work_clear(&w->configs[w->count++].most);
}

static bool counts(const struct gw_work *work)
{
	for (unsigned i = 0; work && i < GW_WORK_FIELDS; i++)
		if (work->q[i].source > GW_SOURCE_STATIC)
			return true;
	return false;
}

void log_works_add(struct log_works *w, uint32_t config, const struct gw_log_record *record)
{
	const struct gw_record_work *r = (const void *)record->head;
	struct config *c = &w->configs[config];
	struct gw_work *before = c->last;

	c->last = gw_alloc(sizeof(*c->last));
	log_work_unpack((const void *)record->tail, r->count, c->last);
	c->most = *c->last;
	if (gw_work_drop_most(c->last)) {
		free(c->last);
		c->last = NULL;
	}
	/* What the code told helps to scale what was counted later. */
	if (before && !counts(before) && (!c->last || counts(c->last)) && !c->told)
		c->told = before;
	else
		free(before);
}

static struct gw_predictor *predictor_for(size_t configs)
{
	struct gw_predictor *p = gw_predictor_new((uint32_t)configs);

	return p ? p : gw_alloc(SIZE_MAX); /* ends with the message for want of memory */
}

void log_works_end(struct log_works *w, const struct gw_kernel *kernels, size_t kernel_count)
{
	bool *counted = gw_alloc(kernel_count + 1);

	for (size_t i = 0; i < w->count; i++)
		counted[w->configs[i].kernel] |= counts(w->configs[i].last);
	w->predictor = predictor_for(w->count);
	for (size_t i = 0; i < w->count; i++) {
		const struct config *c = &w->configs[i];
		const struct gw_launch launch = {.kernel = &kernels[c->kernel],
		                                 .config = c->config};
		uint32_t id = (uint32_t)i + 1;

		if (!counted[c->kernel])
			continue;
		gw_predictor_configure(w->predictor, id, c->kernel + 1, &launch);
		if (c->told)
			gw_predictor_work(w->predictor, id, c->told);
		if (c->last)
			gw_predictor_work(w->predictor, id, c->last);
	}
	free(counted);
}

/* Scaled or told apart from @p most, its own samples' limits stand beside. */
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
	const struct config *c = &w->configs[config];
	bool known;

	gw_predictor_known_work(w->predictor, config + 1, out);
	known = counts(out);
	if (!known && c->last)
		*out = *c->last;
	known |= c->last != NULL;
	return add_most(out, &c->most) || known;
}
