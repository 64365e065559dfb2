/* What changed between two runs, and what of it counts as a regression. */
#include "cli/diff/runs.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/common/quantile.h"
#include "cli/log/names.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Share by which an estimate that is significant must differ to be a change: half a clock step. */
static const double LEAST = 0.002;

static bool in_run(const struct diff_row *row, unsigned run)
{
	return row->side[run].launches != 0;
}

static bool same_shape(const struct gw_config *a, const struct gw_config *b)
{
	struct gw_config x = *a, y = *b;

	x.digest = y.digest = 0;
	return !memcmp(&x, &y, sizeof(x));
}

/* By kernel, then by shape: rows that differ in their argument hash alone are neighbours. */
static int by_kernel(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	struct gw_config p = x->config, q = y->config;
	int order = strcmp(x->mangled, y->mangled);

	p.digest = q.digest = 0;
	if (!order)
		order = memcmp(&p, &q, sizeof(p));
	return order ? order
		     : (x->config.digest > y->config.digest) -
			       (x->config.digest < y->config.digest);
}

enum diff_code diff_code(const struct diff_row *row)
{
	const uint64_t a = row->code[BASE], b = row->code[OTHER];

	if (!a || !b || a == DIFF_CODE_MIXED || b == DIFF_CODE_MIXED)
		return DIFF_CODE_UNKNOWN;
	return a == b ? DIFF_CODE_SAME : DIFF_CODE_CHANGED;
}

static void add_side(struct diff_side *to, struct diff_side *from)
{
	GW_GROW(to->times, &to->room, to->count + from->count);
	if (from->count)
		memcpy(to->times + to->count, from->times, from->count * sizeof(*to->times));
	to->count += from->count;
	GW_GROW(to->spans.means, &to->spans.room, to->spans.count + from->spans.count);
	if (from->spans.count)
		memcpy(to->spans.means + to->spans.count, from->spans.means,
		       from->spans.count * sizeof(*to->spans.means));
	to->spans.count += from->spans.count;
	to->launches += from->launches;
	to->measured += from->measured;
	to->total += from->total;
	free(from->times);
	free(from->spans.means);
	from->times = from->spans.means = NULL;
}

static void drop(struct diff_row *row)
{
	free(row->mangled);
	free(row->side[BASE].times);
	free(row->side[OTHER].times);
	free(row->side[BASE].spans.means);
	free(row->side[OTHER].spans.means);
}

/* Rows @p from to @p to differ in the argument hash alone: one row, where no hash is in both runs.
 * A new build lays arguments out anew, and all hashes change. Returns how many are left. */
static size_t put_together(struct diff_row *from, struct diff_row *to)
{
	bool base = false, other = false;

	for (struct diff_row *r = from; r < to; r++) {
		if (in_run(r, BASE) && in_run(r, OTHER))
			return (size_t)(to - from);
		base |= in_run(r, BASE);
		other |= in_run(r, OTHER);
	}
	if (!base || !other)
		return (size_t)(to - from);
	for (struct diff_row *r = from + 1; r < to; r++) {
		add_side(&from->side[BASE], &r->side[BASE]);
		add_side(&from->side[OTHER], &r->side[OTHER]);
		for (unsigned i = 0; i < RUNS; i++)
			from->code[i] = from->code[i] ? from->code[i] : r->code[i];
		drop(r);
	}
	from->config.digest = 0;
	return 1;
}

/* A share of the GPU time of the run in which it has more. */
static double share_of(const struct diff *d, const struct diff_row *row)
{
	double base = d->run[BASE].total, other = d->run[OTHER].total;

	return fmax(base > 0 ? row->side[BASE].total / base : 0,
		    other > 0 ? row->side[OTHER].total / other : 0);
}

/* Of @p count rows that differ in the argument hash alone, the only one of each run that is in no
 * other and has at least @p share of its GPU time: one row. Arguments hold what an allocator
 * decides. Returns how many rows are left. */
