/* gpuwatch whatif: the same kernels on other GPUs, what Konstantinidis 2017 is for. */
#include "cli/whatif/whatif.h"

#include <fcntl.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/common/estimate.h"
#include "cli/common/json.h"
#include "cli/common/memory.h"
#include "cli/message.h"
#include "cli/table.h"
#include "cli/window/window.h"
#include "predictor/models/papers/models.h"

struct options {
	struct gw_words device;
	const char *model, *since, *until, *last;
	bool utilisation, json;
};

static const struct gw_option options[] = {
	DEVICE_SET_OPTION,
	GW_OPT_TEXT(model, "NAME",
		    "the model to ask; when not given bounds for a log, and for a launch file qrm, "
		    "the quantitative roofline"),
	LOG_WINDOW_OPTIONS,
	GW_OPT_FLAG(utilisation, "multiply each kernel's time by E_util, measured over predicted "
				 "time on the GPU that the log ran on, for a launch file on the "
				 "first GPU (Konstantinidis 2017, 5.13)"),
	GW_OPT_FLAG(json, "print JSON"),
	{0},
};

/* What @p fd begins with, without reading on: what came out of a pipe would be lost. */
static bool peek(int fd, unsigned char begin[4])
{
	int beside[2];
	bool good = pread(fd, begin, 4, 0) == 4;

	if (good || pipe2(beside, O_CLOEXEC))
		return good;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	good = tee(fd, beside[1], 4, 0) == 4 && read(beside[0], begin, 4) == 4;
	close(beside[0]);
	close(beside[1]);
	return good;
}

bool whatif_is_log(const char *path)
{
	static const unsigned char zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
	unsigned char begin[4];
	int fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
				   : dup(STDIN_FILENO);
	size_t n = strlen(path);
	struct stat s;
	bool log = false;

	/* A log that was cut off before its first block is recognised by its name. */
	if (n > 4 && strcmp(path + n - 4, ".gwl") == 0)
		log = true;
	if (fd >= 0) {
		if (fstat(fd, &s))
			s.st_mode = 0;
		log |= S_ISDIR(s.st_mode);
		if (peek(fd, begin))
			log |= memcmp(begin, "GWB1", 4) == 0 || memcmp(begin, "GWB2", 4) == 0 ||
			       memcmp(begin, zstd, 4) == 0;
		if (!S_ISFIFO(s.st_mode)) /* a pipe without a reader ends its writer */
			close(fd);
	}
	return log;
}

/* Kernels on devices; estimates are [kernel * devices + device]. */
struct comparison {
	struct launch_file file;
	struct device_set devices;
	const struct gw_model *model;
	struct gw_estimate *estimates;
};

static const struct gw_estimate *at(const struct comparison *c, size_t kernel, size_t device)
{
	return &c->estimates[kernel * c->devices.count + device];
}

static void estimate_all(struct comparison *c)
{
	c->estimates = gw_alloc((c->file.count * c->devices.count + 1) * sizeof(*c->estimates));
	for (size_t k = 0; k < c->file.count; k++)
		for (size_t d = 0; d < c->devices.count; d++)
			estimate_launch(c->model, &c->devices.profiles[d]->device,
					&c->file.launches[k],
					&c->estimates[k * c->devices.count + d]);
}

/* E_util (5.13 of Konstantinidis 2017) of each kernel by its measured time on the first device. */
static void apply_utilisation(struct comparison *c)
{
	for (size_t k = 0; k < c->file.count; k++) {
		struct gw_estimate *e = &c->estimates[k * c->devices.count];
		double factor =
			device_measured(&c->file.launches[k], c->devices.profiles[0]) / e->seconds;

		for (size_t d = 0; d < c->devices.count; d++) {
			e[d].seconds *= factor;
			if (isnan(e[d].seconds) && !*e[d].reason)
				snprintf(e[d].reason, sizeof(e[d].reason),
					 "no measured time on the first GPU, or no prediction, "
					 "gives E_util");
		}
	}
}

/* Sums compare only over the same kernels: those that every device has a time for. */
static bool known_everywhere(const struct comparison *c, size_t kernel)
{
	for (size_t d = 0; d < c->devices.count; d++)
		if (isnan(at(c, kernel, d)->seconds))
			return false;
	return true;
}

