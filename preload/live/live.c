#include "preload/live/live_part.h"

#include "preload/runtime/own_files.h"
#include "preload/live/log_name.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"
#include "preload/runtime/messages.h"
#include "preload/runtime/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(offsetof(struct gw_event, digest) == offsetof(struct gw_live_event, digest) &&
		       offsetof(struct gw_event, kernel) ==
			       offsetof(struct gw_live_event, kernel) &&
		       offsetof(struct gw_event, cluster) ==
			       offsetof(struct gw_live_event, cluster),
	       "the reader knows the start of an event");
_Static_assert(offsetof(struct gw_thread_counts, graph_launches) == 16 &&
		       offsetof(struct gw_thread_counts, dropped) == 40,
	       "the same of a thread's counts");

enum { REFUSED_MS = 1000 };
enum {
	DEAD_MOST = 256 << 20, /* bytes that killed processes may leave … */
	DEAD_LOOKED = 2048,    /* … among so many files … */
	DEAD_AT_ONCE = 8,      /* … of which so many go at once */
};
enum { PAGE = GW_LIVE_PAGE, HEAD = (sizeof(struct gw_live_head) + PAGE - 1) / PAGE * PAGE };

static struct gw_live_head *_Atomic live; /* NULL: there is none */
static _Atomic int started;               /* 1: under way, 2: done */
static _Atomic uint32_t early;            /* rings made before it was there */
static _Atomic uint64_t room_used;        /* offset of what no ring has been given yet */
static _Atomic uint64_t refused_ns, refused_size;
static atomic_flag naming = ATOMIC_FLAG_INIT;
static char path[4200];

static void refuse(const char *what, const char *why)
{
	gw_degrade_asked(GW_DEGRADED_SEGMENT,
			 "%.200s: %s: launches of the last second are lost when the process is "
			 "killed",
			 what, why);
}

/* Where the user named the folder, it is said on stderr, too: the name is what has to change. */
static void refuse_folder(const char *name, const char *why)
{
	if (gw_options.run_dir[0])
		gw_degrade(GW_DEGRADED_SEGMENT,
			   "GPUWATCH_RUN_DIR=%.200s: %s; name a folder of yours on a tmpfs. "
			   "Without it "
			   "launches of the last second are lost when the process is killed",
			   name, why);
	else
		refuse(name, why);
}

void gw_live_full(const char *why)
{
	refuse(path, why);
}

void gw_live_table_full(const char *what, uint32_t most)
{
	gw_degrade_asked(GW_DEGRADED_SEGMENT,
			 "%.200s: it has room for %u %s: what watches the process sees no more of "
			 "them (GPUWATCH_SEGMENT)",
			 path, most, what);
}

struct gw_live_head *gw_live_mapped(void)
{
	return atomic_load(&live);
}

/* "" when there is no place for it. */
static void folder(char *out, size_t size)
{
	const char *runtime = secure_getenv("XDG_RUNTIME_DIR");

	if (gw_options.run_dir[0])
		snprintf(out, size, "%s", gw_options.run_dir);
	else if (runtime && *runtime == '/')
		snprintf(out, size, "%s/gpuwatch", runtime);
	else
		snprintf(out, size, "/dev/shm/gpuwatch-%u", (unsigned)geteuid());
}

/*
 * Which users may read a segment, and with @p folder may enter its folder: nobody else ever writes
 * there. The umask is the program's, and changes: the mode is set, not asked for.
 */
static void set_readers(int at, bool is_folder)
{
	mode_t mode;
	gid_t group;

	if (!gw_log_mode(gw_options.run_mode, &mode))
		gw_degrade(GW_DEGRADED_OPTION,
			   "GPUWATCH_RUN_MODE=%.20s is no octal number up to 0777; using 0600",
			   gw_options.run_mode);
	if (gw_options.run_group[0] &&
	    (!gw_log_group(gw_options.run_group, &group) || fchown(at, (uid_t)-1, group) != 0)) {
		gw_degrade(GW_DEGRADED_OPTION,
			   "GPUWATCH_RUN_GROUP=%.60s is no group this process may give a file to; "
			   "the live segment keeps its own",
			   gw_options.run_group);
		mode &= (mode_t)~0070;
	}
	mode = 0600 | (mode & 0044);
	fchmod(at, is_folder ? 0700 | (mode & 0044) | (mode & 0044) >> 2 : mode);
}

