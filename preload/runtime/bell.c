#include "preload/runtime/bell.h"

#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/hot.h"

#include <errno.h>
#include <semaphore.h>

static sem_t bell;
static _Atomic int asleep; /* who takes it back takes GW_HOT_ASLEEP back, too */

void gw_bell_start(void)
{
	sem_init(&bell, 0, 0);
	atomic_store(&asleep, 0);
}

void gw_bell_sleep(uint64_t deadline)
{
	gw_deadline_wait_post(&bell, deadline);
}

static bool take_back(void)
{
	if (!atomic_exchange(&asleep, 0))
		return false;
	atomic_fetch_sub(&gw_hot.captures, GW_HOT_ASLEEP);
	return true;
}

void gw_bell_sleep_until_launch(uint64_t deadline, bool (*pending)(void))
{
	atomic_fetch_add(&gw_hot.captures, GW_HOT_ASLEEP);
	atomic_store(&asleep, 1);
	if (!pending())
		gw_deadline_wait_post(&bell, deadline);
	take_back();
}

void gw_bell_ring(void)
{
	int saved = errno;

	sem_post(&bell);
	errno = saved;
}

void gw_bell_launched(void)
{
	uint64_t begin = gw_ticks();

	if (!take_back())
		return;
	gw_bell_ring();
	gw_overhead_since(begin);
}
