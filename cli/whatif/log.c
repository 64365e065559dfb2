/*
 * `gpuwatch whatif` on a log: the measured launches of each kernel, from the work that the log
 * knows of them, on the GPU they ran on and on others.
 */
#include "cli/whatif/whatif.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common/estimate.h"
#include "cli/common/json.h"
#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/common/number.h"
#include "cli/message.h"
#include "cli/report/line.h"
#include "cli/table.h"
#include "cli/log/folder.h"
#include "cli/log/trace.h"
#include "predictor/models/inputs.h"

static const char no_work[] =
	"the log holds no work of these kernels (instructions, memory traffic), only times; what "
	"they need of a GPU, and so their time on another one, can't be derived from it";
static const char remedy[] =
	"have the work counted (GPUWATCH_COUNTERS=pm), or describe the kernels "
	"in a launch file (docs/user/launch.md)";

/* What the model says of a kernel's launches on one GPU. */
struct answer {
	double seconds;   /* of all of them; NaN: not known */
	double at_least;  /* a lower bound of it, s; NaN: none */
	char reason[120]; /* why not */
};

/* The kernels of one name. */
struct row {
	char *name, *mangled;   /* mangled: of one of them */
	uint64_t launches;      /* with a time */
	double measured;        /* s, their sum */
	struct answer *answers; /* [places] */
};

/* What the model leaves out on a GPU though not where the launches ran: static strings of its own.
 */
struct lacks {
	unsigned count;
	const char *what[GW_WARNINGS_MAX];
};

/* What a log lacks. */
struct complaint {
	char *path, *text;
};

/* Place 0 is the GPU that a launch ran on, the others are those asked for. */
struct whatif {
	struct trace trace; /* the log being read */
	const struct gw_model *model;
	const struct device_set *devices;
	struct row *rows;
	struct lacks *lacks; /* [places] */
	struct complaint *complaints;
	size_t count, row_room, places, complaint_count, complaint_room;
	size_t logs, works; /* read, and WORK records in them */
	bool here;          /* some launch ran on a GPU whose profile is known */
	bool utilisation;   /* times on other GPUs are corrected by E_util */
};

/* ---- rows ---- */

static const struct gw_device *device_of(const struct whatif *w, uint32_t config, size_t place)
{
	if (place)
		return &w->devices->profiles[place - 1]->device;
	return gw_log_device(&w->trace.log,
			     gw_log_gpu(&w->trace.log, w->trace.log.configs[config].device));
}

/* @p part: the model leaves out what takes time where the launches ran, so that it is a lower
 * bound. */
static void add_answer(struct answer *a, uint64_t launches, const struct gw_estimate *e, bool part)
{
	static const char lacks[] = "the profile lacks what the model uses where the launch ran";

	a->at_least += (double)launches * e->seconds;
	a->seconds += part ? NAN : (double)launches * e->seconds;
	if ((part || isnan(e->seconds)) && !*a->reason)
		snprintf(a->reason, sizeof(a->reason), "%s", part ? lacks : e->reason);
}

static bool among(const char *const *list, unsigned count, const char *text)
{
	for (unsigned i = 0; i < count; i++)
		if (!strcmp(list[i], text))
			return true;
	return false;
}

/*
 * What it lacks in both places is not known of the launch; the rest is not known of the GPU.
 * Whether there is any such thing.
 */
static bool add_lacks(struct lacks *l, const struct gw_estimate *here,
		      const struct gw_estimate *there)
{
	bool any = false;

	for (unsigned i = 0; i < there->warning_count; i++) {
		if (among(here->warnings, here->warning_count, there->warnings[i]))
			continue;
		any = true;
		if (l->count < GW_WARNINGS_MAX && !among(l->what, l->count, there->warnings[i]))
			l->what[l->count++] = there->warnings[i];
	}
	return any;
}

/* No launch takes less than an empty one: where the GPU's own floor is not known, the source's. */
static void apply_floor(const struct gw_device *source, const struct gw_device *target,
			struct gw_estimate *e)
{
	double floor_time = gw_either(gw_param_value(target, GW_PARAM_launch_floor),
				      gw_param_value(source, GW_PARAM_launch_floor));

