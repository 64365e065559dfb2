/* The live segment that a log names. */
#include "cli/live/file.h"
#include "cli/log/reader.h"
#include "cli/log/source.h"
#include "cli/message.h"
#include "predictor/log/live.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct named {
	char path[4200], boot_id[64];
	uint32_t pid;
	bool header;
};

static bool name_of(void *arg, const struct gw_log_record *record)
{
	struct named *n = arg;

	if (record->head->kind == GW_RECORD_HEADER) {
		n->header = true;
		n->pid = ((const struct gw_record_header *)(const void *)record->head)->pid;
		snprintf(n->path, sizeof(n->path), "%s", gw_log_value(record, "segment"));
		snprintf(n->boot_id, sizeof(n->boot_id), "%s", gw_log_value(record, "boot_id"));
	}
	return false;
}

static bool until_end(void *arg, const struct gw_log_record *record)
{
	bool *ended = arg;

	*ended = record->head->kind == GW_RECORD_END;
	return !*ended;
}

/* Read to its end only where a segment that nobody owns is still there: of most logs none is. */
static bool complete(const char *path)
{
	struct gw_log_status status;
	bool ended = false;

	return !gw_log_read(path, until_end, &ended, &status) || ended;
}

/* The segment that names the log at @p path: its first block, which names the segment, is damaged.
 */
static bool find_by_log(struct gw_live_file *f, const char *path)
{
	char folder[4200], name[8400], why[256], *log = realpath(path, NULL);
	bool found = false;
	struct dirent *e;
	DIR *d;

	gw_live_folder(folder, sizeof(folder));
	d = log ? opendir(folder) : NULL;
	while (d && !found && (e = readdir(d))) {
		snprintf(name, sizeof(name), "%s/%s", folder, e->d_name);
		if (!gw_live_named(e->d_name, NULL) || !gw_live_open(f, name, why, sizeof(why)))
			continue;
		found = strcmp(gw_live_log_of(f), log) == 0;
		if (!found)
			gw_live_close(f);
	}
	if (d)
		closedir(d);
	free(log);
	return found;
}

/* The segment of a log, by its header or, where it has none, by the log's own name. */
static bool find(struct gw_live_file *f, const char *path, const struct named *n)
{
	char why[256];

	if (!n->header)
		return find_by_log(f, path);
	if (n->path[0] != '/' || !gw_live_open(f, n->path, why, sizeof(why)))
		return false;
	if (f->head->pid == n->pid && !strcmp(f->head->boot_id, n->boot_id))
		return true;
	gw_live_close(f);
	return false;
}

void gw_live_say_lost(const char *path, const struct gw_live_rest *rest)
{
	if (rest->lost)
		gw_warning("%s: %" PRIu64 " launches are lost: they waited where the live segment "
			   "does not reach",
			   path, rest->lost);
	if (rest->unlisted)
		gw_warning("%s: launches that waited in the rings of %u threads are lost and not "
			   "counted",
			   path, rest->unlisted);
}

static void say(const char *path, const struct gw_live_rest *rest)
{
	gw_live_say_lost(path, rest);
	gw_note("%s: %" PRIu64 " launches of its last %.3g ms come from the live segment", path,
		rest->launches, (double)rest->span_ns * 1e-6);
	if (rest->graphs)
		gw_note("%s: the kernels of %" PRIu64 " graph launches in it are not all known",
			path, rest->graphs);
}

bool gw_live_rest_of(const char *path, struct gw_live_rest *rest)
{
	struct gw_log_status status;
	struct gw_live_file f;
	struct named n = {0};
	char why[256];
	unsigned char *log;
	size_t size = 0;

	memset(rest, 0, sizeof(*rest));
	if (gw_log_source_is_once(path) || (!gw_log_read(path, name_of, &n, &status) && n.header) ||
	    status.compressed || !find(&f, path, &n))
		return false;
	log = gw_live_owned(&f) || (n.header && complete(path))
		      ? NULL
		      : gw_live_read_file(path, &size, why, sizeof(why));
	if (log)
		gw_live_add(&f, log, size, rest);
	free(log);
	gw_live_close(&f);
	if (log && (rest->launches || rest->graphs || rest->lost || rest->unlisted)) {
		say(path, rest);
		return true;
	}
	free(rest->log);
	memset(rest, 0, sizeof(*rest));
	return false;
}
