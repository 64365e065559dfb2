/* A launch's memory instructions gathered from the evaluator, and the static rows of its work. */
#include "predictor/code/memory/gather.h"
#include "predictor/code/static_work.h"

#include "ir_kernel.h"
#include "predictor/models/papers/models.h"
#include "tests/test.h"

static struct ir_kernel k;
static struct gw_gather g;
static uint64_t arguments[IR_KERNEL_PARAMS] = {0x10000000, 0x20000000};

static struct gw_eval_launch launch_of(uint32_t blocks, uint32_t threads)
{
	return (struct gw_eval_launch){
		.config = {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .cluster = {1, 1, 1}},
		.arguments = {(const uint8_t *)arguments, sizeof(arguments)}};
}

static void run(uint32_t blocks, uint32_t threads)
{
	struct gw_eval_launch launch = launch_of(blocks, threads);

	assert_null(gw_ir_finish(&k.b));
	assert_null(gw_gather_run(&k.b.program, &launch, NULL, &k.arena, &g));
}

/* if (i < n) out[i] = in[i * stride]; n and stride are parameters 2 and 3. */
static void build_move(bool spread)
{
	gw_ir_operand index, at, from, value, beyond;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	beyond = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_GES, gw_ir_reg(&k.b, 1), 2, index,
			    ir_param(&k, 2));
	gw_ir_end_branch(&k.b, beyond, false, 2, 1);
	gw_ir_block_open(&k.b);
	from = ir_op(&k, IR_MUL, 64, 64, at, ir_param(&k, 3));
	value = ir_load(&k, IR_SPACE_GLOBAL,
			ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), spread ? at : from), 0);
	ir_store(&k, IR_SPACE_GLOBAL,
		 ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), spread ? from : at), value);
	gw_ir_end_jump(&k.b, 2);
	gw_ir_block_open(&k.b);
	gw_ir_end_exit(&k.b);
}

static void build_copy(void)
{
	build_move(false);
}

TEST(counts_and_shapes_of_a_copy_are_exact)
{
	arguments[2] = 1000, arguments[3] = 2;
	build_copy();
	run(8, 128);
	assert_int_equal(g.count, 2);
	assert_true(g.complete);
	/* 31 full warps and one of 8 threads. */
	assert_true(g.access[0].runs.least == 32 && g.access[0].runs.most == 32);
	assert_true(g.access[0].coalescing.sectors == 31 * 8 + 2);
	assert_true(g.access[1].coalescing.sectors == 31 * 4 + 1);
	assert_true(g.access[1].store && !g.access[0].store);
	gw_arena_free(&k.arena);
}

TEST(the_grid_s_footprint_is_the_arrays)
{
	struct gw_locality_grid loads, stores;

	arguments[2] = 1 << 20, arguments[3] = 1;
	build_copy();
	run(4096, 256);
	gw_locality_grid(g.locality, GW_LOCALITY_LOADS, &loads);
	gw_locality_grid(g.locality, GW_LOCALITY_STORES, &stores);
	assert_true(loads.footprint.sectors == 131072);
	assert_true(stores.footprint.sectors == 131072);
	assert_false(loads.counted);
	gw_arena_free(&k.arena);
}

/* for (i = 0; i < trips; i++) load in + 4 * thread + i * 128: trips is a constant. */
static void build_loop(uint64_t trips, uint64_t step, enum gw_ir_space space)
{
	gw_ir_operand index, at, p, i, test;
	uint32_t body;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	p = gw_ir_reg(&k.b, 64);
	i = gw_ir_reg(&k.b, 32);
	if (space == IR_SPACE_SHARED)
		gw_ir_emit(&k.b, IR_MULWU, 32, 0, p, 2, ir_special(&k, IR_SREG_TID_X),
			   ir_number(&k, 8));
	else
		gw_ir_emit(&k.b, IR_ADD, 64, 0, p, 2, ir_param(&k, 0), at);
	gw_ir_emit(&k.b, IR_MOV, 32, 0, i, 1, ir_number(&k, 0));
	body = gw_ir_block_open(&k.b);
	ir_load(&k, space, p, 0);
	gw_ir_emit(&k.b, IR_ADD, 64, 0, p, 2, p, ir_number(&k, step));
	gw_ir_emit(&k.b, IR_ADD, 32, 0, i, 2, i, ir_number(&k, 1));
	test = gw_ir_emit(&k.b, IR_CMP, 32, IR_COND_NE, gw_ir_reg(&k.b, 1), 2, i,
			  ir_number(&k, trips));
	gw_ir_end_branch(&k.b, test, false, body, body + 1);
	gw_ir_block_open(&k.b);
	gw_ir_end_exit(&k.b);
}

