/* The simulated device. Its name says what it is wherever its numbers show; its attributes are
 * of a plausible small accelerator, not a copy of one that exists. */
#include "si.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_NAME "gpuwatch stand-in (simulated on the CPU)"
#define MEMORY      ((size_t)4 << 30)

atomic_bool si_initialized;
atomic_bool si_forked;

CUresult si_ready(void)
{
	if (!atomic_load_explicit(&si_initialized, memory_order_acquire) ||
	    atomic_load_explicit(&si_forked, memory_order_relaxed))
		return CUDA_ERROR_NOT_INITIALIZED;
	return CUDA_SUCCESS;
}

bool si_device_ok(CUdevice dev)
{
	return dev >= 0 && (uint64_t)dev < si_env_u64("STANDIN_DEVICES", 1);
}

#define NEED(condition, dev) \
	do { \
		CUresult ready_ = si_ready(); \
		if (ready_ != CUDA_SUCCESS) \
			return ready_; \
		if (!(condition)) \
			return CUDA_ERROR_INVALID_VALUE; \
		if (!si_device_ok(dev)) \
			return CUDA_ERROR_INVALID_DEVICE; \
	} while (0)

CUresult si_cuDeviceGet(CUdevice *device, int ordinal)
{
	NEED(device, ordinal);
	*device = ordinal;
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetCount(int *count)
{
	NEED(count, 0);
	*count = (int)si_env_u64("STANDIN_DEVICES", 1);
	return CUDA_SUCCESS;
}

/* Of STANDIN_NAMES the one at @p dev, if there is one; still one that says what it is. */
static void given_name(char *name, size_t size, CUdevice dev)
{
	const char *names = getenv("STANDIN_NAMES"), *end;

	for (; names && dev > 0; dev--) {
		names = strchr(names, ',');
		names += names != NULL;
	}
	if (!names || !*names)
		return;
	end = strchrnul(names, ',');
	snprintf(name, size, "gpuwatch stand-in (%.*s)", (int)(end - names), names);
}

CUresult si_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	NEED(name && len > 0, dev);
	snprintf(name, (size_t)len, "%s", DEVICE_NAME);
	given_name(name, (size_t)len, dev);
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	NEED(uuid, dev);
	memcpy(uuid->bytes, "gpuwatch-standin", 16);
	uuid->bytes[15] = (char)('0' + dev);
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
	return si_cuDeviceGetUuid(uuid, dev);
}

CUresult si_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
	NEED(luid && deviceNodeMask, dev);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult si_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
	NEED(bytes, dev);
	*bytes = MEMORY;
	return CUDA_SUCCESS;
}

static const struct {
	CUdevice_attribute attribute;
	int value;
} attributes[] = {
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
	{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
	{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
	{CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1000000},
	{CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
	{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16},
	{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
	{CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
	{CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 1000000},
	{CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, 256},
	{CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, 8 << 20},
	{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
	{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
	{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
	{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, 233472},
	{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
	{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
	{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
	{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
	{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
	{CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, 32},
	{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
	{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
	{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
};

CUresult si_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
	NEED(pi && attrib > 0 && attrib < CU_DEVICE_ATTRIBUTE_MAX, dev);
	*pi = 0; /* what is not listed, the device does not have */
	for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
		if (attributes[i].attribute == attrib)
			*pi = attributes[i].value;
	if (attrib == CU_DEVICE_ATTRIBUTE_MPS_ENABLED)
		*pi = (int)si_env_u64("STANDIN_MPS", 0);
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	NEED(prop, dev);
	*prop = (CUdevprop){.maxThreadsPerBlock = 1024,
			    .maxThreadsDim = {1024, 1024, 64},
			    .maxGridSize = {2147483647, 65535, 65535},
			    .sharedMemPerBlock = 49152,
			    .totalConstantMemory = 65536,
			    .SIMDWidth = 32,
			    .memPitch = 2147483647,
			    .regsPerBlock = 65536,
			    .clockRate = 1000000,
			    .textureAlign = 512};
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	NEED(major && minor, dev);
	*major = 9;
	*minor = 0;
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetPCIBusId(char *pciBusId, int len, CUdevice dev)
{
	NEED(pciBusId && len >= 13, dev);
	snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", (unsigned)(dev + 1) & 0xff);
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetByPCIBusId(CUdevice *dev, const char *pciBusId)
{
	unsigned bus;
	NEED(dev && pciBusId, 0);
	if (sscanf(pciBusId, "0000:%2X:00.0", &bus) != 1 || !si_device_ok((int)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = (int)bus - 1;
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceCanAccessPeer(int *canAccessPeer, CUdevice dev, CUdevice peerDev)
{
	NEED(canAccessPeer && si_device_ok(peerDev), dev);
	*canAccessPeer = dev != peerDev;
	return CUDA_SUCCESS;
}

CUresult si_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
				    CUdevice dstDevice)
{
	NEED(value && si_device_ok(dstDevice), srcDevice);
	*value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
	return CUDA_SUCCESS;
}
