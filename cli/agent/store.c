/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/agent/store.h"

#include "cli/common/memory.h"
#include "cli/parquet/parquet.h"
#include "predictor/core/hash.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	ROWS = PARQUET_GROUP, /* kept at most */
	PATH = 4200,
	LEFT_S = 3600, /* a part of a file that is so old is of an agent that was killed */
};

/* Text columns; then come the time and the numbers. */
enum {
#define STORE_LABEL(column, label, meaning) LABEL_##column,
#include "cli/agent/store.def"
#undef STORE_LABEL
	LABELS,
	METRIC = LABELS,
	BY,
	WHICH,
	TEXTS,
	TIME = TEXTS,
	VALUE,
	LAUNCHES,
	COLUMNS,
};

static const char *const label_names[LABELS] = {
#define STORE_LABEL(column, label, meaning) label,
#include "cli/agent/store.def"
#undef STORE_LABEL
};

static const struct parquet_column columns[COLUMNS] = {
#define STORE_LABEL(column, label, meaning) {#column, PARQUET_TEXT},
#include "cli/agent/store.def"
#undef STORE_LABEL
        [METRIC] = {"metric", PARQUET_TEXT}, [BY] = {"by", PARQUET_TEXT},
        [WHICH] = {"which", PARQUET_TEXT},   [TIME] = {"time", PARQUET_TIME},
        [VALUE] = {"value", PARQUET_DOUBLE}, [LAUNCHES] = {"launches", PARQUET_COUNT},
};

struct row {
	uint64_t time, launches;
	double value;
	bool histogram;
	uint32_t text[TEXTS]; /* places in the texts, 0: none */
};

struct agent_store {
	char *folder, *host;
	uint64_t most, dropped;
	struct row *row;
	size_t rows, row_room;
	char **text; /* each once; [0]: none */
	size_t texts, text_room;
	uint32_t *place; /* hash table of texts, a power of two */
	size_t places;
	uint64_t now_ns;
	const char *metric; /* of the family that is being added */
	bool counter;
};

/* ---- what is kept -------------------------------------------------------------------------- */

static void rehash(struct agent_store *s)
{
	s->places = s->places ? 2 * s->places : 1024;
	free(s->place);
	s->place = gw_alloc(s->places * sizeof(*s->place));
	for (size_t i = 1; i < s->texts; i++) {
		size_t at = gw_hash(1, s->text[i], strlen(s->text[i])) & (s->places - 1);

		while (s->place[at])
			at = (at + 1) & (s->places - 1);
		s->place[at] = (uint32_t)i;
	}
}

static uint32_t text_of(struct agent_store *s, const char *text)
{
	size_t at;

	if (2 * (s->texts + 1) > s->places)
		rehash(s);
	at = gw_hash(1, text, strlen(text)) & (s->places - 1);
	for (; s->place[at]; at = (at + 1) & (s->places - 1))
		if (!strcmp(s->text[s->place[at]], text))
			return s->place[at];
	s->text = gw_grow(s->text, &s->text_room, s->texts + 1, sizeof(*s->text));
	s->text[s->texts] = gw_copy(text);
	s->place[at] = (uint32_t)s->texts;
	return (uint32_t)s->texts++;
}

static void forget(struct agent_store *s)
{
	for (size_t i = 1; i < s->texts; i++)
		free(s->text[i]);
	s->texts = 1;
	s->rows = 0;
	memset(s->place, 0, s->places * sizeof(*s->place));
}

/* A quarter of them, the oldest: files can't be written, and there is an end to what is kept. */
static void drop(struct agent_store *s)
{
	const size_t gone = ROWS / 4;

	memmove(s->row, s->row + gone, (s->rows - gone) * sizeof(*s->row));
	s->rows -= gone;
	s->dropped += gone;
}

static struct row *add(struct agent_store *s, const struct metric_label *labels, size_t count)
{
	char name[128];
	struct row *r;

