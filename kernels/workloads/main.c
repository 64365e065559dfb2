/* gpuwatch-workloads: the development set as a program. */
#include "kernels/workloads/options.h"
#include "kernels/workloads/runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <cuda_runtime_api.h>

enum { ROUNDS = 200000 }; /* most that --seconds gets, whose times are kept */

static bool print_args, print_json;

static bool chosen(const struct wl_options *v, const struct wl_info *info)
{
	for (size_t i = 0; i < v->only.count; i++)
		if (wl_glob(v->only.word[i], info->name) || wl_glob(v->only.word[i], info->family))
			return true;
	return v->only.count == 0;
}

static bool size_chosen(const struct wl_options *v, unsigned size)
{
	for (size_t i = 0; i < v->size.count; i++)
		if (strcmp(v->size.word[i], "all") == 0 ||
		    (unsigned)(v->size.word[i][0] - '0') == size)
			return true;
	return v->size.count == 0;
}

/* The first word of --size that is no size; NULL when there is none. */
static const char *no_size(const struct wl_options *v)
{
	for (size_t i = 0; i < v->size.count; i++) {
		const char *word = v->size.word[i];

		if (strcmp(word, "all") != 0 &&
		    (word[0] < '0' || word[0] >= '0' + WL_SIZES || word[1]))
			return word;
	}
	return NULL;
}

/* Cases to run, in the order of the list; NULL when there are none. */
static struct wl_choice *choose(const struct wl_options *v, unsigned *count)
{
	struct wl_choice *choice = calloc((size_t)wl_count * WL_SIZES, sizeof(*choice));

	*count = 0;
	for (unsigned w = 0; choice && w < wl_count; w++)
		for (unsigned s = 0; chosen(v, &wl_infos[w]) && s < WL_SIZES; s++)
			if (size_chosen(v, s))
				choice[(*count)++] = (struct wl_choice){w, s};
	return choice;
}

static void list(const struct wl_options *v)
{
	for (unsigned w = 0; w < wl_count; w++) {
		const struct wl_info *i = &wl_infos[w];

		if (!chosen(v, i))
			continue;
		if (v->json)
			printf("{\"workload\": \"%s\", \"family\": \"%s\", \"measure\": \"%s\", "
			       "\"meaning\": \"%s\", \"sizes\": [",
			       i->name, i->family, i->measure, i->meaning);
		else
			printf("%-20s %-10s", i->name, i->family);
		for (unsigned s = 0; s < WL_SIZES; s++)
			printf(v->json ? "%s%llu" : "%s %llu", v->json && s ? ", " : "",
			       (unsigned long long)i->sizes[s]);
		printf(v->json ? "]}\n" : " %s: %s\n", i->measure, i->meaning);
	}
}

/* A number of JSON; unknown is null. */
static void json_number(const char *name, double value)
{
	if (isfinite(value))
		printf(", \"%s\": %.9g", name, value);
	else
		printf(", \"%s\": null", name);
}

static void json_args(const struct wl_launch *l)
{
	printf(", \"args\": [");
	for (unsigned a = 0; a < l->arg_count; a++) {
		printf("%s\"", a ? ", " : "");
		for (size_t b = 0; b < l->arg_size[a]; b++)
			printf("%02x", l->args[l->arg_offset[a] + b]);
		printf("\"");
	}
	printf("]");
}

static void json_truth(const struct wl_launch *l)
{
	const char *comma = "";

	printf(", \"truth\": {");
	for (unsigned t = 0; t < WL_TRUTHS; t++)
		if (isfinite(l->truth[t])) {
			printf("%s\"%s\": %.15g", comma, wl_truth_names[t], l->truth[t]);
			comma = ", ";
		}
	printf("}");
}

static void json_check(const struct wl_check *k)
{
	printf(", \"check\": {\"compared\": %llu, \"wrong\": %llu, \"worst\": %.3g, \"first\": "
	       "\"%s\"}",
	       (unsigned long long)k->compared, (unsigned long long)k->wrong, k->worst, k->first);
}

static void json_attributes(const struct wl_launch *l)
{
	struct cudaFuncAttributes a;

	wl_must(cudaFuncGetAttributes(&a, l->function), l->kernel);
	printf(", \"registers\": %d, \"static_shared\": %zu, \"local\": %zu", a.numRegs,
	       a.sharedSizeBytes, a.localSizeBytes);
}

