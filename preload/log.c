/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/log.h"

#include "preload/degrade.h"
#include "preload/options.h"
#include "preload/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 256 << 10, TRIES = 1000, FD_MIN = 200 };
_Static_assert((int)BUFFER <= (int)GW_BLOCK_MAX && (int)BUFFER >= (int)GW_RECORD_MAX,
               "a block holds a record");

static int fd = -1;
static struct stat file; /* which file fd is: a program may close what it did not open */
static char name[4096 + 16];
static uint64_t size; /* bytes that are whole in the file */
static uint32_t sequence;
static struct {
	struct gw_block head;
	char data[BUFFER];
} block;

/* Expand the macros of GPUWATCH_OUT; false when the name would be too long. */
static bool expand(const char *pattern, char *out, size_t room)
{
	size_t n = 0;

	for (const char *p = pattern; *p; p++) {
		char number[32], host[256] = "";
		const char *add = number;

		snprintf(number, sizeof(number), "%c", *p);
		if (*p == '%' && p[1]) {
			const char *variable, *end;

			switch (*++p) {
			case 'h':
				gethostname(host, sizeof(host) - 1);
				add = host;
				break;
			case 'p':
				snprintf(number, sizeof(number), "%ld", (long)getpid());
				break;
			case 'r':
				add = gw_log_rank();
				add = *add ? add : "0";
				break;
			case 'q':
				variable = p + 2;
				end = p[1] == '{' ? strchr(p, '}') : NULL;
				if (!end || end - variable >= (long)sizeof(host))
					return false;
				memcpy(host, variable, (size_t)(end - variable));
				add = getenv(host);
				add = add ? add : "";
				p = end;
				break;
			case '%':
				snprintf(number, sizeof(number), "%%");
				break;
			default:
				return false;
			}
		}
		if (n + strlen(add) >= room)
			return false;
		memcpy(out + n, add, strlen(add));
		n += strlen(add);
	}
	out[n] = 0;
	return n > 0;
}

const char *gw_log_rank(void)
{
	static const char *const variables[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK",     "PMIX_RANK",
	                                        "MV2_COMM_WORLD_RANK",  "SLURM_PROCID", "RANK"};

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		const char *value = getenv(variables[i]);

		if (value && *value)
			return value;
	}
	return "";
}

/* Out of the way of the numbers that the program's own files would get. */
static int moved_up(int from)
{
	int to = fcntl(from, F_DUPFD_CLOEXEC, FD_MIN);

	if (to < 0)
		return from;
	close(from);
	return to;
}

/* Is it still ours? The program may have closed it, and opened a file of its own in its place. */
static bool still_there(void)
{
	struct stat now;
	int again;

	if (fstat(fd, &now) == 0 && now.st_dev == file.st_dev && now.st_ino == file.st_ino)
		return true;
	fd = -1;
	again = open(name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (again < 0)
		return false;
	if (fstat(again, &now) != 0 || now.st_dev != file.st_dev || now.st_ino != file.st_ino ||
	    lseek(again, (off_t)size, SEEK_SET) < 0) {
		close(again);
		errno = ESTALE;
		return false;
	}
	fd = moved_up(again);
	return true;
}

bool gw_log_open(void)
{
	size_t length;

	if (!expand(gw_options.out, name, sizeof(name) - 16)) {
		gw_degrade(GW_DEGRADED_LOG,
		           "GPUWATCH_OUT=%.300s is not understood: no log is written "
		           "(macros: %%h %%p %%r %%q{NAME} %%%%)",
		           gw_options.out);
		name[0] = 0;
		return false;
	}
	length = strlen(name);
	for (int i = 0; i < TRIES; i++) {
		if (i)
			snprintf(name + length, 16, ".%d", i);
		fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd >= 0 || errno != EEXIST)
			break;
	}
	if (fd < 0) {
		gw_degrade(GW_DEGRADED_LOG,
		           "%.300s: %s: no log is written (name a writable place "
		           "with GPUWATCH_OUT)",
		           name, strerror(errno));
		name[0] = 0;
		return false;
	}
	fd = moved_up(fd);
	fstat(fd, &file);
	size = 0;
	sequence = 0;
	block.head.length = 0;
	return true;
}

bool gw_log_is_open(void)
{
	return fd >= 0;
}

const char *gw_log_name(void)
{
	return name;
}

uint64_t gw_log_bytes(void)
{
	return size + (block.head.length ? sizeof(block.head) + block.head.length : 0);
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

static uint64_t records_in_block(void)
{
	uint64_t n = 0;

	for (uint32_t at = 0; at < block.head.length; n++) {
		struct gw_record r;

		memcpy(&r, block.data + at, sizeof(r));
		at += r.length;
	}
	return n;
}

void gw_log_flush(void)
{
	if (fd < 0 || !block.head.length)
		return;
	block.head.magic = GW_BLOCK_MAGIC;
	block.head.sequence = sequence;
	block.head.crc = gw_crc32(0, block.data, block.head.length);
	if (still_there() &&
	    write_all((const char *)&block, sizeof(block.head) + block.head.length)) {
		size += sizeof(block.head) + block.head.length;
		atomic_store(&gw_counters[GW_COUNTER_log_bytes], size);
		sequence++;
	} else {
		gw_degrade(GW_DEGRADED_LOG,
		           "%.120s: %s: records are lost until it can be written "
		           "again",
		           name, strerror(errno));
		gw_count(GW_COUNTER_log_lost, records_in_block());
		/* Leave no half block behind; the reader would find its way, but need not. */
		if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
			lseek(fd, (off_t)size, SEEK_SET);
	}
	block.head.length = 0;
}

void gw_log_write(enum gw_record_kind kind, void *head, size_t head_size, const void *tail,
                  size_t tail_size)
{
	size_t whole;
	struct gw_record *r = head;
	char *at;

	if (tail_size > GW_RECORD_MAX - head_size - 8)
		tail_size = GW_RECORD_MAX - head_size - 8;
	whole = (head_size + tail_size + 7) & ~(size_t)7;
	if (fd < 0) {
		gw_count(GW_COUNTER_log_lost, 1);
		return;
	}
	if (block.head.length + whole > BUFFER)
		gw_log_flush();
	r->kind = (uint16_t)kind;
	r->length = (uint16_t)whole;
	at = block.data + block.head.length;
	memcpy(at, head, head_size);
	if (tail_size)
		memcpy(at + head_size, tail, tail_size);
	memset(at + head_size + tail_size, 0, whole - head_size - tail_size);
	block.head.length += (uint32_t)whole;
	gw_bump(&gw_counters[GW_COUNTER_log_records], 1);
}

void gw_log_close(void)
{
	gw_log_flush();
	if (fd >= 0 && still_there())
		close(fd);
	fd = -1;
}

void gw_log_abandon(void)
{
	if (fd >= 0 && still_there())
		close(fd);
	fd = -1;
	block.head.length = 0;
	name[0] = 0;
}
