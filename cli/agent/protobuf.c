/*
 * A native histogram has buckets of a factor of 2^(2^-schema) from 1 second on, a sketch has them
 * from 1 ns on: 29.9 octaves lie between. Each bucket becomes the nearest one, whose ends are up to
 * 1.6% higher or lower at schema 3, and at most half a bucket at a coarser one.
 */
#include "cli/agent/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields by their numbers in io/prometheus/client/metrics.proto. */
enum {
	FAMILY_NAME = 1,
	FAMILY_HELP = 2,
	FAMILY_TYPE = 3,
	FAMILY_METRIC = 4,
	FAMILY_UNIT = 5,
	METRIC_LABEL = 1,
	METRIC_GAUGE_ = 2,
	METRIC_COUNTER_ = 3,
	METRIC_HISTOGRAM_ = 7,
	LABEL_NAME = 1,
	LABEL_VALUE = 2,
	VALUE = 1,
	HISTOGRAM_COUNT = 1,
	HISTOGRAM_SUM = 2,
	HISTOGRAM_BUCKET = 3,
	HISTOGRAM_SCHEMA = 5,
	HISTOGRAM_ZERO_THRESHOLD = 6,
	HISTOGRAM_ZERO_COUNT = 7,
	HISTOGRAM_SPAN = 12,
	HISTOGRAM_DELTA = 13,
	BUCKET_COUNT = 1,
	BUCKET_END = 2,
	SPAN_OFFSET = 1,
	SPAN_LENGTH = 2,
};

struct encoder {
	struct proto *out, family;
	const struct metric_family *of;
};

static void close_family(struct encoder *e)
{
	if (e->family.length)
		proto_delimited(e->out, &e->family);
	e->family.length = 0;
	e->of = NULL;
}

static void family(void *arg, const struct metric_family *f)
{
	struct encoder *e = arg;

	close_family(e);
	e->of = f;
}

/* A family without a sample is left out: there is nothing to say of it. */
static size_t open_metric(struct encoder *e, const struct metric_label *labels, size_t count)
{
	static const unsigned types[] = {0, 1, 4}; /* by enum metric_kind */
	char name[128];
	size_t metric, pair;

	if (!e->family.length) {
		snprintf(name, sizeof(name), "%s%s", e->of->name,
			 e->of->kind == METRIC_COUNTER ? "_total" : "");
		proto_text(&e->family, FAMILY_NAME, name);
		proto_text(&e->family, FAMILY_HELP, e->of->help);
		proto_uint(&e->family, FAMILY_TYPE, types[e->of->kind]);
		if (*e->of->unit)
			proto_text(&e->family, FAMILY_UNIT, e->of->unit);
	}
	metric = proto_open(&e->family, FAMILY_METRIC);
	for (size_t i = 0; i < count; i++) {
		pair = proto_open(&e->family, METRIC_LABEL);
		proto_text(&e->family, LABEL_NAME, labels[i].name);
		proto_text(&e->family, LABEL_VALUE, labels[i].value);
		proto_close(&e->family, pair);
	}
	return metric;
}

static void sample(void *arg, const struct metric_label *labels, size_t count, double value)
{
	struct encoder *e = arg;
	size_t metric = open_metric(e, labels, count), inner;

	inner = proto_open(&e->family,
			   e->of->kind == METRIC_COUNTER ? METRIC_COUNTER_ : METRIC_GAUGE_);
	proto_double(&e->family, VALUE, value);
	proto_close(&e->family, inner);
	proto_close(&e->family, metric);
}

static void put_span(struct proto *p, int32_t offset, uint32_t length)
{
	size_t span = proto_open(p, HISTOGRAM_SPAN);

	proto_sint(p, SPAN_OFFSET, offset);
	proto_uint(p, SPAN_LENGTH, length);
	proto_close(p, span);
}

/* Buckets from @p at on that follow each other without an empty one. */
static int run_from(const struct gw_sketch *s, int at)
{
	int n = 0;

	while (at + n < GW_SKETCH_BUCKETS && s->bucket[at + n])
		n++;
	return n;
}

static uint64_t put_native(struct proto *p, const struct gw_sketch *s)
{
	const double octaves = log2(1e9);
	const int32_t schema = s->count ? s->schema : GW_SKETCH_SCHEMA;
	const int32_t first = s->first - (int32_t)lround(ldexp(octaves, schema));
	uint64_t all = s->zero, before = 0;
	int32_t next = 0; /* bucket behind the last span */
	int at = 0, n;

	proto_sint(p, HISTOGRAM_SCHEMA, schema);
	proto_double(p, HISTOGRAM_ZERO_THRESHOLD, 0x1p-128);
	proto_uint(p, HISTOGRAM_ZERO_COUNT, s->zero);
	for (; at < GW_SKETCH_BUCKETS; at += n ? n : 1)
		if ((n = run_from(s, at))) {
			put_span(p, first + at - next, (uint32_t)n);
			next = first + at + n;
		}
	for (at = 0; at < GW_SKETCH_BUCKETS; at++)
		if (s->bucket[at]) {
			proto_sint(p, HISTOGRAM_DELTA, (int64_t)(s->bucket[at] - before));
			before = s->bucket[at];
			all += before;
		}
	return all;
}

static void histogram(void *arg, const struct metric_label *labels, size_t count,
		      const struct metric_histogram *h)
{
	struct encoder *e = arg;
	struct proto *p = &e->family;
	size_t metric = open_metric(e, labels, count), inner = proto_open(p, METRIC_HISTOGRAM_);
	const uint64_t all = put_native(p, h->time);

	proto_uint(p, HISTOGRAM_COUNT, all);
	proto_double(p, HISTOGRAM_SUM, h->sum);
	for (int i = 0; i < AGENT_BUCKETS; i++) {
		size_t bucket = proto_open(p, HISTOGRAM_BUCKET);

		proto_uint(p, BUCKET_COUNT, (uint64_t)h->count[i]);
		proto_double(p, BUCKET_END, h->end[i]);
		proto_close(p, bucket);
	}
	proto_close(p, inner);
	proto_close(p, metric);
}

struct proto agent_protobuf(const struct agent_node *node, const struct agent_self *self)
{
	struct proto all = {0};
	struct encoder e = {.out = &all};
	const struct metric_sink sink = {&e, family, sample, histogram};

	agent_metrics(node, self, &sink);
	close_family(&e);
	free(e.family.data);
	return all;
}
