/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/worker/parts.h"

#include "preload/analysis/analyze.h"
#include "preload/analysis/digests.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/configs.h"
#include "preload/worker/registry.h"

static uint32_t configured; /* configurations that the predictor knows of */

void gw_configure_start(void)
{
	configured = 0;
}

/* Whether @p before is of an earlier kind of hash than @p c, and its first launch had arguments of
 * that of @p c. */
static bool precedes(const struct gw_config_entry *before, const struct gw_config_entry *c)
{
	bool earlier = before->config.digest & GW_DIGEST_IS_PROVISIONAL ||
	               (!before->config.digest && c->config.digest);

	return earlier && before != c && before->arguments &&
	       gw_digests_fit(c->slot, before->arguments, c->config.digest);
}

/*
 * Until a kernel's code is read, its launches are of configurations with a provisional hash, or
 * with none. Where the first launch of one of them had the arguments that this one is of, it goes
 * on from there: from the one most often measured. There are few with a provisional hash.
 */
static void follow(struct gw_predictor_set *fleet, uint32_t config, const struct gw_config_entry *c)
{
	struct gw_record_successor r = {.config = config};
	const struct gw_config_entry *best = NULL;

	if (c->config.digest & GW_DIGEST_IS_PROVISIONAL)
		return;
	for (uint32_t id = c->head; id; id = gw_config_entry(id)->provisional) {
		const struct gw_config_entry *before = gw_config_entry(id);

		if (precedes(before, c) && (!best || before->measured > best->measured)) {
			best = before;
			r.of = id;
		}
	}
	if (!best)
		return;
	gw_log_write(GW_RECORD_SUCCESSOR, &r, sizeof(r), NULL, 0);
	gw_predictor_set_successor(fleet, config, r.of);
	gw_analysis_same(config, r.of);
}

void gw_configure_new(struct gw_predictor_set *fleet)
{
	while (configured < gw_config_count()) {
		const struct gw_config_entry *c = gw_config_entry(++configured);
		const struct gw_launch launch = {.kernel = gw_kernel_of(c->kernel),
		                                 .config = c->config};

		gw_predictor_set_configure(fleet, configured, gw_device_id((int)c->device - 1),
		                           c->kernel, &launch);
		gw_live_config(configured, c->slot, c->device, &c->config);
		follow(fleet, configured, c);
	}
}