/* A folder of ours in memory, that nobody else may write; the number of it, or -1. */
static int open_folder(const char *name)
{
	struct stat st;
	struct statfs fs;
	const bool made = mkdir(name, 0700) == 0;
	int at;

	at = open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (at < 0) {
		refuse_folder(name, strerror(errno));
	} else if (fstat(at, &st) || st.st_uid != geteuid()) {
		refuse_folder(name, "it is another user's");
	} else if (st.st_mode & 022) {
		refuse_folder(name, "others may write there");
	} else if (fstatfs(at, &fs) ||
		   (fs.f_type != TMPFS_MAGIC && fs.f_type != (__typeof__(fs.f_type))RAMFS_MAGIC)) {
		refuse_folder(name, "it is not in memory");
	} else {
		if (made)
			set_readers(at, true);
		return at;
	}
	if (at >= 0)
		close(at);
	return -1;
}

/* Of this process, in clock ticks since boot; 0 where /proc does not say. */
static uint64_t start_time(void)
{
	char text[512];
	const char *at;

	gw_small_file("/proc/self/stat", text, sizeof(text));
	at = gw_stat_field(text, 22);
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Number of the namespace that process ids are of, 0 when not known. */
static uint64_t pid_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) ? 0 : (uint64_t)st.st_ino;
}

/* The magic comes last: without it a segment holds nothing yet. */
static void fill_head(struct gw_live_head *h, uint64_t size, uint64_t begun)
{
	h->version = GW_LIVE_VERSION;
	h->size = size;
	h->pid = (uint32_t)getpid();
	h->pid_namespace = pid_namespace();
	h->start_time = begun;
	atomic_store(&room_used, gw_live_layout(h, size));
	gw_small_file("/proc/sys/kernel/random/boot_id", h->boot_id, sizeof(h->boot_id));
	h->boot_id[strcspn(h->boot_id, "\n")] = 0;
	gw_program_path(h->exe, sizeof(h->exe));
	h->magic = GW_LIVE_MAGIC;
}

/* ---- what killed processes left ---- */

/* What it holds in memory; 0 where its process may live, as one of another PID namespace. */
static uint64_t left_by_dead(int at, const char *name, uint64_t namespace)
{
	const int file = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct {
		unsigned char bytes[offsetof(struct gw_live_head, kernels_used)];
	} start;
	struct gw_live_head h = {0};
	struct stat st;
	bool dead;

	if (file < 0)
		return 0;
	dead = pread(file, &start, sizeof(start), 0) == (ssize_t)sizeof(start) && !fstat(file, &st);
	close(file);
	memcpy(&h, &start, dead ? sizeof(start) : 0);
	return h.magic == GW_LIVE_MAGIC && h.pid_namespace == namespace && h.pid &&
			       syscall(SYS_kill, h.pid, 0) && errno == ESRCH
		       ? (uint64_t)st.st_blocks * 512
		       : 0;
}

/*
 * Nobody may ever call `gpuwatch recover`, and it is the memory of the machine: beyond so much the
 * oldest go, by the clock ticks at which their processes began.
 */
