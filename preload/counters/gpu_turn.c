#include "preload/counters/gpu_turn.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/driver.h"
#include "preload/runtime/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	ROOM = 4352, /* of a path in the segments' folder */
};

static char folder[ROOM]; /* ends with a slash; empty: there is none */

static struct {
	void *at; /* mapping of the file that the lock is on, NULL: there is no turn */
	uint64_t taken_ns, given_ns;
} turn;

struct attempt {
	char name[ROOM + 64];
	bool taken; /* by another process */
};

void gw_gpu_turn_start(const char *segment)
{
	const char *end = strrchr(segment, '/');
	size_t length = end ? (size_t)(end - segment) + 1 : 0;

	if (length >= sizeof(folder))
		length = 0;
	memcpy(folder, segment, length);
	folder[length] = 0;
	turn.at = NULL;
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

/*
 * The lock is that of an open file, which the mapping alone keeps open: no number of the program's
 * is taken or can be closed, and what is mapped goes with exec() or the process. A child that
 * another thread forks between the two calls has it until it calls exec() or ends.
 */
static void lock(void *arg)
{
	struct attempt *a = arg;
	int file = open(a->name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (file < 0)
		return;
	if (flock(file, LOCK_EX | LOCK_NB) != 0) {
		a->taken = errno == EWOULDBLOCK;
	} else {
		turn.at = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);
		if (turn.at == MAP_FAILED)
			turn.at = NULL;
		else
			madvise(turn.at, PAGE, MADV_DONTFORK);
	}
	close(file);
}

bool gw_gpu_turn_take(uint32_t device)
{
	struct attempt a = {.taken = false};

	if (turn.given_ns && gw_steady_ns() < turn.given_ns + GW_GPU_TURN_AFTER_MS * GW_MS)
		return false;
	if (!name_of(device, a.name, sizeof(a.name)))
		return true;
	gw_apart(lock, &a);
	if (a.taken)
		gw_count(GW_COUNTER_pm_turns_waited, 1);
	turn.taken_ns = gw_steady_ns();
	return !a.taken;
}

bool gw_gpu_turn_over(void)
{
	return turn.at && gw_steady_ns() - turn.taken_ns >= GW_GPU_TURN_MOST_MS * GW_MS;
}

void gw_gpu_turn_give(void)
{
	if (!turn.at)
		return;
	munmap(turn.at, PAGE);
	turn.at = NULL;
	turn.given_ns = gw_steady_ns();
}