TEST(a_loop_s_requests_are_counted_at_each_alignment)
{
	/* Steps of 8 bytes: of four iterations one is aligned (4 sectors), three are not (5). */
	build_loop(1000, 8, IR_SPACE_GLOBAL);
	run(1, 32);
	assert_true(g.access[0].runs.least == 1000 && g.access[0].runs.most == 1000);
	assert_true(fabs(gw_coalescing_sectors(&g.access[0].coalescing) - 4.75) < 1e-9);
	gw_arena_free(&k.arena);
}

TEST(a_loop_s_footprint_is_its_union)
{
	struct gw_footprint f;

	build_loop(GW_LOCALITY_REPEATS, 8, IR_SPACE_GLOBAL);
	run(1, 32);
	gw_locality_block(g.locality, 0, GW_LOCALITY_LOADS, &f);
	/* From 0 to 255 * 8 + 127. */
	assert_true(f.sectors == (255 * 8 + 127) / 32 + 1);
	gw_arena_free(&k.arena);
}

TEST(a_long_loop_s_footprint_goes_on_as_it_began)
{
	struct gw_locality_access *a;
	struct gw_footprint f;

	build_loop(100000, 8, IR_SPACE_GLOBAL);
	run(1, 32);
	gw_locality_block(g.locality, 0, GW_LOCALITY_LOADS, &f);
	assert_true(fabs(f.sectors / ((99999 * 8 + 127) / 32 + 1) - 1) < 0.01);
	a = &g.locality->access[0];
	assert_true(a->high - a->low == (99999 * 8 + 127) / 32);
	gw_arena_free(&k.arena);
}

TEST(shared_memory_is_counted_in_passes)
{
	/* Words 8 bytes apart: 2 of each other bank. */
	build_loop(10, 0, IR_SPACE_SHARED);
	run(1, 32);
	assert_int_equal(g.access[0].space, IR_SPACE_SHARED);
	assert_true(g.access[0].requests == 10);
	assert_true(g.access[0].wavefronts == 20 && g.access[0].conflicts == 10);
	gw_arena_free(&k.arena);
}

/* out[in[i]] = 1: a place that memory holds. */
static void build_scatter(void)
{
	gw_ir_operand index, at, to;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	to = ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	to = ir_op(&k, IR_MULWS, 32, 64, to, ir_number(&k, 4));
	ir_store(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), to),
		 ir_number(&k, 1));
	gw_ir_end_exit(&k.b);
}

static struct gw_device device;
static struct gw_kernel kernel = {.name = "k",
				  .registers = 32,
				  .static_shared = 0,
				  .max_threads = 1024,
				  .binary_version = 90};