	if (e->seconds < floor_time)
		e->seconds = floor_time;
}

/*
 * E_util of Konstantinidis 2017 (5.13), of each configuration: measured over predicted time where
 * the launches ran.
 */
static double utilisation_of(const struct trace_config *c, const struct gw_estimate *here)
{
	return (double)c->time_ns * 1e-9 / ((double)c->measured * here->seconds);
}

static void add_config(struct whatif *w, uint32_t config, struct row *row)
{
	const struct gw_launch launch = gw_log_launch(&w->trace.log, config);
	const struct trace_config *c = &w->trace.configs[config];
	struct gw_estimate here, e;
	struct gw_work work;

	row->launches += c->measured;
	row->measured += (double)c->time_ns * 1e-9;
	if (c->last_work)
		trace_work_of(&w->trace, c->last_work - 1, &work);
	for (size_t p = 0; p < w->places; p++) {
		const struct gw_device *device = device_of(w, config, p);
		bool part = false;

		gw_estimate_clear(&e);
		if (!device)
			snprintf(e.reason, sizeof(e.reason), "no device profile in the log");
		else if (!c->last_work)
			snprintf(e.reason, sizeof(e.reason), "its work is not in the log");
		else if (gw_work_least(&work) > 0)
			snprintf(e.reason, sizeof(e.reason),
				 "what the code leaves open decides how much it does, and it was "
				 "not counted");
		else
			w->model->estimate(device, &launch, &work, NULL, &e);
		w->here |= p == 0 && device;
		if (p == 0) {
			here = e;
		} else if (!isnan(here.seconds) && !isnan(e.seconds)) {
			part = add_lacks(&w->lacks[p], &here, &e);
			/* Of a lower bound the factor is not known: it is that of all terms. */
			if (w->utilisation && !part)
				e.seconds *= utilisation_of(c, &here);
			apply_floor(device_of(w, config, 0), device, &e);
		}
		add_answer(&row->answers[p], c->measured, &e, part);
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct row *)a)->name, ((const struct row *)b)->name);
}

/* Of one name the row that has launches comes first: it is that of the logs before. */
static int by_name_and_launches(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int names = by_name(a, b);

	return names ? names
		     : (left->launches < right->launches) - (left->launches > right->launches);
}

static int by_time(const void *a, const void *b)
{
	double left = ((const struct row *)a)->measured, right = ((const struct row *)b)->measured;

	return left != right ? (left < right ? 1 : -1) : by_name(a, b);
}

static void free_row(struct row *row)
{
	free(row->name);
	free(row->mangled);
	free(row->answers);
}

/* One row a name: several kernels may bear it, of this log and of others. */
static void add_rows(struct whatif *w)
{
	size_t kept = 0, before = w->count;

	GW_GROW(w->rows, &w->row_room, before + w->trace.log.kernel_count + 1);
	for (size_t i = 0; i < w->trace.log.kernel_count; i++)
		w->rows[before + i] =
			(struct row){.name = gw_copy(w->trace.log.names[i].plain),
				     .mangled = gw_copy(w->trace.log.names[i].mangled),
				     .answers = gw_alloc(w->places * sizeof(*w->rows->answers))};
	w->count += w->trace.log.kernel_count;
	qsort(w->rows, w->count, sizeof(*w->rows), by_name_and_launches);
	for (size_t i = 0; i < w->count; i++)
		if (!kept || strcmp(w->rows[kept - 1].name, w->rows[i].name))
			w->rows[kept++] = w->rows[i];
		else
			free_row(&w->rows[i]);
	w->count = kept;
}

static void fill_rows(struct whatif *w)
{
	for (uint32_t i = 0; i < w->trace.log.config_count; i++) {
		const struct log_config *c = &w->trace.log.configs[i];
		const struct row key = {.name = (char *)w->trace.log.names[c->kernel].plain};

		if (w->trace.configs[i].measured)
			add_config(w, i, bsearch(&key, w->rows, w->count, sizeof(key), by_name));
	}
}

