/*
 * Preloaded: kills the process in the middle of a block of the log. TORN=N WITNESS=FILE: of the Nth
 * block some bytes reach the file, then comes SIGKILL. A write that begins with a block's magic
 * begins one, whatever call makes it; header and data may be writes of their own. SLOW=MS: the
 * first fallocate(), by which a live segment is made, takes so long.
 */
#include "predictor/log/record.h"
#include "tests/campaign/clients/witness.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static long left;
static size_t due;     /* bytes of the block that is torn until the end; 0: it has not begun */
static size_t written; /* of it */
static int file_of;    /* that it goes to */

__attribute__((constructor)) static void start(void)
{
	const char *torn = getenv("TORN");

	left = torn ? atol(torn) : 0;
}

static void put(int fd, const void *bytes, size_t size, off_t offset)
{
	if (offset < 0)
		syscall(SYS_write, fd, bytes, size);
	else
		syscall(SYS_pwrite64, fd, bytes, size, offset);
}

static void end(void)
{
	int file = open(getenv("WITNESS"), O_RDWR);
	struct witness *w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);

	if (w != MAP_FAILED)
		w->torn = written;
	kill(getpid(), SIGKILL);
}

/* Never returns where the block ends in this write. @p offset -1: where the file stands. */
static void tear(int fd, const void *bytes, size_t size, off_t offset)
{
	struct gw_packed_block head = {0};
	size_t whole;

	if (size >= sizeof(head))
		memcpy(&head, bytes, sizeof(head));
	if (!due) {
		if (head.magic != GW_PACKED_MAGIC || !left || --left)
			return;
		/* Of half of them a byte of the header, else any of the block. */
		whole = sizeof(head) + head.length;
		due = getpid() & 1 ? (size_t)getpid() / 2 % (sizeof(head) - 1)
				   : (size_t)getpid() * 2654435761u % (whole - 1);
		due++;
		file_of = fd;
	} else if (fd != file_of) {
		return;
	}
	if (due > size) {
		due -= size;
		written += size;
		return;
	}
	put(fd, bytes, due, offset);
	written += due;
	end();
}

EXPORT int fallocate(int fd, int mode, off_t from, off_t size)
{
	static _Atomic int before;
	const char *slow = getenv("SLOW");

	if (slow && !before++)
		usleep((useconds_t)atol(slow) * 1000);
	return (int)syscall(SYS_fallocate, fd, mode, from, size);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
	tear(fd, bytes, size, -1);
	return syscall(SYS_write, fd, bytes, size);
}

EXPORT ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
	tear(fd, bytes, size, offset);
	return syscall(SYS_pwrite64, fd, bytes, size, offset);
}
