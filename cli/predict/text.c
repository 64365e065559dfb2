/* The answers of `gpuwatch predict` as text. */
#include "cli/predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "cli/table.h"

static void print_extent(const char *what, struct gw_dim3 d)
{
	printf("%s %u", what, d.x);
	if (d.y > 1 || d.z > 1)
		printf(" x %u", d.y);
	if (d.z > 1)
		printf(" x %u", d.z);
}

static void print_head(const struct launch_case *item, const char *device, double measured)
{
	struct estimate_text t;
	char label[256], name[128];

	printf("%s%s on %s%s\n  ", gw_ink(stdout, GW_INK_BOLD),
	       gw_printable(label, sizeof(label), item->label),
	       gw_printable(name, sizeof(name), device), gw_ink(stdout, GW_INK_OFF));
	if (item->has_config) {
		print_extent("grid", item->config.grid);
		print_extent(", block", item->config.block);
	} else {
		printf("grid and block not given");
	}
	if (!isnan(measured))
		printf("; measured %s", estimate_time(&t, measured));
	printf("\n\n");
}

static const char *sure(struct estimate_text *out, double confidence)
{
	snprintf(out->s, sizeof(out->s), isnan(confidence) ? "-" : "%.2f", confidence);
	return out->s;
}

void predict_summary(const struct gw_model *const *models, const struct gw_device *device,
		     const struct launch_case *item, double measured, const double *confidence)
{
	const struct gw_table_column columns[] = {
		{"MODEL", false, false, 0},
		{"TIME", true, false, 0},
		{confidence ? "CONFIDENCE" : "ERROR", true, false, 0},
		{"BOUND BY", false, false, 0},
		{"RESOURCE", false, false, 0},
		{"REMARK", false, true, 0},
	};
	struct gw_table *table = gw_table_new(columns, 6);
	struct estimate_text t;
	struct gw_estimate e;

	for (const struct gw_model *const *m = models; *m; m++) {
		char remark[160] = "";

		estimate_launch(*m, device, item, &e);
		if (isnan(e.seconds))
			snprintf(remark, sizeof(remark), "%s", e.reason);
		else if (e.warning_count)
			snprintf(remark, sizeof(remark), "%u warning%s", e.warning_count,
				 e.warning_count > 1 ? "s" : "");
		gw_table_cell(table, (*m)->name);
		gw_table_cell(table, estimate_time(&t, e.seconds));
		gw_table_cell(table, confidence ? sure(&t, confidence[m - models])
						: estimate_percent(
							  &t, estimate_error(e.seconds, measured)));
		gw_table_cell(table, isnan(e.seconds) ? "-" : gw_bound_name(e.bound));
		gw_table_cell(table, e.binding ? e.binding : "-");
		gw_table_cell(table, remark);
	}
	gw_table_show(table, 2);
}

/* A term such as "K_type fp64" carries its value in its name. */
static void term_words(const struct gw_term *term, char *name, size_t size,
		       struct estimate_text *value)
{
	const char *space = strchr(term->name, ' ');

	snprintf(name, size, "%s", term->name);
	if (space && strcmp(term->unit, "1") == 0 && term->value == 1) {
		name[space - term->name] = '\0';
		snprintf(value->s, sizeof(value->s), "%s", space + 1);
	} else {
		estimate_value(value, term->value, term->unit);
	}
}

/* Terms stand in columns, read downwards, each as wide as its widest name and value. */
static void print_terms(const struct gw_estimate *e)
{
	struct estimate_text value;
	size_t name_width = 0, value_width = 0;
	unsigned columns, rows;
	char name[64];

	for (unsigned i = 0; i < e->term_count; i++) {
		term_words(&e->terms[i], name, sizeof(name), &value);
		name_width = strlen(name) > name_width ? strlen(name) : name_width;
		value_width = gw_columns(value.s) > value_width ? gw_columns(value.s) : value_width;
	}
	columns = (gw_width() - 4) / (unsigned)(name_width + value_width + 4);
	columns = columns > 3 ? 3 : columns < 1 ? 1 : columns;
	rows = (e->term_count + columns - 1) / columns;
	for (unsigned r = 0; r < rows; r++) {
		for (unsigned i = r; i < e->term_count; i += rows) {
			term_words(&e->terms[i], name, sizeof(name), &value);
			/* printf pads by bytes, a reader sees columns: µ is one of two bytes. */
			printf("%s%-*s  %*s", i == r ? "    " : "   ", (int)name_width, name,
			       (int)(value_width + strlen(value.s) - gw_columns(value.s)), value.s);
		}
		printf("\n");
	}
}

