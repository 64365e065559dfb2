/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/gpu_turn.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/driver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	NUMBER = 200, /* no open() of the program's gives such a number soon */
	ROOM = 4352,  /* of a path in the segments' folder */
};

static char folder[ROOM]; /* ends with a slash; empty: there is none */

static struct {
	int file; /* that the lock is on, -1: there is no turn */
	dev_t device;
	ino_t inode; /* of that file */
	uint64_t taken_ns, given_ns;
} turn = {.file = -1};

void gw_gpu_turn_start(const char *segment)
{
	const char *end = strrchr(segment, '/');
	size_t length = end ? (size_t)(end - segment) + 1 : 0;

	if (length >= sizeof(folder))
		length = 0;
	memcpy(folder, segment, length);
	folder[length] = 0;
	turn.file = -1; /* a child's copy of the number is closed with exec() or its end */
	turn.given_ns = 0;
}

/* The lock file's name in @p name; false: processes can't agree on one. */
static bool name_of(uint32_t device, char *name, size_t size)
{
	char bus[32];
	int length;

	if (!folder[0] || !gw_driver.cuDeviceGetPCIBusId ||
	    gw_driver.cuDeviceGetPCIBusId(bus, sizeof(bus), (CUdevice)device) != CUDA_SUCCESS ||
	    strchr(bus, '/'))
		return false;
	length = snprintf(name, size, "%s.%s.sampler", folder, bus);
	return length > 0 && (size_t)length < size;
}

/* Under a high number: the program may count on getting the lowest that it has free. */
static int open_file(const char *name)
{
	int file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600), high;

	if (file < 0)
		return -1;
	high = fcntl(file, F_DUPFD_CLOEXEC, NUMBER);
	close(file);
	return high;
}

/* False: another process has it. */
static bool lock(int file)
{
	struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

	return fcntl(file, F_SETLK, &whole) == 0 || (errno != EAGAIN && errno != EACCES);
}

bool gw_gpu_turn_take(uint32_t device)
{
	char name[ROOM + 64];
	struct stat s;
	int file;

	if (turn.given_ns && gw_steady_ns() < turn.given_ns + GW_GPU_TURN_AFTER_MS * GW_MS)
		return false;
	if (!name_of(device, name, sizeof(name)))
		return true;
	file = open_file(name);
	if (file < 0)
		return true;
	if (!lock(file)) {
		close(file);
		gw_count(GW_COUNTER_pm_turns_waited, 1);
		return false;
	}
	if (fstat(file, &s) != 0) /* closed by the program just now */
		return true;
	turn.device = s.st_dev;
	turn.inode = s.st_ino;
	turn.file = file;
	turn.taken_ns = gw_steady_ns();
	return true;
}

/* A program that closes all it finds, as daemons do, may have opened a file of its own as that
 * number since: the lock went with the number, and what is there now is the program's. */
static bool still_ours(void)
{
	struct stat s;

	return fstat(turn.file, &s) == 0 && s.st_dev == turn.device && s.st_ino == turn.inode;
}

bool gw_gpu_turn_over(void)
{
	return turn.file >= 0 && gw_steady_ns() - turn.taken_ns >= GW_GPU_TURN_MOST_MS * GW_MS;
}

void gw_gpu_turn_give(void)
{
	if (turn.file < 0)
		return;
	if (still_ours())
		close(turn.file);
	turn.file = -1;
	turn.given_ns = gw_steady_ns();
}
