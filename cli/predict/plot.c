/* The pictures of `gpuwatch predict --plot`: what the models say, put into the form of plots.h. */
#include "cli/predict/predict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/plot/plots.h"
#include "cli/common/paths.h"
#include "cli/message.h"
#include "predictor/models/papers/models.h"

struct pictures {
	const struct predict_job *job;
	const char *folder;
	struct plot_data data;
	size_t *launch_of; /**< which launch a kernel of the data is */
	int status;
};

/* Write and free a picture. @p number separates two names that give one slug. */
static void save(struct pictures *p, struct svg *svg, const char *kind, const char *name,
		 size_t number)
{
	char path[4096], part[64], error[4200];

	gw_profile_slug(name, part, sizeof(part));
	if (number)
		snprintf(path, sizeof(path), "%s/%s-%s-%zu.svg", p->folder, kind, part, number + 1);
	else
		snprintf(path, sizeof(path), "%s/%s%s%s.svg", p->folder, kind, *part ? "-" : "",
			 part);
	if (p->status == GW_EXIT_OK && !svg_save(svg, path, error, sizeof(error)))
		p->status = gw_error("%s", error);
	svg_free(svg);
}

static enum plot_type type_of(const struct gw_estimate *e)
{
	if (!isnan(estimate_term(e, "K_type fp64")))
		return PLOT_FP64;
	return isnan(estimate_term(e, "K_type fp32")) ? PLOT_INT : PLOT_FP32;
}

static void fill_kernel(struct plot_kernel *k, const struct launch_case *item,
			const struct gw_estimate *e)
{
	*k = (struct plot_kernel){
		.name = item->label,
		.type = type_of(e),
		.intensity = estimate_term(e, "O_krn"),
		.ops = estimate_term(e, "D_ops"),
		.loads_stores = estimate_term(e, "D_ldst"),
		.other = estimate_term(e, "D_other"),
	};
}

static void fill_cell(struct plot_cell *c, const struct launch_case *item,
		      const struct gw_profile *profile, const struct gw_estimate *e)
{
	double peak = estimate_term(e, "T_op"), ops = estimate_term(e, "W_comp");

	*c = (struct plot_cell){
		.peak = peak,
		.mixed = peak * estimate_term(e, "E_mix"),
		.adjusted = estimate_term(e, "T'_op"),
		.predicted = ops / e->seconds,
		.measured = ops / device_measured(item, profile),
	};
}

static void fill_device(struct plot_device *v, const struct gw_profile *profile)
{
	const struct gw_device *d = &profile->device;

	*v = (struct plot_device){
		.name = device_short_name(profile),
		.bandwidth = gw_param(d, GW_PARAM_b_mem),
		.peak = {gw_param(d, GW_PARAM_t_sp), gw_param(d, GW_PARAM_t_dp),
			 gw_param(d, GW_PARAM_t_int)},
		.spec_bandwidth = gw_param(d, GW_PARAM_b_mem_spec),
		.spec_peak =
			2 * gw_param(d, GW_PARAM_fp32_lanes_per_sm) *
			gw_param(d, GW_PARAM_sm_count) *
			fmax(gw_param(d, GW_PARAM_sm_clock_max), gw_param(d, GW_PARAM_sm_clock)),
	};
}

/* Kernels for which the quantitative roofline has no answer are left out, with a message. */
static void gather(struct pictures *p)
{
	size_t launches = p->job->file.count, devices = p->job->devices.count, used = 0;
	struct plot_kernel *kernels = gw_alloc((launches + 1) * sizeof(*kernels));
	struct plot_device *machines = gw_alloc((devices + 1) * sizeof(*machines));
	struct plot_cell *cells = gw_alloc((launches * devices + 1) * sizeof(*cells));
	const struct gw_model *qrm = gw_model_find("qrm");
	struct gw_estimate e;

	p->launch_of = gw_alloc((launches + 1) * sizeof(*p->launch_of));
	for (size_t d = 0; d < devices; d++)
		fill_device(&machines[d], p->job->devices.profiles[d]);
	for (size_t i = 0; i < launches; i++) {
		const struct launch_case *item = &p->job->file.launches[i];
		bool known = true;

		for (size_t d = 0; d < devices && known; d++) {
			const struct gw_profile *profile = p->job->devices.profiles[d];

			estimate_launch(qrm, &profile->device, item, &e);
			known = isfinite(e.seconds) && isfinite(estimate_term(&e, "O_krn"));
			fill_kernel(&kernels[used], item, &e);
			fill_cell(&cells[used * devices + d], item, profile, &e);
			if (!known)
				gw_warning("%s is left out of the pictures on %s: %s", item->label,
					   device_short_name(profile),
					   *e.reason ? e.reason : "no memory traffic");
		}
		if (known)
			p->launch_of[used++] = i;
	}
	p->data = (struct plot_data){used, devices, kernels, machines, cells};
}

/* How many earlier names give the same slug. */
static size_t same_before(const struct plot_data *d, size_t kernel)
{
	char mine[64], other[64];
	size_t n = 0;

	gw_profile_slug(d->kernels[kernel].name, mine, sizeof(mine));
	for (size_t k = 0; k < kernel; k++) {
		gw_profile_slug(d->kernels[k].name, other, sizeof(other));
		n += strcmp(mine, other) == 0;
	}
	return n;
}