static void known_device(void)
{
	static const struct {
		enum gw_param p;
		double value;
	} values[] = {
		{GW_PARAM_compute_capability, 90},
		{GW_PARAM_sm_count, 132},
		{GW_PARAM_sm_clock, 1.98e9},
		{GW_PARAM_warp_size, 32},
		{GW_PARAM_schedulers_per_sm, 4},
		{GW_PARAM_l1_size, 256 << 10},
		{GW_PARAM_l2_size, 60 << 20},
		{GW_PARAM_lat_l1, 32},
		{GW_PARAM_lat_l2, 280},
		{GW_PARAM_lat_dram, 650},
		{GW_PARAM_lat_int, 4},
		{GW_PARAM_lat_imad, 4},
		{GW_PARAM_lat_constant, 8},
		{GW_PARAM_t_add, 64 * 132 * 1.98e9},
		{GW_PARAM_t_int, 128 * 132 * 1.98e9},
		{GW_PARAM_t_ldst, 32 * 132 * 1.98e9},
		{GW_PARAM_b_mem, 3.9e12},
	};

	gw_device_clear(&device, "test");
	for (size_t i = 0; i < COUNT(values); i++)
		gw_device_set(&device, values[i].p, values[i].value, GW_METHOD_PAPER);
}

static void run_and_fill(uint32_t blocks, uint32_t threads, struct gw_work *work)
{
	struct gw_eval_launch eval = launch_of(blocks, threads);
	struct gw_launch launch = {.kernel = &kernel, .config = eval.config};
	struct gw_timing timing;
	struct gw_static_in in = {&k.b.program, &g, &timing, &device, &launch, NULL, 0};

	run(blocks, threads);
	known_device();
	gw_work_clear(work);
	assert_null(gw_timing_of(&k.b.program, &k.arena, &timing));
	gw_static_memory(&in, work);
	gw_static_warp(&in, work);
}

static double value(const struct gw_work *work, enum gw_work_field f)
{
	assert_int_equal(work->q[f].source, GW_SOURCE_STATIC);
	return work->q[f].value;
}

/* out[i] = in[i], after a look at table[tid]: an SM has the table from its first block on. */
TEST(an_sm_loads_once_what_all_its_blocks_read)
{
	struct gw_work work;
	gw_ir_operand index, at;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	index = ir_op(&k, IR_MULWU, 32, 64, ir_special(&k, IR_SREG_TID_X), ir_number(&k, 4));
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), index), 0);
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	gw_ir_end_exit(&k.b);
	run_and_fill(4096, 256, &work);
	assert_float_equal(value(&work, GW_WORK_l1_hit_rate), (1 - 132 / 4096.0) / 2, 1e-9);
	gw_arena_free(&k.arena);
}

TEST(device_memory_reads_what_stores_leave_out_of_sectors)
{
	struct gw_work work;

	arguments[2] = 64 * 256, arguments[3] = 8;
	build_move(true);
	run_and_fill(64, 256, &work);
	assert_true(value(&work, GW_WORK_dram_read_bytes) == 64 * 256 * (4 + 28));
	gw_arena_free(&k.arena);
}

/* table[in[i]], beside table[i]: what is loaded lies in the two, and comes once. */
TEST(what_data_choose_among_all_that_is_loaded_comes_once)
{
	const struct gw_static_memory memory[] = {{arguments[0], arguments[0] + 4194304, false},
						  {arguments[1], arguments[1] + 8388608, false}};
	struct gw_launch launch = {.kernel = &kernel, .config = launch_of(4096, 256).config};
	struct gw_static_in in = {&k.b.program, &g, NULL, &device, &launch, memory, 2};
	gw_ir_operand index, at;
	struct gw_work work;

	ir_begin(&k);
	at = ir_thread_offset(&k, &index);
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), at), 0);
	at = ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 0), at), 0);
	at = ir_op(&k, IR_MULWU, 32, 64, at, ir_number(&k, 4));
	ir_load(&k, IR_SPACE_GLOBAL, ir_op(&k, IR_ADD, 64, 64, ir_param(&k, 1), at), 0);
	gw_ir_end_exit(&k.b);
	run(4096, 256);
	known_device();
	g.counted_alone = true;
	gw_work_clear(&work);
	gw_static_memory(&in, &work);
	gw_static_open_traffic(&in, GW_STATIC_LIKELY, &work);
	assert_true(value(&work, GW_WORK_dram_read_bytes) == 4194304 + 8388608);
	gw_arena_free(&k.arena);
}

