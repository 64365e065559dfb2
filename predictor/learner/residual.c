/*
 * Configurations without times of their own: the model's time for their work, corrected by what
 * the kernel's other configurations show of it, or, without work, by how their times go with
 * the grid. The correction is the logarithm of time over model's time. A kernel of which nothing
 * was timed has the level of its class: what the kernels so far had in the middle.
 */
#include "predictor/learner/learner.h"

#include <math.h>

/*
 * Prior of a class before anything was timed: the model is right on average, and this far off for
 * one kernel; from then on the run itself decides.
 */
static const struct {
	double spread[GW_CERTAINTIES]; /* among kernels */
	struct gw_prior prior;
} SOURCE[GW_CLASSES / GW_CERTAINTIES] = {
	[GW_CLASS_STATIC /
	 GW_CERTAINTIES] = {{0.22, 0.7, 0.9},
			    {.slope = 0.15, .smooth = 0.5, .reach = 3, .own = 0.08}},
	[GW_CLASS_SCALED /
		GW_CERTAINTIES] = {{0.5, 0.8, 0.8},
				   {.slope = 0.1, .smooth = 0.45, .reach = 3, .own = 0.06}},
	[GW_CLASS_COUNTED /
		GW_CERTAINTIES] = {{0.35, 0.6, 0.7},
				   {.slope = 0.1, .smooth = 0.45, .reach = 3, .own = 0.08}},
};

/* Without work: time scales with the waves of the grid, roughly. */
static const struct gw_prior NO_WORK = {
	.offset = 3, .slope = 0.35, .smooth = 0.25, .reach = 2, .own = 0.1};

enum {
	LEVEL_DOUBT = 2,   /* weight, in kernels, of the prior that a class has no bias */
	SPREAD_DOUBT = 16, /* the same of how kernels spread: a few show its tail by chance */
};
static const double HELD = 0.9;        /* a normal distribution holds it within GW_NINE_IN_TEN */
static const double MIDDLE = 1.5;      /* variance of a middle of one, in those of a kernel */
static const double DOUBTFUL = 0.5;    /* standard deviation of a base, in log time */
static const double WIDEST = 20;       /* of any interval, in log time: keeps the ends finite */
static const double NOTEWORTHY = 0.02; /* change of a time that makes relatives recompute */
static const double ALIKE = 1e-6;      /* square of a distance that is none */
static const double OWN_SHARE = 0.1;   /* noise of a single time, at most */
static const double FIT_DOUBT = 4;     /* weight, in points, of the prior on their agreement */
static const double MIXED = 0.3;       /* scatter assumed for a few times with unknown arguments */
static const double POWER = 0.4; /* of how times grow until a grid fills the GPU: relative noise */
static const double UNLIKE = 2;  /* the same of arguments that differ at one shape, in log time */

static double first_spread(unsigned c)
{
	return SOURCE[c / GW_CERTAINTIES].spread[c % GW_CERTAINTIES];
}

void gw_residual_start(struct gw_state *s)
{
	for (unsigned c = 0; c < GW_CLASSES; c++)
		s->level[c] = (struct gw_level){0, first_spread(c)};
}

/* ---- levels: what kernels have in the middle ---- */

/* Root mean square distance of a kernel's configurations from @p middle. */
static double off_by(const struct gw_kernel_stats *f, enum gw_class c, double middle)
{
	double square = (double)f->squares[c] - 2 * middle * (double)f->level[c] + middle * middle;

	return sqrt(fmax(square, 0));
}

/*
 * The next kernel is no farther off than the k-th farthest of n alike in k of n + 1 cases. Of few
 * that is the farthest, and their middle is uncertain besides.
 */
static struct gw_level level_of(const struct gw_predictor *p, enum gw_class c)
{
	uint32_t n = p->level_count[c] < GW_LEVEL_KERNELS ? p->level_count[c] : GW_LEVEL_KERNELS;
	uint32_t at = (uint32_t)ceil(HELD * (n + 1));
	double middle, spread, square, first = first_spread(c);
	float v[GW_LEVEL_KERNELS];

