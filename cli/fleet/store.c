#include "cli/fleet/store.h"

#include "cli/agent/store/hours.h"
#include "cli/agent/store/store.h"
#include "cli/common/memory.h"
#include "cli/message.h"
#include "cli/parquet/parquet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH = 4200, DEPTH = 12, FOOTER_MOST = 16 << 20, DAY = 86400 };

const char *const fleet_table_names[FLEET_TABLES] = {"work", "state", "samples", "launches"};

/* ---- a file's ends ---- */

static bool read_at(int fd, void *to, size_t size, off_t at)
{
	size_t got = 0;
	ssize_t n;

	while (got < size && (n = pread(fd, (char *)to + got, size - got, at + (off_t)got)) > 0)
		got += (size_t)n;
	return got == size;
}

static bool has(const char *footer, size_t size, const char *column)
{
	return memmem(footer, size, column, strlen(column)) != NULL;
}

/* Columns that only one of the tables has say which it is; the engine checks the rest. */
static bool table_of(const char *footer, size_t size, enum fleet_table *table)
{
	if (has(footer, size, "time_s") && has(footer, size, "expected_s"))
		*table = FLEET_WORK;
	else if (has(footer, size, "time_s") && has(footer, size, "metric"))
		*table = FLEET_STATE;
	else if (has(footer, size, "pci_bus_id") && has(footer, size, "metric"))
		*table = FLEET_SAMPLES;
	else if (has(footer, size, "duration_ns") && has(footer, size, "mangled"))
		*table = FLEET_LAUNCHES;
	else
		return false;
	return true;
}

static const char *look_at_footer(int fd, uint64_t size, enum fleet_table *table)
{
	unsigned char end[8];
	char begin[4], *footer;
	uint64_t length = 0;
	bool known, got;

	if (!read_at(fd, begin, sizeof(begin), 0) || memcmp(begin, "PAR1", 4) != 0)
		return "no Parquet file";
	if (size < 12 || !read_at(fd, end, sizeof(end), (off_t)(size - 8)) ||
	    memcmp(end + 4, "PAR1", 4) != 0)
		return "its end is missing";
	for (unsigned i = 0; i < 4; i++)
		length |= (uint64_t)end[i] << 8 * i;
	if (length > size - 12 || length > FOOTER_MOST)
		return "its footer is damaged";
	footer = gw_alloc(length);
	got = read_at(fd, footer, length, (off_t)(size - 8 - length));
	known = got && table_of(footer, length, table);
	free(footer);
	return known ? "" : got ? "no table of gpuwatch that a question reads" : "can't be read";
}

static void check(struct fleet_file *f)
{
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0) {
		snprintf(f->why, sizeof(f->why), "%s", strerror(errno));
		return;
	}
	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		snprintf(f->why, sizeof(f->why), "no regular file");
	else
		snprintf(f->why, sizeof(f->why), "%s",
			 look_at_footer(fd, (uint64_t)st.st_size, &f->table));
	close(fd);
}

/* ---- folders ---- */

struct walk {
	struct fleet_store *store;
	const struct fleet_span *span;
	char *host, *uuid, *model, *build;
};

static char *copy(const char *text)
{
	return text ? gw_copy(text) : NULL;
}