TEST(static_rows_of_a_copy_are_what_it_does)
{
	struct gw_work work;

	arguments[2] = 1 << 20, arguments[3] = 32;
	build_copy();
	run_and_fill(4096, 256, &work);
	assert_true(value(&work, GW_WORK_global_load_requests) == 32768);
	assert_true(value(&work, GW_WORK_global_load_sectors) == 32768 * 32);
	assert_true(value(&work, GW_WORK_global_store_sectors) == 32768 * 4);
	assert_true(value(&work, GW_WORK_coalesced_mem_insts) == 1);
	assert_true(value(&work, GW_WORK_uncoalesced_mem_insts) == 1);
	assert_true(value(&work, GW_WORK_uncoalesced_per_mw) == 32);
	assert_true(value(&work, GW_WORK_barriers) == 0);
	assert_true(value(&work, GW_WORK_divergent_branches) == 0);
	assert_true(value(&work, GW_WORK_l1_hit_rate) == 0);
	/* A sector in each line, which device memory gives with its neighbour. */
	assert_true(value(&work, GW_WORK_dram_read_bytes) == 32768.0 * 32 * 64);
	assert_true(work.q[GW_WORK_global_load_sectors].confidence == 1);
	/* 38 MB fit L2, and may be there before. */
	assert_true(work.q[GW_WORK_dram_read_bytes].confidence == 0.1F);
	assert_true(value(&work, GW_WORK_global_store_partial) == 0);
	/* Lanes a line apart are all on one bank: a pass for each. The store takes one. */
	assert_true(value(&work, GW_WORK_lsu_wavefronts) == 32768 * 33);
	assert_true(value(&work, GW_WORK_l1_bytes) == 32768 * 36 * 32);
	assert_true(value(&work, GW_WORK_local_bytes) == 0);
	gw_arena_free(&k.arena);
}

TEST(stores_apart_fill_no_sector)
{
	struct gw_work work;

	arguments[2] = 1 << 20, arguments[3] = 4;
	build_move(true);
	run_and_fill(4096, 256, &work);
	assert_true(value(&work, GW_WORK_global_store_partial) == 1);
	gw_arena_free(&k.arena);
}

TEST(what_is_at_most_half_of_l2_is_kept)
{
	struct gw_work work;

	arguments[3] = 1;
	arguments[2] = 1 << 20;
	build_copy();
	run_and_fill(4096, 256, &work);
	assert_true(value(&work, GW_WORK_l2_kept) == 1);
	gw_arena_free(&k.arena);
	arguments[2] = 1 << 26;
	build_copy();
	run_and_fill(1 << 18, 256, &work);
	assert_int_equal(work.q[GW_WORK_l2_kept].source, GW_SOURCE_NONE);
	gw_arena_free(&k.arena);
}

TEST(a_warp_s_critical_path_follows_its_dependences)
{
	struct gw_work work;

	build_loop(100, 4096, IR_SPACE_GLOBAL);
	run_and_fill(1, 32, &work);
	/* Nothing waits for the loads: a trip is three instructions, test and branch. */
	assert_true(value(&work, GW_WORK_warp_memory_chain) < 1);
	assert_true(value(&work, GW_WORK_warp_cycles) > 100 * 4);
	assert_true(value(&work, GW_WORK_warp_cycles) < 100 * 32);
	assert_true(value(&work, GW_WORK_warp_cycles_longest) == value(&work, GW_WORK_warp_cycles));
	assert_true(work.q[GW_WORK_warp_cycles].confidence <= 0.3F);
	assert_int_equal(work.q[GW_WORK_global_store_partial].source, GW_SOURCE_NONE);
	gw_arena_free(&k.arena);
}

TEST(a_chain_through_memory_is_waited_for)
{
	struct gw_work work;

	build_scatter();
	run_and_fill(64, 256, &work);
	assert_true(value(&work, GW_WORK_warp_memory_chain) == 1);
	assert_true(value(&work, GW_WORK_warp_cycles) > 600);
	gw_arena_free(&k.arena);
}

