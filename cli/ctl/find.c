#include "cli/ctl/ctl.h"

#include "cli/common/memory.h"
#include "predictor/log/record.h"
#include "cli/live/folders.h"
#include "cli/live/guard.h"
#include "cli/live/tables.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct look {
	const char *path;
	struct gw_live_file file;
	struct gw_live_head head;
	struct ctl_process *out;
	bool good;
};

static void look_at(void *arg)
{
	struct look *l = arg;
	struct gw_live_totals totals;
	char why[256];

	if (!gw_live_map(&l->file, l->path, why, sizeof(why)) ||
	    !gw_live_hold_head(&l->file, &l->head) || !gw_live_owned(&l->file))
		return;
	l->out->elsewhere = gw_live_owner(&l->file) == GW_LIVE_ELSEWHERE;
	l->good = gw_live_answer_of(&l->file, &l->out->state);
	if (gw_live_totals_of(&l->file, &totals) && totals.counters > GW_COUNTER_graph_launches)
		l->out->launches = totals.counter[GW_COUNTER_launches] +
				   totals.counter[GW_COUNTER_graph_launches];
}

static void meet(struct ctl_list *list, const char *path)
{
	struct ctl_process p = {0};
	struct look l = {.path = path, .out = &p};
	bool good = gw_live_guarded(look_at, &l) && l.good;

	gw_live_unmap(&l.file);
	if (!good)
		return;
	p.pid = l.head.pid;
	p.owner = l.file.user;
	snprintf(p.exe, sizeof(p.exe), "%s", l.head.exe);
	p.path = gw_copy(path);
	GW_GROW(list->process, &list->room, list->count + 1);
	list->process[list->count++] = p;
}

static void look_in(void *arg, const char *folder)
{
	struct ctl_list *list = arg;
	char path[8400];
	struct dirent *e;
	DIR *d = opendir(folder);

	while (d && (e = readdir(d))) {
		bool known = false;

		if (!gw_live_named(e->d_name, NULL))
			continue;
		snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
		for (size_t i = 0; i < list->count; i++)
			known |= !strcmp(list->process[i].path, path);
		if (!known)
			meet(list, path);
	}
	if (d)
		closedir(d);
}

static int by_pid(const void *x, const void *y)
{
	const struct ctl_process *a = x, *b = y;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

void ctl_find(struct ctl_list *list, const struct gw_words *folders)
{
	*list = (struct ctl_list){0};
	for (size_t i = 0; i < folders->count; i++)
		look_in(list, folders->word[i]);
	if (!folders->count)
		gw_live_folders(look_in, list);
	if (list->count)
		qsort(list->process, list->count, sizeof(*list->process), by_pid);
}

void ctl_free(struct ctl_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->process[i].path);
	free(list->process);
	*list = (struct ctl_list){0};
}
