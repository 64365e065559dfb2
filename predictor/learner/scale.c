/*
 * A launch's assumed work: counted where it was, else extrapolated from counted configurations of
 * the kernel, else static.
 */
#include "predictor/learner/learner.h"
#include "predictor/models/inputs.h"
#include "predictor/models/model.h"
#include "predictor/models/occupancy.h"
#include "predictor/models/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCES_MOST = 6 }; /* nearest configurations that amounts are extrapolated from */

/*
 * Prior on how amounts differ between configurations of a kernel, in logarithms: per thread of the
 * grid they are equal, up to a power of the number of threads that points show. Where code analysis
 * gives both amounts, counted and static have the same ratio. None of these is a measurement.
 */
static const struct gw_prior PER_THREAD = {
	.offset = 3, .slope = 0.5, .smooth = 0.3, .reach = 1.5, .own = 0.05};
static const struct gw_prior BY_CODE = {
	.offset = 3, .slope = 0.1, .smooth = 0.1, .reach = 1.5, .own = 0.02};
static const double COUNT_NOISE = 0.02; /* of a counted amount, in its logarithm */
static const float EXACT = 0.95F;       /* confidence of what code settles */
static const double REFUTED = 2;  /* factor by which code and counter may differ, caches included */
static const double ALIKE = 1e-6; /* square of a distance that is none */

/*
 * By which power of the grid times grow until it fills the GPU: 0 while each block has an SM to
 * itself, or fewer than two warps share a scheduler, then nearly 1, as they share what an SM has.
 */
static const double BELOW_A_WAVE = 0.7;

void gw_scale_place(const struct gw_predictor *p, struct gw_entry *e)
{
	const struct gw_launch launch = {.kernel = &e->family->kernel, .config = e->config};
	struct gw_occupancy o;

	e->blocks = (float)log(fmax(1, gw_dim3_size(e->config.grid)));
	e->threads = (float)log(fmax(1, gw_dim3_size(e->config.block)));
	/* Shared memory counts less: 1 KiB more or less is not another kind of launch. */
	e->shared = (float)(0.5 * log1p(e->config.dynamic_shared / 1024.0));
	e->waves = 0.5F * (e->blocks + e->threads);
	if (p->device && !gw_occupancy_of(p->device, &launch, &o)) {
		double waves = log(o.waves),
		       alone = 2 * gw_param_value(p->device, GW_PARAM_schedulers_per_sm);

		alone = log(fmax(alone, o.warps_per_block) / o.warps_per_sm);
		if (waves < 0)
			waves = BELOW_A_WAVE * fmax(waves, fmin(alone, 0));
		e->waves = (float)waves;
	}
}

static int by_field(const void *a, const void *b)
{
	const struct gw_part *x = a, *y = b;

	return x->field != y->field ? (int)x->field - (int)y->field
				    : (int)x->source - (int)y->source;
}

static struct gw_part part_of(unsigned field, const struct gw_quantity *q)
{
	return (struct gw_part){(uint8_t)field, (uint8_t)q->source, q->confidence, q->value};
}

/* Where code analysis gives both parts of a counted sum, it gives the sum. */
static bool add_sum(const struct gw_work *work, struct gw_part *part)
{
	const struct gw_quantity *read = &work->q[GW_WORK_l2_read_bytes];
	const struct gw_quantity *written = &work->q[GW_WORK_l2_write_bytes];
	struct gw_quantity sum = {read->value + written->value, GW_SOURCE_STATIC,
				  read->confidence < written->confidence ? read->confidence
									 : written->confidence};

	if (work->q[GW_WORK_l2_total_bytes].source == GW_SOURCE_STATIC ||
	    read->source != GW_SOURCE_STATIC || written->source != GW_SOURCE_STATIC ||
	    !isfinite(sum.value))
		return false;
	*part = part_of(GW_WORK_l2_total_bytes, &sum);
	return true;
}