TEST(rows_that_rest_on_unknown_addresses_are_unknown)
{
	struct gw_work work;

	build_scatter();
	run_and_fill(64, 256, &work);
	assert_true(value(&work, GW_WORK_global_load_sectors) == 512 * 4);
	assert_true(value(&work, GW_WORK_global_load_lines) == 1);
	assert_true(value(&work, GW_WORK_global_load_line_sectors) == 4);
	/* Where data decide addresses they are taken as consecutive. */
	assert_true(value(&work, GW_WORK_global_store_lines) == 1);
	assert_true(value(&work, GW_WORK_global_store_line_sectors) == 4);
	assert_true(work.q[GW_WORK_global_load_lines].confidence >= 1);
	assert_true(work.q[GW_WORK_global_store_lines].confidence < 0.5F);
	assert_true(value(&work, GW_WORK_global_store_requests) == 512);
	assert_int_equal(work.q[GW_WORK_global_store_sectors].source, GW_SOURCE_NONE);
	assert_int_equal(work.q[GW_WORK_coalesced_mem_insts].source, GW_SOURCE_NONE);
	assert_int_equal(work.q[GW_WORK_dram_write_bytes].source, GW_SOURCE_NONE);
	gw_arena_free(&k.arena);
}

/* base_stride of the coalescing test (kernels.ptx) as nvcc 13.0 makes it for sm_90: 15 instructions
 * up to EXIT, and the jump to itself that ends every kernel. */
static const uint64_t base_stride[] = {
	0x00000a00ff017b82, 0x000fe20000000800, 0x0000000000007919, 0x000e2e0000002100,
	0x00000000000479c3, 0x000e300000002500, 0x00000000ff077b82, 0x000e300000000800,
	0x00008400ff027b82, 0x000e620000000a00, 0x0000000407077c24, 0x001fe2000f8e0200,
	0x0000880000047ab9, 0x000fc60000000800, 0x0000000407057c24, 0x000fe2000f8e02ff,
	0x0000820000047ab9, 0x000fc60000000a00, 0x0000000405027825, 0x002fe400078e0002,
	0x00008600ff047b82, 0x000e280000000a00, 0x0000000402037981, 0x000ea2000c1e1900,
	0x0000000407047825, 0x001fca00078e0004, 0x0000000304007986, 0x004fe2000c101904,
	0x000000000000794d, 0x000fea0003800000, 0xfffffffc00fc7947, 0x000fc0000383ffff,
};

/* A kernel of one block, for block 0 of base_stride, run by 64 warps of Kim's base workloads. */
static void machine_rows(struct gw_work *work, const struct gw_waits *waits)
{
	struct gw_bytes code = {(const uint8_t *)base_stride, sizeof(base_stride)};
	struct gw_eval_launch eval = launch_of(32, 64);
	struct gw_launch launch = {.kernel = &kernel, .config = eval.config};
	struct gw_schedule schedule;
	struct gw_fault fault;
	struct gw_cfg cfg;
	struct gw_static_in in = {&k.b.program, &g, NULL, NULL, &launch, NULL, 0};

	ir_begin(&k);
	k.b.program.from_sass = true;
	k.b.program.blocks[0].tag = 0;
	gw_ir_end_exit(&k.b);
	run(32, 64);
	gw_work_clear(work);
	assert_true(gw_cfg_build(&cfg, code, 90, &k.arena, &fault));
	assert_true(gw_schedule_build(&schedule, &cfg, waits, &k.arena));
	assert_true(gw_static_machine(&in, &cfg, &schedule, &k.arena, work));
	gw_arena_free(&k.arena);
}