/* Those that were launched, the longest first. */
static void sort_rows(struct whatif *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->rows[i].launches)
			w->rows[kept++] = w->rows[i];
		else
			free_row(&w->rows[i]);
	w->count = kept;
	qsort(w->rows, w->count, sizeof(*w->rows), by_time);
}

static bool add_log(void *arg, const char *path)
{
	struct whatif *w = arg;
	bool read = trace_read(&w->trace, path);
	char text[300];

	if (read) {
		add_rows(w);
		fill_rows(w);
		w->works += w->trace.work_count;
		w->logs++;
	} else {
		gw_error("%s: %s", path, w->trace.log.status.error);
	}
	for (unsigned n = 0; read && gw_log_complaint(&w->trace.log.status, n, text, sizeof(text));
	     n++) {
		GW_GROW(w->complaints, &w->complaint_room, w->complaint_count + 1);
		w->complaints[w->complaint_count++] =
			(struct complaint){gw_copy(path), gw_copy(text)};
	}
	trace_free(&w->trace);
	w->trace = (struct trace){0};
	return read;
}

/*
 * Sums compare only over the same kernels: those that every GPU has a time for whose profile has
 * what the model needs. The others have no sum.
 */
static bool known_everywhere(const struct whatif *w, const struct row *row)
{
	for (size_t p = !w->here; p < w->places; p++)
		if (!w->lacks[p].count && isnan(row->answers[p].seconds))
			return false;
	return true;
}

static size_t count_known(const struct whatif *w)
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++)
		n += known_everywhere(w, &w->rows[i]);
	return n;
}

/* Of the measured times where @p place is beyond the last. */
static double total(const struct whatif *w, size_t place)
{
	double sum = count_known(w) ? 0 : NAN;

	if (place < w->places && w->lacks[place].count)
		return NAN;
	for (size_t i = 0; i < w->count; i++)
		if (known_everywhere(w, &w->rows[i]))
			sum += place < w->places ? w->rows[i].answers[place].seconds
						 : w->rows[i].measured;
	return sum;
}

/* What others are compared with: E_util makes the prediction here the measurement. */
static double speed(const struct whatif *w, size_t place)
{
	return total(w, w->utilisation ? w->places : 0) / total(w, place);
}

static double row_utilisation(const struct row *row)
{
	return row->measured / row->answers[0].seconds;
}

static bool any_known(const struct whatif *w)
{
	for (size_t i = 0; i < w->count; i++)
		for (size_t p = 1; p < w->places; p++)
			if (!isnan(w->rows[i].answers[p].at_least))
				return true;
	return false;
}

/* ---- text ---- */

static struct gw_table *new_table(const struct whatif *w)
{
	struct gw_table_column *columns = gw_alloc((4 + w->places) * sizeof(*columns));
	unsigned first = w->utilisation ? 4 : 3;
	struct gw_table *table;

	columns[0] = (struct gw_table_column){"KERNEL", false, true, 0};
	columns[1] = (struct gw_table_column){"LAUNCHES", true, false, 2};
	columns[2] = (struct gw_table_column){"MEASURED", true, false, 0};
	columns[3] = (struct gw_table_column){"PREDICTED HERE", true, false, 1};
	columns[4] = (struct gw_table_column){"E_UTIL", true, false, 0};
	for (size_t p = 1; p < w->places; p++)
		columns[first + p] = (struct gw_table_column){
			device_short_name(w->devices->profiles[p - 1]), true, false, 0};
	table = gw_table_new(columns, first + (unsigned)w->places);
	free(columns);
	return table;
}

static void add_ratio(struct gw_table *table, const char *unit, double ratio)
{
	gw_table_cellf(table, isnan(ratio) ? "unknown" : "%.2f%s", ratio, unit);
}

