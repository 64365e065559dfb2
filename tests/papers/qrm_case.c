#include "qrm_case.h"

#include "predictor/models/papers/models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*                                M_fma32    M_fma64   M_ldst     M_inst    M_fp32     M_fp64 */
const double sor_metrics[GW_MS] = {0, 33554432, 303079424, 56100732, 0, 218107904,
				   /* M_int, M_tran-r, M_tran-w */
				   736891392, 17660604, 8392704};
const double lmsor_metrics[GW_MS] = {0,         36864000,  93107518, 18433804, 0,
				     132964096, 184601469, 9577528,  1854478};
const double sgemm_metrics[GW_MS] = {524288000, 0,         721715200, 46208000, 524288000,
				     0,         164659200, 1218190,   102400};
const struct parameters lvmd_krn = {"lvmd-krn", "fp64", 11415296000, 329011328, 78.79,
				    36.07,      4.08,   59.86,       34.696};

const struct gw_device *gpu(enum gpu g)
{
	static const char *const files[GPUS] = {
		"gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c", "r9-nano",
	};
	static struct gw_profile profiles[GPUS];
	struct gw_profile_error error;
	char path[4096];

	if (!*profiles[g].device.name) {
		snprintf(path, sizeof(path), GW_PROFILES "/%s.json", files[g]);
		if (gw_profile_read(path, &profiles[g], &error))
			fail_msg("%s", error.text);
	}
	return &profiles[g].device;
}

static void give(struct gw_work *work, enum gw_work_field field, double value)
{
	work->q[field] =
		(struct gw_quantity){.value = value, .source = GW_SOURCE_GIVEN, .confidence = 1};
}

void work_of_metrics(struct gw_work *work, const double m[GW_MS], double times)
{
	gw_work_clear(work);
	for (unsigned i = 0; i < GW_MS; i++)
		give(work, gw_qrm_metrics[i].field, m[i] * times * gw_qrm_metrics[i].divide);
}

void work_of_parameters(struct gw_work *work, const struct parameters *p)
{
	bool fp32 = !strcmp(p->type, "fp32"), fp64 = !strcmp(p->type, "fp64");
	/* (4.1) and (4.3): W = M + F, E = (M + F) / 2M */
	double inst = fp32 || fp64 ? p->w_comp / (2 * p->e_mix / 100) : p->w_comp;
	double total = inst / (p->d_ops / 100); /* (4.6) */
	double m[GW_MS] = {0};

	m[GW_M_INST] = total / 32;              /* (4.5) */
	m[GW_M_LDST] = total * p->d_ldst / 100; /* (4.7) */
	m[GW_M_TRAN_R] = p->w_traf / 32;        /* (4.2) */
	m[fp32 ? GW_M_FP32 : fp64 ? GW_M_FP64 : GW_M_INT] = inst;
	if (fp32 || fp64)
		m[fp32 ? GW_M_FMA32 : GW_M_FMA64] = p->w_comp - inst;
	work_of_metrics(work, m, 1);
}

struct gw_estimate predict(enum gpu g, const struct gw_work *work,
			   const struct gw_model_options *options)
{
	static const struct gw_kernel kernel = {.name = "kernel"};
	const struct gw_launch launch = {
		.kernel = &kernel,
		.config = {.grid = {1024, 1, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}}};
	struct gw_estimate e;

	gw_model_find("qrm")->estimate(gpu(g), &launch, work, options, &e);
	return e;
}

double term(const struct gw_estimate *e, const char *name)
{
	for (unsigned i = 0; i < e->term_count; i++)
		if (!strcmp(e->terms[i].name, name))
			return e->terms[i].value;
	fail_msg("no term %s: %s", name, e->reason);
	return NAN;
}

static int decimals(const char *printed)
{
	const char *point = strchr(printed, '.');

	return point ? (int)strlen(point + 1) : 0;
}

void assert_prints_at(double value, const char *printed, const char *file, int line)
{
	char ours[64];

	snprintf(ours, sizeof(ours), "%.*f", decimals(printed), value);
	if (strcmp(ours, printed)) {
		print_error("%s:%d: %.9g prints as %s, not as %s\n", file, line, value, ours,
			    printed);
		_fail(file, line);
	}
}

void assert_unit_at(double value, const char *printed, const char *file, int line)
{
	double scale = pow(10, decimals(printed));

	/* Both as whole numbers of the last decimal. */
	if (!(fabs(round(value * scale) - round(strtod(printed, NULL) * scale)) <= 1)) {
		print_error("%s:%d: %.9g is not within one unit of %s\n", file, line, value,
			    printed);
		_fail(file, line);
	}
}