static size_t pair(const struct diff *d, struct diff_row *rows, size_t count, double share)
{
	size_t at[RUNS] = {0}, found[RUNS] = {0};

	for (size_t i = 0; i < count; i++) {
		const unsigned run = in_run(&rows[i], OTHER) ? OTHER : BASE;

		if (in_run(&rows[i], BASE) == in_run(&rows[i], OTHER) ||
		    share_of(d, &rows[i]) < share)
			continue;
		at[run] = i;
		found[run]++;
	}
	if (found[BASE] != 1 || found[OTHER] != 1)
		return count;
	add_side(&rows[at[OTHER]].side[BASE], &rows[at[BASE]].side[BASE]);
	rows[at[OTHER]].code[BASE] = rows[at[BASE]].code[BASE];
	drop(&rows[at[BASE]]);
	memmove(rows + at[BASE], rows + at[BASE] + 1, (count - at[BASE] - 1) * sizeof(*rows));
	return count - 1;
}

/* Of rows in one run alone: the other has their kernel and shape. */
static void mark_elsewhere(struct diff_row *rows, size_t count)
{
	bool in[RUNS] = {false};

	for (size_t i = 0; i < count; i++)
		for (unsigned k = 0; k < RUNS; k++)
			in[k] |= in_run(&rows[i], k);
	for (size_t i = 0; i < count; i++) {
		rows[i].siblings = count > 1;
		rows[i].elsewhere =
			in[BASE] && in[OTHER] && in_run(&rows[i], BASE) != in_run(&rows[i], OTHER);
	}
}

static void join_rows(struct diff *d, double share)
{
	size_t to = 0;

	qsort(d->rows, d->count, sizeof(*d->rows), by_kernel);
	for (size_t i = 0, next; i < d->count; i = next) {
		size_t left;

		for (next = i + 1; next < d->count &&
				   !strcmp(d->rows[next].mangled, d->rows[i].mangled) &&
				   same_shape(&d->rows[next].config, &d->rows[i].config);)
			next++;
		left = put_together(d->rows + i, d->rows + next);
		left = pair(d, d->rows + i, left, share);
		left = pair(d, d->rows + i, left, 0);
		mark_elsewhere(d->rows + i, left);
		memmove(d->rows + to, d->rows + i, left * sizeof(*d->rows));
		to += left;
	}
	d->count = to;
	for (size_t i = 0; i < d->count; i++)
		d->rows[i].kernel.name = d->rows[i].mangled;
}

/* What a kernel that is gone and one that is new have in common where they are one, renamed. */
enum likeness {
	BY_ARGUMENTS, /* code, resources, shape, argument hash */
	BY_CODE,      /* code, resources, shape */
	BY_RESOURCES, /* resources and shape, where the code of one of them is not known */
	LIKENESSES
};

/* Rows of one run alone that are alike. */
struct likes {
	uint32_t row[RUNS], count[RUNS]; /* the last of them, and how many */
};

static bool in_one_run(const struct diff_row *r)
{
	return in_run(r, BASE) != in_run(r, OTHER);
}

static uint64_t code_of(const struct diff_row *r)
{
	const uint64_t code = r->code[in_run(r, OTHER) ? OTHER : BASE];

	return code == DIFF_CODE_MIXED ? 0 : code;
}

static uint64_t likeness(const struct diff_row *r, enum likeness by)
{
	struct gw_config c = r->config;
	const uint32_t of[] = {r->kernel.registers, r->kernel.static_shared, r->kernel.local,
			       r->kernel.constant};
	const uint64_t code = by == BY_RESOURCES ? 0 : code_of(r);

	if (by != BY_ARGUMENTS)
		c.digest = 0;
	return gw_hash(gw_hash(code, of, sizeof(of)), &c, sizeof(c));
}

static size_t find_likes(const struct diff *d, enum likeness by, struct likes *likes)
{
	struct gw_index index = {0};
	size_t count = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *r = &d->rows[i];
		unsigned run = in_run(r, OTHER);
		uint64_t key = likeness(r, by);
		uint32_t at;

		if (!in_one_run(r) ||
		    (by == BY_RESOURCES ? r->kernel.registers == UINT32_MAX : !code_of(r)))
			continue;
		at = gw_index_find(&index, key, NULL, NULL);
		if (at == GW_INDEX_NONE) {
			at = (uint32_t)count++;
			likes[at] = (struct likes){0};
			gw_index_add(&index, key, at);
		}
		likes[at].row[run] = (uint32_t)i;
		likes[at].count[run]++;
	}
	gw_index_free(&index);
	return count;
}