static void add_totals(struct gw_table *table, const struct whatif *w)
{
	struct estimate_text t;

	gw_table_cellf(table, "in all (%zu of %zu kernels)", count_known(w), w->count);
	gw_table_cell(table, "");
	gw_table_cell(table, estimate_time(&t, total(w, w->places)));
	for (size_t p = 0; p < w->places; p++) {
		gw_table_cell(table, estimate_time(&t, total(w, p)));
		if (!p && w->utilisation)
			add_ratio(table, "", total(w, w->places) / total(w, 0));
	}
	gw_table_cell(table, "speed against here");
	gw_table_cell(table, "");
	gw_table_cell(table, "");
	for (size_t p = 0; p < w->places; p++) {
		add_ratio(table, " x", p ? speed(w, p) : total(w, 0) / total(w, 0));
		if (!p && w->utilisation)
			gw_table_cell(table, "");
	}
}

static const char *place_name(const struct whatif *w, size_t place)
{
	return place ? device_short_name(w->devices->profiles[place - 1]) : "the GPU it ran on";
}

#define NO_SUM \
	"No sum on %s: its profile lacks what the model uses, so times are lower bounds (≥). " \
	"`gpuwatch calibrate` on such a GPU measures it:"

/* A reason once for each GPU, with the kernels that it is of. */
static void print_reason(const struct whatif *w, size_t place, size_t first)
{
	const char *reason = w->rows[first].answers[place].reason;
	char *name = gw_shorten(w->rows[first].name, 50);
	struct gw_text n;
	size_t same = 0;

	for (size_t i = 0; i < first; i++)
		if (!strcmp(w->rows[i].answers[place].reason, reason))
			reason = ""; /* there was a message */
	for (size_t i = first; i < w->count; i++)
		same += !strcmp(w->rows[i].answers[place].reason, reason);
	if (*reason && isnan(w->rows[first].answers[place].at_least))
		report_sentence(0, "No time on %s of %s (%s%s): %s", place_name(w, place),
				gw_counted(&n, (double)same, "kernel", NULL), name ? name : "?",
				same > 1 ? " and others" : "", reason);
	free(name);
}

static void print_reasons(const struct whatif *w)
{
	for (size_t p = 0; p < w->places; p++)
		for (size_t i = 0; i < w->count; i++)
			print_reason(w, p, i);
	for (size_t p = 1; p < w->places; p++) {
		if (w->lacks[p].count)
			report_sentence(0, NO_SUM, place_name(w, p));
		for (unsigned i = 0; i < w->lacks[p].count; i++)
			report_sentence(2, "%s", w->lacks[p].what[i]);
	}
}

static void add_time(struct gw_table *table, const struct answer *a)
{
	bool part = isnan(a->seconds) && !isnan(a->at_least);
	struct estimate_text t;

	gw_table_cellf(table, "%s%s", part ? "≥ " : "",
		       estimate_time(&t, part ? a->at_least : a->seconds));
}

/* Names as in the report. */
static void shorten_names(struct whatif *w)
{
	struct gw_kernel_names *names = gw_alloc((w->count + 1) * sizeof(*names));
	char **out = gw_alloc((w->count + 1) * sizeof(*out));

	for (size_t i = 0; i < w->count; i++)
		names[i] = (struct gw_kernel_names){w->rows[i].mangled, w->rows[i].name};
	gw_kernel_names(names, w->count, out);
	for (size_t i = 0; i < w->count; i++) {
		free(w->rows[i].name);
		w->rows[i].name = out[i];
	}
	free(names);
	free(out);
}

static void print_text(struct whatif *w)
{
	struct gw_table *table = new_table(w);
	struct estimate_text t;
	struct gw_text n;

	shorten_names(w);
	report_sentence(0, "Predicted by %s: %s.", w->model->name, w->model->summary);
	if (w->utilisation)
		report_sentence(0, "Elsewhere times E_util, measured over predicted here.");
	printf("\n");
	for (size_t i = 0; i < w->count; i++) {
		const struct row *row = &w->rows[i];

		gw_table_cell(table, row->name);
		gw_table_cell(table, gw_thousands(&n, (double)row->launches));
		gw_table_cell(table, estimate_time(&t, row->measured));
		for (size_t p = 0; p < w->places; p++) {
			add_time(table, &row->answers[p]);
			if (!p && w->utilisation)
				add_ratio(table, "", row_utilisation(row));
		}
	}
	add_totals(table, w);
	gw_table_show(table, 0);
	printf("\n");
	if (!w->works)
		report_sentence(0, "No time on any GPU: %s.", no_work);
	else
		print_reasons(w);
	if (!any_known(w))
		report_sentence(0, "Remedy: %s.", remedy);
	for (size_t i = 0; i < w->complaint_count; i++)
		printf("%s: %s\n", w->complaints[i].path, w->complaints[i].text);
}