void gw_scale_keep(struct gw_predictor *p, uint32_t config, struct gw_entry *e,
		   const struct gw_work *work)
{
	struct gw_part parts[2 * GW_WORK_FIELDS + 1], *kept;
	uint16_t n = 0;
	bool sure = false, summed;

	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		if (work->q[i].source != GW_SOURCE_NONE && isfinite(work->q[i].value))
			parts[n++] = part_of(i, &work->q[i]);
	summed = add_sum(work, &parts[n]);
	n += summed;
	for (uint16_t i = 0; i < n; i++)
		sure |= parts[i].source > GW_SOURCE_STATIC;
	/* Static work remains useful beside counts. */
	for (uint16_t i = 0; i < e->part_count; i++)
		if (e->parts[i].source == GW_SOURCE_STATIC &&
		    work->q[e->parts[i].field].source != GW_SOURCE_STATIC &&
		    !(summed && e->parts[i].field == GW_WORK_l2_total_bytes))
			parts[n++] = e->parts[i];
	qsort(parts, n, sizeof(*parts), by_field);
	kept = n ? malloc(n * sizeof(*parts)) : NULL;
	if (n && !kept)
		return; /* the previous work still holds */
	if (n)
		memcpy(kept, parts, n * sizeof(*parts));
	free(e->parts);
	e->parts = kept;
	e->part_count = n;
	e->work_version++;
	if (sure)
		e->work_known = p->observations;
	if (!e->family)
		return;
	e->family->any_work_version++;
	/* Others are extrapolated from everything a counted one has. */
	e->family->work_version += sure || e->counted_listed;
	if (sure && !e->counted_listed) {
		e->counted_listed = true;
		e->family->counted[e->family->counted_count++ % GW_COUNTED_MOST] = config;
	}
}

/*
 * Settled static work is as exact as a counter; a sample of few launches is not. What code knows
 * except for the caches is at most a factor off: a poor sample that differs more is wrong. Less
 * behind the caches is what they kept.
 */
static bool exacter(const struct gw_quantity *derived, const struct gw_part *counted)
{
	unsigned field = counted->field;
	bool behind = (field >= GW_WORK_dram_read_bytes && field <= GW_WORK_l2_read_bytes) ||
		      field == GW_WORK_l2_total_bytes;
	double times = counted->value / derived->value;

	return derived->source == GW_SOURCE_STATIC && counted->source >= GW_SOURCE_GIVEN &&
	       counted->confidence < GW_CONFIDENCE_COUNTED &&
	       (derived->confidence >= EXACT ||
		(derived->confidence >= GW_CONFIDENCE_SETTLED &&
		 (times > REFUTED || (times < 1 / REFUTED && !behind))));
}

/* The own parts of @p e available at that time: the most certain of each field. */
static bool own_parts(const struct gw_entry *e, uint64_t known, struct gw_work *out,
		      uint64_t *since)
{
	bool late = e->work_known > known;

	gw_work_clear(out);
	for (uint16_t i = 0; i < e->part_count; i++) {
		const struct gw_part *part = &e->parts[i];

		if (part->source > GW_SOURCE_STATIC) {
			if (late)
				continue;
			*since = e->work_known > *since ? e->work_known : *since;
			if (exacter(&out->q[part->field], part)) {
				out->q[part->field].source = (enum gw_source)part->source;
				continue;
			}
		}
		out->q[part->field] = (struct gw_quantity){
			part->value, (enum gw_source)part->source, part->confidence};
	}
	return e->part_count > 0;
}

/** A configuration that amounts are extrapolated from. */
struct source {
	const struct gw_entry *entry;
	struct gw_quantity counted[GW_WORK_FIELDS];
	double derived[GW_WORK_FIELDS]; /* static; NaN when unknown */
};

struct gw_place gw_place_of(const struct gw_entry *e)
{
	return (struct gw_place){
		.at = {(double)e->blocks, (double)e->threads, (double)e->shared, 0},
		.along = (double)e->blocks + (double)e->threads};
}

