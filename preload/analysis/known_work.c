#include "preload/analysis/known_work.h"

#include "preload/runtime/degrade.h"
#include "predictor/learner/predictor_set.h"
#include "preload/live/log.h"
#include "preload/maps/memory.h"
#include "preload/maps/state.h"
#include "preload/maps/configs.h"
#include "preload/runtime/options.h"

#include <math.h>
#include <string.h>

/* One row that is known. */
struct part {
	uint8_t field, source;
	bool news; /* to be published */
	float confidence;
	double value;
};
_Static_assert(GW_WORK_FIELDS <= UINT8_MAX, "a part has 8 bits for a row");

/* Rows that are known, in order. */
struct parts {
	uint32_t count;
	struct part *part;
};

/* What is known of one configuration. */
struct known {
	uint32_t next; /* in the list of those to be published */
	bool listed;
	uint64_t launches; /* of the configuration when all was written last */
	struct parts work;
	struct parts by_code; /* by code analysis, of rows that were measured as well */
};

/* The same while it is looked at, each row in its place. */
struct open {
	struct known *known;
	struct gw_work work, by_code;
	bool news[GW_WORK_FIELDS], code_news[GW_WORK_FIELDS];
};

enum { MORE_SINCE = -1 }; /* in place of `launches`: something of it was written since */

static struct known **works;           /* [GW_CONFIGS_MAX], by configuration */
static uint32_t count, changed;        /* changed: head of the list, 0 = empty */
static uint32_t losses_seen, repeated; /* repeated: the last that was, 0 = none is to be */

void gw_work_start(void)
{
	/* A forked child begins with the parent's: leave them, start empty. */
	works = gw_memory_table(GW_CONFIGS_MAX * sizeof(*works));
	count = changed = losses_seen = repeated = 0;
}

static struct known *known_of(uint32_t config)
{
	return config < GW_CONFIGS_MAX ? works[config] : NULL;
}

static struct known *make(uint32_t config)
{
	struct known *k = known_of(config);

	if (!k && count < GW_WORKS_MAX)
		k = gw_memory_new(GW_MEMORY_counting, 1, sizeof(*k));
	if (!k) {
		gw_degrade(GW_DEGRADED_TABLE_FULL,
			   "no room for the work of more than %u configurations", count);
		gw_count(GW_COUNTER_works_dropped, 1);
		return NULL;
	}
	count += !works[config];
	works[config] = k;
	return k;
}

static struct gw_quantity quantity(const struct part *p)
{
	return (struct gw_quantity){
		.value = p->value, .source = p->source, .confidence = p->confidence};
}

static void read(const struct parts *from, struct gw_work *out, bool news[])
{
	gw_work_clear(out);
	memset(news, 0, GW_WORK_FIELDS * sizeof(*news));
	for (uint32_t i = 0; i < from->count; i++) {
		out->q[from->part[i].field] = quantity(&from->part[i]);
		news[from->part[i].field] = from->part[i].news;
	}
}

static bool is_known(const struct gw_work *work)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source != GW_SOURCE_NONE)
			return true;
	return false;
}

/* What the predictor keeps of it takes as much again. */
enum { COPIES = 2 };

static bool dropped(void)
{
	gw_count(GW_COUNTER_works_dropped, 1);
	return false;
}

/* False where there is no room: what stood there stays. */
static bool keep(struct parts *to, const struct gw_work *work, const bool news[])
{
	struct part part[GW_WORK_FIELDS], *room = to->part;
	uint32_t n = 0;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		const struct gw_quantity *q = &work->q[i];

		if (q->source != GW_SOURCE_NONE)
			part[n++] = (struct part){(uint8_t)i, (uint8_t)q->source, news[i],
						  q->confidence, q->value};
	}
	if (n > to->count) {
		const size_t more = (n - to->count) * sizeof(*part), copies = (COPIES - 1) * more;

		if (!gw_memory_take(GW_MEMORY_counting, copies))
			return dropped();
		room = gw_memory_wider(GW_MEMORY_counting, to->part, to->count, n, sizeof(*part));
		if (!room) {
			gw_memory_give(GW_MEMORY_counting, copies);
			return dropped();
		}
	}
	if (n)
		memcpy(room, part, n * sizeof(*part));
	*to = (struct parts){n, room};
	return true;
}

/*
 * Counts of mode watch are refined as long as it runs, each time in a record: what moves by less
 * than this, and is hardly surer, stays.
 */
static const double MOVES = 0.02;
static const float SURER = 0.1f;

static bool hardly_moves(const struct gw_quantity *q, const struct gw_quantity *from)
{
	return gw_options_watch() && fabs(from->value - q->value) <= MOVES * fabs(q->value) &&
	       from->confidence <= q->confidence + SURER;
}

/* Take over what @p from knows better; true when that changes anything. */
static bool merge(struct gw_quantity *to, const struct gw_quantity *from)
{
	if (from->source == GW_SOURCE_NONE || from->source < to->source || !isfinite(from->value))
		return false;
	if (from->source == to->source &&
	    ((from->value == to->value && from->confidence == to->confidence) ||
	     hardly_moves(to, from)))
		return false;
	*to = *from;
	return true;
}

/*
 * What code says of a row that was counted is still of use: it may be the more exact of the two,
 * and it shows how a count scales with the configuration (predictor/learner/scale.c).
 */
static bool remember(struct open *o, unsigned field, const struct gw_quantity *by_code)
{
	if (by_code->source != GW_SOURCE_STATIC || !isfinite(by_code->value))
		return false;
	return merge(&o->by_code.q[field], by_code);
}

