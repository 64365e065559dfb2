#include "cli/agent/store/store.h"

#include "cli/agent/store/rollup.h"
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

#define HOURS "/hours" /* the folder of the tables of hours */

/* Text columns; then come the time and the numbers. */
enum {
#define STORE_LABEL(column, label, meaning) LABEL_##column,
#include "cli/agent/store/store.def"
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
#include "cli/agent/store/store.def"
#undef STORE_LABEL
};

static const struct parquet_column columns[COLUMNS] = {
#define STORE_LABEL(column, label, meaning) {#column, PARQUET_TEXT},
#include "cli/agent/store/store.def"
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
	const struct metric_family *metric; /* that is being added */
	struct agent_rollup rollup;
};

/* ---- what is kept ---- */

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
	GW_GROW(s->text, &s->text_room, s->texts + 1);
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
	GW_GROW(s->row, &s->row_room, s->rows + 1);
	r = &s->row[s->rows++];
	*r = (struct row){.time = s->now_ns};
	snprintf(name, sizeof(name), "%s%s", s->metric->name,
		 s->metric->kind == METRIC_COUNTER ? "_total" : "");
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

	s->metric = f;
}

static void sample(void *arg, const struct metric_label *labels, size_t count, double value)
{
	struct agent_store *s = arg;

	add(s, labels, count)->value = value;
	rollup_sample(&s->rollup, s->metric, labels, count, value);
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
	rollup_take(&s->rollup, node, now_ns);
}

bool agent_store_full(const struct agent_store *s)
{
	return s->rows > ROWS / 2;
}

uint64_t agent_store_dropped(const struct agent_store *s)
{
	return s->dropped + s->rollup.dropped;
}

/* ---- files ---- */

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

static void put_samples(const struct agent_store *s, const struct rollup_rows *none, FILE *out)
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
	(void)none;
}

void agent_store_put_none(FILE *out)
{
	put_samples(&(struct agent_store){0}, NULL, out);
}

static void put_work(const struct agent_store *s, const struct rollup_rows *rows, FILE *out)
{
	hours_put_work(out, s->host, rows->work, rows->works);
}

static void put_state(const struct agent_store *s, const struct rollup_rows *rows, FILE *out)
{
	hours_put_state(out, s->host, rows->state, rows->states);
}

typedef void put_table(const struct agent_store *s, const struct rollup_rows *rows, FILE *out);

/* The disk has it: under its name, a file is whole. */
static bool sync_folder(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const bool good = fd >= 0 && !fsync(fd);

	if (fd >= 0)
		close(fd);
	return good;
}

static bool write_part(const struct agent_store *s, const char *part, put_table *put,
		       const struct rollup_rows *rows)
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
	put(s, rows, out);
	good = !fflush(out) && !ferror(out) && !fsync(fd);
	error = errno ? errno : EIO;
	if (fclose(out) && good) {
		good = false;
		error = errno;
	}
	errno = error;
	return good;
}

/* Make the folder @p path ends with; what is above it is there. */
static bool make_folder(const char *path)
{
	return !mkdir(path, 0755) || errno == EEXIST;
}

/* The host's folder and the day's below @p under, in @p path; what is missing is made. */
static bool make_folders(const struct agent_store *s, const char *under, char *path,
			 const struct tm *t)
{
	if (!path_of(path, "%s%s", s->folder, under) || (*under && !make_folder(path)) ||
	    !path_of(path, "%s%s/host=%s", s->folder, under, s->host) || !make_folder(path))
		return false;
	return path_of(path, "%s%s/host=%s/day=%04d-%02d-%02d", s->folder, under, s->host,
		       t->tm_year + 1900, t->tm_mon + 1, t->tm_mday) &&
	       make_folder(path);
}

/* Where a file goes: below which folder, and how its name begins; its name has the time, too. */
struct place {
	const char *under, *begin;
	uint64_t time_s;
	int64_t ns; /* -1: not in the name */
};

