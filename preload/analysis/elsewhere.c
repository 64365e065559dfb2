#include "preload/analysis/elsewhere.h"

#include "preload/runtime/driver.h"

#include <string.h>

/* Words of arguments that the driver is asked about, and where addresses of unified memory lie. */
enum { ASKED_MOST = 32 };
static const uint64_t LOWEST = UINT64_C(1) << 32, HIGHEST = UINT64_C(1) << 48;

static bool attribute(CUpointer_attribute which, CUdeviceptr address, void *value)
{
	return gw_driver.cuPointerGetAttribute(value, which, address) == CUDA_SUCCESS;
}

/* Whether @p address lies in memory that the driver knows; then in which. */
static bool lies_in(CUdeviceptr address, struct gw_static_memory *range)
{
	unsigned type = 0, managed = 0; /* the driver writes four bytes of each */
	CUdeviceptr begin = 0;
	size_t size = 0;

	if (!attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address, &type))
		return false; /* no address, mostly */
	if (type != CU_MEMORYTYPE_HOST &&
	    !attribute(CU_POINTER_ATTRIBUTE_IS_MANAGED, address, &managed))
		managed = 0;
	if (!attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address, &begin) ||
	    !attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address, &size) || !size)
		return false;
	*range = (struct gw_static_memory){begin, begin + size,
					   type == CU_MEMORYTYPE_HOST || managed};
	return true;
}

static bool known(const struct gw_static_memory *found, uint32_t count, uint64_t address)
{
	for (uint32_t i = 0; i < count; i++)
		if (address >= found[i].begin && address < found[i].end)
			return true;
	return false;
}

/* No question of ours is a reason to invalidate a capture that the program has under way: what a
 * driver allows meanwhile beside RELAXED is its own affair. */
static CUstreamCaptureMode capture_mode(CUstreamCaptureMode mode)
{
	if (gw_driver.cuThreadExchangeStreamCaptureMode)
		gw_driver.cuThreadExchangeStreamCaptureMode(&mode);
	return mode;
}

static uint32_t look(const struct gw_arguments *arguments, struct gw_static_memory *found,
		     uint32_t most)
{
	uint32_t count = 0, asked = 0;
	uint64_t word;

	for (uint32_t at = 0; at + sizeof(word) <= arguments->size; at += sizeof(word)) {
		memcpy(&word, arguments->bytes + at, sizeof(word));
		if (word < LOWEST || word >= HIGHEST || known(found, count, word))
			continue;
		if (count == most || asked++ == ASKED_MOST)
			break;
		count += lies_in(word, &found[count]);
	}
	return count;
}

bool gw_elsewhere_any(const struct gw_static_memory *found, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (found[i].elsewhere)
			return true;
	return false;
}

uint32_t gw_elsewhere(const struct gw_arguments *arguments, struct gw_static_memory *found,
		      uint32_t most)
{
	CUstreamCaptureMode before;
	uint32_t count;

	if (!arguments || !gw_driver.cuPointerGetAttribute)
		return 0;
	before = capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
	count = look(arguments, found, most);
	capture_mode(before);
	return count;
}