static void look_at(struct source *s)
{
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++) {
		s->counted[i] = (struct gw_quantity){.value = NAN};
		s->derived[i] = NAN;
	}
	for (uint16_t i = 0; i < s->entry->part_count; i++) {
		const struct gw_part *part = &s->entry->parts[i];

		if (part->source == GW_SOURCE_STATIC)
			s->derived[part->field] = part->value;
		else if (part->source >= GW_SOURCE_GIVEN)
			s->counted[part->field] = (struct gw_quantity){
				part->value, (enum gw_source)part->source, part->confidence};
	}
}

/* The nearest counted configurations of the kernel of @p e, nearest first. */
static unsigned sources_of(const struct gw_predictor *p, const struct gw_entry *e, uint64_t known,
			   struct source out[SOURCES_MOST])
{
	struct {
		const struct gw_entry *entry;
		double distance;
	} near[SOURCES_MOST + 1];
	const struct gw_kernel_stats *f = e->family;
	const struct gw_place here = gw_place_of(e);
	uint32_t all = f->counted_count < GW_COUNTED_MOST ? f->counted_count : GW_COUNTED_MOST;
	unsigned n = 0, at;

	for (uint32_t i = 0; i < all; i++) {
		const struct gw_entry *other = gw_learner_entry(p, f->counted[i]);
		struct gw_place there = gw_place_of(other);
		double distance = gw_place_distance2(&here, &there);

		if (other == e || other->work_known > known)
			continue;
		/* A count over several argument sets applies to none of them. */
		if (e->config.digest && !other->config.digest)
			continue;
		for (at = n; at && near[at - 1].distance > distance; at--)
			near[at] = near[at - 1];
		near[at].entry = other;
		near[at].distance = distance;
		n += n < SOURCES_MOST;
	}
	for (unsigned i = 0; i < n; i++) {
		out[i].entry = near[i].entry;
		look_at(&out[i]);
	}
	return n;
}

/* Amounts that grow with the grid, unlike shares and what one warp does. */
static bool extensive(unsigned field)
{
	static const char of_one[][15] = {"1", "cycle", "load", "warp inst/warp", "transaction"};
	const char *unit = gw_work_unit(field);

	for (unsigned i = 0; i < sizeof(of_one) / sizeof(*of_one); i++)
		if (!strcmp(unit, of_one[i]))
			return false;
	return true;
}

/** One field being extrapolated; weights serve every field known at the same sources. */
struct scaling {
	const struct source *source;
	unsigned count;
	struct gw_place here;
	struct gw_weights weights[2]; /* per thread, static */
	uint32_t mask[2];             /* sources that they are of; 0: none yet */
};

/* Uncertainty of extrapolated amounts, as a standard deviation of their logarithm. */
struct doubts {
	bool any;
	double of[GW_WORK_FIELDS]; /* 0: not extrapolated, or no amount */
};

/* The same shape but another configuration: they differ in arguments. */
static bool alike(const struct scaling *s, unsigned i)
{
	struct gw_place there = gw_place_of(s->source[i].entry);

	return gw_place_distance2(&there, &s->here) < ALIKE;
}

static struct gw_point point_of(const struct scaling *s, unsigned i, bool by_code)
{
	return (struct gw_point){.place = gw_place_of(s->source[i].entry),
				 .noise =
					 !by_code && alike(s, i) ? PER_THREAD.offset : COUNT_NOISE};
}

static const struct gw_weights *weights_for(struct scaling *s, bool by_code, uint32_t mask)
{
	struct gw_point points[GW_KRIGE_POINTS];
	unsigned n = 0;

	if (s->mask[by_code] == mask)
		return &s->weights[by_code];
	for (unsigned i = 0; i < s->count; i++)
		if (mask & 1u << i)
			points[n++] = point_of(s, i, by_code);
	gw_krige(by_code ? &BY_CODE : &PER_THREAD, points, n, &s->here, &s->weights[by_code]);
	s->mask[by_code] = mask;
	return &s->weights[by_code];
}

