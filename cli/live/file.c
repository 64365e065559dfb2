#include "cli/live/file.h"

#include "cli/live/launches.h"
#include "cli/common/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST (INT64_C(16) << 30) /* bytes of a file that is read whole */

bool gw_live_within(const struct gw_live_file *f, uint64_t at, uint64_t size)
{
	return at <= f->size && size <= f->size - at && at % 4 == 0;
}

bool gw_live_check(struct gw_live_file *f, unsigned char *data, size_t size)
{
	const struct gw_live_head *h = (const struct gw_live_head *)(void *)data;

	f->data = data;
	f->size = size;
	f->user = geteuid();
	f->head = h;
	return size >= sizeof(*h) && h->magic == GW_LIVE_MAGIC &&
	       gw_live_version_read(h->version) && gw_live_layout_valid(h, size) &&
	       h->entries_used <= h->entries.count && memchr(h->boot_id, 0, sizeof(h->boot_id)) &&
	       memchr(h->exe, 0, sizeof(h->exe)) && memchr(h->log[0], 0, sizeof(h->log[0])) &&
	       memchr(h->log[1], 0, sizeof(h->log[1]));
}

const char *gw_live_log_of(const struct gw_live_file *f)
{
	return f->head->log[f->head->log_turn % 2];
}

int gw_live_open_plain(const char *path, int flags, struct stat *st, char *why, size_t room)
{
	bool there = !stat(path, st);
	int at = -1;

	/* To open a device may start it: it is looked at first. */
	if (there && S_ISREG(st->st_mode))
		at = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags);
	else if (there)
		errno = 0;
	if (at >= 0 && !fstat(at, st) && S_ISREG(st->st_mode))
		return at;
	snprintf(why, room, "%s", at < 0 && errno ? strerror(errno) : "it is no plain file");
	if (at >= 0)
		close(at);
	return -1;
}

static unsigned char *read_file(const char *path, struct stat *st, size_t *size, char *why,
				size_t room)
{
	int at = gw_live_open_plain(path, 0, st, why, room);
	unsigned char *data = NULL;
	size_t got = 0;
	ssize_t n = 0;

	if (at >= 0 && st->st_size > MOST) {
		snprintf(why, room, "it is larger than %lld GiB", (long long)(MOST >> 30));
	} else if (at >= 0) {
		data = gw_alloc((size_t)st->st_size + 1);
		while (got < (size_t)st->st_size &&
		       (n = read(at, data + got, (size_t)st->st_size - got)) > 0)
			got += (size_t)n;
		*size = got;
	}
	if (at >= 0)
		close(at);
	return data;
}

unsigned char *gw_live_read_file(const char *path, size_t *size, char *why, size_t room)
{
	struct stat st;

	return read_file(path, &st, size, why, room);
}

bool gw_live_open(struct gw_live_file *f, const char *path, char *why, size_t room)
{
	struct stat st;
	size_t size = 0;
	unsigned char *data = read_file(path, &st, &size, why, room);

	if (data && gw_live_check(f, data, size)) {
		f->user = st.st_uid;
		return true;
	}
	if (data)
		snprintf(why, room, "it is damaged, or no live segment of this version");
	free(data);
	f->data = NULL;
	return false;
}

void gw_live_close(struct gw_live_file *f)
{
	free(f->data);
	f->data = NULL;
}

static bool this_boot(const char *boot_id)
{
	char text[64] = "";
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (in && fgets(text, sizeof(text), in))
		text[strcspn(text, "\n")] = 0;
	if (in)
		fclose(in);
	return !strcmp(text, boot_id);
}

/* When a process began, as its segment has it; 0: it has ended. */
static uint64_t start_time(uint32_t pid)
{
	char name[64], text[1024] = "", *at;
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%u/stat", pid);
	in = fopen(name, "re");
	if (in) {
		text[fread(text, 1, sizeof(text) - 1, in)] = 0;
		fclose(in);
	}
	at = strrchr(text, ')');
	/* A zombie has ended: nobody has waited for it yet. */
	if (!at || !strncmp(at, ") Z", 3))
		return 0;
	for (int field = 2; at && field < 22; field++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at, NULL, 10) : 0;
}