static bool write_file(const struct agent_store *s, const struct place *place, put_table *put,
		       const struct rollup_rows *rows, char *why, size_t room)
{
	char folder[PATH], path[PATH], part[PATH] = "", end[16] = "";
	const time_t seconds = (time_t)place->time_s;
	struct tm t;

	gmtime_r(&seconds, &t);
	errno = 0;
	if (!make_folders(s, place->under, folder, &t)) {
		snprintf(why, room, "%s: %s", folder, strerror(errno));
		return false;
	}
	if (place->ns >= 0)
		snprintf(end, sizeof(end), "-%09u", (unsigned)place->ns);
	if (!path_of(path, "%s/%s%02d%02d%02d%s.parquet", folder, place->begin, t.tm_hour, t.tm_min,
		     t.tm_sec, end) ||
	    !path_of(part, "%s.tmp", path) || !write_part(s, part, put, rows) ||
	    rename(part, path)) {
		snprintf(why, room, "%s: %s", part, strerror(errno));
		unlink(part);
		return false;
	}
	sync_folder(folder);
	return true;
}

/* ---- the bound on bytes ---- */

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
	GW_GROW(all->file, &all->room, all->count + 1);
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

/* The day's folder and the file's name, of paths of whatever folder. */
static const char *dated(const char *path)
{
	const char *end = strrchr(path, '/');

	while (end > path && end[-1] != '/')
		end--;
	return end;
}

static int by_time(const void *a, const void *b)
{
	return strcmp(dated(((const struct old *)a)->path), dated(((const struct old *)b)->path));
}

/* Paths sort by time; samples go before the hours of their day. */
static void remove_oldest(const struct agent_store *s)
{
	struct found all = {0};
	char path[PATH];

	if (path_of(path, "%s/host=%s", s->folder, s->host))
		each_in(path, &all, look_into);
	if (path_of(path, "%s" HOURS "/host=%s", s->folder, s->host))
		each_in(path, &all, look_into);
	if (all.count)
		qsort(all.file, all.count, sizeof(*all.file), by_time);
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

/* ---- as a whole ---- */

/* Files of all rows of @p rows; as often as it is called under the same name. */
static bool write_hours(const struct agent_store *s, const struct rollup_rows *rows, char *why,
			size_t room)
{
	/* The day is that of the rows, the time the one from which on they were kept. */
	const uint64_t first = rows->works ? rows->work[0].time_s : rows->state[0].time_s;
	const uint64_t begin = s->rollup.begin_s;
	struct place place = {HOURS, "work-", begin > first ? begin : first, -1};

	if (rows->works && !write_file(s, &place, put_work, rows, why, room))
		return false;
	place.begin = "state-";
	return !rows->states || write_file(s, &place, put_state, rows, why, room);
}

static void append(void *to, const void *a, size_t as, const void *b, size_t bs, size_t size)
{
	if (as)
		memcpy(to, a, as * size);
	if (bs)
		memcpy((char *)to + as * size, b, bs * size);
}

/* The hours of this day so far; those of the day before end with it. */
static bool write_day(struct agent_store *s, char *why, size_t room)
{
	struct agent_rollup *r = &s->rollup;
	const uint64_t day = 86400;
	struct rollup_rows all = {0};
	bool good;

	if (r->closed.works + r->closed.states) {
		const uint64_t first =
			r->closed.works ? r->closed.work[0].time_s : r->closed.state[0].time_s;

		if (first / day != r->hour_s / day) {
			if (!write_hours(s, &r->closed, why, room))
				return false;
			rollup_forget(r);
		}
	}
	all.works = r->closed.works + r->now.works;
	all.states = r->closed.states + r->now.states;
	if (!all.works && !all.states)
		return true;
	all.work = gw_alloc(all.works * sizeof(*all.work));
	all.state = gw_alloc(all.states * sizeof(*all.state));
	append(all.work, r->closed.work, r->closed.works, r->now.work, r->now.works,
	       sizeof(*all.work));
	append(all.state, r->closed.state, r->closed.states, r->now.state, r->now.states,
	       sizeof(*all.state));
	good = write_hours(s, &all, why, room);
	free(all.work);
	free(all.state);
	return good;
}

bool agent_store_write(struct agent_store *s, char *why, size_t room)
{
	if (s->rows) {
		const struct place place = {"", "", s->row[0].time / 1000000000,
					    (int64_t)(s->row[0].time % 1000000000)};

		if (!write_file(s, &place, put_samples, NULL, why, room))
			return false;
		forget(s);
	}
	if (!write_day(s, why, room))
		return false;
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
	rollup_free(&s->rollup);
	free(s->text);
	free(s->place);
	free(s->row);
	free(s->folder);
	free(s->host);
	free(s);
}