static void remove_oldest(int at)
{
	const uint64_t namespace = pid_namespace();
	struct {
		char name[64];
		uint64_t began, bytes;
	} oldest[DEAD_AT_ONCE] = {{{0}, 0, 0}};
	const struct dirent *e;
	uint64_t sum = 0;
	DIR *folder = opendir(path);
	unsigned count = 0;

	for (int i = 0; folder && i < DEAD_LOOKED && (e = readdir(folder)); i++) {
		const char *dash = strchr(e->d_name, '-');
		const uint64_t began = dash ? strtoull(dash + 1, NULL, 10) : 0;
		const uint64_t bytes = began && strlen(e->d_name) < sizeof(oldest->name)
					       ? left_by_dead(at, e->d_name, namespace)
					       : 0;
		unsigned place = count;

		sum += bytes;
		while (bytes && place && oldest[place - 1].began > began)
			place--;
		if (!bytes || place == DEAD_AT_ONCE)
			continue;
		count += count < DEAD_AT_ONCE;
		memmove(&oldest[place + 1], &oldest[place],
			(count - 1 - place) * sizeof(oldest[0]));
		memcpy(oldest[place].name, e->d_name, strlen(e->d_name) + 1);
		oldest[place].began = began;
		oldest[place].bytes = bytes;
	}
	for (unsigned i = 0; i < count && sum > DEAD_MOST; i++) {
		unlinkat(at, oldest[i].name, 0);
		sum -= oldest[i].bytes;
	}
	if (folder)
		closedir(folder);
}

static bool room_in(int at, uint64_t from, uint64_t size)
{
	int r;

	do
		r = fallocate(at, 0, (off_t)from, (off_t)size);
	while (r && errno == EINTR);
	return r == 0;
}

/*
 * By the mapping: a number that is kept open, a program may close. Kernels before 5.14 can't. A
 * refusal takes a us or more, and each launch may ask: what is as large is refused for a second.
 */
bool gw_live_reserve(struct gw_live_head *h, uint64_t from, uint64_t size)
{
	const uint64_t begin = from / PAGE * PAGE, now = gw_steady_ns();

	if (size >= atomic_load(&refused_size) &&
	    now - atomic_load(&refused_ns) < REFUSED_MS * GW_MS)
		return false;
	if (madvise((char *)h + begin, from + size - begin, MADV_POPULATE_WRITE) == 0)
		return true;
	atomic_store(&refused_size, size);
	atomic_store(&refused_ns, now);
	return false;
}

static struct gw_live_head *make(int at, uint64_t size)
{
	struct gw_live_head *h = NULL;
	uint64_t begun = start_time();
	char name[64];
	int file;

	/* The ticks distinguish the programs that one process runs by exec(). */
	snprintf(name, sizeof(name), "%d-%" PRIu64 "-%" PRIu64 ".gwlive", (int)getpid(), begun,
		 gw_ticks());
	file = openat(at, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0)
		return NULL;
	snprintf(path + strlen(path), sizeof(path) - strlen(path), "/%s", name);
	if (!ftruncate(file, (off_t)size) && room_in(file, 0, HEAD + GW_LIVE_KERNELS))
		h = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (h == MAP_FAILED)
		h = NULL;
	if (h) {
		set_readers(file, false);
		fill_head(h, size, begun);
	} else {
		unlinkat(at, name, 0);
	}
	close(file);
	return h;
}

/* By who comes last: the segment, or a ring made without it. */
static void count_early(uint32_t more)
{
	struct gw_live_head *h;

	atomic_fetch_add(&early, more);
	h = atomic_load(&live); /* after the addition: one of both sees the other's */
	if (h)
		__atomic_fetch_add(&h->rings, atomic_exchange(&early, 0), __ATOMIC_RELAXED);
}

static void start(void *unused)
{
	const uint64_t size = gw_options.segment / PAGE * PAGE;
	struct gw_live_head *h;
	int at;

	(void)unused;
	if (size < GW_LIVE_LEAST || getauxval(AT_SECURE))
		return;
	folder(path, sizeof(path) - 80);
	if (madvise(&gw_hot, sizeof(gw_hot), MADV_WIPEONFORK)) {
		path[0] = 0;
		refuse("MADV_WIPEONFORK", strerror(errno));
		return;
	}
	at = open_folder(path);
	if (at < 0) {
		path[0] = 0;
		return;
	}
	remove_oldest(at);
	h = make(at, size);
	if (!h) {
		refuse(path, strerror(errno));
		path[0] = 0;
	} else {
		gw_live_entries_start(h->entries.count);
		atomic_store(&live, h);
		count_early(0);
	}
	close(at);
}

