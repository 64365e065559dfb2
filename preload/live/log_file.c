#include "preload/live/log_file.h"

#include "preload/live/live.h"
#include "preload/live/log_name.h"
#include "preload/live/log_writer.h"
#include "preload/runtime/options.h"
#include "preload/runtime/own_files.h"
#include "preload/runtime/sandbox.h"
#include "preload/maps/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { TRIES = 1000, NAME_MOST = 4096, SUFFIX_MOST = 64, LEFT_MOST = 16 };

static int fd = -1, folder = -1;
static dev_t device; /* of fd */
static ino_t inode;
static char wished[NAME_MOST];             /* the name without a number */
static char name[NAME_MOST + SUFFIX_MOST]; /* that of the file, the writer's own */
static uint64_t size, before;              /* of this file; of all before it */
static unsigned part;                      /* number of this file, from 1 */
static int number;                         /* that of the file's name, 0: none */

/* Files of a ring before this one, the oldest first. */
static struct past {
	char suffix[SUFFIX_MOST];
	dev_t device;
	ino_t inode;
	uint64_t size;
} past[LEFT_MOST];
static unsigned past_count;
static char suffix_now[SUFFIX_MOST];

/* The name as the others see it: the one they may look at is not written. */
static char shown[2][sizeof(name)];
static _Atomic unsigned turn;

static void show_name(void)
{
	const unsigned next = atomic_load(&turn) + 1;

	if (!strcmp(shown[(next - 1) % 2], name))
		return;
	memcpy(shown[next % 2], name, sizeof(name));
	atomic_store(&turn, next);
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/*
 * A folder may be renamed, and the process may leave it, by chdir() or chroot(): this number stays
 * with it. Where it is missing, and only it, it is made.
 */
static bool open_folder(void)
{
	const int flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
	char path[NAME_MOST];
	size_t length = (size_t)(last_part(wished) - wished);
	mode_t mode;

	if (folder >= 0)
		close(folder);
	memcpy(path, wished, length);
	path[length] = 0;
	while (length > 1 && path[length - 1] == '/')
		path[--length] = 0;
	folder = open(length ? path : ".", flags);
	if (folder >= 0 || errno != ENOENT)
		return folder >= 0;
	/* Users that may read logs may enter their folder. */
	gw_log_mode(gw_options.log_mode, &mode);
	if (mkdir(path, 0700 | ((mode & 0044) >> 2) | (mode & 0044)) != 0 && errno != EEXIST)
		return false;
	folder = open(path, flags);
	return folder >= 0;
}

/* What is at the wished name already, where it is no file: GW_LOG_OPEN when that can be passed by.
 */
static enum gw_log_place what_is_there(void)
{
	struct stat s;

	if (stat(wished, &s) != 0 || S_ISREG(s.st_mode) || S_ISDIR(s.st_mode))
		return GW_LOG_OPEN;
	return S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3) ? GW_LOG_NOWHERE : GW_LOG_REFUSED;
}

/* The umask is the program's, and changes: the mode is set, not asked for. */
static void set_readers(void)
{
	mode_t mode;
	gid_t group;

	if (!gw_log_mode(gw_options.log_mode, &mode))
		gw_log_report(GW_DEGRADED_OPTION,
			      "GPUWATCH_LOG_MODE=%.20s is no octal number up to 0777; using 0600",
			      gw_options.log_mode);
	if (gw_options.log_group[0] &&
	    (!gw_log_group(gw_options.log_group, &group) || fchown(fd, (uid_t)-1, group) != 0)) {
		gw_log_report(
			GW_DEGRADED_OPTION,
			"GPUWATCH_LOG_GROUP=%.60s is no group this process may give a file to; "
			"the log keeps its own",
			gw_options.log_group);
		mode &= (mode_t)~0070;
	}
	fchmod(fd, mode);
}