	if (s->texts > ROWS) { /* of samples that were dropped, too */
		s->dropped += s->rows;
		forget(s);
	} else if (s->rows == ROWS) {
		drop(s);
	}
	s->row = gw_grow(s->row, &s->row_room, s->rows + 1, sizeof(*s->row));
	r = &s->row[s->rows++];
	*r = (struct row){.time = s->now_ns};
	snprintf(name, sizeof(name), "%s%s", s->metric, s->counter ? "_total" : "");
	r->text[METRIC] = text_of(s, name);
	for (size_t i = 0; i < count; i++) {
		int at = 0;

		while (at < LABELS && strcmp(labels[i].name, label_names[at]) != 0)
			at++;
		if (at < LABELS) {
			r->text[at] = text_of(s, labels[i].value);
		} else {
			r->text[BY] = text_of(s, labels[i].name);
			r->text[WHICH] = text_of(s, labels[i].value);
		}
	}
	return r;
}

static void family(void *arg, const struct metric_family *f)
{
	struct agent_store *s = arg;

	s->metric = f->name;
	s->counter = f->kind == METRIC_COUNTER;
}

static void sample(void *arg, const struct metric_label *labels, size_t count, double value)
{
	add(arg, labels, count)->value = value;
}

static void histogram(void *arg, const struct metric_label *labels, size_t count,
                      const struct metric_histogram *h)
{
	struct row *r = add(arg, labels, count);

	r->value = h->sum;
	r->launches = (uint64_t)h->all;
	r->histogram = true;
}

void agent_store_add(struct agent_store *s, const struct agent_node *node,
                     const struct agent_self *self, uint64_t now_ns)
{
	const struct metric_sink sink = {s, family, sample, histogram};
	struct agent_self here = *self;

	here.host_label = ""; /* the folder has it */
	s->now_ns = now_ns;
	agent_metrics(node, &here, &sink);
}

bool agent_store_full(const struct agent_store *s)
{
	return s->rows > ROWS / 2;
}

uint64_t agent_store_dropped(const struct agent_store *s)
{
	return s->dropped;
}

/* ---- files --------------------------------------------------------------------------------- */

/* A path, in PATH bytes; false: it is longer. */
__attribute__((format(printf, 2, 3))) static bool path_of(char *to, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(to, PATH, format, args);
	va_end(args);
	if (length >= 0 && length < PATH)
		return true;
	errno = ENAMETOOLONG;
	return false;
}

static void take(void *out, const void *data, size_t size)
{
	fwrite(data, 1, size, out);
}

static void put_rows(const struct agent_store *s, FILE *out)
{
	struct parquet *table = parquet_begin(columns, COLUMNS, take, out);

	for (size_t i = 0; i < s->rows; i++) {
		const struct row *r = &s->row[i];
		struct parquet_value v[COLUMNS] = {0};

		for (int c = 0; c < TEXTS; c++)
			if (r->text[c])
				v[c] = (struct parquet_value){.known = true,
				                              .text = s->text[r->text[c]]};
		v[TIME] = (struct parquet_value){.known = true, .count = r->time};
		v[VALUE] = (struct parquet_value){.known = true, .real = r->value};
		v[LAUNCHES] = (struct parquet_value){.known = r->histogram, .count = r->launches};
		parquet_row(table, v);
	}
	parquet_end(table, "gpuwatch version " GW_VERSION);
}