static bool learn(struct open *o, unsigned field, const struct gw_quantity *from)
{
	struct gw_quantity *to = &o->work.q[field];
	bool news;

	if (from->source == GW_SOURCE_STATIC && to->source > GW_SOURCE_STATIC) {
		news = remember(o, field, from);
		o->code_news[field] |= news;
		return news;
	}
	/* What was published before a count came is known to predictor and log. */
	if (from->source > GW_SOURCE_STATIC && isfinite(from->value))
		o->code_news[field] |= remember(o, field, to) && o->news[field];
	news = merge(to, from);
	o->news[field] |= news;
	return news;
}

void gw_work_offer(uint32_t config, const struct gw_work *part)
{
	bool news = false;
	struct open o;

	if (!config || config > gw_config_count() || !is_known(part))
		return;
	o.known = make(config);
	if (!o.known)
		return;
	read(&o.known->work, &o.work, o.news);
	read(&o.known->by_code, &o.by_code, o.code_news);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		news |= learn(&o, i, &part->q[i]);
	if (!keep(&o.known->work, &o.work, o.news) ||
	    !keep(&o.known->by_code, &o.by_code, o.code_news) || !news || o.known->listed)
		return;
	o.known->listed = true;
	o.known->next = changed;
	changed = config;
}

struct gw_quantity gw_work_row(uint32_t config, enum gw_work_field field)
{
	const struct known *k = known_of(config);

	for (uint32_t i = 0; k && i < k->work.count && k->work.part[i].field <= field; i++)
		if (k->work.part[i].field == field)
			return quantity(&k->work.part[i]);
	return (struct gw_quantity){.value = NAN};
}

void gw_work_by_code(uint32_t config, struct gw_work *out)
{
	const struct known *k = known_of(config);

	gw_work_clear(out);
	if (!k)
		return;
	for (uint32_t i = 0; i < k->by_code.count; i++)
		out->q[k->by_code.part[i].field] = quantity(&k->by_code.part[i]);
	for (uint32_t i = 0; i < k->work.count; i++)
		if (k->work.part[i].source == GW_SOURCE_STATIC)
			out->q[k->work.part[i].field] = quantity(&k->work.part[i]);
}

_Static_assert(sizeof(struct gw_record_work) == sizeof(struct gw_record_graph_work) &&
		       offsetof(struct gw_record_work, count) ==
			       offsetof(struct gw_record_graph_work, count),
	       "both records are written alike");

static void write_parts(enum gw_record_kind kind, uint32_t id, uint64_t known,
			const struct gw_work *work, const bool named[])
{
	struct gw_record_work r = {.config = id, .known = known};
	struct gw_record_quantity parts[GW_WORK_FIELDS];

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		const struct gw_quantity *q = &work->q[i];

		if (q->source != GW_SOURCE_NONE && (!named || named[i]))
			parts[r.count++] = (struct gw_record_quantity){.field = (uint16_t)i,
								       .source = (uint8_t)q->source,
								       .confidence = q->confidence,
								       .value = q->value};
	}
	gw_log_write(kind, &r, sizeof(r), parts, r.count * sizeof(*parts));
}

void gw_work_of_graph(uint32_t graph, const struct gw_work *work)
{
	write_parts(GW_RECORD_GRAPH_WORK, graph, 0, work, NULL);
}

static void mark(struct parts *parts, bool news)
{
	for (uint32_t i = 0; i < parts->count; i++)
		parts->part[i].news = news;
}

/* A record has one value of a row: what code says stands before what counts say. */
static void say(struct gw_predictor_set *predictors, uint32_t config, bool tell)
{
	struct known *k = works[config];
	struct gw_work before;
	struct open o;
	bool both = false;

	read(&k->work, &o.work, o.news);
	read(&k->by_code, &o.by_code, o.code_news);
	mark(&k->work, false);
	mark(&k->by_code, false);
	before = o.work;
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		if (o.code_news[i])
			before.q[i] = o.by_code.q[i];
		both |= o.code_news[i];
		o.news[i] |= o.code_news[i];
	}
	for (unsigned left = 1 + both; left--;) {
		const struct gw_work *work = left ? &before : &o.work;

		write_parts(GW_RECORD_WORK, config, gw_predictor_set_observations(predictors), work,
			    both && !left ? o.code_news : o.news);
		if (tell)
			gw_predictor_set_work(predictors, config, work);
	}
}

void gw_work_publish(struct gw_predictor_set *predictors)
{
	while (changed) {
		uint32_t config = changed;
		struct known *k = works[config];

		changed = k->next;
		k->listed = false;
		k->launches = (uint64_t)MORE_SINCE;
		say(predictors, config, true);
	}
}

void gw_work_repeat(struct gw_predictor_set *predictors, uint32_t losses)
{
	enum { AT_ONCE = 256 };
	uint32_t written = 0;

	if (losses != losses_seen)
		repeated = 1; /* configurations begin there */
	losses_seen = losses;
	for (; repeated && written < AT_ONCE; repeated++) {
		struct known *k = known_of(repeated);
		const struct gw_config_entry *e;

		if (repeated > gw_config_count() || repeated >= GW_CONFIGS_MAX) {
			repeated = 0;
			return;
		}
		e = gw_config_entry(repeated);
		/* A new file of a ring needs that of what goes on. */
		if (!k || (gw_log_ring() && k->launches == e->launches))
			continue;
		k->launches = e->launches;
		mark(&k->work, true);
		mark(&k->by_code, true);
		if (k->listed) /* all of it comes anyway */
			continue;
		say(predictors, repeated, false);
		written++;
	}
}