/* Sources with the field, without those that count none of it where the nearest counts some. */
static uint32_t sources_with(const struct scaling *s, unsigned field, bool by_code)
{
	uint32_t mask = 0;
	bool some = false;

	for (unsigned i = 0; i < s->count; i++) {
		double v = s->source[i].counted[field].value;

		if (isnan(v) || (by_code && !(s->source[i].derived[field] > 0)))
			continue;
		if (!mask)
			some = v > 0;
		if (some == (v > 0))
			mask |= 1u << i;
	}
	return mask;
}

/*
 * An amount lies between a constant and the square of the grid; per thread that is @p away from the
 * nearest source. What lies farther off is noise.
 */
static double near(double value, double nearest, double away)
{
	double room = fabs(away) + log(REFUTED);

	if (isnan(nearest))
		return value;
	return fmin(fmax(value, nearest - room), nearest + room);
}

static struct gw_quantity scaled(struct scaling *s, unsigned field, double derived,
				 struct doubts *doubts)
{
	bool by_code = derived > 0 && sources_with(s, field, true) != 0;
	uint32_t mask = sources_with(s, field, by_code);
	double sum = 0, sure = 1, grown = extensive(field) && !by_code;
	double nearest = NAN, away = 0;
	const struct gw_weights *w;
	unsigned at = 0;

	if (!mask)
		return (struct gw_quantity){.value = NAN};
	w = weights_for(s, by_code, mask);
	for (unsigned i = 0; i < s->count; i++) {
		const struct source *from = &s->source[i];
		double mean = grown != 0 ? gw_place_of(from->entry).along : 0;

		if (!(mask & 1u << i))
			continue;
		if (!(from->counted[field].value > 0))
			return (struct gw_quantity){0, GW_SOURCE_SCALED,
						    from->counted[field].confidence};
		if (by_code)
			mean = log(from->derived[field]);
		if (isnan(nearest) && (by_code || !alike(s, i))) {
			nearest = log(from->counted[field].value) - mean;
			away = s->here.along - gw_place_of(from->entry).along;
		}
		sum += w->weight[at++] * (log(from->counted[field].value) - mean);
		sure = fmin(sure, (double)from->counted[field].confidence);
	}
	sum = near(sum, nearest, away) + (by_code ? log(derived) : grown != 0 ? s->here.along : 0);
	if (extensive(field)) {
		doubts->of[field] = w->deviation;
		doubts->any = true;
	}
	return (struct gw_quantity){exp(sum), GW_SOURCE_SCALED, (float)(sure * exp(-w->deviation))};
}

static void add_scaled(const struct gw_predictor *p, const struct gw_entry *e, uint64_t known,
		       struct gw_work *work, uint64_t *since, struct doubts *doubts)
{
	struct source source[SOURCES_MOST];
	struct scaling s = {.source = source, .here = gw_place_of(e)};

	s.count = e->family ? sources_of(p, e, known, source) : 0;
	for (unsigned i = 0; s.count && i < GW_WORK_FIELDS; i++) {
		struct gw_quantity *q = &work->q[i], value;

		/* Other arguments do other work: settled static work for these is kept. */
		if (q->source > GW_SOURCE_STATIC ||
		    (q->source == GW_SOURCE_STATIC && q->confidence >= GW_CONFIDENCE_SETTLED))
			continue;
		value = scaled(&s, i, q->value, doubts);
		if (!isfinite(value.value))
			continue;
		if (!strcmp(gw_work_unit(i), "1") && i != GW_WORK_warp_ilp)
			value.value = fmin(value.value, 1);
		*q = value;
	}
	for (unsigned i = 0; i < s.count; i++)
		*since =
			source[i].entry->work_known > *since ? source[i].entry->work_known : *since;
}

