#include "preload/runtime/await.h"

#include "preload/runtime/clock.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS INT64_C(2000000000)

static _Atomic int64_t left = PATIENCE_NS;

/* Not a cancellation point, and nothing is held meanwhile: whoever leaves by longjmp() leaves
 * nothing behind. */
bool gw_await_for(_Atomic int *state, int value, int64_t ns)
{
	while (atomic_load(state) == value) {
		int64_t all = atomic_load(&left), most = all < ns ? all : ns, waited;
		const struct timespec limit = {most / 1000000000, most % 1000000000};
		uint64_t begin = gw_steady_ns();

		if (most <= 0)
			return false;
		syscall(SYS_futex, state, FUTEX_WAIT_PRIVATE, value, &limit, NULL, 0);
		waited = (int64_t)(gw_steady_ns() - begin);
		atomic_fetch_sub(&left, waited);
		ns -= waited;
	}
	return true;
}

bool gw_await(_Atomic int *state, int value)
{
	return gw_await_for(state, value, PATIENCE_NS);
}

void gw_await_wake(_Atomic int *state)
{
	syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void gw_await_anew(void)
{
	atomic_store(&left, PATIENCE_NS);
}