	if (!n)
		return (struct gw_level){0, first};
	for (uint32_t i = 0; i < n; i++)
		v[i] = p->level_ring[c][i]->level[c];
	/* Kernels far slower than the model says do not move the rest. */
	gw_sort(v, n);
	middle = gw_sorted_densest(v, n, n / 2 + 1) * n / (n + LEVEL_DOUBT);
	for (uint32_t i = 0; i < n; i++)
		v[i] = (float)off_by(p->level_ring[c][i], c, middle);
	gw_sort(v, n);
	spread = (double)v[(at < n ? at : n) - 1] / GW_NINE_IN_TEN;
	square = (SPREAD_DOUBT * first * first + n * spread * spread) / (n + SPREAD_DOUBT);
	return (struct gw_level){middle, sqrt(square * (1 + MIDDLE / (n + LEVEL_DOUBT)))};
}

void gw_residual_levels(struct gw_predictor *p)
{
	if (!p->levels_changed)
		return;
	for (unsigned c = 0; c < GW_CLASSES; c++)
		p->state.level[c] = level_of(p, (enum gw_class)c);
	p->levels_changed = false;
}

/* Whether the model's time is none, or a lower limit: it goes along with the kernel's own times. */
static bool transfers_only(const struct gw_base *b)
{
	return b->bare || b->least > 0;
}

/* A configuration trains its kernel's bias once per class, however often it is launched. */
static void tell_level(struct gw_predictor *p, struct gw_entry *e, double center)
{
	struct gw_base b = gw_scale_base(p, e, UINT64_MAX);
	struct gw_kernel_stats *f = e->family;
	enum gw_class c;
	float off;

	/* Uncertain work says more about itself than about the model. */
	if (isnan(b.log_seconds) || transfers_only(&b) || (double)b.unexplained > DOUBTFUL)
		return;
	c = gw_class_of(&b);
	if (e->levels & 1u << c || f->level_count[c] == UINT16_MAX)
		return;
	e->levels |= (uint16_t)(1u << c);
	if (!f->level_count[c]++)
		p->level_ring[c][p->level_count[c]++ % GW_LEVEL_KERNELS] = f;
	off = (float)(center - b.log_seconds);
	f->level[c] += (off - f->level[c]) / (float)f->level_count[c];
	f->squares[c] += (off * off - f->squares[c]) / (float)f->level_count[c];
	p->levels_changed = true;
}

void gw_residual_timed(struct gw_predictor *p, uint32_t config, struct gw_entry *e, double center)
{
	struct gw_kernel_stats *f = e->family;
	bool first = !e->timed_known;

	if (!f)
		return;
	if (first)
		f->timed[f->timed_count++ % GW_TIMED_MOST] = config;
	if (first || fabs(center - (double)e->reported) > NOTEWORTHY) {
		f->version++;
		e->reported = (float)center;
	}
	if (first || e->settled != e->work_version)
		tell_level(p, e, center);
}

/* ---- a configuration among its relatives ---- */

/** A timed configuration of the same kernel. */
struct relative {
	struct gw_entry *entry;
	const struct gw_published *made;
	double distance;
};

/* The nearest of those timed by then, nearest first. */
static unsigned relatives_of(const struct gw_predictor *p, const struct gw_entry *e, uint64_t known,
			     struct relative out[GW_KRIGE_POINTS + 1])
{
	const struct gw_kernel_stats *f = e->family;
	const struct gw_place here = gw_place_of(e);
	uint32_t all = f->timed_count < GW_TIMED_MOST ? f->timed_count : GW_TIMED_MOST;
	unsigned n = 0, at;

	for (uint32_t i = 0; i < all; i++) {
		struct relative r = {.entry = gw_learner_entry(p, f->timed[i])};
		struct gw_place there = gw_place_of(r.entry);

		r.made = r.entry == e ? NULL : gw_published_at(r.entry, known);
		if (!r.made || !r.made->size)
			continue;
		r.distance = gw_place_distance2(&here, &there);
		for (at = n; at && out[at - 1].distance > r.distance; at--)
			out[at] = out[at - 1];
		out[at] = r;
		n += n < GW_KRIGE_POINTS;
	}
	return n;
}

