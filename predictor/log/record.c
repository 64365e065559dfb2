/* Kernels and configurations to records and back: what is written is what is read. */
#include "predictor/log/record.h"

const char *gw_mode_name(uint32_t mode)
{
	static const char *const names[] = {
#define MODE(NAME, name, meaning) #name,
#include "predictor/log/value.def"
	};

	return mode < GW_MODES ? names[mode] : NULL;
}

struct gw_record_kernel gw_record_of_kernel(uint32_t id, uint32_t module,
					    const struct gw_kernel *kernel)
{
	return (struct gw_record_kernel){
		.id = id,
		.module = module,
		.registers = kernel->registers,
		.static_shared = kernel->static_shared,
		.local = kernel->local,
		.constant = kernel->constant,
		.max_threads = kernel->max_threads,
		.binary_version = kernel->binary_version,
	};
}

struct gw_kernel gw_recorded_kernel(const struct gw_record_kernel *record, const char *name)
{
	return (struct gw_kernel){
		.name = name,
		.registers = record->registers,
		.static_shared = record->static_shared,
		.local = record->local,
		.constant = record->constant,
		.max_threads = record->max_threads,
		.binary_version = record->binary_version,
	};
}

struct gw_record_config gw_record_of_config(uint32_t id, uint32_t kernel, uint32_t device,
					    const struct gw_config *config)
{
	return (struct gw_record_config){
		.id = id,
		.kernel = kernel,
		.grid_x = config->grid.x,
		.grid_y = config->grid.y,
		.grid_z = config->grid.z,
		.block_x = config->block.x,
		.block_y = config->block.y,
		.block_z = config->block.z,
		.cluster_x = config->cluster.x,
		.cluster_y = config->cluster.y,
		.cluster_z = config->cluster.z,
		.dynamic_shared = config->dynamic_shared,
		.digest = config->digest,
		.device = device,
	};
}

struct gw_config gw_recorded_config(const struct gw_record_config *record)
{
	return (struct gw_config){
		.grid = {record->grid_x, record->grid_y, record->grid_z},
		.block = {record->block_x, record->block_y, record->block_z},
		.cluster = {record->cluster_x, record->cluster_y, record->cluster_z},
		.dynamic_shared = record->dynamic_shared,
		.digest = record->digest,
	};
}
