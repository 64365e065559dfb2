/* gpuwatch predict --tune: block and grid sizes ranked by the wave model (Kleimenov and Popova
 * 2021). */
#include "cli/predict/predict.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/common/json.h"
#include "cli/message.h"
#include "cli/table.h"
#include "predictor/models/papers/tune.h"

enum { CHOICES = 512 };

struct ranking {
	struct gw_tune_choice choices[CHOICES];
	size_t count;
	char why[120];
};

/* The size described must be there to compare with, so a launch without one can't be tuned. */
static void rank(const struct launch_case *item, const struct gw_device *device,
		 const struct gw_tune_request *request, struct ranking *out)
{
	struct gw_launch launch = launch_case_launch(item);

	out->count = 0;
	if (!item->has_config) {
		snprintf(out->why, sizeof(out->why), "not known: grid and block");
		return;
	}
	out->count = gw_wave_tune(device, &launch, &item->work, &item->options, request,
				  out->choices, CHOICES, out->why);
}

static void print_table(const struct ranking *r)
{
	static const struct gw_table_column columns[] = {
		{"RANK", true, false, 0},  {"BLOCK", true, false, 0},
		{"GRID", true, false, 0},  {"SHARED", true, false, 0},
		{"TIME", true, false, 0},  {"OCCUPANCY", true, false, 0},
		{"WAVES", true, false, 0}, {"", false, false, 0},
	};
	struct gw_table *table = gw_table_new(columns, 8);
	struct estimate_text t;

	for (size_t i = 0; i < r->count; i++) {
		const struct gw_tune_choice *c = &r->choices[i];

		gw_table_cellf(table, "%zu", i + 1);
		gw_table_cellf(table, "%" PRIu32, c->block);
		gw_table_cellf(table, "%" PRIu64, c->grid);
		gw_table_cellf(table, "%" PRIu32 " B", c->shared);
		gw_table_cell(table, estimate_time(&t, c->seconds));
		gw_table_cellf(table, "%.1f%%", c->occupancy * 100);
		gw_table_cellf(table, "%.2f", c->waves);
		gw_table_cell(table, c->described ? "as described" : "");
	}
	gw_table_show(table, 2);
}

static void print_text(const struct launch_case *item, const char *device, const struct ranking *r)
{
	char label[256];

	printf("%s on %s\n", gw_printable(label, sizeof(label), item->label), device);
	if (r->count == 0)
		printf("  no size can be ranked: %s\n", r->why);
	else
		print_table(r);
}

static json_t *to_json(const struct launch_case *item, const char *device, const struct ranking *r)
{
	json_t *choices = json_array();

	for (size_t i = 0; i < r->count; i++) {
		const struct gw_tune_choice *c = &r->choices[i];

		json_array_append_new(choices,
				      json_pack("{s:I,s:I,s:I,s:f,s:f,s:f,s:b}", "block",
						(json_int_t)c->block, "grid", (json_int_t)c->grid,
						"dynamic_shared", (json_int_t)c->shared, "seconds",
						c->seconds, "occupancy", c->occupancy, "waves",
						c->waves, "described", c->described));
	}
	return json_pack("{s:o,s:o,s:o,s:o}", "name", gw_json_text(item->label), "device",
			 gw_json_text(device), "choices", choices, "reason",
			 r->count ? json_null() : json_string(r->why));
}

int predict_tune(const struct predict_job *job, bool any_grid, bool shared_per_thread, bool json)
{
	struct gw_tune_request request = {any_grid, shared_per_thread};
	json_t *list = json_array();

	for (size_t i = 0; i < job->file.count; i++) {
		for (size_t d = 0; d < job->devices.count; d++) {
			const struct launch_case *item = &job->file.launches[i];
			const struct gw_device *device = &job->devices.profiles[d]->device;
			struct ranking r;

			rank(item, device, &request, &r);
			if (json)
				json_array_append_new(list, to_json(item, device->name, &r));
			else
				print_text(item, device->name, &r);
		}
	}
	if (json)
		gw_json_print(list);
	else
		json_decref(list);
	return GW_EXIT_OK;
}
