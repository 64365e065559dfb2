/*
 * Analyses for cost.sh to count the instructions of, without a GPU: launches described on standard
 * input are analysed as the worker would (preload/analysis/analysis_code.h), one after the other,
 * in their order.
 *
 *   analysis_cost IMAGE... < launches
 *
 * A launch is a line of words: image (from 0), kernel, processor, registers, static shared, grid
 * x y z, block x y z, dynamic shared, arguments in hex or "-". Printed for each, as JSON: how it
 * ended. --brief analyses briefly.
 */
#include "predictor/profile/profile.h"
#include "preload/analysis/code.h"
#include "preload/analysis/digests.h"
#include "preload/analysis/analysis_code.h"
#include "tests/unit/preload_fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct gw_profile profile;
static bool brief;

static bool go_on(void *unused)
{
	(void)unused;
	return true;
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

static void analyze(const struct gw_analysis_launch *launch, const char *name)
{
	static const char *const ends[] = {"done", "no code", "unknown", "abandoned"};
	struct gw_work work;
	const char *why;
	bool limited;
	enum gw_analysis_end end = gw_analysis_code(launch, &work, &why, &limited, NULL);

	printf("{\"kernel\": \"%s\", \"end\": \"%s\", \"why\": \"%s\"}\n", name, ends[end],
	       why ? why : "");
}

int main(int argc, char **argv)
{
	char name[4096], hex[2 * GW_ARGUMENTS_MAX + 8];
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

		if (!strcmp(argv[i], "--brief")) {
			brief = true;
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