void gw_predictor_known_work(const struct gw_predictor *p, uint32_t config, struct gw_work *out)
{
	const struct gw_entry *e = gw_learner_entry(p, config);
	struct doubts doubts = {0};
	uint64_t since = 0;

	gw_work_clear(out);
	if (!e)
		return;
	own_parts(e, UINT64_MAX, out, &since);
	add_scaled(p, e, UINT64_MAX, out, &since, &doubts);
}

/*
 * Uncertainty of the time due to extrapolated amounts: half of the difference between all of them
 * being more and all being less, because they err together. Amounts that hardly affect the time may
 * be as uncertain as they like.
 */
static double doubt_of(const struct gw_predictor *p, const struct gw_entry *e,
		       const struct gw_work *work, const struct doubts *doubts)
{
	double ends[2];

	for (unsigned end = 0; end < 2; end++) {
		struct gw_work w = *work;
		double seconds;

		for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
			if (doubts->of[i] > 0)
				w.q[i].value *= exp(end ? doubts->of[i] : -doubts->of[i]);
		seconds = gw_base_seconds(p, e, &w);
		if (!(seconds > 0))
			return 0;
		ends[end] = log(seconds);
	}
	return fabs(ends[1] - ends[0]) / 2;
}

/* The same due to what L2 keeps, in the time of base @p b: nothing at the other end, which @p work
 * is left with. */
static double kept_of(const struct gw_predictor *p, const struct gw_entry *e, struct gw_work *work,
		      const struct gw_base *b)
{
	double seconds;

	work->q[GW_WORK_l2_kept].value = NAN;
	seconds = gw_base_seconds(p, e, work);
	return seconds > 0 ? fabs(log(seconds) - b->log_seconds) / 2 : 0;
}

/* From everything known. */
static struct gw_base estimate_known(const struct gw_predictor *p, const struct gw_entry *e,
				     uint64_t known)
{
	struct doubts doubts = {0};
	struct gw_base b = {0};
	struct gw_work work;

	own_parts(e, known, &work, &b.known);
	add_scaled(p, e, known, &work, &b.known, &doubts);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		b.unsure |= work.q[i].source > GW_SOURCE_STATIC &&
			    work.q[i].confidence < GW_CONFIDENCE_COUNTED;
	b = gw_base_of(p, e, &work, b);
	if (isnan(b.log_seconds))
		return b;
	if (doubts.any)
		b.doubt = (float)doubt_of(p, e, &work, &doubts);
	else if (b.source == GW_SOURCE_STATIC && !b.bare && !isnan(work.q[GW_WORK_l2_kept].value))
		b.kept = (float)kept_of(p, e, &work, &b);
	return b;
}

/* Static work, regardless of counts. */
static void parts_by_code(const struct gw_entry *e, struct gw_work *out)
{
	gw_work_clear(out);
	for (uint16_t i = 0; i < e->part_count; i++)
		if (e->parts[i].source == GW_SOURCE_STATIC)
			out->q[e->parts[i].field] = (struct gw_quantity){
				e->parts[i].value, GW_SOURCE_STATIC, e->parts[i].confidence};
}

struct gw_base gw_scale_by_code(const struct gw_predictor *p, struct gw_entry *e)
{
	struct gw_work work;

	if (!e->family)
		return (struct gw_base){.log_seconds = NAN};
	if (e->by_code_own != e->work_version) {
		parts_by_code(e, &work);
		e->by_code = gw_base_of(p, e, &work, (struct gw_base){0});
		e->by_code_own = e->work_version;
	}
	return e->by_code;
}

struct gw_base gw_scale_base(const struct gw_predictor *p, struct gw_entry *e, uint64_t known)
{
	if (!e->family)
		return (struct gw_base){.log_seconds = NAN};
	if (e->base_own != e->work_version || e->base_family != e->family->work_version) {
		e->base = estimate_known(p, e, UINT64_MAX);
		e->base_own = e->work_version;
		e->base_family = e->family->work_version;
	}
	return e->base.known <= known ? e->base : estimate_known(p, e, known);
}