/* Any user may name any process: a segment is that of one whose real, effective or saved user its
 * file belongs to. Root's file may be of a process that was root. */
static bool of_user(uint32_t pid, uid_t user)
{
	unsigned own[4] = {0};
	char name[64], line[256];
	FILE *in;

	snprintf(name, sizeof(name), "/proc/%u/status", pid);
	in = user ? fopen(name, "re") : NULL;
	while (in && fgets(line, sizeof(line), in))
		if (sscanf(line, "Uid: %u %u %u %u", own, own + 1, own + 2, own + 3) == 4)
			break;
	if (in)
		fclose(in);
	return !user || user == own[0] || user == own[1] || user == own[2] || user == own[3];
}

/* Process ids of another namespace name nobody here: a container's segment in a shared folder. */
static bool elsewhere(const struct gw_live_head *h)
{
	struct stat st;

	return h->pid_namespace && this_boot(h->boot_id) && !stat("/proc/self/ns/pid", &st) &&
	       h->pid_namespace != (uint64_t)st.st_ino;
}

/* Whether the process that began then has not ended. */
static bool runs(uint32_t pid, uint64_t start)
{
	const uint64_t began = start_time(pid);
	char name[64];
	struct stat own, its;

	snprintf(name, sizeof(name), "/proc/%u/ns/time", pid);
	/* In another time namespace it read another clock. */
	return began && (began == start || (!stat("/proc/self/ns/time", &own) &&
					    !stat(name, &its) && own.st_ino != its.st_ino));
}

bool gw_live_same_program(const struct gw_live_file *f)
{
	char name[64], exe[256] = "";

	snprintf(name, sizeof(name), "/proc/%u/exe", f->head->pid);
	return readlink(name, exe, sizeof(exe) - 1) <= 0 || !strcmp(exe, f->head->exe);
}

enum gw_live_owner gw_live_owner(const struct gw_live_file *f)
{
	if (elsewhere(f->head))
		return GW_LIVE_ELSEWHERE;
	if (!runs(f->head->pid, f->head->start_time) || !this_boot(f->head->boot_id) ||
	    !of_user(f->head->pid, f->user) || !gw_live_same_program(f))
		return GW_LIVE_UNOWNED;
	return GW_LIVE_OWNED;
}

bool gw_live_owned(const struct gw_live_file *f)
{
	return gw_live_owner(f) != GW_LIVE_UNOWNED;
}

static bool read_name(const char *name, unsigned *pid, unsigned long long *start)
{
	unsigned long long ticks;
	int length = 0;

	return sscanf(name, "%u-%llu-%llu.gwlive%n", pid, start, &ticks, &length) == 3 && length &&
	       !name[length];
}

bool gw_live_named(const char *name, bool *gone)
{
	unsigned long long start;
	unsigned pid;

	if (!read_name(name, &pid, &start))
		return false;
	if (gone)
		*gone = !runs(pid, start);
	return true;
}

uint64_t gw_live_began(const char *path)
{
	const char *slash = strrchr(path, '/');
	unsigned long long start;
	unsigned pid;

	return read_name(slash ? slash + 1 : path, &pid, &start) ? start : 0;
}

bool gw_live_empty(const char *path)
{
	const struct gw_live_head *h;
	char why[256];
	size_t size = 0;
	unsigned char *data = gw_live_read_file(path, &size, why, sizeof(why));
	bool empty;

	h = (const void *)data;
	empty = data && (size < sizeof(*h) || !h->magic);
	free(data);
	return empty;
}

void gw_live_folder(char *out, size_t size)
{
	const char *own = getenv("GPUWATCH_RUN_DIR"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (own && *own)
		snprintf(out, size, "%s", own);
	else if (runtime && *runtime == '/')
		snprintf(out, size, "%s/gpuwatch", runtime);
	else
		snprintf(out, size, "/dev/shm/gpuwatch-%u", (unsigned)geteuid());
}
