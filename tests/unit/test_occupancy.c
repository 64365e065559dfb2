/* Occupancy against the toolkit's own calculator, and by hand where that has no say. */
#include "predictor/models/occupancy.h"
#include "tests/test.h"
#include "tests/unit/model_fixture.h"

#include <cuda_occupancy.h>

/** What cudaGetDeviceProperties says of a GPU of each capability. */
static const struct gpu {
	int major, minor, threads_per_sm, registers_per_block, registers_per_sm;
	size_t shared_per_sm, optin, reserved;
} gpus[] = {
	{3, 0, 2048, 65536, 65536, 48 << 10, 48 << 10, 0},
	{3, 5, 2048, 65536, 65536, 48 << 10, 48 << 10, 0},
	{3, 7, 2048, 65536, 131072, 112 << 10, 48 << 10, 0},
	{5, 0, 2048, 65536, 65536, 64 << 10, 48 << 10, 0},
	{5, 2, 2048, 65536, 65536, 96 << 10, 48 << 10, 0},
	{5, 3, 2048, 32768, 65536, 64 << 10, 48 << 10, 0},
	{6, 0, 2048, 65536, 65536, 64 << 10, 48 << 10, 0},
	{6, 1, 2048, 65536, 65536, 96 << 10, 48 << 10, 0},
	{6, 2, 2048, 32768, 65536, 64 << 10, 48 << 10, 0},
	{7, 0, 2048, 65536, 65536, 96 << 10, 96 << 10, 0},
	{7, 5, 1024, 65536, 65536, 64 << 10, 64 << 10, 0},
	{8, 0, 2048, 65536, 65536, 164 << 10, 163 << 10, 1024},
	{8, 6, 1536, 65536, 65536, 100 << 10, 99 << 10, 1024},
	{8, 7, 1536, 65536, 65536, 164 << 10, 163 << 10, 1024},
	{8, 9, 1536, 65536, 65536, 100 << 10, 99 << 10, 1024},
	{9, 0, 2048, 65536, 65536, 228 << 10, 227 << 10, 1024},
	{10, 0, 2048, 65536, 65536, 228 << 10, 227 << 10, 1024},
	{10, 3, 2048, 65536, 65536, 228 << 10, 227 << 10, 1024},
	{11, 0, 1536, 65536, 65536, 228 << 10, 227 << 10, 1024},
	{12, 0, 1536, 65536, 65536, 100 << 10, 99 << 10, 1024},
	{12, 1, 1536, 65536, 65536, 100 << 10, 99 << 10, 1024},
};

/** A block to place. */
struct config {
	int block, registers;
	size_t fixed, dynamic;
};

static int toolkit(const struct gpu *g, const struct config *c, cudaOccResult *result)
{
	cudaOccDeviceProp properties = {
		.computeMajor = g->major,
		.computeMinor = g->minor,
		.maxThreadsPerBlock = 1024,
		.maxThreadsPerMultiprocessor = g->threads_per_sm,
		.regsPerBlock = g->registers_per_block,
		.regsPerMultiprocessor = g->registers_per_sm,
		.warpSize = 32,
		.sharedMemPerBlock = 48 << 10,
		.sharedMemPerMultiprocessor = g->shared_per_sm,
		.numSms = 10,
		.sharedMemPerBlockOptin = g->optin,
		.reservedSharedMemPerBlock = g->reserved,
	};
	cudaOccFuncAttributes attributes = {
		.maxThreadsPerBlock = 1024,
		.numRegs = c->registers,
		.sharedSizeBytes = c->fixed,
		.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
		.maxDynamicSharedSizeBytes = c->dynamic,
		.numBlockBarriers = 1,
	};
	cudaOccDeviceState state = {.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT};

	assert_int_equal(cudaOccMaxActiveBlocksPerMultiprocessor(result, &properties, &attributes,
								 &state, c->block, c->dynamic),
			 CUDA_OCC_SUCCESS);
	return result->activeBlocksPerMultiprocessor;
}

