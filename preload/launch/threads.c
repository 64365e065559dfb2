/* The threads that launch: each has a ring of its own, handed back when the thread ends. */
#include "preload/launch/call.h"
#include "preload/live/live.h"
#include "preload/maps/memory.h"
#include "preload/runtime/options.h"
#include "preload/runtime/process.h"
#include "preload/runtime/sandbox.h"
#include "preload/launch/ranges.h"
#include "preload/launch/threads.h"
#include "preload/launch/object_lifetime.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_key_t end_key;
static _Atomic int end_key_made;
static bool (*launch_allowed)(void);

enum {
	PAGE = 4096,
	SLOTS_LEAST = 256, /* of a ring, where memory is short … */
	SHARE = 48,        /* … that is, where one takes more than this part of what is left */
	TEND_MS = 1000,    /* how often threads are looked at … */
	IDLE_TIMES = 10,   /* … so often without a launch: its ring is given back */
	IDLE_TIGHT = 2,    /* the same where an eighth of the memory is left */
	KEEP = 1024,       /* slots ahead of such a thread that stay */
	STEP = 64 << 10,   /* bytes given back at a time */
	REST_LEAST = 256 << 10, /* bytes of a record that is free worth giving back */
	/* bytes of a thread's ring of arguments, and of what it knows behind that */
	ARGUMENTS = GW_ARGUMENTS_RING + sizeof(struct gw_thread_known),
};

/* What a thread's record, ring and arguments take, once all of them has been used. */
static size_t bytes_of(uint32_t slots, bool arguments)
{
	return slots * sizeof(struct gw_event) + (arguments ? (size_t)ARGUMENTS : 0) +
	       sizeof(struct gw_thread);
}

static size_t ring_bytes(const struct gw_thread *t)
{
	return bytes_of(t->mask + 1, t->arguments != NULL);
}

/* The same of what has been used yet; heads go on where the thread before ended. */
static size_t used_bytes(const struct gw_thread *t)
{
	size_t events = atomic_load(&t->head), arguments = t->arguments_head;

	events = events <= t->mask ? events + 1 : t->mask + 1;
	arguments = arguments < GW_ARGUMENTS_RING ? arguments + PAGE : GW_ARGUMENTS_RING;
	arguments = t->arguments ? arguments + sizeof(*t->known) : 0;
	events = events * sizeof(struct gw_event) + PAGE;
	return events + arguments + sizeof(*t) < ring_bytes(t) ? events + arguments + sizeof(*t)
							       : ring_bytes(t);
}

/* A thread that lives may use all of its ring; of one that ended, what it used is left. */
static bool charge(struct gw_thread *t)
{
	const size_t more = ring_bytes(t) - atomic_load(&t->charged);

	if (more &&
	    (more > gw_memory_left(GW_MEMORY_rings) || !gw_memory_take(GW_MEMORY_rings, more)))
		return false;
	atomic_store(&t->charged, ring_bytes(t));
	return true;
}

/* No more than @p used bytes of it are taken. The thread may end while the worker looks at it. */
static void discharge(struct gw_thread *t, size_t used)
{
	size_t had = atomic_load(&t->charged);

	while (had > used)
		if (atomic_compare_exchange_weak(&t->charged, &had, used)) {
			gw_memory_give(GW_MEMORY_rings, had - used);
			return;
		}
}

/* Whatever was in flight never ends. */
static void thread_gone(struct gw_thread *t)
{
	gw_ring_settle(t);
	gw_stream_thread_gone(t);
	discharge(t, used_bytes(t));
	/* Pairs with the acquire in snapshot() (worker/drain.c). */
	atomic_store_explicit(&t->state, GW_SLOT_RETIRED, memory_order_release);
}

/* Runs as the thread ends; a launch from a later destructor registers the thread anew. In a child
 * that no handler heard of, the record in the live segment is that of the parent's thread. */
static void thread_ended(void *arg)
{
	gw_self = NULL;
	if (gw_process_ours())
		thread_gone(arg);
}