static size_t count_known(const struct comparison *c)
{
	size_t n = 0;

	for (size_t k = 0; k < c->file.count; k++)
		n += known_everywhere(c, k);
	return n;
}

static double total(const struct comparison *c, size_t device)
{
	double sum = count_known(c) ? 0 : NAN;

	for (size_t k = 0; k < c->file.count; k++)
		if (known_everywhere(c, k))
			sum += at(c, k, device)->seconds;
	return sum;
}

static struct gw_table *new_table(const struct comparison *c)
{
	struct gw_table_column *columns = gw_alloc((1 + 2 * c->devices.count) * sizeof(*columns));
	struct gw_table *table;

	columns[0] = (struct gw_table_column){"KERNEL", false, true, 0};
	for (size_t d = 0; d < c->devices.count; d++) {
		columns[1 + 2 * d] = (struct gw_table_column){
			device_short_name(c->devices.profiles[d]), true, false, 0};
		/* The last devices' bounds leave first when the screen is narrow. */
		columns[2 + 2 * d] = (struct gw_table_column){"BOUND", false, false, 1 + (int)d};
	}
	table = gw_table_new(columns, (unsigned)(1 + 2 * c->devices.count));
	free(columns);
	return table;
}

static void add_row(struct gw_table *table, const struct comparison *c, size_t k)
{
	struct estimate_text t;

	gw_table_cell(table, c->file.launches[k].label);
	for (size_t d = 0; d < c->devices.count; d++) {
		const struct gw_estimate *e = at(c, k, d);

		gw_table_cell(table, estimate_time(&t, e->seconds));
		gw_table_cell(table, isnan(e->seconds) ? "-" : gw_bound_name(e->bound));
	}
}

static void add_totals(struct gw_table *table, const struct comparison *c)
{
	struct estimate_text t;

	gw_table_cellf(table, "in all (%zu of %zu kernels)", count_known(c), c->file.count);
	for (size_t d = 0; d < c->devices.count; d++) {
		gw_table_cell(table, estimate_time(&t, total(c, d)));
		gw_table_cell(table, "");
	}
	if (c->devices.count < 2)
		return;
	gw_table_cell(table, "speed against the first");
	for (size_t d = 0; d < c->devices.count; d++) {
		double ratio = total(c, 0) / total(c, d);

		gw_table_cellf(table, isnan(ratio) ? "unknown" : "%.2f x", ratio);
		gw_table_cell(table, "");
	}
}

/* Every reason once for each kernel: they are the same on most devices. */
static void print_reasons(const struct comparison *c)
{
	char label[256];

	for (size_t k = 0; k < c->file.count; k++) {
		const char *last = "";

		for (size_t d = 0; d < c->devices.count; d++) {
			const struct gw_estimate *e = at(c, k, d);

			if (isnan(e->seconds) && strcmp(e->reason, last) != 0)
				printf("%s on %s: %s\n",
				       gw_printable(label, sizeof(label),
						    c->file.launches[k].label),
				       device_short_name(c->devices.profiles[d]), e->reason);
			last = isnan(e->seconds) ? e->reason : "";
		}
	}
}

static void print_text(const struct comparison *c)
{
	struct gw_table *table = new_table(c);

	printf("Predicted by %s: %s.\n\n", c->model->name, c->model->summary);
	for (size_t k = 0; k < c->file.count; k++)
		add_row(table, c, k);
	add_totals(table, c);
	gw_table_show(table, 0);
	print_reasons(c);
}

static json_t *cell_json(const struct comparison *c, size_t k, size_t d)
{
	const struct gw_estimate *e = at(c, k, d);
	const struct gw_profile *profile = c->devices.profiles[d];
	double measured = device_measured(&c->file.launches[k], profile);

	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "device",
			 gw_json_text(profile->device.name), "seconds", gw_json_number(e->seconds),
			 "reason", isnan(e->seconds) ? gw_json_text(e->reason) : json_null(),
			 "bound", gw_json_text(gw_bound_name(e->bound)), "resource",
			 gw_json_text(e->binding), "measured_seconds", gw_json_number(measured),
			 "error", gw_json_number(estimate_error(e->seconds, measured)));
}

