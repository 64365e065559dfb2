#include "tests/unit/model_fixture.h"

#include <math.h>
#include <string.h>

void fixture_work(struct fixture *f, enum gw_work_field field, double value)
{
	f->work.q[field] = (struct gw_quantity){value, GW_SOURCE_COUNTED, 1.0f};
}

static double warps_of(const struct gw_config *c)
{
	return (double)gw_dim3_count(c->grid) * ceil((double)gw_dim3_count(c->block) / 32);
}

void fixture_grid(struct fixture *f, uint32_t blocks, uint32_t threads)
{
	double before = warps_of(&f->launch.config);

	f->launch.config.grid = (struct gw_dim3){blocks, 1, 1};
	f->launch.config.block = (struct gw_dim3){threads, 1, 1};
	/* From warp_cycles on, work.def counts what one warp does; rates are not amounts. */
	for (unsigned i = 0; i < GW_WORK_warp_cycles; i++)
		if (i != GW_WORK_l1_hit_rate && i != GW_WORK_l2_hit_rate)
			f->work.q[i].value *= warps_of(&f->launch.config) / before;
}

void fixture_param(struct fixture *f, enum gw_param p, double value)
{
	gw_device_set(&f->device, p, value, GW_METHOD_MEASURED);
}

void fixture_curve(struct fixture *f, enum gw_curve_id c, const double (*points)[2], uint32_t count)
{
	struct gw_curve *curve = &f->device.curve[c];

	curve->count = count;
	curve->method = GW_METHOD_MEASURED;
	for (uint32_t i = 0; i < count; i++) {
		curve->x[i] = points[i][0];
		curve->y[i] = points[i][1];
	}
}

double fixture_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (double)((*state * 2685821657736338717ULL) >> 11) / 9007199254740992.0;
}

double fixture_term(const struct gw_estimate *e, const char *name)
{
	for (unsigned i = 0; i < e->term_count; i++)
		if (!strcmp(e->terms[i].name, name))
			return e->terms[i].value;
	return NAN;
}

static void init_device(struct fixture *f)
{
	static const struct {
		enum gw_param p;
		double value;
	} rows[] = {
		{GW_PARAM_sm_clock, 1e9},
		{GW_PARAM_sm_count, 100},
		{GW_PARAM_warp_size, 32},
		{GW_PARAM_schedulers_per_sm, 4},
		{GW_PARAM_fp32_lanes_per_sm, 128},
		{GW_PARAM_compute_capability, 90},
		{GW_PARAM_lat_fp32, 4},
		{GW_PARAM_lat_fp64, 8},
		{GW_PARAM_lat_fp16, 4},
		{GW_PARAM_lat_int, 4},
		{GW_PARAM_lat_sfu, 20},
		{GW_PARAM_avg_inst_lat, 6},
		{GW_PARAM_lat_l1, 30},
		{GW_PARAM_lat_l2, 250},
		{GW_PARAM_lat_dram, 600},
		{GW_PARAM_departure_del_coal, 4},
		{GW_PARAM_departure_del_uncoal, 2},
		{GW_PARAM_lat_uncoalesced, 880},
		{GW_PARAM_bw_uncoalesced, 1e11},
		{GW_PARAM_t_sp, 25.6e12},
		{GW_PARAM_t_dp, 12.8e12},
		{GW_PARAM_t_hp, 51.2e12},
		{GW_PARAM_t_int, 12.8e12},
		{GW_PARAM_t_add, 6.4e12},
		{GW_PARAM_t_ldst, 3.2e12},
		{GW_PARAM_t_sfu, 1.6e12},
		{GW_PARAM_t_issue, 4e11},
		{GW_PARAM_t_atomic_global, 1e11},
		{GW_PARAM_t_atomic_same, 1e9},
		{GW_PARAM_t_atomic_shared, 1e12},
		{GW_PARAM_t_tensor_fp16, 4e14},
		{GW_PARAM_t_tensor_tf32, 2e14},
		{GW_PARAM_t_tensor_fp8, 8e14},
		{GW_PARAM_t_tensor_int8, 8e14},
		{GW_PARAM_t_tensor_fp64, 5e13},
		{GW_PARAM_b_mem, 2e12},
		{GW_PARAM_b_mem_read, 2e12},
		{GW_PARAM_b_mem_write, 2e12},
		{GW_PARAM_b_mem_copy, 2e12},
		{GW_PARAM_b_mem_spec, 2.2e12},
		{GW_PARAM_b_l2_read, 5e12},
		{GW_PARAM_b_l2_write, 4e12},
		{GW_PARAM_b_l1, 12.8e12},
		{GW_PARAM_b_shared, 12.8e12},
		{GW_PARAM_launch_floor, 2e-6},
		{GW_PARAM_launch_per_block, 1e-9},
		{GW_PARAM_launch_per_warp, 2e-10},
		{GW_PARAM_shared_reserved, 1024},
		{GW_PARAM_mem_clock, 2e9},
	};

	gw_device_clear(&f->device, "a GPU that does not exist");
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		fixture_param(f, rows[i].p, rows[i].value);
	fixture_curve(f, GW_CURVE_dram_latency_at_load,
		      (const double[][2]){{0, 600}, {1e12, 700}, {1.8e12, 1000}, {2e12, 2000}}, 4);
	fixture_curve(f, GW_CURVE_dram_bw_in_flight,
		      (const double[][2]){{1000, 1.6e11}, {10000, 1.5e12}, {20000, 2e12}}, 3);
	fixture_curve(f, GW_CURVE_launch_x1, (const double[][2]){{1, 1e-9}, {32, 6e-9}}, 2);
	fixture_curve(f, GW_CURVE_launch_x2, (const double[][2]){{1, 2e-6}, {32, 2.5e-6}}, 2);
}