/* The device of @p g with nothing in its profile but its capability and 10 SMs. */
static void bare_device(const struct gpu *g, struct fixture *f)
{
	fixture_init(f);
	gw_device_clear(&f->device, "bare");
	fixture_param(f, GW_PARAM_compute_capability, g->major * 10 + g->minor);
	fixture_param(f, GW_PARAM_sm_count, 10);
}

static void compare(const struct gpu *g, const struct config *c)
{
	struct fixture f;
	struct gw_occupancy o;
	cudaOccResult theirs;
	const char *why;
	int blocks = toolkit(g, c, &theirs);

	bare_device(g, &f);
	f.kernel.registers = (uint32_t)c->registers;
	f.kernel.static_shared = (uint32_t)c->fixed;
	f.launch.config.dynamic_shared = (uint32_t)c->dynamic;
	f.launch.config.block = (struct gw_dim3){(uint32_t)c->block, 1, 1};
	why = gw_occupancy_of(&f.device, &f.launch, &o);
	if (why ? blocks != 0 : (int)o.blocks_per_sm != blocks)
		fail_msg("%d.%d block %d regs %d shared %zu+%zu: toolkit %d, here %d (%s)",
			 g->major, g->minor, c->block, c->registers, c->fixed, c->dynamic, blocks,
			 why ? 0 : (int)o.blocks_per_sm, why ? why : "");
	if (why)
		return;
	assert_int_equal(o.limit[GW_OCCUPANCY_WARPS], theirs.blockLimitWarps);
	assert_int_equal(o.limit[GW_OCCUPANCY_BLOCKS], theirs.blockLimitBlocks);
	if (c->registers)
		assert_int_equal(o.limit[GW_OCCUPANCY_REGISTERS], theirs.blockLimitRegs);
	if (theirs.blockLimitSharedMem != INT_MAX)
		assert_int_equal(o.limit[GW_OCCUPANCY_SHARED], theirs.blockLimitSharedMem);
}

TEST(agrees_with_the_toolkit_on_random_blocks)
{
	uint64_t seed = 20261120;

	for (size_t i = 0; i < COUNT(gpus); i++)
		for (int n = 0; n < 200; n++) {
			/* 3.0 has 63 registers a thread, which the toolkit's header does not know.
			 */
			int most = gpus[i].major == 3 && gpus[i].minor == 0 ? 64 : 256;
			struct config c = {
				.block = 1 + (int)(fixture_random(&seed) * 1024),
				.registers = (int)(fixture_random(&seed) * most),
				.fixed = (size_t)(fixture_random(&seed) * 49152),
			};

			c.dynamic = (size_t)(fixture_random(&seed) * (double)(gpus[i].optin / 2));
			if (n % 3 == 0)
				c.fixed = c.dynamic = 0;
			compare(&gpus[i], &c);
		}
}

TEST(agrees_with_the_toolkit_at_the_borders)
{
	static const int registers[] = {0, 1, 16, 32, 33, 40, 63, 64, 128, 168, 255};
	static const int blocks[] = {1, 32, 33, 64, 96, 128, 256, 512, 768, 1023, 1024};

	for (size_t i = 0; i < COUNT(gpus); i++)
		for (size_t r = 0; r < COUNT(registers); r++)
			for (size_t b = 0; b < COUNT(blocks); b++) {
				struct config c = {blocks[b], registers[r], 0, gpus[i].optin};

				if (gpus[i].major == 3 && gpus[i].minor == 0 && registers[r] > 63)
					continue;
				compare(&gpus[i], &c);
				c.dynamic = 0;
				compare(&gpus[i], &c);
			}
}

