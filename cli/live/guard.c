#include "cli/live/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

static sigjmp_buf out;
static volatile sig_atomic_t reading;
static struct sigaction before; /* who else handles the signal */

static void leave(int number)
{
	if (reading)
		siglongjmp(out, 1);
	/* Not ours: it comes again, to whom it came before. */
	sigaction(number, &before, NULL);
}

bool gw_live_guarded(void (*read)(void *arg), void *arg)
{
	static bool installed;
	/* The signal stays unblocked, so that there is no mask to be kept. */
	struct sigaction ours = {.sa_handler = leave, .sa_flags = SA_NODEFER};

	if (!installed) {
		sigaction(SIGBUS, &ours, &before);
		installed = true;
	}
	if (sigsetjmp(out, 0)) {
		reading = 0;
		return false;
	}
	reading = 1;
	read(arg);
	reading = 0;
	return true;
}