static bool try_name(const char *suffix)
{
	snprintf(name, sizeof(name), "%s%s", wished, suffix);
	fd = openat(folder, last_part(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	return fd >= 0;
}

/* Under the wished name, or with a number behind it, from @p from on. */
static bool create(int from)
{
	char suffix[SUFFIX_MOST] = "";
	struct stat s = {0};

	for (int i = from; i < from + TRIES; i++) {
		if (i)
			snprintf(suffix, sizeof(suffix), ".%d", i);
		number = i;
		if (try_name(suffix))
			break;
		if (errno != EEXIST)
			return false;
	}
	if (fd < 0) {
		snprintf(suffix, sizeof(suffix), ".%ld.%" PRIu64, (long)getpid(), gw_ticks());
		if (!try_name(suffix))
			return false;
	}
	memcpy(suffix_now, suffix, sizeof(suffix));
	fstat(fd, &s);
	device = s.st_dev;
	inode = s.st_ino;
	set_readers();
	before += size;
	size = 0;
	part++;
	show_name();
	gw_live_log(name);
	return true;
}

static enum gw_log_place open_at(const char *path)
{
	enum gw_log_place there;

	if (path != wished)
		snprintf(wished, sizeof(wished), "%s", path);
	there = what_is_there();
	if (there != GW_LOG_OPEN)
		return there;
	snprintf(name, sizeof(name), "%s", wished); /* for what is said of it */
	show_name();
	return open_folder() && create(0) ? GW_LOG_OPEN : GW_LOG_AGAIN;
}

enum gw_log_place gw_log_file_open(const char *path)
{
	enum gw_log_place there;

	if (!gw_sandbox_enter()) {
		errno = EPERM;
		return GW_LOG_AGAIN;
	}
	there = open_at(path);
	gw_sandbox_leave();
	return there;
}

/* In the folder as it was opened; where that is gone, too, by its name. */
static enum gw_log_health begin_anew(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
	if (create(past_count ? number + 1 : 0))
		return GW_LOG_NEW;
	return open_at(wished) == GW_LOG_OPEN ? GW_LOG_NEW : GW_LOG_GONE;
}

static enum gw_log_health check(void)
{
	struct stat s;

	/* CRIU restores all threads with the main thread's table: there the numbers are the
	 * program's. */
	if (fd >= 0 && (fstat(fd, &s) != 0 || s.st_ino != inode || s.st_dev != device)) {
		fd = folder = -1;
		gw_own_files(true);
	}
	if (fd < 0 || !s.st_nlink)
		return begin_anew();
	if ((uint64_t)s.st_size >= size)
		return GW_LOG_SOUND;
	size = (uint64_t)s.st_size;
	lseek(fd, s.st_size, SEEK_SET);
	return GW_LOG_SHORTER;
}

enum gw_log_health gw_log_file_check(void)
{
	enum gw_log_health health;

	if (!gw_sandbox_enter()) {
		errno = EPERM;
		return fd >= 0 ? GW_LOG_SOUND : GW_LOG_GONE;
	}
	health = check();
	gw_sandbox_leave();
	return health;
}

/* All of it, or an error with errno set. */
static bool write_all(const char *at, size_t left)
{
	while (left) {
		ssize_t n = write(fd, at, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n ? errno : ENOSPC;
			return false;
		}
		at += n;
		left -= (size_t)n;
	}
	return true;
}

bool gw_log_file_append(const void *head, size_t head_size, const void *data, size_t data_size)
{
	int saved;

	if (write_all(head, head_size) && write_all(data, data_size)) {
		size += head_size + data_size;
		return true;
	}
	/* Leave no half block behind; the reader would find its way, but need not. */
	saved = errno;
	if (gw_sandbox_enter()) {
		if (ftruncate(fd, (off_t)size) == 0)
			lseek(fd, (off_t)size, SEEK_SET);
		gw_sandbox_leave();
	}
	errno = saved;
	return false;
}

bool gw_log_file_write_at(uint64_t at, const void *head, size_t head_size, const void *data,
			  size_t data_size)
{
	bool whole;

	if (!gw_sandbox_enter()) {
		errno = EPERM;
		return false;
	}
	whole = lseek(fd, (off_t)at, SEEK_SET) >= 0 && write_all(head, head_size) &&
		write_all(data, data_size);
	lseek(fd, (off_t)size, SEEK_SET);
	gw_sandbox_leave();
	return whole;
}

/* ---- a ring of files ---- */

static void unlink_oldest(void)
{
	const struct past *l = &past[0];
	char path[NAME_MOST + SUFFIX_MOST];
	struct stat s;

	snprintf(path, sizeof(path), "%s%s", last_part(wished), l->suffix);
	if (!fstatat(folder, path, &s, AT_SYMLINK_NOFOLLOW) && s.st_ino == l->inode &&
	    s.st_dev == l->device)
		unlinkat(folder, path, 0);
	memmove(past, past + 1, --past_count * sizeof(*past));
}

/* The file as it is now goes to those that are left. */
static void leave(int old, const char *suffix, uint64_t bytes)
{
	struct past *l;
	struct stat s = {0};

	if (past_count == LEFT_MOST)
		unlink_oldest();
	fstat(old, &s);
	l = &past[past_count++];
	*l = (struct past){.device = s.st_dev, .inode = s.st_ino, .size = bytes};
	memcpy(l->suffix, suffix, sizeof(l->suffix));
	close(old);
}

bool gw_log_file_next(void)
{
	char suffix[SUFFIX_MOST], held[sizeof(name)];
	const uint64_t bytes = size;
	const int old = fd, old_number = number;
	bool good;
	int error;

	if (old < 0 || !gw_sandbox_enter()) {
		errno = EPERM;
		return false;
	}
	memcpy(suffix, suffix_now, sizeof(suffix));
	memcpy(held, name, sizeof(held));
	good = create(number + 1);
	error = errno;
	if (good) {
		leave(old, suffix, bytes);
	} else {
		fd = old;
		number = old_number;
		memcpy(name, held, sizeof(held));
	}
	gw_sandbox_leave();
	errno = error;
	return good;
}

uint64_t gw_log_file_ring(void)
{
	uint64_t sum = size;

	for (unsigned i = 0; i < past_count; i++)
		sum += past[i].size;
	return sum;
}

unsigned gw_log_file_drop(uint64_t most, uint64_t more)
{
	unsigned dropped = 0;

	if (!past_count || gw_log_file_ring() + more <= most || !gw_sandbox_enter())
		return 0;
	for (; past_count && gw_log_file_ring() + more > most; dropped++)
		unlink_oldest();
	gw_sandbox_leave();
	return dropped;
}

unsigned gw_log_file_part(void)
{
	return part;
}

uint64_t gw_log_file_all(void)
{
	return before + size;
}

uint64_t gw_log_file_size(void)
{
	return size;
}

const char *gw_log_file_name(void)
{
	return shown[atomic_load(&turn) % 2];
}

/* Of this thread's own table; what was renamed has another name there. */
static void follow_name(void)
{
	char link[64], now[sizeof(name)];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	n = readlink(link, now, sizeof(now) - 1);
	if (n <= 0 || now[0] != '/')
		return;
	now[n] = 0;
	memcpy(name, now, (size_t)n + 1);
	show_name();
	gw_live_log(name);
}

bool gw_log_file_moved(void)
{
	struct stat open_one, there;
	bool moved = false;

	if (fd < 0 || !gw_sandbox_enter())
		return false;
	if (!fstat(fd, &open_one) && open_one.st_nlink &&
	    (fstatat(AT_FDCWD, name, &there, AT_SYMLINK_NOFOLLOW) ||
	     there.st_ino != open_one.st_ino || there.st_dev != open_one.st_dev)) {
		follow_name();
		moved = true;
	}
	gw_sandbox_leave();
	return moved;
}

void gw_log_file_close(void)
{
	if (!gw_sandbox_enter())
		return; /* they go with the thread */
	if (fd >= 0)
		close(fd);
	if (folder >= 0)
		close(folder);
	fd = folder = -1;
	gw_sandbox_leave();
}

void gw_log_file_forget(void)
{
	fd = folder = -1;
	name[0] = 0;
	show_name();
	size = before = 0;
	past_count = 0;
	number = 0;
	part = 0;
}
