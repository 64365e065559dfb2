#include "cli/report/fix.h"

#include "cli/log/verdict.h"
#include "cli/common/number.h"
#include "cli/table.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WARP = 32,
	/*
	 * The widest load of a thread is 16 bytes: a warp that asks for all of 512 bytes in a row
	 * touches 16 sectors. More are scattered, whatever the width.
	 */
	WIDEST_SECTORS = 16,
	WORD_SECTORS = 4, /* of a warp's 32 words in a row */
	NAME = 60,
	KERNEL = 4 * NAME + 32 /* bytes of its name and number */
};

static const double LEAST_GAIN = 0.01; /* of all time: less is not worth a line */
static const double FEW_LANES = 0.75;  /* of a warp active on average: less is divergence */
static const double NEAR_PEAK = 0.8;   /* of a peak: no way but to do less */
static const double SPILLED = 0.1;     /* of L1 traffic for local memory */
static const double TAIL = 0.25;       /* of the time of its waves that the last leaves unused */

/* A text that grows. */
struct sentence {
	char *text;
	size_t size, length;
};

static void say(struct sentence *s, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void say(struct sentence *s, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(s->text + s->length, s->size - s->length, format, args);
	va_end(args);
	if (n > 0)
		s->length += (size_t)n < s->size - s->length ? (size_t)n : s->size - s->length - 1;
}

/* A rate and its peak with one prefix: "2.10 of 4.52 TB/s". What is above a peak is no part of it.
 */
static void say_rates(struct sentence *s, double rate, double peak, const char *unit)
{
	static const char *const prefixes[] = {"", "k", "M", "G", "T", "P"};
	unsigned step = 0;

	while (peak >= 1000 && step < 5) {
		peak /= 1000;
		rate /= 1000;
		step++;
	}
	say(s, "%.3g %s %.3g %s%s/s", rate, rate > peak ? "above the peak of" : "of", peak,
	    prefixes[step], unit);
}

static double amount(const struct gw_row_bound *b, enum gw_work_field field)
{
	double v = gw_bound_amount(b, field);

	return v >= 0 ? v : NAN;
}

void gw_bound_text(const struct gw_row_bound *b, char *out, size_t size)
{
	const struct gw_verdict *v = &b->verdict;
	const struct gw_row_peak *c = gw_bound_nearest(b);
	struct sentence s = {out, size, 0};
	struct gw_text a;

	*out = '\0';
	switch (v->bound) {
	case GW_BOUND_MEMORY:
	case GW_BOUND_COMPUTE:
		say(&s, "%s-bound (%s", gw_bound_name(v->bound), v->resource);
		c = gw_bound_peak(b, v->resource);
		if (c) {
			say(&s, " ");
			say_rates(&s, c->amount / c->measured, c->amount / c->seconds, c->unit);
		}
		say(&s, ")");
		break;
	case GW_BOUND_LATENCY:
		say(&s, "latency-bound");
		if (gw_peak_share(c) > 0)
			say(&s, " (nearest to its peak: %s, %s)", c->name,
			    gw_peak_share(c) > 1 ? ">100%" : gw_percent(&a, gw_peak_share(c)));
		break;
	case GW_BOUND_LAUNCH:
		say(&s, "launch-bound (%s each", gw_duration(&a, b->mean * 1e9));
		for (unsigned i = 0; i < v->evidence_count; i++)
			if (!strcmp(v->evidence[i].unit, "of the time"))
				say(&s, ", of which an empty grid takes %s",
				    gw_percent(&a, fmin(v->evidence[i].value, 1)));
		say(&s, ")");
		break;
	case GW_BOUND_UNKNOWN:
		say(&s, "unknown: %s", v->unknown ? v->unknown : "no bound");
		break;
	}
}

/* Sectors of a request where they are more than words in a row need. */
static bool scattered(const struct gw_row_bound *b, struct sentence *s, enum gw_work_field requests,
		      enum gw_work_field sectors, const char *what)
{
	double each = amount(b, sectors) / amount(b, requests);

	if (!(each > 2 * WORD_SECTORS))
		return false;
	if (each > WIDEST_SECTORS)
		say(s, "uncoalesced %s: %.3g sectors per request", what, each);
	else
		say(s, "its %s touch %.3g sectors per request, where 32 consecutive words take %d",
		    what, each, WORD_SECTORS);
	return true;
}

static bool memory_cause(const struct gw_row_bound *b, struct sentence *s)
{
	double local = amount(b, GW_WORK_local_bytes) / amount(b, GW_WORK_l1_bytes);
	double same = amount(b, GW_WORK_atomic_same_address);
	struct gw_text t;

	if (!strcmp(b->verdict.resource, "atomics")) {
		if (same > 1)
			say(s, "%s atomics on one address", gw_thousands(&t, same));
		return same > 1;
	}
	if (scattered(b, s, GW_WORK_global_load_requests, GW_WORK_global_load_sectors, "loads"))
		return true;
	if (scattered(b, s, GW_WORK_global_store_requests, GW_WORK_global_store_sectors, "stores"))
		return true;
	if (local > SPILLED)
		say(s, "local memory (spilled registers, indexed arrays) is %s of its L1 traffic",
		    gw_percent(&t, fmin(local, 1)));
	return local > SPILLED;
}

static bool compute_cause(const struct gw_row_bound *b, struct sentence *s)
{
	double lanes = amount(b, GW_WORK_thread_inst) / amount(b, GW_WORK_inst_executed);

	if (!(lanes > 0 && lanes < FEW_LANES * WARP))
		return false;
	say(s, "divergence: %.3g of 32 threads of a warp are active on average", lanes);
	return true;
}

static void occupancy_cause(const struct gw_row_bound *b, struct sentence *s)
{
	const struct gw_occupancy *o = &b->occupancy;
	struct gw_text t;

	say(s, "an SM holds %u warps, occupancy %s, limited by ", o->warps_per_sm,
	    gw_percent(&t, o->fraction));
	if (o->limited_by == GW_OCCUPANCY_REGISTERS)
		say(s, "registers (%u a thread)", b->kernel.registers);
	else if (o->limited_by == GW_OCCUPANCY_SHARED && b->kernel.static_shared != UINT32_MAX)
		say(s, "shared memory (%s a block)",
		    gw_bytes(&t,
			     (double)b->kernel.static_shared + (double)b->config.dynamic_shared));
	else
		say(s, "%s", gw_occupancy_limit_name(o->limited_by));
}

static bool latency_cause(const struct gw_row_bound *b, struct sentence *s)
{
	const struct gw_occupancy *o = &b->occupancy;
	double chain = amount(b, GW_WORK_warp_memory_chain);
	struct gw_text x, y;

	if (!b->resident)
		return false;
	switch (b->verdict.cause) {
	case GW_LATENCY_PARALLELISM:
		say(s, "too few blocks: %s where the GPU holds %s at once",
		    gw_thousands(&x, (double)gw_dim3_count(b->config.grid)),
		    gw_thousands(&y, (double)o->resident_blocks));
		return true;
	case GW_LATENCY_OCCUPANCY:
		occupancy_cause(b, s);
		return true;
	case GW_LATENCY_DEPENDENCES:
	case GW_LATENCY_NONE:
		break;
	}
	if (scattered(b, s, GW_WORK_global_load_requests, GW_WORK_global_load_sectors, "loads"))
		return true;
	if (1 - o->waves / ceil(o->waves) > TAIL) {
		say(s, "tail effect: %.3g waves of blocks, the last leaves %s of the GPU idle",
		    o->waves, gw_percent(&x, 1 - o->last_fill));
		return true;
	}
	if (chain > 1) {
		say(s, "a warp waits for %.3g dependent loads", chain);
		return true;
	}
	/* What is left is that warps wait for each other or themselves: of that nothing was
	 * counted. */
	say(s, "there are enough warps, but they stall, for a reason that was not measured");
	return true;
}

static bool launch_cause(const struct gw_row_bound *b, struct sentence *s)
{
	double blocks = (double)gw_dim3_count(b->config.grid);
	struct gw_text x, y;

	if (b->resident && b->occupancy.waves > 10) {
		say(s, "%s blocks of %s: let each do more", gw_thousands(&x, blocks),
		    gw_counted(&y, (double)gw_dim3_count(b->config.block), "thread", NULL));
		return true;
	}
	if (b->launches < 2)
		return false;
	say(s, "%s so short: let fewer launches do more",
	    gw_counted(&x, (double)b->launches, "launch", "launches"));
	return true;
}

void gw_bound_cause(const struct gw_row_bound *b, char *out, size_t size)
{
	const struct gw_row_peak *c = gw_bound_nearest(b);
	struct sentence s = {out, size, 0};
	bool found = false;

	*out = '\0';
	if (b->verdict.bound == GW_BOUND_MEMORY)
		found = memory_cause(b, &s);
	else if (b->verdict.bound == GW_BOUND_COMPUTE)
		found = compute_cause(b, &s);
	else if (b->verdict.bound == GW_BOUND_LATENCY)
		found = latency_cause(b, &s);
	else if (b->verdict.bound == GW_BOUND_LAUNCH)
		found = launch_cause(b, &s);
	else
		return;
	if (!found && gw_peak_share(c) >= NEAR_PEAK)
		say(&s, "near its peak: only less %s makes it faster",
		    c->bound == GW_BOUND_MEMORY ? "traffic" : "work");
}

/* A row as sentences call it: by its number in the table, and its name. */
static const char *kernel_of(const struct gw_report *report, const struct gw_row *row,
			     char out[KERNEL])
{
	size_t number = gw_report_number(report, row);
	char *name = gw_shorten(report->names[row->name], NAME);
	struct sentence s = {out, KERNEL, 0};

	if (number)
		say(&s, "#%zu ", number);
	say(&s, "`%s`", name);
	free(name);
	return out;
}

static void sentence_of(const struct gw_report *report, struct gw_fix *fix)
{
	const struct gw_row_bound *b = fix->row->bound;
	struct sentence s = {fix->text, sizeof(fix->text), 0};
	char what[200], why[200], name[KERNEL];
	struct gw_text t, u;

	gw_bound_text(b, what, sizeof(what));
	gw_bound_cause(b, why, sizeof(why));
	say(&s, "%s of GPU time (up to %s to gain): %s is %s%s", gw_percent(&t, fix->share),
	    gw_percent(&u, fix->gain), kernel_of(report, fix->row, name),
	    b->verdict.confidence < 0.5 ? "probably " : "", what);
	if (*why)
		say(&s, ": %s", why);
}

const char *gw_fix_name(enum gw_fix_kind kind)
{
	static const char *const names[] = {"kernel", "short", "starved", "input"};

	return names[kind];
}

/* All short launches: they may be bound by anything, but an empty kernel's time is in each. */
static void sentence_of_short(const struct gw_report *report, struct gw_fix *fix)
{
	const struct gw_row_bound *all = report->model.all.bound;
	char name[KERNEL];
	double launches = (double)all->short_launches;
	struct sentence s = {fix->text, sizeof(fix->text), 0};
	struct gw_text a, b, c, d, e, f;

	say(&s,
	    "%s of GPU time (up to %s to gain) is %s of %s on average, of which an empty kernel "
	    "takes %s: fuse them with their neighbours, or let each do more; %s of that time is "
	    "%s",
	    gw_percent(&a, fix->share), gw_percent(&b, fix->gain),
	    gw_counted(&c, launches, "launch", "launches"),
	    gw_duration(&d, all->short_time / launches * 1e9),
	    gw_duration(&e, all->starting / launches * 1e9),
	    gw_percent(&f, fix->row->bound->short_time / all->short_time),
	    kernel_of(report, fix->row, name));
}

static double gaps_of(const struct gw_log_model *m, enum gw_gap kind, uint64_t *count)
{
	double sum = 0;

	*count = 0;
	for (size_t i = 0; i < m->gpu_count; i++) {
		sum += m->gpus[i].gaps.time[kind];
		*count += m->gpus[i].gaps.count[kind];
	}
	return sum;
}

static double span_of(const struct gw_log_model *m)
{
	double sum = 0;

	for (size_t i = 0; i < m->gpu_count; i++)
		sum += log_gaps_span(&m->gpus[i].gaps);
	return sum;
}

static void sentence_of_late(const struct gw_log_model *m, struct gw_fix *fix)
{
	uint64_t single, graphs;
	double alone = gaps_of(m, GW_GAP_LATE, &single), all;
	struct sentence s = {fix->text, sizeof(fix->text), 0};
	struct gw_text a, b, c, d;

	all = alone + gaps_of(m, GW_GAP_LATE_GRAPH, &graphs);
	say(&s,
	    "GPU starved %s of the time: %s came after the GPU had run out of work (%s each; "
	    "pauses "
	    "of more than %s not counted): ",
	    gw_percent(&a, fix->share),
	    gw_counted(&b, (double)(single + graphs), "launch", "launches"),
	    gw_duration(&c, all / (double)(single + graphs)), gw_duration(&d, GW_GAP_PAUSE));
	if (2 * alone > all)
		say(&s, "capture what repeats in a CUDA graph, or synchronize less often");
	else
		say(&s, "launch the next graph before the previous one ends, or put more into one");
}

/* Time of all GPUs in which input was read, and all of it, ns. */
static double input_of(const struct gw_log_model *m, double *wall)
{
	double sum = 0;

	*wall = 0;
	for (size_t i = 0; i < m->gpu_count; i++) {
		sum += m->gpus[i].gaps.spent.ns[LOG_SPENT_INPUT];
		*wall += log_spent_wall(&m->gpus[i].gaps.spent);
	}
	return sum;
}

static void sentence_of_input(const struct gw_log_model *m, struct gw_fix *fix)
{
	struct sentence s = {fix->text, sizeof(fix->text), 0};
	struct gw_text a, b;
	double wall;

	say(&s,
	    "GPU waits for input %s of the time (%s): child processes were at work while the "
	    "thread "
	    "that launches was not: more of them (num_workers of a DataLoader), more read ahead "
	    "(prefetch_factor), or less to do for each item",
	    gw_percent(&a, fix->share), gw_duration(&b, input_of(m, &wall)));
}

/* The kernel that most of the short launches' time is of. */
static const struct gw_row *most_short(const struct gw_log_model *m)
{
	const struct gw_row *most = NULL;

	for (size_t i = 0; i < m->row_count; i++)
		if (m->rows[i].bound &&
		    (!most || m->rows[i].bound->short_time > most->bound->short_time))
			most = &m->rows[i];
	return most;
}

/* The best so far, ordered by what there is to gain of the whole time. */
struct list {
	struct gw_fix *fix;
	double whole[GW_FIXES];
	unsigned count;
};

static void consider(struct list *l, const struct gw_fix *f, double whole)
{
	unsigned at = l->count;

	if (!(f->gain >= LEAST_GAIN))
		return;
	while (at && l->whole[at - 1] < whole)
		at--;
	if (at == GW_FIXES)
		return;
	if (l->count < GW_FIXES)
		l->count++;
	memmove(&l->fix[at + 1], &l->fix[at], (l->count - at - 1) * sizeof(*l->fix));
	memmove(&l->whole[at + 1], &l->whole[at], (l->count - at - 1) * sizeof(*l->whole));
	l->fix[at] = *f;
	l->whole[at] = whole;
}

unsigned gw_report_fixes(const struct gw_report *report, struct gw_fix out[GW_FIXES])
{
	const struct gw_log_model *m = &report->model;
	const struct gw_row_bound *all = m->all.bound;
	double span = span_of(m), total = m->all.total, busy, input, wall;
	struct list l = {.fix = out};
	struct gw_fix f;
	uint64_t n;

	/* Of the time without pauses kernels have this share; without their starts it is theirs. */
	busy = span > 0 ? fmin(1, total / span) : 1;
	for (size_t i = 0; i < m->row_count; i++) {
		const struct gw_row *row = &m->rows[i];

		if (gw_bound_of(row->bound) == GW_BOUND_UNKNOWN)
			continue;
		f = (struct gw_fix){GW_FIX_KERNEL, row, row->total / total, 0, ""};
		f.gain = f.share * gw_bound_gain(row->bound);
		consider(&l, &f, f.gain * busy);
	}
	if (all && all->short_launches > 1) {
		f = (struct gw_fix){GW_FIX_SHORT, most_short(m), all->short_time * 1e9 / total,
				    all->starting * 1e9 / total, ""};
		consider(&l, &f, f.gain * busy);
	}
	if (span > 0) {
		f = (struct gw_fix){GW_FIX_LATE, NULL, 0, 0, ""};
		f.share = f.gain =
			(gaps_of(m, GW_GAP_LATE, &n) + gaps_of(m, GW_GAP_LATE_GRAPH, &n)) / span;
		consider(&l, &f, f.gain);
	}
	input = input_of(m, &wall);
	if (input > 0) {
		f = (struct gw_fix){GW_FIX_INPUT, NULL, input / wall, input / wall, ""};
		consider(&l, &f, f.gain);
	}
	for (unsigned i = 0; i < l.count; i++) {
		if (out[i].kind == GW_FIX_KERNEL)
			sentence_of(report, &out[i]);
		else if (out[i].kind == GW_FIX_SHORT)
			sentence_of_short(report, &out[i]);
		else if (out[i].kind == GW_FIX_LATE)
			sentence_of_late(m, &out[i]);
		else
			sentence_of_input(m, &out[i]);
	}
	return l.count;
}