void gw_threads_init(bool (*allowed)(void))
{
	launch_allowed = allowed;
	if (!atomic_exchange(&end_key_made, 1) && pthread_key_create(&end_key, thread_ended))
		atomic_store(&end_key_made, 0);
}

bool gw_threads_others(void)
{
	uint32_t count = atomic_load(&gw_hot.shared->thread_count);
	pid_t self = (pid_t)syscall(SYS_gettid);

	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		const struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (t && atomic_load(&t->state) == GW_SLOT_USED && t->tid != self)
			return true;
	}
	return false;
}

static struct gw_thread *_Atomic spare; /* made by the worker, its pages touched */

static char *map(size_t size, int populate)
{
	char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | populate,
			-1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* Where memory is short a ring is smaller, so that many threads have one. */
static uint32_t slots_now(void)
{
	const uint64_t left = gw_memory_left(GW_MEMORY_rings);
	uint32_t slots = gw_options.ring;

	while (slots > SLOTS_LEAST && bytes_of(slots, true) > left / SHARE)
		slots /= 2;
	return slots;
}

/* A small ring comes without room for arguments, which would be most of it. */
static bool with_arguments(uint32_t slots)
{
	return slots >= gw_options.ring / 4;
}

/* Record and ring lie in the live segment, where there is room; else the record where possible. */
static struct gw_thread *thread_map(uint32_t slots, int populate)
{
	size_t header = (sizeof(struct gw_thread) + 4095) & ~(size_t)4095;
	size_t ring = slots * sizeof(struct gw_event);
	char *words, *at;
	struct gw_thread *t;

	gw_live_start();
	words = at = gw_live_room(header + ring);
	if (!at) {
		words = gw_live_room(sizeof(struct gw_thread));
		at = map(header + ring, populate);
	}
	if (!at)
		return NULL;
	t = (struct gw_thread *)(words ? words : at);
	t->ring = (struct gw_event *)(at + header);
	if (with_arguments(slots))
		t->arguments = (unsigned char *)map(ARGUMENTS, populate);
	if (t->arguments)
		t->known = (struct gw_thread_known *)(void *)(t->arguments + GW_ARGUMENTS_RING);
	t->mask = slots - 1;
	gw_live_ring(t);
	return t;
}

void gw_threads_spare(void)
{
	/* Before the first launch there is no segment: most processes never launch anything. */
	if (gw_options.segment && !atomic_load(&gw_hot.shared->thread_count))
		return;
	if (!atomic_load_explicit(&spare, memory_order_relaxed))
		atomic_store(&spare, thread_map(slots_now(), MAP_POPULATE));
}

void gw_threads_abandon(void)
{
	atomic_store(&spare, NULL);
}

/* A record whose thread has ended and whose ring the worker has emptied. */
static struct gw_thread *thread_reuse(struct gw_shared *s)
{
	static _Atomic uint32_t looked; /* one more than had been freed when none was found */
	uint32_t count = atomic_load(&s->thread_count);
	uint32_t freed = atomic_load(&s->threads_freed);

	/* A thread for which there is no ring comes here with each launch. */
	if (atomic_load(&looked) == freed + 1)
		return NULL;
	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		struct gw_thread *t = atomic_load(&s->threads[i]);
		uint32_t expected = GW_SLOT_FREE;

		if (!t || !atomic_compare_exchange_strong(&t->state, &expected, GW_SLOT_BUSY))
			continue;
		if (charge(t))
			return t;
		/* Pairs with the exchange above, of the next thread that looks for a ring. */
		atomic_store_explicit(&t->state, GW_SLOT_FREE, memory_order_release);
	}
	atomic_store(&looked, freed + 1);
	return NULL;
}

/*
 * Charged, too, and before it is mapped: a thread waits in mmap(2) while others map, and those that
 * look how much memory is left have to see what it is about to take.
 */
static struct gw_thread *thread_made(void)
{
	struct gw_thread *t = atomic_exchange(&spare, NULL), *none = NULL;
	uint32_t slots;
	size_t bytes;

