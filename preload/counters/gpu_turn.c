#include "preload/counters/gpu_turn.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/driver.h"
#include "preload/runtime/own_files.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	ROOM = 4352, /* of a path in the segments' folder */
};

static char folder[ROOM]; /* ends with a slash; empty: there is none */

static struct {
	void *own, *ncu; /* mappings of the files that our locks are on, or NULL */
	uint64_t taken_ns, given_ns;
	char uuid[40]; /* of the GPU */
	bool had;
} turn;

void gw_gpu_turn_start(const char *segment)
{
	const char *end = strrchr(segment, '/');

	const int length = end ? (int)(end - segment) + 1 : 0;

	snprintf(folder, sizeof(folder), "%.*s", length < ROOM ? length : 0, segment);
	memset(&turn, 0, sizeof(turn));
}

/* False: another process has the lock on the file @p name, which has @p make. */
static bool lock(const char *name, int make, void **at)
{
	struct flock all = {.l_type = F_WRLCK};
	int file = open(name, O_RDWR | make | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool taken = false;

	if (file < 0)
		return true;
	if (fcntl(file, F_OFD_SETLK, &all) != 0) {
		taken = errno == EAGAIN;
	} else {
		*at = mmap(NULL, PAGE, PROT_NONE, MAP_SHARED, file, 0);
		if (*at == MAP_FAILED)
			*at = NULL;
		else
			madvise(*at, PAGE, MADV_DONTFORK);
	}
	close(file);
	return !taken;
}

static void unlock(void **at)
{
	if (*at)
		munmap(*at, PAGE);
	*at = NULL;
}

/*
 * The locks are those of open files, which the mappings alone keep open: no number of the program's
 * is taken or can be closed, and what is mapped goes with exec() or the process. A child that
 * another thread forks between the two calls has them until it calls exec() or ends. ncu's file is
 * never made: where ours kept a user out, he could not profile.
 */
static void lock_both(void *unused)
{
	static char name[ROOM + 64];

	(void)unused;
	snprintf(name, sizeof(name), "%s.%s.sampler", folder, turn.uuid);
	turn.had = !*folder || lock(name, O_CREAT, &turn.own);
	if (!turn.had)
		return;
	snprintf(name, sizeof(name), "/tmp/nvidia/nsight_compute/lock.%s", turn.uuid);
	turn.had = lock(name, 0, &turn.ncu);
	if (!turn.had)
		unlock(&turn.own);
}

bool gw_gpu_turn_take(uint32_t device)
{
	uint32_t id[4];

	if (turn.given_ns && gw_steady_ns() < turn.given_ns + GW_GPU_TURN_AFTER_MS * GW_MS)
		return false;
	if (!gw_driver.cuDeviceGetUuid ||
	    gw_driver.cuDeviceGetUuid((CUuuid *)(void *)id, (CUdevice)device) != CUDA_SUCCESS)
		return true;
	for (int i = 0; i < 4; i++)
		id[i] = be32toh(id[i]);
	snprintf(turn.uuid, sizeof(turn.uuid), "%08x-%04x-%04x-%04x-%04x%08x", id[0], id[1] >> 16,
		 id[1] & 0xffff, id[2] >> 16, id[2] & 0xffff, id[3]);
	gw_apart(lock_both, NULL);
	gw_count(GW_COUNTER_pm_turns_waited, !turn.had);
	turn.taken_ns = gw_steady_ns();
	return turn.had;
}

bool gw_gpu_turn_over(void)
{
	return turn.own && gw_steady_ns() - turn.taken_ns >= GW_GPU_TURN_MOST_MS * GW_MS;
}

void gw_gpu_turn_give(void)
{
	if (turn.own)
		turn.given_ns = gw_steady_ns();
	unlock(&turn.own);
	unlock(&turn.ncu);
}
