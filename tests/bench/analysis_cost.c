/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an analysis costs and reports, without a GPU: launches described on standard input are
 * analysed as the worker would (preload/analysis/analysis_code.h), one after the other, in their
 * order.
 *
 *   analysis_cost IMAGE... < launches
 *
 * A launch is a line of words: image (from 0), kernel, processor, registers, static shared, grid
 * x y z, block x y z, dynamic shared, arguments in hex or "-". Printed for each, as JSON: how it
 * ended, microseconds of CPU, bytes held, and the work reported. --device FILE names a profile;
 * --brief analyses briefly, --limit-ms N ends an analysis after so long.
 */
#include "predictor/models/bounds.h"
#include "predictor/profile/profile.h"
#include "predictor/code/static_work.h"
#include "preload/analysis/code.h"
#include "preload/analysis/digests.h"
#include "preload/analysis/analysis_code.h"
#include "tests/unit/preload_fixture.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct gw_profile profile;
static bool brief;
static uint64_t begun, limit_ns = UINT64_MAX;

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t asked, longest_pause;

static bool go_on(void *unused)
{
	uint64_t now = cpu_ns();

	(void)unused;
	longest_pause = now - asked > longest_pause ? now - asked : longest_pause;
	asked = now;
	return now - begun < limit_ns;
}

static bool unhex(const char *text, struct gw_arguments *out)
{
	size_t n = strlen(text) / 2;

	if (!strcmp(text, "-") || n > sizeof(out->bytes))
		return false;
	for (size_t i = 0; i < n; i++) {
		const char pair[3] = {text[2 * i], text[2 * i + 1], 0};

		out->bytes[i] = (unsigned char)strtoul(pair, NULL, 16);
	}
	out->size = (uint32_t)n;
	return true;
}

static void print_work(const struct gw_work *work)
{
	bool any = false;

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		const struct gw_quantity *q = &work->q[f];

		if (q->source == GW_SOURCE_NONE)
			continue;
		printf("%s\"%s\": {\"value\": %.17g, \"confidence\": %.6g}", any ? ", " : "",
		       gw_work_info(f).name, q->value, (double)q->confidence);
		any = true;
	}
}

/* A slot for each kernel met: its name stands for it. */
static uint32_t slot_of(const char *name, uint32_t module)
{
	struct gw_kernel_slot *k = gw_hot.shared->kernels;
	uint32_t at = 1;

	while (k[at].name && (strcmp(k[at].name, name) != 0 || k[at].module != module))
		at++;
	if (!k[at].name)
		k[at].name = strdup(name);
	k[at].module = module;
	return at;
}

/* What `bounds` makes of it, and how sure that is. */
static void print_estimate(const struct gw_analysis_launch *launch, const struct gw_work *work)
{
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[launch->slot];
	const struct gw_kernel kernel = {k->name,     k->registers,   k->static_shared, k->local,
					 k->constant, k->max_threads, k->binary_version};
	const struct gw_launch l = {.kernel = &kernel, .config = launch->config};
	struct gw_estimate e;

	gw_model_bounds.estimate(launch->device, &l, work, NULL, &e);
	if (!isnan(e.seconds))
		printf(", \"seconds\": %.9g, \"confidence\": %.4g", e.seconds,
		       gw_static_confidence(&gw_model_bounds, launch->device, &l, work));
}

static void analyze(const struct gw_analysis_launch *launch, const char *name)
{
	static const char *const ends[] = {"done", "no code", "unknown", "abandoned"};
	enum gw_analysis_end end;
	struct gw_work work;
	const char *why;
	uint64_t took;
	bool limited;

	begun = asked = cpu_ns();
	longest_pause = 0;
	end = gw_analysis_code(launch, &work, &why, &limited, NULL);
	go_on(NULL);
	took = cpu_ns() - begun;
	printf("{\"kernel\": \"%s\", \"end\": \"%s\", \"why\": \"%s\", \"us\": %.1f, \"pause_us\": "
	       "%.1f, \"limited\": %s, \"held\": %zu, \"work\": {",
	       name, ends[end], why ? why : "", (double)took / 1000, (double)longest_pause / 1000,
	       limited ? "true" : "false", gw_analysis_code_held() + gw_code_held());
	print_work(&work);
	printf("}");
	print_estimate(launch, &work);
	printf("}\n");
}

int main(int argc, char **argv)
{
	char name[4096], hex[2 * GW_ARGUMENTS_MAX + 8];
	struct gw_profile_error error;
	uint32_t module, processor, registers, shared, n = 0;
	struct gw_config c = {.cluster = {1, 1, 1}};
	static struct gw_arguments arguments;

	fixture_start();
	gw_code_start();
	gw_digests_start();
	gw_analysis_code_start(1);
	gw_profile_clear(&profile, "");
	for (int i = 1; i < argc; i++) {
		size_t length = strlen(argv[i]) + 1;
		struct gw_module_note *note;

		if (!strcmp(argv[i], "--limit-ms") && i + 1 < argc) {
			limit_ns = strtoull(argv[++i], NULL, 10) * 1000000;
			continue;
		}
		if (!strcmp(argv[i], "--brief")) {
			brief = true;
			continue;
		}
		if (!strcmp(argv[i], "--device") && i + 1 < argc) {
			if (gw_profile_read(argv[++i], &profile, &error))
				return fprintf(stderr, "analysis_cost: %s\n", error.text), 1;
			continue;
		}
		note = calloc(1, sizeof(*note) + length);
		if (!note)
			return 1;
		note->number = ++n;
		memcpy(note->path, argv[i], length);
		gw_code_module(note);
	}
	while (scanf("%" SCNu32 " %4095s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32
		     " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %8199s",
		     &module, name, &processor, &registers, &shared, &c.grid.x, &c.grid.y,
		     &c.grid.z, &c.block.x, &c.block.y, &c.block.z, &c.dynamic_shared, hex) == 13) {
		struct gw_analysis_launch launch = {.slot = slot_of(name, module + 1),
						    .config = c,
						    .device = &profile.device,
						    .brief = brief,
						    .go_on = go_on};
		struct gw_kernel_slot *k = &gw_hot.shared->kernels[launch.slot];

		k->registers = registers;
		k->static_shared = shared;
		k->local = k->constant = UINT32_MAX;
		k->max_threads = 1024;
		k->binary_version = processor;
		launch.arguments = unhex(hex, &arguments) ? &arguments : NULL;
		analyze(&launch, name);
	}
	return 0;
}