static void rename_likes(struct diff *d, enum likeness by, struct likes *likes)
{
	size_t count = find_likes(d, by, likes);

	for (size_t i = 0; i < count; i++) {
		struct diff_row *gone = &d->rows[likes[i].row[BASE]],
				*new = &d->rows[likes[i].row[OTHER]];

		if (likes[i].count[BASE] != 1 || likes[i].count[OTHER] != 1 ||
		    (by == BY_RESOURCES && code_of(gone) && code_of(new)))
			continue;
		add_side(&new->side[BASE], &gone->side[BASE]);
		new->code[BASE] = gone->code[BASE];
		gone->side[BASE].launches = 0;
		new->was = gw_copy(gone->mangled);
	}
}

/* A kernel that is gone and one that is new are one where nothing but the name differs, and no
 * third is like them. */
static void rename_rows(struct diff *d)
{
	struct likes *likes = gw_alloc((d->count + 1) * sizeof(*likes));
	size_t to = 0;

	for (enum likeness by = 0; by < LIKENESSES; by++)
		rename_likes(d, by, likes);
	free(likes);
	for (size_t i = 0; i < d->count; i++) {
		if (in_run(&d->rows[i], BASE) || in_run(&d->rows[i], OTHER))
			d->rows[to++] = d->rows[i];
		else
			drop(&d->rows[i]);
	}
	d->count = to;
}

static void name_rows(struct diff *d)
{
	struct gw_name *names = gw_alloc((d->count + 1) * sizeof(*names));
	struct gw_kernel_names *pairs = gw_alloc((d->count + 1) * sizeof(*pairs));
	char **out = gw_alloc((d->count + 1) * sizeof(*out));

	for (size_t i = 0; i < d->count; i++)
		names[i].mangled = d->rows[i].mangled;
	log_names_demangle(names, d->count);
	for (size_t i = 0; i < d->count; i++)
		pairs[i] = (struct gw_kernel_names){names[i].mangled, names[i].plain};
	gw_kernel_names(pairs, d->count, out);
	for (size_t i = 0; i < d->count; i++) {
		d->rows[i].plain = names[i].plain;
		d->rows[i].name = out[i];
	}
	free(names);
	free(pairs);
	free(out);
}

double diff_gain(const struct diff_row *row)
{
	const struct diff_side *base = &row->side[BASE], *other = &row->side[OTHER];

	if (!base->launches)
		return other->total;
	if (!other->launches && row->verdict == DIFF_GONE)
		return -base->total;
	if (isnan(row->shift.ratio))
		return 0;
	return row->against_prediction ? (1 - 1 / row->shift.ratio) * base->total
				       : (row->shift.ratio - 1) * base->total;
}

/* Regressions, then rows of both runs, then those of one; of each what gained or lost most. */
static int by_gain(const void *a, const void *b)
{
	const struct diff_row *p = a, *q = b;
	bool one = p->verdict == DIFF_NEW || p->verdict == DIFF_GONE;
	bool other = q->verdict == DIFF_NEW || q->verdict == DIFF_GONE;
	double x = fabs(diff_gain(p)), y = fabs(diff_gain(q));

	if (p->regression != q->regression)
		return p->regression ? -1 : 1;
	if (one != other)
		return one ? 1 : -1;
	return x == y ? by_kernel(a, b) : x < y ? 1 : -1;
}

double diff_clock(struct diff_run *run)
{
	return gw_quantile(&run->clocks.sm_khz, 0.5);
}

static void decide(struct diff_row *row, bool significant)
{
	const struct diff_side *base = &row->side[BASE], *other = &row->side[OTHER];

	if (!base->launches || !other->launches)
		row->verdict = base->launches ? DIFF_GONE : DIFF_NEW;
	else if (significant && fabs(log(row->shift.ratio)) >= LEAST)
		row->verdict = row->shift.ratio > 1 ? DIFF_SLOWER : DIFF_FASTER;
	else if (isnan(row->shift.low))
		row->verdict = row->was ? DIFF_RENAMED : DIFF_FEW;
	else
		row->verdict = row->was ? DIFF_RENAMED : DIFF_SAME;
}

