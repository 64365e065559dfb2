#include "cli/report/runs.h"

#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/log/folder.h"
#include "cli/message.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void add(struct gw_report_logs *logs, const char *path, bool in_folder)
{
	struct log_identity id;

	log_identify(&id, path);
	for (size_t i = 0; i < logs->count; i++) {
		if (!log_identity_same(&id, &logs->log[i]))
			continue;
		if (!strcmp(path, logs->log[i].path))
			gw_warning("report: %s is given twice; it counts once", path);
		else
			gw_warning("report: %s and %s are the same log; it counts once",
				   logs->log[i].path, path);
		log_identity_free(&id);
		return;
	}
	GW_GROW(logs->log, &logs->room, logs->count + 1);
	GW_GROW(logs->in_folder, &logs->flag_room, logs->count + 1);
	logs->log[logs->count] = id;
	logs->in_folder[logs->count++] = in_folder;
}

/* An operand, and where its logs go. */
struct operand {
	struct gw_report_logs *logs;
	const char *path;
};

static bool add_of(void *arg, const char *path)
{
	const struct operand *o = arg;

	add(o->logs, path, strcmp(path, o->path) != 0);
	return true;
}

int gw_report_logs_add(struct gw_report_logs *logs, const char *path)
{
	return gw_log_each(path, add_of, &(struct operand){logs, path});
}

static void drop(struct gw_report_logs *logs, size_t i)
{
	log_identity_free(&logs->log[i]);
	logs->count--;
	memmove(&logs->log[i], &logs->log[i + 1], (logs->count - i) * sizeof(*logs->log));
	memmove(&logs->in_folder[i], &logs->in_folder[i + 1],
		(logs->count - i) * sizeof(*logs->in_folder));
}

/* Files that are not logs are of no run: they stay, and reading them says what they are. */
void gw_report_logs_last(struct gw_report_logs *logs)
{
	struct log_span *spans = gw_alloc((logs->count + 1) * sizeof(*spans));
	bool *last = gw_alloc((logs->count + 1) * sizeof(*last));
	size_t count = 0;
	unsigned runs;

	for (size_t i = 0; i < logs->count; i++)
		if (logs->log[i].known)
			spans[count++] = (struct log_span){logs->log[i].from, logs->log[i].to,
							   logs->log[i].command, 0};
	runs = log_runs(spans, count);
	count = 0;
	for (size_t i = 0; i < logs->count; i++)
		last[i] = !logs->log[i].known || spans[count++].run + 1 == runs;
	for (size_t i = logs->count; i-- > 0;)
		if (!last[i])
			drop(logs, i);
	free(last);
	free(spans);
}

int gw_report_logs_find(struct gw_report_logs *logs)
{
	const char *out = getenv("GPUWATCH_OUT");
	char **paths;
	size_t count = log_find(out, &paths);
	struct stat st;

	for (size_t i = 0; i < count; i++) {
		if (!stat(paths[i], &st) && S_ISREG(st.st_mode))
			add(logs, paths[i], true);
		free(paths[i]);
	}
	free(paths);
	for (size_t i = logs->count; i-- > 0;)
		if (!logs->log[i].known)
			drop(logs, i);
	gw_report_logs_last(logs);
	if (!logs->count)
		return gw_error("report: missing log file argument, and no log is named %s; run "
				"a program first: gpuwatch run -- ./app",
				out && *out ? out : "gpuwatch.*.gwl here");
	if (logs->count == 1)
		gw_note("report: the last run: %s", logs->log[0].path);
	else
		gw_note("report: the last run: %s and %zu more", logs->log[0].path,
			logs->count - 1);
	return 0;
}

void gw_report_logs_free(struct gw_report_logs *logs)
{
	for (size_t i = 0; i < logs->count; i++)
		log_identity_free(&logs->log[i]);
	free(logs->log);
	free(logs->in_folder);
}

/* From the first that a log knows of to the last. */
static struct log_span span_of(const struct gw_file *f)
{
	struct log_span s = {.from = f->header.start_ns, .command = f->text[GW_TEXT_command]};

	if (!s.from || (f->first_ns && f->first_ns < s.from))
		s.from = f->first_ns;
	s.to = f->until_ns > f->last_ns ? f->until_ns : f->last_ns;
	if (s.to < s.from)
		s.to = s.from;
	return s;
}

size_t gw_report_runs(const struct gw_log_model *m, struct gw_span *all)
{
	struct log_span *spans = gw_alloc((m->file_count + 1) * sizeof(*spans));
	size_t count = 0, runs;

	*all = (struct gw_span){0};
	for (size_t i = 0; i < m->file_count; i++) {
		if (m->files[i].skipped)
			continue;
		spans[count] = span_of(&m->files[i]);
		if (!spans[count].from)
			continue;
		if (!all->from || spans[count].from < all->from)
			all->from = spans[count].from;
		if (spans[count].to > all->to)
			all->to = spans[count].to;
		count++;
	}
	runs = log_runs(spans, count);
	free(spans);
	return runs;
}