/*
 * The expected mean of a time without further information, as a logarithm; and the time itself, on
 * the scale where such means add.
 */
struct view {
	const struct gw_predictor *p;
	const struct gw_level *level; /* NULL: by grid size alone */
};

/* Subtract the launch floor, but at most seven eighths of a time: the floor is not that certain. */
static double without_floor(const struct gw_predictor *p, double log_seconds)
{
	double t = exp(log_seconds);

	return log(fmax(t - p->floor, t / 8));
}

static double with_floor(const struct gw_predictor *p, double log_rest)
{
	double rest = exp(log_rest);

	return log(rest >= p->floor / 7 ? rest + p->floor : 8 * rest);
}

/* Standard deviation of a sum of independent parts. hypot@GLIBC_2.35 exceeds our 2.34 floor. */
static double together(double a, double b)
{
	return sqrt(a * a + b * b);
}

/* An isolated point counts for little. */
static void doubt_outliers(struct gw_point *points, unsigned n, double own)
{
	double middle, room;
	float v[GW_KRIGE_POINTS];

	if (n < 4)
		return;
	for (unsigned i = 0; i < n; i++)
		v[i] = (float)points[i].value;
	gw_sort(v, n);
	middle = gw_sorted_median(v, n);
	for (unsigned i = 0; i < n; i++)
		v[i] = (float)fabs(points[i].value - middle);
	gw_sort(v, n);
	room = 4 * (1.4826 * gw_sorted_median(v, n) + own);
	for (unsigned i = 0; i < n; i++)
		points[i].noise += fmax(0, fabs(points[i].value - middle) - room);
}

/**
 * An estimate: logarithm of the time at the reference clock, and its standard deviation, larger
 * where the kernel's own times agree less than expected.
 */
struct guess {
	double log_seconds, deviation;
	double arguments; /* spread_of_arguments() */
	unsigned points;
	struct gw_base base; /* its base; log_seconds NaN: none */
};

static double combined(const struct gw_prior *prior, struct gw_point *points, unsigned n,
		       const struct gw_place *here, double *deviation)
{
	double sum = 0, misfit = gw_krige_misfit(prior, points, n);
	struct gw_weights w;

	doubt_outliers(points, n, prior->own);
	gw_krige(prior, points, n, here, &w);
	for (unsigned i = 0; i < n; i++)
		sum += w.weight[i] * points[i].value;
	*deviation = w.deviation * sqrt((FIT_DOUBT + n * misfit) / (FIT_DOUBT + n));
	return sum;
}

/*
 * Between launches with known arguments and others: the latter may have had these arguments or
 * many, and count as far as they agree among themselves. The same in the other direction.
 */
static bool mixed(const struct gw_entry *a, const struct gw_entry *b)
{
	return !a->config.digest != !b->config.digest;
}

static double noise_of(const struct relative *r, const struct gw_entry *e, double own)
{
	const struct gw_published *m = r->made;
	double noise = fmin((double)m->noise, OWN_SHARE);

	if (mixed(r->entry, e))
		return together(own, fmax((double)m->scatter, m->size > 4 ? 0 : MIXED));
	return sqrt(own * own + noise * noise / m->size);
}