TEST(instructions_of_machine_code_are_as_counted)
{
	struct gw_waits waits;
	struct gw_work work;

	gw_waits_clear(&waits);
	machine_rows(&work, &waits);
	/* smsp__inst_executed of stride-32 and its kin on the H200, counted.csv. */
	assert_true(value(&work, GW_WORK_inst_executed) == 960);
	assert_true(value(&work, GW_WORK_pipe_fma) == 4 * 64);
	assert_true(value(&work, GW_WORK_fp32_inst) == 0);
	assert_true(value(&work, GW_WORK_pipe_tensor) == 0);
	assert_true(work.q[GW_WORK_inst_executed].confidence == 1);
	/* No latency is known. */
	assert_int_equal(work.q[GW_WORK_warp_cycles].source, GW_SOURCE_NONE);
}

TEST(a_warp_s_cycles_are_those_of_its_schedule)
{
	struct gw_waits waits;
	struct gw_work work;

	gw_waits_clear(&waits);
	for (unsigned w = 0; w < GW_WAITS; w++)
		waits.cycles[w] = 10;
	waits.cycles[GW_WAIT_global] = 650;
	machine_rows(&work, &waits);
	assert_true(value(&work, GW_WORK_warp_memory_chain) == 1);
	assert_true(value(&work, GW_WORK_warp_loads_in_flight) == 1);
	assert_true(value(&work, GW_WORK_warp_cycles) > 650);
	assert_true(value(&work, GW_WORK_warp_cycles) < 750);
	assert_true(value(&work, GW_WORK_warp_cycles_longest) == value(&work, GW_WORK_warp_cycles));
	/* Its parts hold at any other latency of loads. */
	assert_true(value(&work, GW_WORK_warp_fixed_chain) == 1);
	assert_true(value(&work, GW_WORK_warp_fixed_cycles) ==
		    value(&work, GW_WORK_warp_cycles) - 650);
	assert_true(value(&work, GW_WORK_warp_longest_fixed_cycles) ==
		    value(&work, GW_WORK_warp_fixed_cycles));
	assert_true(value(&work, GW_WORK_warp_insts) == 15);
	/* As sure as where the counts are settled (test_sass_work). */
	assert_true(work.q[GW_WORK_warp_insts].confidence == 1);
	assert_true(work.q[GW_WORK_warp_cycles].confidence == 0.7f);
	assert_true(work.q[GW_WORK_warp_longest_fixed_cycles].confidence == 0.7f);
}

/* Data decide how often a loop runs: its critical path is reported for eight rounds. */
TEST(a_path_that_is_not_settled_has_nominal_counts)
{
	struct gw_ir_block blocks[3] = {
		{.first = 0, .count = 2, .loop = GW_IR_NONE},
		{.first = 2, .count = 3, .loop = 1},
		{.first = 5, .count = 1, .loop = 0},
	};
	struct gw_ir_loop loops[2] = {{.parent = GW_IR_NONE, .depth = 1},
				      {.parent = 0, .depth = 2}};
	struct gw_ir_program p = {
		.blocks = blocks, .loops = loops, .block_count = 3, .loop_count = 2};

	assert_true(gw_static_nominal_block(&p, 0) == 1);
	assert_true(gw_static_nominal_block(&p, 1) == 64);
	assert_true(gw_static_nominal_insn(&p, 5) == 8);
	assert_true(gw_static_nominal_insn(&p, 4) == 64);
	assert_true(gw_static_nominal_insn(&p, 6) == 0);
}

TEST(what_was_counted_stays)
{
	struct gw_work work;
	struct gw_launch launch = {.kernel = &kernel};
	struct gw_static_in in = {&k.b.program, &g, NULL, NULL, &launch, NULL, 0};

	arguments[2] = 1000, arguments[3] = 1;
	build_copy();
	run(8, 128);
	gw_work_clear(&work);
	work.q[GW_WORK_global_load_sectors] = (struct gw_quantity){7, GW_SOURCE_COUNTED, 0.1F};
	gw_static_memory(&in, &work);
	assert_true(work.q[GW_WORK_global_load_sectors].value == 7);
	assert_true(value(&work, GW_WORK_global_load_requests) == 32);
	gw_arena_free(&k.arena);
}