/* Kernels that were interned before it was mapped. */
static void add_kernels(void)
{
	uint32_t count = atomic_load(&gw_hot.shared->kernel_count);

	for (uint32_t i = 1; i <= count && i < GW_KERNELS_MAX; i++)
		if (gw_hot.shared->kernels[i].name)
			gw_live_kernel(i);
}

/*
 * The first ring of a thread is made while another makes the segment: some 0.1 ms, once. A ring
 * made without it stays out of it, so who makes it has time to be kept from running; when that is
 * over, nobody waits any more.
 */
static void wait_for_start(void)
{
	const struct timespec pause = {0, 50000};
	int under_way = 1;

	for (int i = 0; i < 40000 && atomic_load(&started) == 1; i++)
		nanosleep(&pause, NULL);
	atomic_compare_exchange_strong(&started, &under_way, 2);
}

void gw_live_start(void)
{
	int saved = errno, expected = 0, cancel;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (atomic_compare_exchange_strong(&started, &expected, 1)) {
		struct gw_blocked_signals quiet;

		if (gw_sandbox_enter()) {
			gw_block_signals_begin(
				&quiet); /* beyond RLIMIT_FSIZE a file's size is SIGXFSZ */
			gw_apart(start, NULL);
			gw_block_signals_end(&quiet);
			gw_sandbox_leave();
		} else {
			refuse("the process", "it is in a sandbox (seccomp)");
		}
		if (atomic_load(&live))
			add_kernels();
		atomic_store(&started, 2);
	} else if (expected == 1) {
		wait_for_start();
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

void *gw_live_room(size_t size)
{
	enum { LINE = 64, WORDS = (sizeof(struct gw_thread) + LINE - 1) / LINE * LINE };
	struct gw_live_head *h = atomic_load(&live);
	uint64_t at, most;

	if (!h)
		return NULL;
	size = (size + LINE - 1) / LINE * LINE;
	most = h->size - (size > WORDS ? GW_LIVE_RINGS * WORDS : 0);
	at = atomic_load(&room_used);
	do
		if (at + size > most)
			break;
	while (!atomic_compare_exchange_weak(&room_used, &at, at + size));
	if (at + size <= most && gw_live_reserve(h, at, size))
		return (char *)h + at;
	/* What the file system refuses now it may have later. */
	if (at + size <= most)
		atomic_compare_exchange_strong(&room_used, &(uint64_t){at + size}, at);
	refuse(path, "no room for the rings of all threads");
	return NULL;
}

bool gw_live_holds(const void *at)
{
	const struct gw_live_head *h = atomic_load(&live);

	return h && (uint64_t)((const char *)at - (const char *)h) < h->size;
}

void gw_live_ring(struct gw_thread *t)
{
	struct gw_live_head *h = atomic_load(&live);
	const char *base = (const char *)h;
	const bool whole = gw_live_holds(t->ring);
	struct gw_live_ring *r;
	uint32_t n;

	if (!h)
		return count_early(1);
	n = __atomic_fetch_add(&h->rings, 1, __ATOMIC_RELAXED);
	if (!gw_live_holds(t))
		return;
	if (n >= GW_LIVE_RINGS)
		return refuse(path, "no room for the rings of all threads");
	r = &h->ring[n];
	r->head = (uint64_t)((const char *)&t->head - base);
	r->next = (uint64_t)((const char *)&t->next - base);
	r->tail = (uint64_t)((const char *)&t->tail - base);
	r->tid = (uint64_t)((const char *)&t->tid - base);
	r->slots = whole ? (uint64_t)((const char *)t->ring - base) : 0;
	h->counted[n] = (uint64_t)((const char *)&t->counts - base);
	r->mask = t->mask;
	t->live = n + 1;
	/* Read by usable() of another process (cli/live/launches.c). */
	__atomic_store_n(&r->used, whole ? 1 : 2, __ATOMIC_RELEASE);
}

void gw_live_ringless(uint32_t launches)
{
	struct gw_live_head *h = atomic_load(&live);

	if (h)
		__atomic_fetch_add(&h->ringless, launches, __ATOMIC_RELAXED);
}

void gw_live_kernel(uint32_t slot)
{
	struct gw_live_head *h = atomic_load(&live);
	const struct gw_kernel_slot *k = &gw_hot.shared->kernels[slot];
	size_t name, length;
	struct gw_live_kernel *out;
	uint64_t at;

	if (!h || !slot)
		return;
	name = strlen(k->name) + 1;
	length = (sizeof(*out) + name + 7) & ~(size_t)7;
	at = __atomic_fetch_add(&h->kernels_used, length, __ATOMIC_RELAXED);
	if (at + length > GW_LIVE_KERNELS)
		return refuse(path, "no room for the names of all kernels");
	out = (struct gw_live_kernel *)(void *)((char *)h + h->kernels.offset + at);
	/* Pairs with the acquire in gw_live_kernel_in() (cli/live/tables.c). */
	__atomic_store_n(&out->length, (uint32_t)length, __ATOMIC_RELEASE);
	out->registers = k->registers;
	out->static_shared = k->static_shared;
	out->local = k->local;
	out->constant = k->constant;
	out->max_threads = k->max_threads;
	out->binary_version = k->binary_version;
	memcpy(out->name, k->name, name);
	/* Pairs with the acquire in gw_live_kernel_in() (cli/live/tables.c). */
	__atomic_store_n(&out->slot, slot, __ATOMIC_RELEASE);
}

void gw_live_clock(void)
{
	struct gw_live_head *h = atomic_load(&live);

	if (!h || h->tick_khz)
		return;
	h->start_ticks = gw_ticks();
	h->start_ns = gw_clock_ns(h->start_ticks);
	h->tick_khz = gw_clock_khz();
}

/*
 * A reader finds the name before or the name after, whenever the process dies. The log's writer
 * calls this with a new log before it writes into it, and the worker in each round: a thread that
 * finds the other at it leaves it to the worker's next round.
 */
void gw_live_log(const char *name)
{
	struct gw_live_head *h = atomic_load(&live);
	uint32_t turn;

	if (!h || atomic_flag_test_and_set(&naming))
		return;
	turn = h->log_turn;
	if (strcmp(h->log[turn % 2], name) != 0) {
		snprintf(h->log[++turn % 2], sizeof(h->log[0]), "%s", name);
		__atomic_store_n(&h->log_turn, turn, __ATOMIC_RELEASE);
	}
	atomic_flag_clear(&naming);
}

const char *gw_live_path(void)
{
	return path;
}

/*
 * In a sandbox no file is removed, but its pages are given back. The threads' words stay: whoever
 * launches on has its ring, which is the process's own from here on.
 */
static void give_back(struct gw_live_head *h)
{
	const size_t words = h->entries.offset + /* the last section */
			     (size_t)h->entries.count * sizeof(struct gw_live_entry) / PAGE * PAGE;

	atomic_store(&live, NULL);
	for (uint32_t i = 0; i < GW_LIVE_RINGS; i++) {
		char *slots = (char *)h + h->ring[i].slots;
		size_t length = (h->ring[i].mask + (size_t)1) * sizeof(struct gw_event);

		if (h->ring[i].used == 1 && !madvise(slots, length, MADV_REMOVE))
			mmap(slots, length, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
	}
	madvise(h, words, MADV_REMOVE);
}

void gw_live_end(void)
{
	struct gw_live_head *h = atomic_load(&live);

	if (!h)
		return;
	if (gw_sandbox_enter()) {
		unlink(path);
		gw_sandbox_leave();
	} else {
		give_back(h);
	}
}

void gw_live_abandon(void)
{
	struct gw_live_head *h = atomic_load(&live);

	/* What lies there may be looked at, but must not be the parent's. */
	if (h && mmap(h, h->size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
		munmap(h, h->size);
	atomic_store(&live, NULL);
	atomic_store(&started, 0);
	atomic_store(&early, 0);
	atomic_store(&refused_ns, 0);
	atomic_flag_clear(&naming);
	path[0] = 0;
	gw_live_entries_abandon();
	gw_live_tables_abandon();
	gw_live_graphs_abandon();
	gw_live_idle_forget();
}