/* 16,000 blocks of 8 warps: 128,000 warps, two 4-byte loads and a store of each thread. */
static void init_work(struct fixture *f)
{
	const double warps = 128000;

	gw_work_clear(&f->work);
	for (unsigned i = 0; i < GW_WORK_FIELDS; i++)
		fixture_work(f, (enum gw_work_field)i, 0);
	fixture_work(f, GW_WORK_inst_executed, 100 * warps);
	fixture_work(f, GW_WORK_inst_issued, 100 * warps);
	fixture_work(f, GW_WORK_thread_inst, 3200 * warps);
	fixture_work(f, GW_WORK_fp32_inst, 1280 * warps);
	fixture_work(f, GW_WORK_fp32_fma, 640 * warps);
	fixture_work(f, GW_WORK_int_inst, 640 * warps);
	fixture_work(f, GW_WORK_ldst_inst, 96 * warps);
	fixture_work(f, GW_WORK_pipe_fma, 40 * warps);
	fixture_work(f, GW_WORK_pipe_alu, 20 * warps);
	fixture_work(f, GW_WORK_pipe_lsu, 3 * warps);
	fixture_work(f, GW_WORK_dram_read_bytes, 256 * warps);
	fixture_work(f, GW_WORK_dram_write_bytes, 128 * warps);
	fixture_work(f, GW_WORK_l2_read_bytes, 256 * warps);
	fixture_work(f, GW_WORK_l2_write_bytes, 128 * warps);
	fixture_work(f, GW_WORK_l1_bytes, 384 * warps);
	fixture_work(f, GW_WORK_lsu_wavefronts, 3 * warps);
	fixture_work(f, GW_WORK_global_load_requests, 2 * warps);
	fixture_work(f, GW_WORK_global_load_sectors, 8 * warps);
	fixture_work(f, GW_WORK_global_store_requests, warps);
	fixture_work(f, GW_WORK_global_store_sectors, 4 * warps);
	fixture_work(f, GW_WORK_warp_cycles, 1500);
	fixture_work(f, GW_WORK_warp_cycles_longest, 1500);
	fixture_work(f, GW_WORK_warp_memory_chain, 2);
	fixture_work(f, GW_WORK_warp_loads_in_flight, 1);
	fixture_work(f, GW_WORK_warp_ilp, 2);
	fixture_work(f, GW_WORK_coalesced_mem_insts, 3);
	fixture_work(f, GW_WORK_global_load_lines, 1);
	fixture_work(f, GW_WORK_global_load_line_sectors, 4);
	fixture_work(f, GW_WORK_global_store_lines, 1);
	fixture_work(f, GW_WORK_global_store_line_sectors, 4);
	/* No code was read. */
	for (int i = GW_WORK_share_fma; i <= GW_WORK_share_tensor; i++)
		f->work.q[i] = (struct gw_quantity){.value = NAN};
	/* No schedule reported a critical path's parts apart. */
	for (int i = GW_WORK_warp_insts; i <= GW_WORK_warp_longest_chain; i++)
		f->work.q[i] = (struct gw_quantity){.value = NAN};
	gw_work_drop_most(&f->work);
}

void fixture_init(struct fixture *f)
{
	f->kernel = (struct gw_kernel){"k", 32, 0, 0, 0, 1024, 90};
	f->launch = (struct gw_launch){
		.kernel = &f->kernel,
		.config = {.grid = {16000, 1, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}},
	};
	init_device(f);
	init_work(f);
}
