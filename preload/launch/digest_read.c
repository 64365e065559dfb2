/* The one part of the launch path that reads a launch's arguments: hashes them by the layout. */
#include "preload/launch/call.h"

#include "predictor/code/digest_provisional.h"

/* The plain case, pointers and words of 4 or 8 bytes, makes no call and saves no register: the
 * others are apart. */
#define APART static __attribute__((noinline))

APART uint32_t read_provisional(const struct gw_digest_plan *plan, void **params, void **extra)
{
	const unsigned char *buffer;
	size_t size;

	if (params)
		return extra ? 0 : gw_digest_provisional_params(plan, (const void *const *)params);
	buffer = extra ? gw_extra_buffer(extra, &size) : NULL;
	return buffer ? gw_digest_provisional_buffer(plan, buffer, size) : 0;
}

APART uint32_t read_buffer(const struct gw_digest_plan *plan, void **extra)
{
	size_t size;
	const unsigned char *buffer = gw_extra_buffer(extra, &size);

	return buffer ? gw_digest_of_buffer(plan, buffer, size) : 0;
}

uint32_t gw_digest_read(const struct gw_digest_plan *plan, void **params, void **extra)
{
	if (plan->provisional)
		return read_provisional(plan, params, extra);
	if (params) /* given both, the driver refuses the launch and may have read neither */
		return extra ? 0 : gw_digest_of_params(plan, (const void *const *)params);
	return extra ? read_buffer(plan, extra) : 0;
}
