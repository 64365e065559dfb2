#include "cli/log/source.h"

#include "cli/common/memory.h"
#include "cli/message.h"
#include "predictor/log/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef GW_HAVE_ZSTD
#include <zstd.h>
#endif

enum { SNIFF = 4 };

static const unsigned char zstd_magic[SNIFF] = {0x28, 0xb5, 0x2f, 0xfd};

struct gw_log_source {
	int fd;
	const unsigned char *data; /* memory, or the bytes sniffed from the file's start */
	size_t length, position;
	unsigned char sniffed[SNIFF];
	bool compressed;
#ifdef GW_HAVE_ZSTD
	ZSTD_DStream *stream;
	unsigned char *packed;
	ZSTD_inBuffer in;
	size_t frame_left; /* 0 between frames */
#endif
};

struct gw_log_source *gw_log_source_memory(const void *data, size_t length)
{
	struct gw_log_source *s = gw_alloc(sizeof(*s));

	s->fd = -1;
	s->data = data;
	s->length = length;
	return s;
}

/* A pipe that somebody holds open for writing is waited for from now on. */
static bool wait_for_writer(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) && !fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

/* read(2) that goes on after signals and short reads. */
static size_t read_all(int fd, void *buffer, size_t size, const char **failed)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = read(fd, (char *)buffer + n, size - n);

		if (got < 0 && (errno == EINTR || (errno == EAGAIN && wait_for_writer(fd))))
			continue;
		if (got < 0)
			*failed = strerror(errno);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return n;
}

static size_t read_plain(struct gw_log_source *s, void *buffer, size_t size, const char **failed)
{
	size_t n = s->length - s->position;

	if (n > size)
		n = size;
	if (n)
		memcpy(buffer, s->data + s->position, n);
	s->position += n;
	if (n < size && s->fd >= 0)
		n += read_all(s->fd, (char *)buffer + n, size - n, failed);
	return n;
}

#ifdef GW_HAVE_ZSTD
static bool start_zstd(struct gw_log_source *s)
{
	s->compressed = true;
	s->stream = ZSTD_createDStream();
	s->packed = gw_alloc(ZSTD_DStreamInSize());
	s->in = (ZSTD_inBuffer){s->packed, 0, 0};
	/* A hostile frame may ask for a window of gigabytes; the writers of .zst files here do not.
	 */
	return s->stream &&
	       !ZSTD_isError(ZSTD_DCtx_setParameter(s->stream, ZSTD_d_windowLogMax, 27));
}

static size_t read_zstd(struct gw_log_source *s, void *buffer, size_t size, const char **failed)
{
	ZSTD_outBuffer out = {buffer, size, 0};

	while (out.pos < out.size) {
		size_t result, before = out.pos;

		if (s->in.pos == s->in.size) {
			s->in.size = read_plain(s, s->packed, ZSTD_DStreamInSize(), failed);
			s->in.pos = 0;
		}
		if (!s->in.size) {
			if (s->frame_left && !*failed)
				*failed = "the compressed file ends inside a frame";
			break;
		}
		result = ZSTD_decompressStream(s->stream, &out, &s->in);
		if (ZSTD_isError(result)) {
			*failed = ZSTD_getErrorName(result);
			s->in.pos = s->in.size;
			break;
		}
		s->frame_left = result;
		if (out.pos == before && s->in.pos == s->in.size)
			continue;
	}
	return out.pos;
}
#endif

size_t gw_log_source_read(struct gw_log_source *source, void *buffer, size_t size,
			  const char **failed)
{
	*failed = NULL;
#ifdef GW_HAVE_ZSTD
	if (source->compressed)
		return read_zstd(source, buffer, size, failed);
#endif
	return read_plain(source, buffer, size, failed);
}

size_t gw_log_source_size(const struct gw_log_source *source)
{
	return source->fd < 0 && !source->compressed ? source->length : SIZE_MAX;
}

bool gw_log_source_compressed(const struct gw_log_source *source)
{
	return source->compressed;
}

/* Look at the first bytes; false with the reason in @p why. */
static bool sniff(struct gw_log_source *s, char *why, size_t size)
{
	const char *failed = NULL;

	s->length = read_all(s->fd, s->sniffed, SNIFF, &failed);
	s->data = s->sniffed;
	if (failed) {
		snprintf(why, size, "%s", failed);
		return false;
	}
	if (s->length < SNIFF || memcmp(s->sniffed, zstd_magic, SNIFF))
		return true;
#ifdef GW_HAVE_ZSTD
	if (start_zstd(s))
		return true;
	snprintf(why, size, "zstd decompression could not be started");
#else
	snprintf(why, size,
		 "it is zstd-compressed and this gpuwatch was built without libzstd; "
		 "decompress it with zstd -d first");
#endif
	return false;
}

bool gw_log_source_is_once(const char *path)
{
	struct stat st;

	return !strcmp(path, "-") || (!stat(path, &st) && S_ISFIFO(st.st_mode));
}

struct gw_log_source *gw_log_source_open(const char *path, char *why, size_t size)
{
	struct gw_log_source *s = gw_log_source_memory(NULL, 0);
	struct stat st;

	/* O_NONBLOCK: opening a pipe that nobody writes must not hang. */
	s->fd = strcmp(path, "-") ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
				  : dup(STDIN_FILENO);
	if (s->fd < 0 || fstat(s->fd, &st)) {
		snprintf(why, size, "%s%s", strerror(errno), gw_open_remedy(errno));
		gw_log_source_close(s);
		return NULL;
	}
	if (strcmp(path, "-") && !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)) {
		snprintf(why, size, "%s",
			 S_ISDIR(st.st_mode)
				 ? "is a folder; name the logs in it"
				 : "neither a file nor a pipe; give a log, or - for what "
				   "comes on standard input");
		gw_log_source_close(s);
		return NULL;
	}
	if (!sniff(s, why, size)) {
		gw_log_source_close(s);
		return NULL;
	}
	if (S_ISFIFO(st.st_mode) && !s->length && strcmp(path, "-")) {
		snprintf(why, size, "nothing comes through this pipe; start first what writes it");
		gw_log_source_close(s);
		return NULL;
	}
	return s;
}

void gw_log_source_close(struct gw_log_source *source)
{
	if (!source)
		return;
#ifdef GW_HAVE_ZSTD
	ZSTD_freeDStream(source->stream);
	free(source->packed);
#endif
	if (source->fd >= 0)
		close(source->fd);
	free(source);
}

bool gw_log_source_is_log(const char *path)
{
	struct gw_log_source *s;
	const char *failed = NULL;
	char why[200];
	struct stat st;
	uint32_t magic = 0;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	s = gw_log_source_open(path, why, sizeof(why));
	if (!s)
		return false;
	if (gw_log_source_read(s, &magic, sizeof(magic), &failed) < sizeof(magic))
		magic = 0;
	gw_log_source_close(s);
	return magic == GW_BLOCK_MAGIC || magic == GW_PACKED_MAGIC;
}