/* The disk has it: under its name, a file is whole. */
static bool sync_folder(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool good = fd >= 0 && !fsync(fd);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool write_file(const struct agent_store *s, const char *part)
{
	const int fd = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
	bool good;
	int error;

	if (!out) {
		error = errno;
		if (fd >= 0)
			close(fd);
		errno = error;
		return false;
	}
	errno = 0;
	put_rows(s, out);
	good = !fflush(out) && !ferror(out) && !fsync(fd);
	error = errno ? errno : EIO;
	if (fclose(out) && good) {
		good = false;
		error = errno;
	}
	errno = error;
	return good;
}

/* The host's folder and the day's, in @p path. */
static bool make_folders(const struct agent_store *s, char *path, const struct tm *t)
{
	if (!path_of(path, "%s/host=%s", s->folder, s->host) ||
	    (mkdir(path, 0755) && errno != EEXIST))
		return false;
	return path_of(path, "%s/host=%s/day=%04d-%02d-%02d", s->folder, s->host, t->tm_year + 1900,
	               t->tm_mon + 1, t->tm_mday) &&
	       (!mkdir(path, 0755) || errno == EEXIST);
}

/* ---- the bound on bytes -------------------------------------------------------------------- */

struct old {
	char *path;
	uint64_t bytes;
};

struct found {
	struct old *file;
	size_t count, room;
	uint64_t bytes;
};

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

static void look_at(struct found *all, const char *folder, const char *name)
{
	char path[PATH];
	struct stat st;

	if (!path_of(path, "%s/%s", folder, name) || lstat(path, &st) || !S_ISREG(st.st_mode))
		return;
	if (ends_with(name, ".parquet.tmp") && time(NULL) - st.st_mtime > LEFT_S)
		unlink(path);
	if (!ends_with(name, ".parquet"))
		return;
	all->file = gw_grow(all->file, &all->room, all->count + 1, sizeof(*all->file));
	all->file[all->count].path = gw_copy(path);
	all->file[all->count++].bytes = (uint64_t)st.st_size;
	all->bytes += (uint64_t)st.st_size;
}

static void each_in(const char *folder, struct found *all,
                    void (*fn)(struct found *all, const char *folder, const char *name))
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
			fn(all, folder, e->d_name);
	if (d)
		closedir(d);
}

static void look_into(struct found *all, const char *folder, const char *name)
{
	char path[PATH];

	if (!strncmp(name, "day=", 4) && path_of(path, "%s/%s", folder, name))
		each_in(path, all, look_at);
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct old *)a)->path, ((const struct old *)b)->path);
}

/* Paths sort by time. */
static void remove_oldest(const struct agent_store *s)
{
	struct found all = {0};
	char path[PATH];

	if (path_of(path, "%s/host=%s", s->folder, s->host))
		each_in(path, &all, look_into);
	if (all.count)
		qsort(all.file, all.count, sizeof(*all.file), by_path);
	for (size_t i = 0; i + 1 < all.count && all.bytes > s->most; i++) {
		unlink(all.file[i].path);
		all.bytes -= all.file[i].bytes;
		*strrchr(all.file[i].path, '/') = 0;
		rmdir(all.file[i].path); /* stays while anything is in it */
	}
	for (size_t i = 0; i < all.count; i++)
		free(all.file[i].path);
	free(all.file);
}

/* ---- as a whole ---------------------------------------------------------------------------- */

bool agent_store_write(struct agent_store *s, char *why, size_t room)
{
	char folder[PATH], path[PATH], part[PATH] = "";
	const time_t seconds = s->rows ? (time_t)(s->row[0].time / 1000000000) : 0;
	struct tm t;

	if (!s->rows)
		return true;
	gmtime_r(&seconds, &t);
	errno = 0;
	if (!make_folders(s, folder, &t)) {
		snprintf(why, room, "%s: %s", folder, strerror(errno));
		return false;
	}
	if (!path_of(path, "%s/%02d%02d%02d-%09u.parquet", folder, t.tm_hour, t.tm_min, t.tm_sec,
	             (unsigned)(s->row[0].time % 1000000000)) ||
	    !path_of(part, "%s.tmp", path) || !write_file(s, part) || rename(part, path)) {
		snprintf(why, room, "%s: %s", part, strerror(errno));
		unlink(part);
		return false;
	}
	sync_folder(folder);
	forget(s);
	remove_oldest(s);
	return true;
}

struct agent_store *agent_store_new(const char *folder, const char *host, uint64_t most)
{
	struct agent_store *s = gw_alloc(sizeof(*s));

	s->folder = gw_copy(folder);
	s->host = gw_copy(host);
	for (char *c = s->host; *c; c++)
		if (*c == '/' || *c == '=')
			*c = '_';
	s->most = most;
	s->texts = 1;
	s->text = gw_grow(NULL, &s->text_room, 1, sizeof(*s->text));
	rehash(s);
	return s;
}

void agent_store_free(struct agent_store *s)
{
	if (!s)
		return;
	forget(s);
	free(s->text);
	free(s->place);
	free(s->row);
	free(s->folder);
	free(s->host);
	free(s);
}
