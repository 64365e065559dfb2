#include "preload/runtime/self_read.h"

#include "preload/runtime/arch/arch.h"

#include <sys/syscall.h>
#include <sys/uio.h>

enum { PAGE = 4096 };

/* The kernel reads a piece as a whole or not at all: a piece is a page. */
size_t gw_self_read(void *to, uint64_t from, size_t size)
{
	struct iovec local = {to, size}, piece[GW_SELF_READ_MAX / PAGE + 1];
	long count = 0, got;

	/* Nor in the last page of all, whose end is address 0. */
	if (size > GW_SELF_READ_MAX || from > UINT64_MAX - GW_SELF_READ_MAX - PAGE)
		return 0;
	for (uint64_t at = from; at < from + size; count++) {
		uint64_t end = (at | (PAGE - 1)) + 1;

		end = end < from + size ? end : from + size;
		piece[count] = (struct iovec){(void *)(uintptr_t)at, (size_t)(end - at)};
		at = end;
	}
	got = gw_raw_call(SYS_process_vm_readv, gw_raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0),
			  (long)&local, 1, (long)piece, count, 0);
	return got > 0 ? (size_t)got : 0;
}