/* By the model's time: relatives count when their work is known as well. */
static struct guess by_work(const struct view *v, const struct gw_base *base, bool code_alone,
			    const struct gw_entry *e, const struct relative *r, unsigned count,
			    uint64_t known)
{
	enum gw_class c = gw_class_of(base);
	struct gw_prior prior = SOURCE[c / GW_CERTAINTIES].prior;
	struct gw_point points[GW_KRIGE_POINTS];
	struct gw_place here = gw_place_of(e);
	struct guess g = {.base = *base};
	unsigned alike = 0;

	/* A kernel that was never timed has the spread of the bias. */
	prior.offset = together(v->level[c].spread, (double)base->unexplained);
	if (!count)
		prior.slope = prior.smooth = prior.own = 0;
	here.at[3] = 0.5 * base->log_seconds;
	here.along = base->log_seconds;
	for (unsigned i = 0; i < count; i++) {
		struct gw_base b = code_alone ? gw_scale_by_code(v->p, r[i].entry)
					      : gw_scale_base(v->p, r[i].entry, known);
		struct gw_point *point = &points[g.points];
		enum gw_class of;
		double own;

		if (isnan(b.log_seconds) ||
		    (b.source == GW_SOURCE_STATIC) != (base->source == GW_SOURCE_STATIC) ||
		    (!code_alone && b.bare != base->bare))
			continue;
		of = gw_class_of(&b);
		own = SOURCE[of / GW_CERTAINTIES].prior.own;
		/* Its work is known less or more: the model lacks something else there. */
		if (b.path != base->path)
			own = together(own, v->level[of].spread);
		else
			alike++;
		*point = (struct gw_point){
			.place = gw_place_of(r[i].entry),
			.value = (double)r[i].made->center - b.log_seconds - v->level[of].mean,
			.noise = together(noise_of(&r[i], e, own), (double)b.doubt)};
		point->place.at[3] = 0.5 * b.log_seconds;
		point->place.along = b.log_seconds;
		g.points++;
	}
	g.log_seconds = base->log_seconds + v->level[c].mean +
			combined(&prior, points, g.points, &here, &g.deviation);
	/* What the model lacks at all of them does not average out. */
	if (g.points && !alike)
		g.deviation = together(g.deviation, v->level[c].spread);
	return g;
}

/*
 * Samples err differently at each configuration, code the same at all: then the kernel's own times
 * agree better in the code's view. Both views are weighted by how well the times agree; their
 * errors are correlated, so two are no more certain than the better one.
 */
static void add_code(const struct view *v, struct gw_entry *e, const struct relative *r,
		     unsigned count, uint64_t known, struct guess *g)
{
	struct gw_base code = gw_scale_by_code(v->p, e);
	struct guess other;
	double own, share;

	if (isnan(code.log_seconds))
		return;
	other = by_work(v, &code, true, e, r, count, known);
	if (other.points < g->points)
		return;
	own = g->deviation * g->deviation + (double)g->base.doubt * (double)g->base.doubt;
	share = own / (own + other.deviation * other.deviation);
	g->log_seconds += share * (other.log_seconds - g->log_seconds);
	g->deviation = fmin(g->deviation, other.deviation);
}

/*
 * How far apart arguments that differ put times of one shape: as far as those timed so far are, of
 * which few say little. Without knowing the work no more can be known of the next arguments. 0
 * where none differ.
 */
static double spread_of_arguments(const struct gw_entry *e, const struct relative *r,
				  const struct gw_point *points, unsigned count)
{
	double sum = 0, squares = 0, n = 0;

	for (unsigned i = 0; i < count; i++)
		if (r[i].distance < ALIKE && !mixed(r[i].entry, e)) {
			sum += points[i].value;
			squares += points[i].value * points[i].value;
			n++;
		}
	return n > 0 ? sqrt((FIT_DOUBT * UNLIKE * UNLIKE + fmax(0, squares - sum * sum / n)) /
			    (FIT_DOUBT + n))
		     : 0;
}

/* By grid size alone. */
static struct guess by_times(const struct view *v, const struct gw_entry *e,
			     const struct relative *r, unsigned count)
{
	struct guess g = {.points = count, .base = {.log_seconds = NAN}};
	struct gw_place here = gw_place_of(e);
	struct gw_point points[GW_KRIGE_POINTS];
	double rest, about = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct gw_entry *other = r[i].entry;
		double filling = fmin((double)other->waves, 0) - fmin((double)e->waves, 0);

		points[i] = (struct gw_point){
			.place = gw_place_of(other),
			.value = without_floor(v->p, (double)r[i].made->center) -
				 (double)other->waves,
			.noise = together(noise_of(&r[i], e, NO_WORK.own), POWER * filling)};
		/* Their difference is not part of the place. */
		if (r[i].distance < ALIKE && !mixed(other, e))
			points[i].noise = NO_WORK.offset;
	}
	/* A time of less weight than an own one must not pull towards zero, which is a second. */
	if (mixed(r[0].entry, e) || r[0].distance < ALIKE)
		about = points[0].value;
	for (unsigned i = 0; i < count; i++)
		points[i].value -= about;
	g.arguments = spread_of_arguments(e, r, points, count);
	rest = about + combined(&NO_WORK, points, count, &here, &g.deviation);
	g.deviation = together(g.deviation, g.arguments);
	g.log_seconds = with_floor(v->p, (double)e->waves + rest);
	return g;
}