/* ---- JSON ---- */

static json_t *row_json(const struct whatif *w, const struct row *row)
{
	json_t *devices = json_array();

	for (size_t p = 1; p < w->places; p++) {
		const struct answer *a = &row->answers[p];

		json_array_append_new(
			devices,
			json_pack("{s:o,s:o,s:o,s:o}", "device",
				  gw_json_text(w->devices->profiles[p - 1]->device.name), "seconds",
				  gw_json_number(a->seconds), "at_least_seconds",
				  gw_json_number(a->at_least), "reason",
				  isnan(a->seconds) ? gw_json_text(a->reason) : json_null()));
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "name", gw_json_text(row->name), "launches",
			 gw_json_count(row->launches), "measured_seconds",
			 gw_json_number(row->measured), "here_seconds",
			 gw_json_number(row->answers[0].seconds), "e_util",
			 gw_json_number(row_utilisation(row)), "devices", devices);
}

static json_t *total_json(const struct whatif *w, size_t place)
{
	json_t *lacks = json_array();

	for (unsigned i = 0; i < w->lacks[place].count; i++)
		json_array_append_new(lacks, gw_json_text(w->lacks[place].what[i]));
	return json_pack("{s:o,s:o,s:o,s:o}", "device",
			 gw_json_text(w->devices->profiles[place - 1]->device.name), "seconds",
			 gw_json_number(total(w, place)), "speed", gw_json_number(speed(w, place)),
			 "lacks", lacks);
}

static void print_json(const struct whatif *w)
{
	json_t *kernels = json_array(), *totals = json_array(), *missing = json_array();
	bool known = any_known(w);

	for (size_t i = 0; i < w->count; i++)
		json_array_append_new(kernels, row_json(w, &w->rows[i]));
	for (size_t p = 1; p < w->places; p++)
		json_array_append_new(totals, total_json(w, p));
	for (size_t i = 0; i < w->complaint_count; i++) {
		const struct complaint *c = &w->complaints[i];

		json_array_append_new(missing, w->logs > 1
						       ? json_sprintf("%s: %s", c->path, c->text)
						       : gw_json_text(c->text));
	}
	gw_json_print(json_pack("{s:o,s:b,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "model",
				gw_json_text(w->model->name), "utilisation", (int)w->utilisation,
				"kernels", kernels, "kernels_in_total",
				gw_json_count(count_known(w)), "measured_seconds",
				gw_json_number(total(w, w->places)), "here_seconds",
				gw_json_number(total(w, 0)), "total", totals, "missing", missing,
				"reason", w->works ? json_null() : gw_json_text(no_work), "remedy",
				known ? json_null() : gw_json_text(remedy)));
}

int whatif_log(const char *path, const struct gw_model *model, const struct device_set *devices,
	       bool utilisation, bool json)
{
	struct whatif w = {.model = model,
			   .devices = devices,
			   .places = devices->count + 1,
			   .utilisation = utilisation};
	int status;

	w.lacks = gw_alloc(w.places * sizeof(*w.lacks));
	status = gw_log_each(path, add_log, &w);
	if (!status) {
		sort_rows(&w);
		if (json)
			print_json(&w);
		else
			print_text(&w);
		status = any_known(&w) ? GW_EXIT_OK : GW_EXIT_FINDINGS;
	}
	for (size_t i = 0; i < w.count; i++)
		free_row(&w.rows[i]);
	for (size_t i = 0; i < w.complaint_count; i++) {
		free(w.complaints[i].path);
		free(w.complaints[i].text);
	}
	free(w.complaints);
	free(w.rows);
	free(w.lacks);
	return status;
}
