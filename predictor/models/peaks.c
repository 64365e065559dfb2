#include "predictor/models/peaks.h"

#include "predictor/models/inputs.h"

#include <math.h>
#include <string.h>

enum {
	WARP = 32,
	WAVEFRONT_BYTES = 128,
	FIELDS = 5, /* most fields whose sum is one amount */
};
#define NO_FIELD GW_WORK_FIELDS

/*
 * The amount of work behind each resource: the sum of the known `fields`; where none is known, the
 * field `instead`. Factors bring both to one unit, except resources with a unit of their own: a
 * multiply-add is two operations, a packed half one four, as in the rates of device.def.
 */
static const struct {
	const char *resource, *unit;
	double factor;
	enum gw_work_field fields[FIELDS];
	double instead_factor;
	enum gw_work_field instead;
	const char *instead_unit; /* NULL: the same */
	bool whole;               /* prefer `instead` to a partial sum */
} amounts[] = {
#define ONE(field) \
	{ \
		GW_WORK_##field, NO_FIELD, NO_FIELD, NO_FIELD, NO_FIELD \
	}
#define TWO(a, b) \
	{ \
		GW_WORK_##a, GW_WORK_##b, NO_FIELD, NO_FIELD, NO_FIELD \
	}
	{"issue", "warp inst", 1, ONE(inst_issued), 1, GW_WORK_inst_executed, NULL, false},
	{"fma", "op", 2 * WARP, ONE(pipe_fma), 2, GW_WORK_fp32_inst, NULL, false},
	{"alu", "op", WARP, ONE(pipe_alu), 1, GW_WORK_int_inst, NULL, false},
	{"fp64", "flop", 2 * WARP, ONE(pipe_fp64), 2, GW_WORK_fp64_inst, NULL, false},
	{"fp16", "flop", 4 * WARP, ONE(pipe_fp16), 4, GW_WORK_fp16_inst, NULL, false},
	{"xu", "op", WARP, ONE(pipe_xu), 0, NO_FIELD, NULL, false},
	{"tensor",
	 "flop",
	 1,
	 {GW_WORK_tensor_fp16_flop, GW_WORK_tensor_tf32_flop, GW_WORK_tensor_fp8_flop,
	  GW_WORK_tensor_int8_flop, GW_WORK_tensor_fp64_flop},
	 1,
	 GW_WORK_tensor_cycles,
	 "cycle",
	 false},
	{"lsu", "wavefront", 1, ONE(lsu_wavefronts), 0, NO_FIELD, NULL, false},
	{"shared", "B", WAVEFRONT_BYTES, ONE(shared_wavefronts), 0, NO_FIELD, NULL, false},
	{"l1", "B", 1, ONE(l1_bytes), 0, NO_FIELD, NULL, false},
	{"l2", "B", 1, TWO(l2_read_bytes, l2_write_bytes), 1, GW_WORK_l2_total_bytes, NULL, true},
	{"dram", "B", 1, TWO(dram_read_bytes, dram_write_bytes), 0, NO_FIELD, NULL, false},
	{"dram_in_flight", "load", 1, ONE(warp_loads_in_flight), 0, NO_FIELD, NULL, false},
	{"atomics", "op", 1, ONE(atomic_requests), 1, GW_WORK_atomic_same_address, NULL, false},
	{"shared_atomics", "op", 1, ONE(shared_atomics), 0, NO_FIELD, NULL, false},
	{"constant", "word", 1, ONE(constant_words), 0, NO_FIELD, NULL, false},
	{"barrier", "warp inst/warp", 1, ONE(barriers), 0, NO_FIELD, NULL, false},
	{"latency", "cycle", 1, ONE(warp_cycles), 1, GW_WORK_inst_executed, NULL, false},
#undef ONE
#undef TWO
};

/** A sum of work with the source of its largest part. */
struct amount {
	double value;
	const char *unit;
	enum gw_source source;
	double confidence;
};

static double trusted(const struct gw_quantity *q)
{
	return q->confidence >= 0 && q->confidence <= 1 ? (double)q->confidence : 0;
}

static struct amount take(const struct gw_work *work, enum gw_work_field field)
{
	const struct gw_quantity *q = &work->q[field];

	return (struct amount){gw_usable(q->value), NULL, q->source, trusted(q)};
}

/* A sum has the confidence of its largest part. */
static struct amount sum(const struct gw_work *work, const enum gw_work_field fields[FIELDS])
{
	struct amount all = {NAN, NULL, GW_SOURCE_NONE, 0};
	double most = -1;

