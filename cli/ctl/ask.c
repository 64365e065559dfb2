/*
 * One request at a time: a command that asks holds a lock on the segment's file (flock), so that
 * two commands do not write into one another's words. The process takes no lock: it reads a request
 * that is whole, or none.
 */
#include "cli/ctl/ctl.h"

#include "cli/live/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { STEP_MS = 5 };

struct asking {
	struct gw_live_head *head;
	struct ctl_process *process;
	const struct ctl_request *request;
	unsigned wait_ms;
	bool stale, answered, gone;
};

static void pause_ms(unsigned ms)
{
	const struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* Paired with begin() and end() of the writer (preload/live/live_tables.c). */
static bool read_answer(const struct gw_live_head *h, uint32_t request, struct gw_live_answer *out)
{
	uint32_t before = __atomic_load_n(&h->answer.sequence, __ATOMIC_ACQUIRE);

	if (before & 1)
		return false;
	memcpy(out, &h->answer, sizeof(*out));
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&h->answer.sequence, __ATOMIC_RELAXED) == before &&
	       out->request == request && memchr(out->text, 0, sizeof(out->text));
}

/* The sequence number comes last: what it stands for is there. */
static void ask(void *arg)
{
	struct asking *a = arg;
	struct gw_live_head *h = a->head;
	struct gw_live_control c = {.sequence = h->control.sequence + 1,
				    .pid = a->process->pid,
				    .mode = a->request->mode,
				    .budget = a->request->budget,
				    .seconds = a->request->seconds};

	a->stale = h->magic != GW_LIVE_MAGIC || !gw_live_version_read(h->version) ||
		   h->pid != a->process->pid;
	if (a->stale)
		return;
	c.sequence += !c.sequence || c.sequence == h->answer.request;
	c.check = gw_live_check_word(&c);
	h->control.pid = c.pid;
	h->control.mode = c.mode;
	h->control.budget = c.budget;
	h->control.seconds = c.seconds;
	h->control.check = c.check;
	/* Pairs with the acquire in gw_live_asked() (preload/live/live_tables.c). */
	__atomic_store_n(&h->control.sequence, c.sequence, __ATOMIC_RELEASE);
	for (unsigned ms = 0; !a->answered && !a->gone && ms <= a->wait_ms; ms += STEP_MS) {
		a->answered = read_answer(h, c.sequence, &a->process->state);
		a->gone = !a->process->elsewhere && kill((pid_t)a->process->pid, 0) != 0 &&
			  errno == ESRCH;
		if (!a->answered)
			pause_ms(STEP_MS);
	}
}

static bool lock(int at, unsigned wait_ms)
{
	for (unsigned ms = 0; ms <= wait_ms; ms += STEP_MS) {
		if (flock(at, LOCK_EX | LOCK_NB) == 0)
			return true;
		pause_ms(STEP_MS);
	}
	return false;
}

static enum ctl_result ask_mapped(struct asking *a, char *why, size_t size)
{
	if (!gw_live_guarded(ask, a) || a->stale)
		snprintf(why, size, "its live segment is another's by now");
	else if (a->answered)
		return a->process->state.refused ? CTL_REFUSED : CTL_DONE;
	else if (a->gone)
		snprintf(why, size, "it has ended");
	else
		snprintf(why, size,
			 "no answer within %u s: it is stopped, or ends; it does as asked when it "
			 "goes on",
			 a->wait_ms / 1000);
	return CTL_FAILED;
}

enum ctl_result ctl_ask(struct ctl_process *p, const struct ctl_request *r, unsigned wait_ms,
			char *why, size_t size)
{
	struct asking a = {.process = p, .request = r, .wait_ms = wait_ms};
	enum ctl_result result = CTL_FAILED;
	void *data = MAP_FAILED;
	struct stat st;
	int at = open(p->path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

	if (at < 0 && (errno == EACCES || errno == EPERM))
		snprintf(why, size, "it belongs to user %u: only that user and root can switch it",
			 (unsigned)p->owner);
	else if (at < 0)
		snprintf(why, size, "%s: %s", p->path, strerror(errno));
	else if (fstat(at, &st) || !S_ISREG(st.st_mode) ||
		 st.st_size < (off_t)sizeof(struct gw_live_head))
		snprintf(why, size, "%s is no live segment", p->path);
	else if (!lock(at, wait_ms))
		snprintf(why, size, "another gpuwatch ctl is asking it, and does not end");
	else if ((data = mmap(NULL, sizeof(struct gw_live_head), PROT_READ | PROT_WRITE, MAP_SHARED,
			      at, 0)) == MAP_FAILED)
		snprintf(why, size, "%s: %s", p->path, strerror(errno));
	if (data != MAP_FAILED) {
		a.head = data;
		result = ask_mapped(&a, why, size);
		munmap(data, sizeof(struct gw_live_head));
	}
	if (at >= 0)
		close(at);
	return result;
}