static void print_json(const struct comparison *c)
{
	json_t *kernels = json_array(), *totals = json_array();

	for (size_t k = 0; k < c->file.count; k++) {
		json_t *cells = json_array();

		for (size_t d = 0; d < c->devices.count; d++)
			json_array_append_new(cells, cell_json(c, k, d));
		json_array_append_new(kernels, json_pack("{s:o,s:o}", "name",
							 gw_json_text(c->file.launches[k].label),
							 "devices", cells));
	}
	for (size_t d = 0; d < c->devices.count; d++)
		json_array_append_new(totals,
				      json_pack("{s:o,s:o,s:o}", "device",
						gw_json_text(c->devices.profiles[d]->device.name),
						"seconds", gw_json_number(total(c, d)), "speed",
						gw_json_number(total(c, 0) / total(c, d))));
	gw_json_print(json_pack("{s:o,s:o,s:o,s:o}", "model", gw_json_text(c->model->name),
				"kernels", kernels, "kernels_in_total",
				gw_json_count(count_known(c)), "total", totals));
}

static int compare(struct comparison *c, const char *path, const struct options *v)
{
	char error[1024];

	if (!launch_file_read(&c->file, path, error, sizeof(error)))
		return gw_error("%s", error);
	estimate_all(c);
	if (v->utilisation)
		apply_utilisation(c);
	if (v->json)
		print_json(c);
	else
		print_text(c);
	free(c->estimates);
	launch_file_free(&c->file);
	return GW_EXIT_OK;
}

static int run(const struct gw_command *command, int argc, char **argv)
{
	struct options v = {0};
	struct comparison c = {0};
	int status = gw_command_parse(command, &argc, argv, &v);
	bool log;

	if (status >= 0)
		return status;
	if (argc != 1)
		return gw_error(
			"whatif: missing log, folder or launch file argument, or more than one; "
			"see gpuwatch whatif --help");
	log = whatif_is_log(argv[0]);
	if (!log && (v.since || v.until || v.last))
		return gw_error("whatif: --%s is for logs, and %s is none; leave it out",
				v.since   ? "since"
				: v.until ? "until"
					  : "last",
				argv[0]);
	status = log_window_set("whatif", &(struct log_window){v.since, v.until, v.last}, argv,
				argc);
	if (status)
		return status;
	v.model = v.model ? v.model : log ? "bounds" : "qrm";
	c.model = gw_model_find(v.model);
	if (!c.model)
		return estimate_unknown_model(v.model, false);
	if (!device_set_asked(&c.devices, &v.device, command->name))
		return GW_EXIT_USAGE;
	if (log)
		status = whatif_log(argv[0], c.model, &c.devices, v.utilisation, v.json);
	else
		status = compare(&c, argv[0], &v);
	device_set_free(&c.devices);
	return status == GW_EXIT_USAGE || !log_window_check("whatif") ? status : GW_EXIT_FINDINGS;
}

const struct gw_command_body gw_whatif_command = {
	.run = run,
	.options = options,
	.description =
		"Predicts the time of the same kernels on other GPUs, kernel by kernel and "
		"in total, from\n"
		"their work. In a launch file (docs/user/launch.md) each described launch is "
		"predicted once.\n"
		"\n"
		"In a log (.gwl), or the logs of a folder, the measured launches of each kernel "
		"are "
		"added up, with\n"
		"the work that the log has at its end: measured counters, or static analysis of "
		"the code for "
		"the GPU they ran\n"
		"on. The model's time for that GPU is printed beside the measured one: the "
		"difference shows\n"
		"how far to trust its answers for others. Memory traffic is assumed to be "
		"the same on every\n"
		"GPU, whatever the size of its caches. Exit status 1 and no prediction "
		"where the log lacks\n"
		"the work. \"-\" is standard input.",
	.examples = "gpuwatch whatif --device=GTX-480 --device=K20c examples/papers/rodinia.json\n"
		    "28 kernels on two GPUs, and what changing one for the other would bring.\n"
		    "gpuwatch whatif --device=\"NVIDIA A100-SXM4-80GB\" app.gwl\n"
		    "A program that was recorded here, on another GPU.\n",
	.exit_status =
		"0 done; 1 no kernel of the log could be predicted for another GPU; 2 bad options "
		"or input.",
};