/*
 * Where one run has sums, single times of the other would be compared with means: both are taken by
 * spans, whose values depend on one another as launches do.
 */
static void take_spans(struct diff *d)
{
	for (size_t i = 0; i < d->count; i++)
		for (unsigned k = 0; k < RUNS; k++) {
			struct diff_side *s = &d->rows[i].side[k];

			free(s->times);
			s->times = s->spans.means;
			s->count = s->spans.count;
			s->room = s->spans.room;
			s->spans = (struct diff_spans){0};
		}
}

void diff_compare(struct diff *d, const struct diff_rule *rule)
{
	double clock = diff_clock(&d->run[OTHER]) / diff_clock(&d->run[BASE]), *p;
	bool *found;

	if (d->run[BASE].sums || d->run[OTHER].sums)
		take_spans(d);
	join_rows(d, rule->share);
	rename_rows(d);
	name_rows(d);
	p = gw_alloc((d->count + 1) * sizeof(*p));
	found = gw_alloc((d->count + 1) * sizeof(*found));
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *r = &d->rows[i];
		const struct diff_side *a = &r->side[BASE], *b = &r->side[OTHER];

		r->shift = shift_between(a->times, a->count, b->times, b->count);
		r->cycles = r->shift;
		r->cycles.ratio *= clock;
		r->cycles.low *= clock;
		r->cycles.high *= clock;
		p[i] = r->shift.p;
	}
	shift_discoveries(p, d->count, rule->rate, found);
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *r = &d->rows[i];
		/* What a lower clock explains is no regression of the program. */
		double least =
			isnan(r->cycles.low) ? r->shift.low : fmin(r->shift.low, r->cycles.low);

		decide(r, found[i]);
		r->regression = found[i] && least > 1 + rule->fail && share_of(d, r) >= rule->share;
		r->minor = r->elsewhere && share_of(d, r) < rule->share;
	}
	free(p);
	free(found);
	qsort(d->rows, d->count, sizeof(*d->rows), by_gain);
}

/* Of the median time to the prediction: its interval says how likely it is to be as far off, as if
 * the logarithm were normal on either side. */
static struct shift shift_from_prediction(const struct diff_side *s)
{
	struct gw_quantile times = {0};
	struct shift shift = {NAN, NAN, NAN, NAN};
	double median, off, reach;

	if (!(s->predicted > 0) || !s->count)
		return shift;
	for (size_t i = 0; i < s->count; i++)
		gw_quantile_add(&times, (double)s->times[i]);
	median = gw_quantile(&times, 0.5);
	gw_quantile_free(&times);
	off = log(median / s->predicted);
	reach = off > 0 ? log(s->high / s->predicted) : log(s->predicted / s->low);
	shift.ratio = median / s->predicted;
	shift.low = median / s->high;
	shift.high = median / s->low;
	shift.p = erfc(fabs(off) / reach * 1.6449 / sqrt(2));
	return shift;
}

void diff_compare_predictions(struct diff *d, const struct diff_rule *rule)
{
	double *p = gw_alloc((d->count + 1) * sizeof(*p));
	bool *found = gw_alloc((d->count + 1) * sizeof(*found));

	name_rows(d);
	for (size_t i = 0; i < d->count; i++) {
		d->rows[i].against_prediction = true;
		d->rows[i].shift = shift_from_prediction(&d->rows[i].side[BASE]);
		p[i] = d->rows[i].shift.p;
	}
	shift_discoveries(p, d->count, rule->rate, found);
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *r = &d->rows[i];

		r->verdict = isnan(p[i])          ? DIFF_FEW
			     : !found[i]          ? DIFF_SAME
			     : r->shift.ratio > 1 ? DIFF_SLOWER
						  : DIFF_FASTER;
		r->regression = r->verdict == DIFF_SLOWER && r->shift.low > 1 + rule->fail &&
				share_of(d, r) >= rule->share;
	}
	free(p);
	free(found);
	qsort(d->rows, d->count, sizeof(*d->rows), by_gain);
}
