/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/work.h"

#include "preload/launches.h"
#include "preload/log.h"
#include "preload/state.h"
#include "preload/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is known of one configuration. */
struct known {
	uint32_t next; /* in the list of those to be published */
	bool listed;
	bool retold; /* `told` has news */
	struct gw_work work;
	struct gw_work *told; /* by code, of rows that counters know as well; NULL: none */
};

static struct known *works[GW_CONFIGS_MAX]; /* by configuration */
static uint32_t count, changed;             /* changed: head of the list, 0 = empty */

void gw_work_start(void)
{
	/* A forked child begins with the parent's: leave them, start empty. */
	memset(works, 0, sizeof(works));
	count = changed = 0;
}

static struct known *make(uint32_t config)
{
	struct known *k = works[config];

	if (k)
		return k;
	k = count < GW_WORKS_MAX ? malloc(sizeof(*k)) : NULL;
	if (!k) {
		gw_count(GW_COUNTER_table_full, 1);
		return NULL;
	}
	*k = (struct known){0};
	gw_work_clear(&k->work);
	works[config] = k;
	count++;
	return k;
}

/* Take over what @p from knows better; true when that changes anything. */
static bool merge(struct gw_quantity *to, const struct gw_quantity *from)
{
	if (from->source == GW_SOURCE_NONE || from->source < to->source || !isfinite(from->value))
		return false;
	if (from->source == to->source && from->value == to->value &&
	    from->confidence == to->confidence)
		return false;
	*to = *from;
	return true;
}

/*
 * What code says of a row that was counted is still of use: it may be the more exact of the two,
 * and it is what tells how a count goes with the configuration (predictor/scale.c).
 */
static bool remember(struct known *k, unsigned field, const struct gw_quantity *by_code)
{
	if (by_code->source != GW_SOURCE_STATIC || !isfinite(by_code->value))
		return false;
	if (!k->told) {
		k->told = malloc(sizeof(*k->told));
		if (!k->told) {
			gw_count(GW_COUNTER_table_full, 1);
			return false;
		}
		gw_work_clear(k->told);
	}
	return merge(&k->told->q[field], by_code);
}

static bool learn(struct known *k, unsigned field, const struct gw_quantity *from)
{
	struct gw_quantity *to = &k->work.q[field];
	bool news;

	if (from->source == GW_SOURCE_STATIC && to->source > GW_SOURCE_STATIC) {
		news = remember(k, field, from);
		k->retold |= news;
		return news;
	}
	/* What was published before a count came is known to predictor and log. */
	if (from->source > GW_SOURCE_STATIC && isfinite(from->value))
		k->retold |= remember(k, field, to) && k->listed;
	return merge(to, from);
}

void gw_work_offer(uint32_t config, const struct gw_work *part)
{
	bool news = false;
	struct known *k;

	if (!config || config > gw_config_count())
		return;
	k = make(config);
	if (!k)
		return;
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		news |= learn(k, i, &part->q[i]);
	if (!news || k->listed)
		return;
	k->listed = true;
	k->next = changed;
	changed = config;
}

const struct gw_work *gw_work_of(uint32_t config)
{
	return config < GW_CONFIGS_MAX && works[config] ? &works[config]->work : NULL;
}

void gw_work_told(uint32_t config, struct gw_work *out)
{
	const struct known *k = config < GW_CONFIGS_MAX ? works[config] : NULL;

	gw_work_clear(out);
	for (unsigned i = 0; k && i < GW_WORK_FIELDS; i++)
		if (k->work.q[i].source == GW_SOURCE_STATIC)
			out->q[i] = k->work.q[i];
		else if (k->told)
			out->q[i] = k->told->q[i];
}

static void publish(uint32_t config, const struct gw_work *work)
{
	struct gw_fleet *f = gw_launches_fleet();
	struct gw_record_work r = {.config = config, .known = gw_fleet_observations(f)};
	struct gw_record_quantity parts[GW_WORK_FIELDS];

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		const struct gw_quantity *q = &work->q[i];

		if (q->source != GW_SOURCE_NONE)
			parts[r.count++] = (struct gw_record_quantity){.field = (uint16_t)i,
			                                               .source = (uint8_t)q->source,
			                                               .confidence = q->confidence,
			                                               .value = q->value};
	}
	gw_log_write(GW_RECORD_WORK, &r, sizeof(r), parts, r.count * sizeof(*parts));
	gw_fleet_work(f, config, work);
}

void gw_work_publish(void)
{
	struct gw_work told;

	while (changed) {
		uint32_t config = changed;
		struct known *k = works[config];

		changed = k->next;
		k->listed = false;
		/* A record has one value of a row: what code says stands before what counts say. */
		if (k->retold) {
			gw_work_told(config, &told);
			publish(config, &told);
			k->retold = false;
		}
		publish(config, &k->work);
	}
}
