#include "preload/worker/parts.h"

#include "preload/live/log.h"
#include "preload/runtime/messages.h"
#include "preload/runtime/options.h"
#include "preload/worker/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, NAME_WIDTH = 46 };

struct row {
	uint32_t kernel;
	const char *name;
	uint64_t launches, measured, total_ns;
};

static int by_time(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->total_ns != b->total_ns)
		return a->total_ns < b->total_ns ? 1 : -1;
	return a->launches < b->launches ? 1 : a->launches > b->launches ? -1 : 0;
}

/* The configurations, added up by kernel. */
static struct row *gather(uint32_t *count)
{
	uint32_t configs = gw_config_count(), kernels = 0;
	struct row *rows;

	for (uint32_t i = 1; i <= configs; i++)
		if (gw_config_entry(i)->kernel > kernels)
			kernels = gw_config_entry(i)->kernel;
	rows = calloc((size_t)kernels + 1, sizeof(*rows));
	for (uint32_t i = 1; rows && i <= configs; i++) {
		const struct gw_config_entry *e = gw_config_entry(i);
		struct row *r = &rows[e->kernel - 1];

		r->kernel = e->kernel;
		r->name = e->name;
		r->launches += e->launches;
		r->measured += e->measured;
		r->total_ns += e->total_ns;
	}
	if (rows)
		qsort(rows, kernels, sizeof(*rows), by_time);
	*count = rows ? kernels : 0;
	return rows;
}

/* The number at the front of @p *s, which it is moved over: at most three digits. */
static size_t length_of(const char **s)
{
	size_t n = 0;

	for (int i = 0; i < 3 && **s >= '0' && **s <= '9'; i++)
		n = 10 * n + (size_t)(*(*s)++ - '0');
	return n;
}

/*
 * The kernel's own name in a mangled one: the last of its scopes. A kernel is no member of a class,
 * so its template arguments are the first there are. The length; 0 where it is written otherwise.
 */
static size_t own_name(const char *mangled, const char **name, const char **rest)
{
	const char *s = mangled + 2;
	bool scoped = !strncmp(mangled, "_ZN", 3);
	size_t length = 0;

	if (strncmp(mangled, "_Z", 2) != 0)
		return 0;
	for (s += scoped; *s && (scoped || !length);) {
		if (*s == 'L') { /* of this file alone */
			s++;
		} else if (!strncmp(s, "St", 2)) {
			s += 2;
		} else {
			size_t n = length_of(&s);

			if (!n || strnlen(s, n) < n)
				break;
			length = n;
			*name = s;
			s += n;
		}
	}
	*rest = s;
	return scoped && (!*s || !strchr("IEB", *s)) ? 0 : length;
}

/*
 * A short name without the demangler, which is for `gpuwatch report`: a name of 229 bytes can stand
 * for 100 MB, and this is the program's memory.
 */
static void shortened(const char *name, char out[NAME_WIDTH + 1])
{
	const char *own = name, *rest = "";
	size_t length = own_name(name, &own, &rest);
	const char *more = length && *rest == 'I' ? "<...>" : "";

	if (!length)
		length = strlen(own);
	if (length + strlen(more) > NAME_WIDTH) {
		length = NAME_WIDTH - 3;
		more = "...";
	}
	snprintf(out, NAME_WIDTH + 1, "%.*s%s", (int)length, own, more);
}

static const char *duration(double ns, char out[16])
{
	if (ns < 1e3)
		snprintf(out, 16, "%.0f ns", ns);
	else if (ns < 1e6)
		snprintf(out, 16, "%.2f us", ns / 1e3);
	else if (ns < 1e9)
		snprintf(out, 16, "%.2f ms", ns / 1e6);
	else
		snprintf(out, 16, "%.2f s", ns / 1e9);
	return out;
}

static void table(FILE *to)
{
	uint32_t count;
	struct row *rows = gather(&count);
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total += rows[i].total_ns;
	fprintf(to, "  %6s %11s %9s %11s  %s\n", "Time", "Total", "Launches", "Average", "Kernel");
	for (uint32_t i = 0; i < count && i < ROWS; i++) {
		char name[NAME_WIDTH + 1], a[16] = "-", b[16] = "-", share[16] = "-";

		shortened(rows[i].name, name);
		if (rows[i].measured) {
			snprintf(share, sizeof(share), "%.1f%%",
				 100.0 * (double)rows[i].total_ns / (double)(total ? total : 1));
			duration((double)rows[i].total_ns, a);
			duration((double)rows[i].total_ns / (double)rows[i].measured, b);
		}
		fprintf(to, "  %6s %11s %9llu %11s  %s\n", share, a,
			(unsigned long long)rows[i].launches, b, name);
	}
	if (count > ROWS)
		fprintf(to, "  and %u more kernels\n", count - ROWS);
	free(rows);
}

static void scored(FILE *to, const struct gw_score *s)
{
	double n = (double)s->predicted;

	if (!s->measured)
		return;
	fprintf(to, "  predicted before the launch: %llu of %llu measured",
		(unsigned long long)s->predicted, (unsigned long long)s->measured);
	if (s->predicted)
		fprintf(to,
			"; within 10%%: %.1f%%, within 25%%: %.1f%%, inside the 90%% interval: "
			"%.1f%%",
			100 * (double)s->within_10 / n, 100 * (double)s->within_25 / n,
			100 * (double)s->covered / n);
	fprintf(to, "\n");
}

void gw_summary_print(const struct gw_score *score, const uint64_t *c)
{
	char *text = NULL;
	size_t size = 0;
	FILE *to;

	if (gw_options.summary == GW_SUMMARY_NO || !gw_config_count() ||
	    (gw_options.summary == GW_SUMMARY_AUTO && !gw_message_terminal()))
		return;
	to = open_memstream(&text, &size);
	if (!to)
		return;
	fprintf(to, "gpuwatch: %llu launches, %llu graph launches",
		(unsigned long long)c[GW_COUNTER_launches],
		(unsigned long long)c[GW_COUNTER_graph_launches]);
	if (gw_log_name()[0])
		fprintf(to, "; gpuwatch report %s", gw_log_name());
	fprintf(to, "\n");
	if (gw_device_stand_in())
		fprintf(to, "  times are scripted by the CPU stand-in, not measured on a GPU\n");
	table(to);
	scored(to, score);
	fclose(to);
	gw_message(text, size);
	free(text);
}
