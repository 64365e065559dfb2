#include "cli/agent/text.h"

#include "cli/common/memory.h"
#include "cli/common/utf8.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct writer {
	FILE *out;
	enum text_format format;
	const struct metric_family *family;
};

const char *agent_text_type(enum text_format format)
{
	static const char *const types[] = {
		"text/plain; version=0.0.4; charset=utf-8",
		"application/openmetrics-text; version=1.0.0; charset=utf-8",
		AGENT_PROTOBUF_TYPE,
	};

	return types[format];
}

/* The weight of a media range of the header: 1 unless it has q=. */
static double weight_of(const char *range, size_t length)
{
	const char *q = range;

	while ((q = memchr(q, ';', length - (size_t)(q - range)))) {
		q++;
		while (*q == ' ')
			q++;
		if (!strncmp(q, "q=", 2))
			return strtod(q + 2, NULL);
	}
	return 1;
}

/* The format that a media range names; false: none of ours. */
static bool format_of(const char *range, size_t length, enum text_format *format)
{
	static const char *const types[] = {"text/plain", "application/openmetrics-text",
					    "application/vnd.google.protobuf"};
	static const char coded[] = "encoding=", ours[] = "delimited";
	const char *encoding;

	for (int i = 0; i < 3; i++) {
		if (strncmp(range, types[i], strlen(types[i])) != 0)
			continue;
		*format = (enum text_format)i;
		encoding =
			i == TEXT_PROTOBUF ? memmem(range, length, coded, sizeof(coded) - 1) : NULL;
		return !encoding || !strncmp(encoding + sizeof(coded) - 1, ours, sizeof(ours) - 1);
	}
	return false;
}

enum text_format agent_text_asked(const char *accept)
{
	double best[3] = {0};
	enum text_format format;

	while (accept && *accept) {
		const size_t length = strcspn(accept, ",");

		if (format_of(accept, length, &format))
			best[format] = fmax(best[format], weight_of(accept, length));
		accept += length;
		accept += strspn(accept, ", ");
	}
	for (format = TEXT_PROTOBUF; format > TEXT_PROMETHEUS; format--)
		if (best[format] > 0 && best[format] >= best[TEXT_PROMETHEUS] &&
		    best[format] >= best[TEXT_OPENMETRICS])
			return format;
	return TEXT_PROMETHEUS;
}

/* Quote, backslash and line end have an escape; help of OpenMetrics escapes quotes, too. */
static void put_escaped(FILE *out, const char *text, bool quote)
{
	char *utf8 = gw_to_utf8(text);

	for (const char *s = utf8; *s; s++) {
		if (*s == '\n')
			fputs("\\n", out);
		else if (*s == '\\' || (*s == '"' && quote))
			fprintf(out, "\\%c", *s);
		else
			fputc(*s, out);
	}
	free(utf8);
}

static void family(void *arg, const struct metric_family *f)
{
	static const char *const kinds[] = {"counter", "gauge", "histogram"};
	struct writer *w = arg;
	const bool open = w->format == TEXT_OPENMETRICS;
	const char *end = f->kind == METRIC_COUNTER && !open ? "_total" : "";

	w->family = f;
	fprintf(w->out, "# HELP %s%s ", f->name, end);
	put_escaped(w->out, f->help, open);
	fprintf(w->out, "\n# TYPE %s%s %s\n", f->name, end, kinds[f->kind]);
	if (open && *f->unit)
		fprintf(w->out, "# UNIT %s %s\n", f->name, f->unit);
}

/* @p le: end of a bucket; NULL: none. */
static void put(struct writer *w, const char *end, const struct metric_label *labels, size_t count,
		const char *le, double value)
{
	char number[40];

	fprintf(w->out, "%s%s", w->family->name, end);
	for (size_t i = 0; i < count; i++) {
		fprintf(w->out, "%c%s=\"", i ? ',' : '{', labels[i].name);
		put_escaped(w->out, labels[i].value, true);
		fputc('"', w->out);
	}
	if (le)
		fprintf(w->out, "%cle=\"%s\"", count ? ',' : '{', le);
	snprintf(number, sizeof(number), "%.15g", value);
	if (strtod(number, NULL) != value)
		snprintf(number, sizeof(number), "%.17g", value);
	fprintf(w->out, "%s %s\n", count || le ? "}" : "", number);
}

static void sample(void *arg, const struct metric_label *labels, size_t count, double value)
{
	struct writer *w = arg;

	put(w, w->family->kind == METRIC_COUNTER ? "_total" : "", labels, count, NULL, value);
}

static void histogram(void *arg, const struct metric_label *labels, size_t count,
		      const struct metric_histogram *h)
{
	struct writer *w = arg;
	char end[32];

	for (int i = 0; i < AGENT_BUCKETS; i++) {
		snprintf(end, sizeof(end), "%.10g", h->end[i]);
		put(w, "_bucket", labels, count, end, h->count[i]);
	}
	put(w, "_bucket", labels, count, "+Inf", h->all);
	put(w, "_sum", labels, count, NULL, h->sum);
	put(w, "_count", labels, count, NULL, h->all);
}

char *agent_text(const struct agent_node *node, const struct agent_self *self,
		 enum text_format format, size_t *size)
{
	char *text = NULL;
	struct writer w = {.format = format};
	const struct metric_sink sink = {&w, family, sample, histogram};

	if (format == TEXT_PROTOBUF) {
		struct proto p = agent_protobuf(node, self);

		*size = p.length;
		return (char *)p.data;
	}
	w.out = open_memstream(&text, size);
	if (!w.out) {
		*size = 0;
		return gw_copy("");
	}
	agent_metrics(node, self, &sink);
	if (format == TEXT_OPENMETRICS)
		fputs("# EOF\n", w.out);
	fclose(w.out);
	return text;
}