	if (t && charge(t))
		return t;
	if (t)
		atomic_compare_exchange_strong(&spare, &none, t);
	slots = slots_now();
	bytes = bytes_of(slots, with_arguments(slots));
	if (!gw_memory_take(GW_MEMORY_rings, bytes))
		return NULL;
	t = thread_map(slots, MAP_NORESERVE);
	if (!t) {
		gw_memory_give(GW_MEMORY_rings, bytes);
		return NULL;
	}
	atomic_store(&t->charged, bytes);
	discharge(t, ring_bytes(t));
	return t;
}

static struct gw_thread *thread_new(struct gw_shared *s)
{
	struct gw_thread *t;
	uint32_t at;

	if (atomic_load(&s->thread_count) >= GW_THREADS_MAX)
		return NULL;
	t = thread_made();
	if (!t)
		return NULL;
	atomic_store(&t->state, GW_SLOT_BUSY);
	at = atomic_fetch_add(&s->thread_count, 1);
	if (at < GW_THREADS_MAX) {
		atomic_store(&s->threads[at], t);
		return t;
	}
	atomic_store(&s->thread_count, GW_THREADS_MAX);
	discharge(t, 0);
	atomic_store(&spare, t); /* others came first */
	return NULL;
}

static struct gw_thread *enrol(void)
{
	static _Atomic uint32_t serials;
	struct gw_shared *s = gw_hot.shared;
	struct gw_thread *t;

	t = thread_reuse(s);
	if (!t)
		t = thread_new(s);
	if (t) {
		uint32_t serial = atomic_fetch_add(&serials, 1) + 1;

		t->serial = serial;
		t->tid = (pid_t)syscall(SYS_gettid);
		t->last.stream_key = 0;
		t->last.context = 0;
		t->last.round = atomic_load(&gw_hot.round) - 1; /* its first call is timed */
		t->tail_seen = atomic_load(&t->tail);
		t->outer = NULL;
		t->range_depth = 0;
		gw_self = t;
		/* Pairs with the acquire in snapshot() (worker/drain.c). */
		atomic_store_explicit(&t->state, GW_SLOT_USED, memory_order_release);
		if (atomic_load(&end_key_made))
			pthread_setspecific(end_key, t);
	}
	return t;
}

/* Files are opened here, which a launch without us does not do: no thread is cancelled there. */
struct gw_thread *gw_thread_register(void)
{
	struct gw_thread *t;
	int saved = errno, cancel;

	if (launch_allowed && !launch_allowed())
		return NULL;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	t = enrol();
	if (t)
		gw_ranges_enter(t);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
	return t;
}

/*
 * The first launch of the process in mode idle. From here on the test of gw_hot.active is all that
 * a launch does.
 */
static void first_idle(void)
{
	int unseen = GW_HOT_UNSEEN;

	gw_live_start();
	atomic_compare_exchange_strong(&gw_hot.active, &unseen, GW_HOT_IDLE);
}

bool gw_threads_idle(void)
{
	int active = atomic_load(&gw_hot.active);

	if (active == GW_HOT_UNSEEN)
		first_idle();
	return active == GW_HOT_UNSEEN || active == GW_HOT_IDLE;
}

/* ---- threads that do not launch any more ---- */

/* A thread's ring that is its own, not of the live segment: pages there, once reserved, stay. */
static bool private_ring(const struct gw_thread *t)
{
	return !gw_live_holds(t->ring);
}

