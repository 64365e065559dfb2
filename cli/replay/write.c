/* A log written anew with other predictions: what `gpuwatch replay --output` makes. */
#include "cli/replay/replay.h"

#include "cli/log/reader.h"
#include "cli/log/source.h"
#include "cli/common/memory.h"
#include "cli/message.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = GW_BLOCK_MAX / 4 }; /* a block is closed at this size */

struct writing {
	FILE *file;
	const struct trace *trace;
	const struct trace_launch *said;
	const char *how;
	size_t launch;                    /* of the trace: the next one */
	struct gw_index kernels, configs; /* those the trace has */
	uint64_t records;
	uint32_t sequence;
	size_t length; /* of the block so far */
	_Alignas(8) unsigned char block[GW_BLOCK_MAX];
	bool failed;
};

static void close_block(struct writing *w)
{
	struct gw_block head = {GW_BLOCK_MAGIC, (uint32_t)w->length, w->sequence++,
				gw_crc32(0, w->block, w->length)};

	if (!w->length)
		return;
	w->failed |= fwrite(&head, sizeof(head), 1, w->file) != 1 ||
		     fwrite(w->block, w->length, 1, w->file) != 1;
	w->length = 0;
}

static void *append(struct writing *w, const void *record, size_t length)
{
	unsigned char *to;

	if (w->length + length > BLOCK)
		close_block(w);
	to = w->block + w->length;
	memcpy(to, record, length);
	w->length += length;
	w->records++;
	return to;
}

/* The header with one more key, as far as a record has room. */
static void put_header(struct writing *w, const struct gw_record *head)
{
	unsigned char record[GW_RECORD_MAX] = {0};
	size_t length = head->length, more;
	struct gw_record *to = (struct gw_record *)(void *)record;
	char key[256];

	memcpy(record, head, length);
	/* The tail may end in padding: texts begin after a NUL and an empty one says nothing. */
	more = (size_t)snprintf(key, sizeof(key), "replay=%s", w->how) + 1;
	if (more <= sizeof(key) && length + more + 8 < GW_RECORD_MAX) {
		memcpy(record + length, key, more);
		length = (length + more + 7) / 8 * 8;
	}
	to->length = (uint16_t)length;
	append(w, record, length);
}

static void put_config(struct writing *w, const struct gw_record *head)
{
	const struct gw_record_config *c = append(w, head, head->length);

	if (gw_index_find(&w->kernels, c->kernel, NULL, NULL) != GW_INDEX_NONE)
		gw_index_add(&w->configs, c->id, 0);
}

static void put_launch(struct writing *w, const struct gw_record *head)
{
	struct gw_record_launch *l = append(w, head, head->length);
	const struct trace_launch *said;

	/* The trace holds no launch of a configuration that is lost. */
	if (gw_index_find(&w->configs, l->config, NULL, NULL) == GW_INDEX_NONE)
		return;
	said = &w->said[w->launch++];
	l->predicted = said->predicted;
	l->low = said->low;
	l->high = said->high;
	l->tier = said->tier;
	l->work = said->work;
}

static bool take(void *arg, const struct gw_log_record *record)
{
	const struct gw_record *head = record->head;
	struct writing *w = arg;
	struct gw_record_end *end;

	switch (head->kind) {
	case GW_RECORD_HEADER:
		put_header(w, head);
		break;
	case GW_RECORD_LAUNCH:
		put_launch(w, head);
		break;
	case GW_RECORD_KERNEL:
		append(w, head, head->length);
		gw_index_add(&w->kernels, ((const struct gw_record_kernel *)(const void *)head)->id,
			     0);
		break;
	case GW_RECORD_CONFIG:
		put_config(w, head);
		break;
	case GW_RECORD_END:
		end = append(w, head, head->length);
		end->records = w->records;
		break;
	default:
		append(w, head, head->length);
		break;
	}
	return !w->failed;
}

/*
 * Where to write: beside @p to, under a name that is put into @p beside, so that @p to is either
 * whole or as it was. A device or a pipe is written as it is.
 */
static FILE *open_beside(const char *to, char *beside, size_t size)
{
	struct stat st;
	FILE *out;
	int fd;

	*beside = '\0';
	if (!stat(to, &st) && !S_ISREG(st.st_mode))
		return fopen(to, "we");
	if ((size_t)snprintf(beside, size, "%s.XXXXXX", to) >= size) {
		errno = ENAMETOOLONG;
		return NULL;
	}
	fd = mkstemp(beside);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (fd >= 0 && !out)
		close(fd);
	return out;
}

static bool write_all(struct writing *w)
{
	struct gw_log_status status;
	bool good = gw_log_read(w->trace->path, take, w, &status);

	close_block(w);
	w->failed |= fclose(w->file) != 0;
	return good && !w->failed;
}

/* What helps against @p error, to be added to its text. */
static const char *remedy(int error)
{
	switch (error) {
	case EISDIR:
		return "; give the name of a file";
	case ENOENT:
	case ENOTDIR:
	case EACCES:
	case EPERM:
	case EROFS:
		return "; name a file in a folder where you may write";
	case ENOSPC:
	case EDQUOT:
		return "; make room, or name a file elsewhere";
	default:
		return "";
	}
}

bool replay_write(const struct trace *trace, const char *to, const struct trace_launch *said,
		  const char *how)
{
	struct writing *w = gw_alloc(sizeof(*w));
	const char *why = gw_log_source_is_once(trace->path)
				  ? "the log is read twice, and a pipe can't be; give a file"
				  : NULL;
	char beside[PATH_MAX] = "";
	bool good = false;

	*w = (struct writing){.trace = trace, .said = said, .how = how};
	errno = 0;
	w->file = why ? NULL : open_beside(to, beside, sizeof(beside));
	if (w->file)
		good = write_all(w) && (!*beside || !rename(beside, to));
	if (!good) {
		int error = errno;

		if (!why)
			why = error ? strerror(error) : "the log could not be read again";
		gw_error("replay: --output=%s can't be written: %s%s", to, why, remedy(error));
		if (*beside)
			unlink(beside);
	}
	gw_index_free(&w->kernels);
	gw_index_free(&w->configs);
	free(w);
	return good;
}