static bool ends_with(const char *text, const char *end)
{
	const size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

static void add(struct walk *w, const char *path)
{
	struct fleet_store *s = w->store;
	struct fleet_file *f;
	const bool part = ends_with(path, ".parquet.tmp");

	if (!part && !ends_with(path, ".parquet"))
		return;
	GW_GROW(s->file, &s->room, s->files + 1);
	f = &s->file[s->files++];
	f->path = gw_copy(path);
	if (part)
		snprintf(f->why, sizeof(f->why),
			 "half of a file: an agent writes it, or was killed");
	else
		check(f);
	if (*f->why)
		return;
	f->host = copy(w->host);
	f->uuid = copy(w->uuid);
	f->model = copy(w->model);
	f->build = copy(w->build);
	s->used[f->table]++;
}

/* Whether a folder day=2026-11-26 can have something of the span. */
static bool day_within(const char *name, const struct fleet_span *span)
{
	struct tm t = {0};
	uint64_t begin;
	const char *end = strncmp(name, "day=", 4) != 0 ? NULL : strptime(name + 4, "%Y-%m-%d", &t);

	if (!end || *end)
		return true;
	begin = (uint64_t)timegm(&t);
	/* An agent that writes seldom puts hours of the next day to those before. */
	return begin + 2 * DAY > span->since_s && begin < span->until_s;
}

static char **key_of(struct walk *w, const char *name, const char **value)
{
	const struct {
		const char *name;
		char **place;
	} keys[] = {{"host=", &w->host},
		    {"uuid=", &w->uuid},
		    {"model=", &w->model},
		    {"build=", &w->build}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (!strncmp(name, keys[i].name, strlen(keys[i].name))) {
			*value = name + strlen(keys[i].name);
			return keys[i].place;
		}
	return NULL;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static bool walk_folder(struct walk *w, const char *folder, unsigned depth);

static void walk_entry(struct walk *w, const char *folder, const struct dirent *e, unsigned depth)
{
	const char *value = NULL;
	char path[PATH], *before, **key;
	struct stat st;

	if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
	    snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) >= (int)sizeof(path))
		return;
	if (e->d_type == DT_REG) {
		add(w, path);
		return;
	}
	/* A link to a folder may lead back here. */
	if (lstat(path, &st) || !S_ISDIR(st.st_mode)) {
		add(w, path);
		return;
	}
	if (!depth || !day_within(e->d_name, w->span))
		return;
	key = key_of(w, e->d_name, &value);
	before = key ? *key : NULL;
	if (key)
		*key = gw_copy(value);
	walk_folder(w, path, depth - 1);
	if (key) {
		free(*key);
		*key = before;
	}
}

static bool walk_folder(struct walk *w, const char *folder, unsigned depth)
{
	struct dirent **entry;
	const int count = scandir(folder, &entry, NULL, by_name);

	if (count < 0)
		return false;
	for (int i = 0; i < count; i++) {
		walk_entry(w, folder, entry[i], depth);
		free(entry[i]);
	}
	free(entry);
	return true;
}

/* ---- samples beside hours ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The host's and the day's folder, of which the tables of hours hold what the samples do. */
static char *dated_of(const char *path)
{
	const char *end = strrchr(path, '/'), *host = NULL;
	char *out;

	/* The last one: the store's own path may have such names, too. */
	for (const char *at = path; (at = strstr(at, "/host=")) && at < end; at++)
		host = at;
	if (!host)
		return NULL;
	out = gw_copy(host);
	out[end - host] = 0;
	return out;
}

static void leave_samples(struct fleet_store *s)
{
	char **there = gw_alloc(s->files * sizeof(*there));
	size_t count = 0;

	for (size_t i = 0; i < s->files; i++)
		if (!*s->file[i].why &&
		    (s->file[i].table == FLEET_WORK || s->file[i].table == FLEET_STATE) &&
		    (there[count] = dated_of(s->file[i].path)))
			count++;
	qsort(there, count, sizeof(*there), by_text);
	for (size_t i = 0; i < s->files; i++) {
		struct fleet_file *f = &s->file[i];
		char *dated = *f->why || f->table != FLEET_SAMPLES ? NULL : dated_of(f->path);

		if (dated && bsearch(&dated, there, count, sizeof(*there), by_text)) {
			s->used[FLEET_SAMPLES]--;
			free(f->path);
			free(f->host);
			*f = (struct fleet_file){0};
		}
		free(dated);
	}
	for (size_t i = 0; i < count; i++)
		free(there[i]);
	free(there);
}

bool fleet_store_find(struct fleet_store *s, const char *path, const struct fleet_span *span)
{
	struct walk w = {.store = s, .span = span};
	size_t used = 0;

	if (!walk_folder(&w, path, DEPTH)) {
		gw_error("fleet: %s: %s; name the folder that agents write to (gpuwatch agent "
			 "--store)",
			 path, strerror(errno));
		return false;
	}
	leave_samples(s);
	for (int t = 0; t < FLEET_TABLES; t++)
		used += s->used[t];
	if (!used)
		gw_error("fleet: %s: no Parquet file of gpuwatch is there%s; gpuwatch agent "
			 "--store=%s writes them",
			 path, s->files ? " that can be read" : "", path);
	return used != 0;
}

/* ---- links ---- */

static const struct parquet_column launch_columns[] = {
#define TYPE_COUNT                       PARQUET_COUNT
#define TYPE_TIME                        PARQUET_TIME
#define TYPE_REAL                        PARQUET_DOUBLE
#define TYPE_TEXT                        PARQUET_TEXT
#define COLUMN(name, kind, known, value) {#name, TYPE_##kind},
#include "cli/export/row.def"
#undef COLUMN
};

static void take(void *out, const void *data, size_t size)
{
	fwrite(data, 1, size, out);
}

/* A file without rows has all columns, with their types, where others lack some, or there is none.
 */
static void put_none(FILE *out, enum fleet_table table)
{
	if (table == FLEET_WORK)
		hours_put_work(out, "", NULL, 0);
	else if (table == FLEET_STATE)
		hours_put_state(out, "", NULL, 0);
	else if (table == FLEET_SAMPLES)
		agent_store_put_none(out);
	else
		parquet_end(parquet_begin(launch_columns,
					  sizeof(launch_columns) / sizeof(*launch_columns), take,
					  out),
			    "gpuwatch version " GW_VERSION);
}

/* What paths tell, by the numbers of files. */
static void put_paths(FILE *out, const struct fleet_store *s)
{
	static const struct parquet_column columns[] = {{"file", PARQUET_COUNT},
							{"path_host", PARQUET_TEXT},
							{"path_uuid", PARQUET_TEXT},
							{"path_model", PARQUET_TEXT},
							{"path_build", PARQUET_TEXT}};
	struct parquet *table = parquet_begin(columns, 5, take, out);

	for (size_t i = 0; i < s->files; i++) {
		const struct fleet_file *f = &s->file[i];
		const struct parquet_value row[] = {{.known = true, .count = i + 1},
						    {.known = f->host, .text = f->host},
						    {.known = f->uuid, .text = f->uuid},
						    {.known = f->model, .text = f->model},
						    {.known = f->build, .text = f->build}};

		if (f->path && !*f->why)
			parquet_row(table, row);
	}
	parquet_end(table, "gpuwatch version " GW_VERSION);
}

static bool link_file(struct fleet_store *s, size_t number)
{
	const struct fleet_file *f = &s->file[number];
	char path[PATH], *real;
	bool good;

	snprintf(path, sizeof(path), "%s/%s/%zu.parquet", s->folder, fleet_table_names[f->table],
		 number + 1);
	real = realpath(f->path, NULL);
	good = real && !symlink(real, path);
	free(real);
	return good;
}

static FILE *open_in(const struct fleet_store *s, const char *name)
{
	char path[PATH];

	snprintf(path, sizeof(path), "%s/%s", s->folder, name);
	return fopen(path, "w");
}

static bool make_links(struct fleet_store *s)
{
	char name[64];
	FILE *out;

	for (int t = 0; t < FLEET_TABLES; t++) {
		char path[PATH];

		snprintf(path, sizeof(path), "%s/%s", s->folder, fleet_table_names[t]);
		snprintf(name, sizeof(name), "%s/0.parquet", fleet_table_names[t]);
		if (mkdir(path, 0700) || !(out = open_in(s, name)))
			return false;
		put_none(out, (enum fleet_table)t);
		if (fclose(out))
			return false;
	}
	if (!(out = open_in(s, "paths.parquet")))
		return false;
	put_paths(out, s);
	if (fclose(out))
		return false;
	for (size_t i = 0; i < s->files; i++)
		if (s->file[i].path && !*s->file[i].why && !link_file(s, i))
			return false;
	return true;
}

bool fleet_store_link(struct fleet_store *s)
{
	const char *in = getenv("TMPDIR");

	in = in && *in == '/' && strlen(in) < 1024 ? in : "/tmp";
	snprintf(s->folder, sizeof(s->folder), "%s/gpuwatch-fleet.XXXXXX", in);
	if (!mkdtemp(s->folder)) {
		gw_error("fleet: %s: %s; set TMPDIR to a folder with room", s->folder,
			 strerror(errno));
		s->folder[0] = 0;
		return false;
	}
	if (make_links(s))
		return true;
	gw_error("fleet: %s: %s; set TMPDIR to a folder with room", s->folder, strerror(errno));
	return false;
}

struct fleet_file *fleet_store_of(struct fleet_store *s, const char *link)
{
	const char *name = strrchr(link, '/');
	const size_t number = name ? strtoul(name + 1, NULL, 10) : 0;

	return number && number <= s->files ? &s->file[number - 1] : NULL;
}

/* A folder of ours, and all that is in it. */
static void remove_all(const char *folder, unsigned depth)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	char path[PATH];

	while (d && (e = readdir(d))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", folder, e->d_name) < (int)sizeof(path) &&
		    unlink(path) && depth)
			remove_all(path, depth - 1);
	}
	if (d)
		closedir(d);
	rmdir(folder);
}

void fleet_store_unlink(struct fleet_store *s)
{
	if (*s->folder)
		remove_all(s->folder, DEPTH);
	s->folder[0] = 0;
}

void fleet_store_free(struct fleet_store *s)
{
	fleet_store_unlink(s);
	for (size_t i = 0; i < s->files; i++) {
		free(s->file[i].path);
		free(s->file[i].host);
		free(s->file[i].uuid);
		free(s->file[i].model);
		free(s->file[i].build);
	}
	free(s->file);
	*s = (struct fleet_store){0};
}
