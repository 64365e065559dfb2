#include "preload/worker/parts.h"

#include "preload/analysis/analyze.h"
#include "preload/analysis/digests.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/configs.h"
#include "preload/runtime/deadline.h"
#include "preload/worker/registry.h"

/* After a new configuration launches leave arguments, where some lacks them. */
enum { NEW_MS = 10000 };

static uint32_t configured; /* configurations that the predictor knows of */
static uint32_t seen;       /* the same when gw_configure_lacks_arguments() was last asked … */
static uint64_t seen_ns;    /* … and when there were last more */
static uint32_t complete;   /* so many of the first ones have arguments */

void gw_configure_start(void)
{
	configured = seen = complete = 0;
}

bool gw_configure_lacks_arguments(uint64_t now)
{
	if (gw_config_count() != seen) {
		seen = gw_config_count();
		seen_ns = now;
	}
	for (; complete < seen; complete++) {
		const struct gw_config_entry *c = gw_config_entry(complete + 1);

		if (c->slot && !c->arguments)
			return now - seen_ns < NEW_MS * GW_MS;
	}
	return false;
}

/*
 * Until a kernel's code is read, its launches are of configurations with a provisional hash, or
 * with none, and words may leave a layout. Where the first launch of an earlier one had the
 * arguments that this one is of, it goes on from there: from the one most often measured.
 */
static void follow(struct gw_predictor_set *fleet, uint32_t config, const struct gw_config_entry *c)
{
	struct gw_record_successor r = {.config = config};
	const struct gw_config_entry *best = NULL;

	if (c->config.digest & GW_DIGEST_IS_PROVISIONAL)
		return;
	for (uint32_t id = c->head; id; id = gw_config_entry(id)->hashed) {
		const struct gw_config_entry *before = gw_config_entry(id);

		if (before != c && before->arguments &&
		    gw_digests_fit(c->slot, before->arguments, c->config.digest) &&
		    (!best || before->measured > best->measured)) {
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