/* Fermi is not in the toolkit's header: occupancy calculator, 20 registers, 192 threads. */
TEST(fermi_gives_registers_in_units_of_64)
{
	struct fixture f;
	struct gw_occupancy o;

	bare_device(&(struct gpu){.major = 2}, &f);
	f.kernel.registers = 21; /* 21 x 32 = 672, given as 704: 23 warps a half, 46 in all */
	f.launch.config.block = (struct gw_dim3){192, 1, 1};
	assert_null(gw_occupancy_of(&f.device, &f.launch, &o));
	assert_int_equal(o.limit[GW_OCCUPANCY_REGISTERS], 7);
	assert_int_equal(o.blocks_per_sm, 7);
	assert_int_equal(o.warps_per_sm, 42);
}

TEST(profile_values_override_the_table)
{
	struct fixture f;
	struct gw_occupancy o;

	bare_device(&(struct gpu){.major = 9}, &f);
	f.kernel.registers = 16;
	fixture_param(&f, GW_PARAM_max_blocks_per_sm, 3);
	assert_null(gw_occupancy_of(&f.device, &f.launch, &o));
	assert_int_equal(o.blocks_per_sm, 3);
	assert_int_equal(o.limited_by, GW_OCCUPANCY_BLOCKS);
}

TEST(waves_and_the_last_ones_fill)
{
	struct fixture f;
	struct gw_occupancy o;

	bare_device(&(struct gpu){.major = 9}, &f); /* 8 blocks of 8 warps on each of 10 SMs */
	f.launch.config.grid = (struct gw_dim3){180, 1, 1};
	assert_null(gw_occupancy_of(&f.device, &f.launch, &o));
	assert_int_equal(o.resident_blocks, 80);
	assert_int_equal(o.full_waves, 2);
	assert_int_equal(o.last_blocks, 20);
	assert_true(o.last_fill == 0.25 && o.waves == 2.25 && o.fraction == 1);
	f.launch.config.grid.x = 160;
	assert_null(gw_occupancy_of(&f.device, &f.launch, &o));
	assert_true(o.last_blocks == 0 && o.last_fill == 1);
}

TEST(clusters_are_resident_whole)
{
	struct fixture f;
	struct gw_occupancy o;

	bare_device(&(struct gpu){.major = 9}, &f);
	f.launch.config.grid = (struct gw_dim3){1200, 1, 1};
	f.launch.config.cluster = (struct gw_dim3){12, 1, 1};
	assert_null(gw_occupancy_of(&f.device, &f.launch, &o));
	assert_int_equal(o.resident_blocks, 72);
}

static const char *why_not(void (*spoil)(struct fixture *f))
{
	struct fixture f;
	struct gw_occupancy o;

	bare_device(&(struct gpu){.major = 8}, &f);
	spoil(&f);
	return gw_occupancy_of(&f.device, &f.launch, &o);
}

static void no_registers(struct fixture *f)
{
	f->kernel.registers = UINT32_MAX;
}

static void no_capability(struct fixture *f)
{
	gw_device_clear(&f->device, "nothing");
}

static void unheard_of(struct fixture *f)
{
	fixture_param(f, GW_PARAM_compute_capability, 140);
}

static void empty_grid(struct fixture *f)
{
	f->launch.config.grid.y = 0;
}

static void huge_block(struct fixture *f)
{
	f->launch.config.block = (struct gw_dim3){UINT32_MAX, UINT32_MAX, UINT32_MAX};
}

static void early_cluster(struct fixture *f)
{
	f->launch.config.cluster.x = 2;
}

static void too_much_shared(struct fixture *f)
{
	f->launch.config.dynamic_shared = UINT32_MAX;
}

TEST(what_is_unknown_or_impossible_is_named)
{
	assert_non_null(strstr(why_not(no_registers), "registers"));
	assert_non_null(strstr(why_not(no_capability), "compute_capability"));
	assert_non_null(strstr(why_not(unheard_of), "compute capability"));
	assert_non_null(strstr(why_not(empty_grid), "grid"));
	assert_non_null(strstr(why_not(huge_block), "1024 threads"));
	assert_non_null(strstr(why_not(early_cluster), "9.0"));
	assert_non_null(strstr(why_not(too_much_shared), "no block fits"));
}

TESTS_MAIN()