static void report_json(const struct wl_job *job, const struct wl_result *r, unsigned i)
{
	const struct wl_case *c = &r->c;
	const struct wl_launch *l = &c->launch[i];

	printf("{\"workload\": \"%s\", \"family\": \"%s\", \"size\": %u, \"n\": %llu, "
	       "\"seed\": %u, \"launch\": %u, \"kernel\": \"%s\", \"grid\": [%u, %u, %u], "
	       "\"block\": [%u, %u, %u], \"dynamic_shared\": %zu",
	       c->info->name, c->info->family, c->size, (unsigned long long)c->n, c->seed, i,
	       l->kernel, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
	       l->dynamic_shared);
	json_attributes(l);
	printf(", \"cold\": %s, \"launches\": %llu", job->cold ? "true" : "false",
	       (unsigned long long)r->rounds);
	json_number("event_seconds", wl_median(r, i));
	json_number("event_mad_seconds", wl_spread(r, i));
	if (print_args)
		json_args(l);
	json_truth(l);
	if (job->check)
		json_check(&r->check);
	printf("}\n");
}

static void report_text(const struct wl_job *job, const struct wl_result *r, unsigned i)
{
	const struct wl_case *c = &r->c;
	const struct wl_launch *l = &c->launch[i];

	printf("%-20s %-10s %4u %10llu  %-20s %8ux%u,%u %6ux%u,%u %10.2f %8.2f  %s\n",
	       c->info->name, c->info->family, c->size, (unsigned long long)c->n, l->kernel,
	       l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
	       wl_median(r, i) * 1e6, wl_spread(r, i) * 1e6,
	       !job->check || i ? ""
	       : r->check.wrong ? "WRONG"
				: "right");
}

static void report(const struct wl_job *job, const struct wl_result *r)
{
	for (unsigned i = 0; i < r->c.launch_count; i++)
		(print_json ? report_json : report_text)(job, r, i);
	if (job->check && (r->check.wrong || !r->check.compared))
		wl_error("%s at size %u, seed %u: %llu of %llu values are wrong%s%s",
			 r->c.info->name, r->c.size, r->c.seed, (unsigned long long)r->check.wrong,
			 (unsigned long long)r->check.compared,
			 r->check.wrong ? "; the first: " : "", r->check.first);
	fflush(stdout);
}

static uint32_t fresh_seed(void)
{
	uint32_t seed = 1;

	/* Any seed will do where the system has none to give. */
	return getrandom(&seed, sizeof(seed), 0) == sizeof(seed) ? seed : 1;
}

static int run(const struct wl_options *v)
{
	struct wl_job job = {.check = v->check,
			     .cold = v->cold,
			     .interleave = v->interleave,
			     .queued = v->queued,
			     .repeat = v->repeat != UINT64_MAX ? v->repeat
				       : v->seconds > 0        ? ROUNDS
							       : 10,
			     .seconds = v->seconds,
			     .memory = v->memory,
			     .seed = v->seed == UINT64_MAX ? fresh_seed() : (uint32_t)v->seed};
	const char *reason;
	struct wl_choice *choice;
	unsigned count, wrong;

	if (!wl_gpu(&reason)) {
		wl_error("%s; --list needs no GPU", reason);
		return WL_NO_GPU;
	}
	choice = choose(v, &count);
	print_args = v->print_args;
	print_json = v->json;
	if (!v->json)
		printf("%-20s %-10s SIZE %10s  %-20s %12s %10s %10s %8s\n", "WORKLOAD", "FAMILY",
		       "N", "KERNEL", "GRID", "BLOCK", "MEDIAN us", "MAD us");
	wrong = choice ? wl_run(&job, choice, count, report) : 0;
	free(choice);
	return wrong ? WL_WRONG : WL_OK;
}

static bool any_chosen(const struct wl_options *v)
{
	for (unsigned w = 0; w < wl_count; w++)
		if (chosen(v, &wl_infos[w]))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	struct wl_options v;

	wl_options_parse(argc, argv, &v);
	if (no_size(&v))
		return wl_error("--size=%s: sizes are 0 to 5, or all", no_size(&v));
	if (!any_chosen(&v))
		return wl_error("no workload or family is named so; --list names them");
	if (v.list) {
		list(&v);
		return WL_OK;
	}
	return run(&v);
}
