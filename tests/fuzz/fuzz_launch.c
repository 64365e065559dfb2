/* Any bytes as a launch file: refused with a message that names the place, or read into launches
   that every model answers and that can be drawn. */
#include <math.h>
#include <string.h>

#include "cli/common/estimate.h"
#include "predictor/models/papers/models.h"
#include "starve.h"

static void known_device(struct gw_device *device)
{
	/* What has to hold a launch, or no model would get past the occupancy. */
	static const struct {
		enum gw_param param;
		double value;
	} room[] = {
		{GW_PARAM_compute_capability, 90},
		{GW_PARAM_sm_count, 4},
		{GW_PARAM_warp_size, 32},
		{GW_PARAM_max_threads_per_sm, 2048},
		{GW_PARAM_max_blocks_per_sm, 32},
		{GW_PARAM_max_threads_per_block, 1024},
		{GW_PARAM_registers_per_sm, 65536},
		{GW_PARAM_shared_per_sm, 233472},
		{GW_PARAM_shared_per_block, 232448},
	};

	gw_device_clear(device, "fuzz");
	/* Every parameter known and one, every function three points: models go as far as they can.
	 */
	for (unsigned p = 0; p < GW_PARAMS; p++)
		gw_device_set(device, (enum gw_param)p, 1, GW_METHOD_PAPER);
	for (size_t i = 0; i < sizeof(room) / sizeof(*room); i++)
		gw_device_set(device, room[i].param, room[i].value, GW_METHOD_PAPER);
	for (unsigned c = 0; c < GW_CURVES; c++) {
		struct gw_curve *curve = &device->curve[c];

		for (unsigned i = 0; i < 3; i++) {
			curve->x[i] = (double)(1u << 3 * i);
			curve->y[i] = 1 + (double)i;
		}
		curve->count = 3;
		curve->method = GW_METHOD_PAPER;
	}
}

static void check_launch(const struct launch_case *item, const struct gw_device *device)
{
	struct gw_estimate e;

	require(item->label && item->kernel.name, "a launch without a name");
	for (unsigned f = 0; f < GW_WORK_FIELDS; f++)
		require(isnan(item->work.q[f].value) == (item->work.q[f].source == GW_SOURCE_NONE),
			"a value and its source disagree");
	for (const struct gw_model *const *m = gw_models; *m; m++) {
		estimate_launch(*m, device, item, &e);
		require(!isinf(e.seconds), (*m)->name);
		require(!isnan(e.seconds) || *e.reason, "an unknown time without a reason");
	}
	for (unsigned i = 0; i < item->interval_count; i++) {
		struct interval_answer a;

		interval_analyse(&item->intervals[i], device, &a);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gw_device device;
	struct launch_file file;
	char error[1024] = "";

	if (!*device.name)
		known_device(&device);
	if (!launch_file_parse(&file, (const char *)data, size, "fuzz", error, sizeof(error))) {
		require(!strncmp(error, "fuzz:", 5), "no place in the message");
		require(!file.count && !file.launches && !file.json.root,
			"a refused file left something");
		return 0;
	}
	require(file.count > 0, "a file without launches was taken");
	/* Few of very many: the reader is what is tried here. */
	for (size_t i = 0; i < file.count && i < 16; i++)
		check_launch(&file.launches[i], &device);
	launch_file_free(&file);
	return 0;
}