/* Where that is not possible, of locked memory above all, they stay. */
static bool give_pages(char *from, char *to)
{
	from = (char *)(((uintptr_t)from + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	to = (char *)((uintptr_t)to & ~(uintptr_t)(PAGE - 1));
	return from >= to || madvise(from, (size_t)(to - from), MADV_DONTNEED) == 0;
}

static bool untouched(const struct gw_thread *t, uint32_t at)
{
	/* Pairs with gw_own_exchange() on `next` (ring.c): a release. */
	return __atomic_load_n(&t->next, __ATOMIC_ACQUIRE) == at;
}

/*
 * Slots from @p at + KEEP on, all around to those before @p at: the ring is empty. The thread may
 * launch at any moment. Before it comes to them it has to launch KEEP times, and this has ended
 * long before, unless the worker is kept from running; what is lost then the worker finds zeroed
 * and counts (drain.c).
 */
static bool give_ring(struct gw_thread *t, uint32_t at)
{
	const uint32_t slots = t->mask + 1, step = STEP / sizeof(struct gw_event);
	const uint32_t page = PAGE / sizeof(struct gw_event);
	uint32_t i = KEEP + (page - (at + KEEP) % page) % page, count;

	for (; i < slots; i += count) {
		uint32_t first = (at + i) & t->mask;
		char *from = (char *)&t->ring[first];

		count = slots - i < step ? slots - i : step;
		count = slots - first < count ? slots - first : count;
		if (!untouched(t, at) || !give_pages(from, from + count * sizeof(struct gw_event)))
			return false;
	}
	return true;
}

static void tend_idle(struct gw_thread *t, uint32_t at)
{
	const size_t kept = used_bytes(t) < KEEP * sizeof(struct gw_event)
				    ? used_bytes(t)
				    : KEEP * sizeof(struct gw_event) + sizeof(*t) + 3 * PAGE +
					      (t->arguments ? (size_t)ARGUMENTS : 0);

	if (t->given || !private_ring(t) || t->mask + 1 < 2 * KEEP || !give_ring(t, at))
		return;
	t->given = true;
	discharge(t, kept);
}

/* It launches again, and may use all of its ring. */
static void tend_busy(struct gw_thread *t)
{
	const size_t all = ring_bytes(t);
	size_t had = atomic_load(&t->charged);

	t->given = false;
	while (had < all && atomic_load(&t->state) == GW_SLOT_USED)
		if (atomic_compare_exchange_weak(&t->charged, &had, all)) {
			gw_memory_take_anyway(GW_MEMORY_rings, all - had);
			return;
		}
}

/* Ended by exit() of the kernel's, or without a key: nobody said so. */
static bool ended_unsaid(const struct gw_thread *t)
{
	bool gone;

	if (!gw_sandbox_enter())
		return false;
	gone = syscall(SYS_tgkill, getpid(), t->tid, 0) != 0 && errno == ESRCH;
	gw_sandbox_leave();
	return gone;
}

static void tend(struct gw_thread *t)
{
	const uint32_t head = atomic_load(&t->head);
	const bool tight = gw_memory_left(GW_MEMORY_rings) < gw_options.memory_max / 8;

	if (atomic_load(&t->state) != GW_SLOT_USED)
		return;
	if (head != t->idle_head || head != atomic_load(&t->tail)) {
		t->idle_head = head;
		t->idle = 0;
		if (t->given)
			tend_busy(t);
		return;
	}
	if (++t->idle % (tight ? IDLE_TIGHT : IDLE_TIMES) == 0 && ended_unsaid(t))
		thread_gone(t);
	else if (t->idle >= (tight ? IDLE_TIGHT : IDLE_TIMES) && untouched(t, head))
		tend_idle(t, head);
}

void gw_threads_tend(uint64_t now_ns)
{
	static uint64_t tended_ns;
	const uint32_t count = atomic_load(&gw_hot.shared->thread_count);

	if (now_ns - tended_ns < TEND_MS * UINT64_C(1000000))
		return;
	tended_ns = now_ns;
	for (uint32_t i = 0; i < count && i < GW_THREADS_MAX; i++) {
		struct gw_thread *t = atomic_load(&gw_hot.shared->threads[i]);

		if (t)
			tend(t);
	}
}

void gw_thread_rest(struct gw_thread *t)
{
	if (private_ring(t) && atomic_load(&t->charged) >= REST_LEAST &&
	    give_pages((char *)t->ring, (char *)&t->ring[t->mask + 1]) &&
	    (!t->arguments || give_pages((char *)t->arguments, (char *)t->arguments + ARGUMENTS)))
		discharge(t, sizeof(*t) + 2 * PAGE);
	t->given = false;
	t->idle = 0;
}