static void print_model(const struct gw_model *model, const struct gw_estimate *e)
{
	if (isnan(e->seconds) && e->term_count == 0)
		return;
	printf("\n  %s%s%s: %s\n", gw_ink(stdout, GW_INK_BOLD), model->name,
	       gw_ink(stdout, GW_INK_OFF), model->summary);
	print_terms(e);
	for (unsigned i = 0; i < e->warning_count; i++)
		printf("    %swarning:%s %s\n", gw_ink(stdout, GW_INK_WARN),
		       gw_ink(stdout, GW_INK_OFF), e->warnings[i]);
}

static void print_verdict(const struct launch_case *item, const struct gw_device *device,
			  double measured)
{
	struct estimate_text value;
	struct gw_estimate bounds;
	struct gw_verdict v;
	char phrase[160];

	estimate_verdict(item, device, measured, &v, &bounds);
	gw_verdict_text(&v, phrase, sizeof(phrase));
	printf("\n  verdict: %s", phrase);
	if (v.confidence > 0)
		printf(", confidence %.2f", v.confidence);
	if (isnan(bounds.seconds))
		printf(" (%s)", bounds.reason);
	printf("\n");
	for (unsigned i = 0; i < v.evidence_count; i++)
		printf("    %s: %s\n", v.evidence[i].what,
		       estimate_value(&value, v.evidence[i].value, v.evidence[i].unit));
}

static void threads_cell(struct gw_table *table, double threads)
{
	char text[32];

	if (isinf(threads))
		snprintf(text, sizeof(text), "not used");
	else
		snprintf(text, sizeof(text), isnan(threads) ? "unknown" : "%.1f", threads);
	gw_table_cell(table, text);
}

static void print_intervals(const struct launch_case *item, const struct gw_device *device)
{
	static const struct gw_table_column columns[] = {
		{"INTERVAL", false, true, 0}, {"CYCLES", true, false, 0},
		{"DRAM", true, false, 0},     {"L2", true, false, 0},
		{"DISPATCH", true, false, 0}, {"SCARCEST", false, false, 0},
		{"PER SM", true, false, 0},   {"TIME", true, false, 0},
	};
	struct gw_table *table;
	struct interval_answer a;
	struct estimate_text t;

	if (!item->interval_count)
		return;
	printf("\n  intervals (Koppelman): least number of threads that saturates each resource\n");
	table = gw_table_new(columns, 8);
	for (unsigned i = 0; i < item->interval_count; i++) {
		interval_analyse(&item->intervals[i], device, &a);
		gw_table_cell(table, item->intervals[i].name);
		gw_table_cell(table, estimate_value(&t, item->intervals[i].latency, "1"));
		threads_cell(table, a.dram);
		threads_cell(table, a.l2);
		threads_cell(table, a.dispatch);
		gw_table_cell(table, a.scarcest ? a.scarcest : "unknown");
		threads_cell(table, a.scarcest ? a.per_sm : NAN);
		gw_table_cell(table, estimate_time(&t, a.seconds));
	}
	gw_table_show(table, 4);
}

void predict_text(const struct predict_job *job)
{
	struct gw_estimate e;

	for (size_t i = 0; i < job->file.count; i++) {
		for (size_t d = 0; d < job->devices.count; d++) {
			const struct launch_case *item = &job->file.launches[i];
			const struct gw_device *device = &job->devices.profiles[d]->device;
			double measured = device_measured(item, job->devices.profiles[d]);

			if (i || d)
				printf("\n");
			print_head(item, device->name, measured);
			predict_summary(job->models, device, item, measured, NULL);
			print_verdict(item, device, measured);
			print_intervals(item, device);
			for (const struct gw_model *const *m = job->models; *m; m++) {
				estimate_launch(*m, device, item, &e);
				print_model(*m, &e);
			}
		}
	}
}
