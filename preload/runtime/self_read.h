/* The process's own memory where nobody vouches for an address: no read can fault. */
#ifndef GW_SELF_READ_H
#define GW_SELF_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GW_SELF_READ_MAX = 56 << 10 }; /**< bytes of one read */

/**
 * Copy @p size bytes (GW_SELF_READ_MAX at most) from @p from: how many there are before the first
 * page that can't be read. One system call, process_vm_readv; between gw_sandbox_enter() and
 * gw_sandbox_leave() only. Any thread; keeps errno.
 */
size_t gw_self_read(void *to, uint64_t from, size_t size);

/** All @p size bytes at @p from; false where some can't be read. */
static inline bool gw_self_get(void *to, uint64_t from, size_t size)
{
	return gw_self_read(to, from, size) == size;
}

#endif