static void draw_model(struct pictures *p)
{
	for (size_t d = 0; d < p->data.device_count; d++)
		save(p, plot_roofline(&p->data, d), "roofline", p->data.devices[d].name, 0);
	save(p, plot_quadrant(&p->data), "quadrant", "", 0);
	save(p, plot_densities(&p->data), "densities", "", 0);
	for (size_t k = 0; k < p->data.kernel_count; k++)
		save(p, plot_degradation(&p->data, k), "quadrant", p->data.kernels[k].name,
		     same_before(&p->data, k));
}

/* Names for the groups and series of bars. */
struct names {
	const char **launches, **devices;
};

static struct names list_names(const struct predict_job *job)
{
	struct names n = {gw_alloc((job->file.count + 1) * sizeof(char *)),
			  gw_alloc((job->devices.count + 1) * sizeof(char *))};

	for (size_t i = 0; i < job->file.count; i++)
		n.launches[i] = job->file.launches[i].label;
	for (size_t d = 0; d < job->devices.count; d++)
		n.devices[d] = device_short_name(job->devices.profiles[d]);
	return n;
}

static double error_of(const struct predict_job *job, const struct gw_model *model, size_t launch,
		       size_t device, int factors)
{
	const struct gw_profile *profile = job->devices.profiles[device];
	struct launch_case item = job->file.launches[launch];
	struct gw_estimate e;

	if (factors >= 0)
		item.options.qrm_factors = (unsigned)factors;
	estimate_launch(model, &profile->device, &item, &e);
	return estimate_error(e.seconds, device_measured(&item, profile));
}

/*
 * Errors of one model by kernel and device (fig. 5.11); @p utilised: on all devices but the first
 * once a kernel's times are multiplied by E_util, measured over predicted time on the first
 * (fig. 5.12).
 */
static void draw_errors(struct pictures *p, const struct gw_model *model, const struct names *n,
			bool utilised)
{
	const struct predict_job *job = p->job;
	size_t launches = job->file.count, devices = job->devices.count, used = 0;
	struct plot_bar *bars = gw_alloc((launches * devices + 1) * sizeof(*bars));
	char title[160];

	for (size_t i = 0; i < launches; i++) {
		double here = 1 + error_of(job, model, i, 0, -1);

		for (size_t d = utilised; d < devices; d++) {
			double error = error_of(job, model, i, d, -1);

			if (utilised)
				error = (1 + error) / here - 1;
			if (isfinite(error))
				bars[used++] = (struct plot_bar){i, d, error};
		}
	}
	snprintf(title, sizeof(title), "Prediction errors of %s%s%.60s", model->name,
		 utilised ? " with E_util of " : "", utilised && devices ? n->devices[0] : "");
	if (used)
		save(p,
		     plot_errors(&(struct plot_bars){
			     title,
			     utilised
				     ? "Times multiplied by measured over predicted time on that "
				       "GPU"
				     : "Predicted against measured time; below zero the prediction "
				       "is too short",
			     launches, devices, used, n->launches, n->devices, bars}),
		     utilised ? "utilisation" : "errors", model->name, 0);
	free(bars);
}

/* What the efficiency factors are worth on one device (fig. 5.10). */
static void draw_factors(struct pictures *p, size_t device, const struct names *n)
{
	static const char *const series[] = {"no factor", "E_mix", "E_mix and E_instr"};
	const struct gw_model *qrm = gw_model_find("qrm");
	size_t launches = p->job->file.count, used = 0;
	struct plot_bar *bars = gw_alloc((3 * launches + 1) * sizeof(*bars));
	char title[160];

	for (size_t i = 0; i < launches; i++) {
		for (size_t s = 0; s < 3; s++) {
			double error = error_of(p->job, qrm, i, device, 2 - (int)s);

			if (isfinite(error))
				bars[used++] = (struct plot_bar){i, s, error};
		}
	}
	snprintf(title, sizeof(title), "Efficiency factors on %s", n->devices[device]);
	if (used)
		save(p,
		     plot_errors(&(struct plot_bars){
			     title, "Error of qrm without its factors, with E_mix, and with both",
			     launches, 3, used, n->launches, series, bars}),
		     "factors", n->devices[device], 0);
	free(bars);
}

int predict_plot(const struct predict_job *job, const char *folder)
{
	struct pictures p = {.job = job, .folder = folder, .status = GW_EXIT_OK};
	struct names n;

	if (!gw_folder_make(folder))
		return GW_EXIT_USAGE;
	gather(&p);
	n = list_names(job);
	if (p.data.kernel_count)
		draw_model(&p);
	for (const struct gw_model *const *m = job->models; *m; m++) {
		draw_errors(&p, *m, &n, false);
		draw_errors(&p, *m, &n, true);
	}
	for (size_t d = 0; d < job->devices.count; d++)
		draw_factors(&p, d, &n);
	free(n.launches);
	free(n.devices);
	free(p.launch_of);
	free((void *)p.data.kernels);
	free((void *)p.data.devices);
	free((void *)p.data.cells);
	return p.status;
}