static double sure_of_interval(const struct gw_work *work)
{
	struct gw_launch launch = {
		.kernel = &kernel,
		.config = {.grid = {64, 1, 1}, .block = {256, 1, 1}, .cluster = {1, 1, 1}}};

	return gw_static_confidence(gw_model_find("interval"), &device, &launch, work);
}

/* Of all that the model asks for, known for sure. */
static double sure_of_all(struct gw_work *work)
{
	static const enum gw_work_field asked[] = {
		GW_WORK_inst_executed, GW_WORK_l1_bytes,        GW_WORK_lsu_wavefronts,
		GW_WORK_warp_cycles,   GW_WORK_dram_read_bytes, GW_WORK_dram_write_bytes};

	known_device();
	gw_work_clear(work);
	assert_true(isnan(sure_of_interval(work)));
	for (unsigned i = 0; i < COUNT(asked); i++)
		work->q[asked[i]] = (struct gw_quantity){1e4, GW_SOURCE_STATIC, 1};
	return sure_of_interval(work);
}

TEST(an_estimate_is_as_sure_as_the_least_sure_row_that_moves_it)
{
	struct gw_work work;
	double all = sure_of_all(&work);

	/* The model itself is not always right, whatever is known; and a row that it does not ask
	 * for takes nothing away. */
	assert_true(all > 0.5 && all < 1);
	work.q[GW_WORK_pipe_tensor] = (struct gw_quantity){0, GW_SOURCE_STATIC, 0.1F};
	assert_true(sure_of_interval(&work) == all);
	work.q[GW_WORK_warp_cycles].confidence = 0.3F;
	assert_true(fabs(sure_of_interval(&work) - 0.3 * all) < 1e-6);
}

TEST(what_is_not_reported_makes_an_estimate_less_sure)
{
	struct gw_work work;
	double all = sure_of_all(&work), less;

	work.q[GW_WORK_atomic_requests] = (struct gw_quantity){1000, GW_SOURCE_STATIC, 1};
	less = sure_of_interval(&work);
	assert_true(less < 0.5 * all);
	work.q[GW_WORK_lsu_wavefronts] = (struct gw_quantity){NAN, GW_SOURCE_NONE, 0};
	assert_true(sure_of_interval(&work) < less);
	less = sure_of_interval(&work);
	work.q[GW_WORK_inst_executed] = (struct gw_quantity){NAN, GW_SOURCE_NONE, 0};
	assert_true(sure_of_interval(&work) < 0.5 * less);
}

/* Counts the questions, and says no to the last that it is reported of. */
struct patience {
	unsigned asked, most;
};

static bool wait_a_while(void *arg)
{
	struct patience *p = arg;

	return ++p->asked < p->most;
}

TEST(a_look_that_is_cut_short_tells_what_it_saw)
{
	struct patience patient = {0, 1000000}, hasty = {0, 40};
	const struct gw_eval_launch at = launch_of(4096, 256);
	struct gw_gather_limits limits = {.eval = {.go_on = wait_a_while, .go_on_arg = &patient},
					  .blocks = 64};
	struct gw_arena again;

	arguments[2] = 1 << 20, arguments[3] = 32;
	build_copy();
	assert_null(gw_ir_finish(&k.b));
	gw_arena_init(&again, 64 << 20);
	assert_null(gw_gather_run(&k.b.program, &at, &limits, &k.arena, &g));
	assert_true(patient.asked > 2);
	assert_true(g.complete && !g.cut);
	hasty.most = patient.asked / 2;
	limits.eval.go_on_arg = &hasty;
	assert_null(gw_gather_run(&k.b.program, &at, &limits, &again, &g));
	assert_true(g.cut && g.blocks < 64);
	assert_true(hasty.asked <= hasty.most + 1);
	gw_arena_free(&again);
	gw_arena_free(&k.arena);
}

TESTS_MAIN()