static double half_width(const struct gw_state *s, const struct guess *g, enum gw_tier tier)
{
	unsigned kind = gw_width_of_work(tier, (enum gw_source)g->base.source);

	/* Uncertain work widens; it does not make grid size more certain than work. */
	return fmin(together(g->deviation, (double)g->base.doubt) * (double)s->coverage.width[kind],
		    WIDEST);
}

static void fill(const struct gw_predictor *p, const struct gw_state *s, const struct guess *g,
		 enum gw_tier tier, uint64_t known, struct gw_published *out)
{
	double share = isnan(g->base.log_seconds) ? 0 : (double)g->base.share, half, middle;

	out->there = true;
	out->tier = (uint8_t)tier;
	out->work = g->base.source;
	out->bound = g->base.bound;
	out->known = s->known <= known ? s->known : known;
	half = half_width(s, g, tier);
	middle = g->log_seconds + log(gw_clock_factor(p, share, s->sm_hz));
	out->seconds = exp(middle);
	out->low = exp(middle - half);
	out->high = exp(middle + half);
}

/* How much of the model's time for what is surely done a launch takes in nine of ten cases. */
static double least_share(const struct gw_state *s, const struct gw_base *base)
{
	struct gw_base sure = *base;
	const struct gw_level *level;

	sure.certainty = GW_CERTAINTY_EXACT;
	level = &s->level[gw_class_of(&sure)];
	return exp(fmin(level->mean, 0) -
		   (double)s->coverage.width[GW_WIDTH_LEAST] * level->spread);
}

void gw_residual_predict(const struct gw_predictor *p, struct gw_entry *e, uint64_t known,
			 struct gw_published *out)
{
	struct relative r[GW_KRIGE_POINTS + 1];
	struct guess g = {.deviation = INFINITY}, other;
	struct gw_base base;
	struct gw_state s;
	struct view v;
	enum gw_tier tier;
	unsigned count;

	*out = (struct gw_published){.tier = GW_TIER_NONE};
	if (!e->family)
		return;
	gw_state_at(p, known, &s);
	count = relatives_of(p, e, known, r);
	tier = count ? GW_TIER_WARM : GW_TIER_COLD;
	base = gw_scale_base(p, e, known);
	/* Relatives need not have the same in L2. Without any the spread of the bias has it. */
	if (count && base.kept > 0)
		base.doubt = base.kept;
	v = (struct view){p, s.level};
	if (!isnan(base.log_seconds))
		g = by_work(&v, &base, false, e, r, count, known);
	if (transfers_only(&base) && !g.points)
		g.deviation = INFINITY;
	if (g.points && base.unsure)
		add_code(&v, e, r, count, known, &g);
	/* Grid size alone may look more certain; work that is known is preferred. */
	if (count && !(g.points && base.certainty != GW_CERTAINTY_PARTIAL &&
		       (base.source > GW_SOURCE_STATIC ||
			(!transfers_only(&base) && (double)base.unexplained <= DOUBTFUL)))) {
		other = by_times(&v, e, r, count);
		if (!(g.deviation <= other.deviation))
			g = other;
		else if (transfers_only(&base))
			g.deviation = together(g.deviation, other.arguments);
	}
	if (isfinite(g.deviation) && isfinite(g.log_seconds))
		fill(p, &s, &g, tier, known, out);
	else if (base.least > 0)
		out->least = base.least * least_share(&s, &base);
}
