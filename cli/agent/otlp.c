#include "cli/agent/text.h"

#include <stdlib.h>
#include <string.h>

/* Fields by their numbers in opentelemetry/proto/metrics/v1/metrics.proto. */
enum {
	REQUEST_RESOURCE_METRICS = 1,
	RESOURCE = 1,
	SCOPE_METRICS = 2,
	RESOURCE_ATTRIBUTES = 1,
	SCOPE = 1,
	SCOPE_METRIC = 2,
	SCOPE_NAME = 1,
	SCOPE_VERSION = 2,
	METRIC_NAME = 1,
	METRIC_DESCRIPTION = 2,
	METRIC_UNIT = 3,
	METRIC_GAUGE_ = 5,
	METRIC_SUM = 7,
	METRIC_HISTOGRAM_ = 9,
	POINTS = 1,
	TEMPORALITY = 2,
	MONOTONIC = 3,
	CUMULATIVE = 2,
	POINT_START = 2,
	POINT_TIME = 3,
	POINT_DOUBLE = 4,
	POINT_ATTRIBUTES = 7,
	HISTOGRAM_COUNT = 4,
	HISTOGRAM_SUM = 5,
	HISTOGRAM_COUNTS = 6,
	HISTOGRAM_BOUNDS = 7,
	HISTOGRAM_ATTRIBUTES = 9,
	KEY = 1,
	VALUE = 2,
	VALUE_TEXT = 1,
};

struct encoder {
	struct proto *out;
	const struct metric_family *family;
	uint64_t start_ns, now_ns;
	size_t metric, data; /* messages that are open */
	bool open;
};

static void attribute(struct proto *p, unsigned field, const char *name, const char *value)
{
	size_t pair = proto_open(p, field), any;

	proto_text(p, KEY, name);
	any = proto_open(p, VALUE);
	proto_text(p, VALUE_TEXT, value);
	proto_close(p, any);
	proto_close(p, pair);
}

static const char *unit_of(const struct metric_family *f)
{
	static const char *const units[][2] = {{"seconds", "s"}, {"ratio", "1"}, {"hertz", "Hz"},
					       {"bytes", "By"},  {"watts", "W"}, {"joules", "J"}};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (!strcmp(f->unit, units[i][0]))
			return units[i][1];
	return "1";
}

static void close_metric(struct encoder *e)
{
	if (!e->open)
		return;
	if (e->family->kind != METRIC_GAUGE)
		proto_uint(e->out, TEMPORALITY, CUMULATIVE);
	if (e->family->kind == METRIC_COUNTER)
		proto_uint(e->out, MONOTONIC, 1);
	proto_close(e->out, e->data);
	proto_close(e->out, e->metric);
	e->open = false;
}

static void family(void *arg, const struct metric_family *f)
{
	struct encoder *e = arg;

	close_metric(e);
	e->family = f;
}

/* A metric without a sample is left out. */
static void open_metric(struct encoder *e)
{
	static const unsigned fields[] = {METRIC_SUM, METRIC_GAUGE_, METRIC_HISTOGRAM_};

	if (e->open)
		return;
	e->metric = proto_open(e->out, SCOPE_METRIC);
	proto_text(e->out, METRIC_NAME, e->family->name);
	proto_text(e->out, METRIC_DESCRIPTION, e->family->help);
	proto_text(e->out, METRIC_UNIT, unit_of(e->family));
	e->data = proto_open(e->out, fields[e->family->kind]);
	e->open = true;
}

static void times(struct encoder *e)
{
	if (e->family->kind != METRIC_GAUGE)
		proto_fixed(e->out, POINT_START, e->start_ns);
	proto_fixed(e->out, POINT_TIME, e->now_ns);
}

static void sample(void *arg, const struct metric_label *labels, size_t count, double value)
{
	struct encoder *e = arg;
	size_t point;

	open_metric(e);
	point = proto_open(e->out, POINTS);
	times(e);
	proto_double(e->out, POINT_DOUBLE, value);
	for (size_t i = 0; i < count; i++)
		attribute(e->out, POINT_ATTRIBUTES, labels[i].name, labels[i].value);
	proto_close(e->out, point);
}

static void histogram(void *arg, const struct metric_label *labels, size_t count,
		      const struct metric_histogram *h)
{
	struct encoder *e = arg;
	uint64_t each[AGENT_BUCKETS + 1];
	double before = 0;
	size_t point;

	for (int i = 0; i <= AGENT_BUCKETS; i++) {
		const double upto = i < AGENT_BUCKETS ? h->count[i] : h->all;

		each[i] = (uint64_t)(upto - before);
		before = upto;
	}
	open_metric(e);
	point = proto_open(e->out, POINTS);
	times(e);
	proto_fixed(e->out, HISTOGRAM_COUNT, (uint64_t)h->all);
	proto_double(e->out, HISTOGRAM_SUM, h->sum);
	proto_bytes(e->out, HISTOGRAM_COUNTS, each, sizeof(each));
	proto_bytes(e->out, HISTOGRAM_BOUNDS, h->end, sizeof(h->end));
	for (size_t i = 0; i < count; i++)
		attribute(e->out, HISTOGRAM_ATTRIBUTES, labels[i].name, labels[i].value);
	proto_close(e->out, point);
}

struct proto agent_otlp(const struct agent_node *node, const struct agent_self *self,
			uint64_t start_ns, uint64_t now_ns)
{
	struct proto p = {0};
	struct encoder e = {.out = &p, .start_ns = start_ns, .now_ns = now_ns};
	const struct metric_sink sink = {&e, family, sample, histogram};
	size_t metrics = proto_open(&p, REQUEST_RESOURCE_METRICS), resource, scope, scope_metrics;

	resource = proto_open(&p, RESOURCE);
	attribute(&p, RESOURCE_ATTRIBUTES, "service.name", "gpuwatch-agent");
	attribute(&p, RESOURCE_ATTRIBUTES, "service.version", self->version);
	if (*self->host)
		attribute(&p, RESOURCE_ATTRIBUTES, "host.name", self->host);
	proto_close(&p, resource);
	scope_metrics = proto_open(&p, SCOPE_METRICS);
	scope = proto_open(&p, SCOPE);
	proto_text(&p, SCOPE_NAME, "gpuwatch");
	proto_text(&p, SCOPE_VERSION, self->version);
	proto_close(&p, scope);
	agent_metrics(node, self, &sink);
	close_metric(&e);
	proto_close(&p, scope_metrics);
	proto_close(&p, metrics);
	return p;
}
