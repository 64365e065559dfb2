#include "cli/log/find.h"

#include "cli/common/memory.h"
#include "cli/log/reader.h"
#include "cli/log/source.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Between the end of a process and the start of another command of the same run, ns. */
#define PAUSE_MOST UINT64_C(60000000000)

static bool header(void *arg, const struct gw_log_record *record)
{
	struct log_identity *id = arg;
	const struct gw_record_header *h = (const void *)record->head;

	if (record->head->kind != GW_RECORD_HEADER)
		return false;
	id->known = true;
	id->pid = h->pid;
	id->from = h->start_ns;
	id->host = gw_copy(gw_log_value(record, "host"));
	id->command = gw_copy(gw_log_value(record, "command"));
	id->replay = gw_copy(gw_log_value(record, "replay"));
	id->part = gw_copy(gw_log_value(record, "part"));
	return false;
}

void log_identify(struct log_identity *id, const char *path)
{
	struct gw_log_status status;
	struct stat st;

	*id = (struct log_identity){.path = gw_copy(path)};
	if (gw_log_source_is_once(path) || stat(path, &st))
		return;
	id->stated = true;
	id->file = st.st_ino;
	id->folder = st.st_dev;
	gw_log_read(path, header, id, &status);
	id->to = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec;
	if (id->to < id->from)
		id->to = id->from;
}

void log_identity_free(struct log_identity *id)
{
	free(id->path);
	free(id->host);
	free(id->command);
	free(id->replay);
	free(id->part);
}

bool log_identity_same(const struct log_identity *a, const struct log_identity *b)
{
	if (a->stated && b->stated && a->file == b->file && a->folder == b->folder)
		return true;
	return a->known && b->known && a->pid == b->pid && a->from == b->from &&
	       !strcmp(a->host, b->host) && !strcmp(a->command, b->command) &&
	       !strcmp(a->replay, b->replay) && !strcmp(a->part, b->part);
}

static int by_start(const void *x, const void *y)
{
	const struct log_span *const *a = x, *const *b = y;

	if ((*a)->from != (*b)->from)
		return (*a)->from < (*b)->from ? -1 : 1;
	return (*a > *b) - (*a < *b);
}

/* Whether the command of @p span is one of those between @p first and @p end. */
static bool again(const struct log_span *span, struct log_span *const *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(first[i]->command, span->command))
			return true;
	return false;
}

unsigned log_runs(struct log_span *spans, size_t count)
{
	struct log_span **order = gw_alloc((count + 1) * sizeof(*order));
	size_t first = 0;
	uint64_t end = 0;
	unsigned run = 0;

	for (size_t i = 0; i < count; i++)
		order[i] = &spans[i];
	qsort(order, count, sizeof(*order), by_start);
	for (size_t i = 0; i < count; i++) {
		struct log_span *s = order[i];

		if (i && s->from > end &&
		    (s->from - end > PAUSE_MOST || again(s, order + first, i - first))) {
			run++;
			first = i;
		}
		s->run = run;
		if (s->to > end)
			end = s->to;
	}
	free(order);
	return count ? run + 1 : 0;
}

/* A pattern of glob(3) for the names that @p pattern can stand for. */
static char *to_glob(const char *pattern)
{
	char *out = gw_alloc(2 * strlen(pattern) + 2), *to = out;

	for (const char *p = pattern; *p; p++) {
		if (*p == '%' && p[1]) {
			p++;
			if (*p == 'q' && strchr(p, '}'))
				p = strchr(p, '}');
			*to++ = *p == '%' ? '%' : '*';
			continue;
		}
		if (strchr("*?[\\", *p))
			*to++ = '\\';
		*to++ = *p;
	}
	*to++ = '*'; /* .1, .2 where the name was taken; .zst */
	return out;
}

/* The library takes the same name for a folder (absolute() in preload/runtime/options.c). */
static char *in_folder(const char *pattern)
{
	size_t length = strlen(pattern), size = length + sizeof("/" LOG_DEFAULT_NAME);
	bool slash = pattern[length - 1] == '/';
	char *name = gw_alloc(size);
	struct stat st;

	snprintf(name, size, "%s", pattern);
	if (slash || (!stat(pattern, &st) && S_ISDIR(st.st_mode)))
		strcpy(name + length - slash, "/" LOG_DEFAULT_NAME);
	return name;
}

size_t log_find(const char *pattern, char ***paths)
{
	char *name = pattern && *pattern ? in_folder(pattern) : gw_copy(LOG_DEFAULT_NAME);
	char *wild = to_glob(name);
	glob_t found;
	size_t count = 0;

	*paths = NULL;
	if (!glob(wild, 0, NULL, &found)) {
		*paths = gw_alloc((found.gl_pathc + 1) * sizeof(**paths));
		for (; count < found.gl_pathc; count++)
			(*paths)[count] = gw_copy(found.gl_pathv[count]);
		globfree(&found);
	}
	free(wild);
	free(name);
	return count;
}