	for (unsigned i = 0; i < FIELDS && fields[i] != NO_FIELD; i++) {
		struct amount a = take(work, fields[i]);

		if (isnan(a.value))
			continue;
		all.value = gw_either(all.value, 0) + a.value;
		if (a.value > most) {
			most = a.value;
			all.source = a.source;
			all.confidence = a.confidence;
		}
	}
	return all;
}

static bool all_known(const struct gw_work *work, const enum gw_work_field fields[FIELDS])
{
	for (unsigned i = 0; i < FIELDS && fields[i] != NO_FIELD; i++)
		if (isnan(gw_usable(work->q[fields[i]].value)))
			return false;
	return true;
}

static struct amount amount_of(const struct gw_work *work, unsigned row)
{
	struct amount a = sum(work, amounts[row].fields);

	struct amount b = {.value = NAN};

	a.value *= amounts[row].factor;
	a.unit = amounts[row].unit;
	if (amounts[row].instead != NO_FIELD &&
	    (isnan(a.value) || (amounts[row].whole && !all_known(work, amounts[row].fields))))
		b = take(work, amounts[row].instead);
	if (isnan(b.value))
		return a;
	b.value *= amounts[row].instead_factor;
	b.unit = amounts[row].instead_unit ? amounts[row].instead_unit : amounts[row].unit;
	return b;
}

static unsigned row_of(const char *resource)
{
	unsigned row = 0;

	while (row < sizeof(amounts) / sizeof(*amounts) && strcmp(amounts[row].resource, resource))
		row++;
	return row;
}

double gw_resource_trust(const struct gw_work *work, const char *resource)
{
	unsigned row = row_of(resource);

	return row < sizeof(amounts) / sizeof(*amounts) ? amount_of(work, row).confidence : 1;
}

/* A part of a counted sum is at most that sum, whatever the code gives. */
static void part_of(struct gw_work *work, enum gw_work_field part, enum gw_work_field whole)
{
	const struct gw_quantity *all = &work->q[whole];

	if (all->source > work->q[part].source && work->q[part].value > gw_usable(all->value))
		work->q[part].value = all->value;
}

/*
 * What of the fp64 pipe's peak its multiply-adds reached in calibration, which `t_dp` is: an
 * addition takes the same place in the pipe, so the most that any of its operations reached bounds
 * every mix. Kernels of multiply-adds alone come near it.
 */
static double multiply_adds(const struct gw_device *device)
{
	const double reached = gw_param_value(device, GW_PARAM_rate_op_fma_f64);
	const double most = fmax(gw_param_value(device, GW_PARAM_rate_op_add_f64),
				 gw_param_value(device, GW_PARAM_rate_op_mul_f64));

	return most > reached ? reached / most : 1;
}

unsigned gw_peaks(const struct gw_device *device, const struct gw_launch *launch,
		  const struct gw_work *work, struct gw_peak out[GW_RESOURCES_MAX])
{
	struct gw_resource_time times[GW_RESOURCES_MAX];
	struct gw_work parts = *work;
	unsigned count, n = 0;

	part_of(&parts, GW_WORK_pipe_fma_heavy, GW_WORK_pipe_fma);
	count = gw_bounds_even(device, launch, &parts, times);

	for (unsigned i = 0; i < count; i++) {
		unsigned row = row_of(times[i].name);
		struct amount a;

		if ((times[i].bound != GW_BOUND_MEMORY && times[i].bound != GW_BOUND_COMPUTE) ||
		    row == sizeof(amounts) / sizeof(*amounts))
			continue;
		a = amount_of(work, row);
		out[n++] = (struct gw_peak){
			.name = times[i].name,
			.bound = times[i].bound,
			.seconds = times[i].seconds *
				   (strcmp(times[i].name, "fp64") ? 1 : multiply_adds(device)),
			.amount = a.value,
			.unit = a.unit,
			.source = a.source,
			.confidence = a.confidence,
		};
	}
	return n;
}

void gw_peaks_measured(struct gw_peak *peaks, unsigned count, double seconds)
{
	for (unsigned i = 0; i < count; i++)
		if (peaks[i].source < GW_SOURCE_GIVEN && peaks[i].seconds * GW_NEAR_PEAK > seconds)
			peaks[i].seconds = peaks[i].amount = NAN;
}

const struct gw_peak *gw_peak_first(const struct gw_peak *peaks, unsigned count)
{
	const struct gw_peak *first = NULL;

	/* Of work that few kernels have models take what is unknown as nothing. */
	for (unsigned i = 0; i < count; i++)
		if (!isnan(peaks[i].seconds + peaks[i].amount) &&
		    (!first || peaks[i].seconds > first->seconds))
			first = &peaks[i];
	return first;
}
