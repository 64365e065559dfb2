#include "cli/top/collect.h"

#include "cli/common/memory.h"
#include "cli/live/file.h"
#include "cli/live/folders.h"
#include "cli/live/guard.h"
#include "cli/live/tables.h"
#include "predictor/log/record.h"
#include "cli/top/graphs.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	TRIES_MOST = 10,   /* snapshots in which a segment may be in the making */
	OWNER_EVERY = 8,   /* snapshots after which a process is looked at more closely */
	FOLDERS_EVERY = 8, /* looks after which folders are searched for again */
	/* Whoever may write in a folder can make more of these: */
	SEGMENTS_MOST = 4096, /* that are followed */
	ENTRIES_MOST = 16384, /* of a folder that are looked at */
	FOLDERS_MOST = 1024,
};

struct folder {
	char *path;
	struct timespec changed; /* when, at the last look; 0: it was not there */
	unsigned looks;          /* since it was seen to have changed */
	unsigned left;           /* segments that find no room, at the last look */
};

/* A segment's file. */
struct segment {
	char *path;
	const char *name; /* in the path: process, when that began, when the segment was made */
	unsigned pid;
	uid_t user; /* whose the file is, -1: unknown */
	unsigned long long start, ticks;
	unsigned tries;  /* to open it; TRIES_MOST: no more */
	unsigned turn;   /* snapshots since its owner was looked at */
	bool there;      /* its folder has it */
	bool met;        /* it was read, or is what a process left that had ended before */
	bool replaced;   /* its process has made another since: it has run another program */
	bool open, over; /* mapped; its process has ended, or it can't be read any more */
	bool exited;     /* that says so: */
	int process;     /* a descriptor of it (pidfd); -1: none */
	struct gw_live_file file;
	struct gw_live_head head; /* of the file, as it was mapped */
	uint32_t *sequence;       /* of each configuration when it was read last */
	size_t sequences;
};

struct top_source {
	uint32_t pid;
	bool defaults; /* folders are where segments are by default: new ones may come */
	unsigned looks;
	uint64_t missed;
	struct folder *folder;
	size_t folders, folder_room;
	struct segment **segment;
	size_t segments, segment_room;
	struct pollfd *exits; /* of segments with a descriptor, in order */
	size_t exit_room;
	char why[256]; /* of the last one that can't be read */
};

uint64_t top_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* ---- folders ---- */

static void add_folder(void *arg, const char *path)
{
	struct top_source *s = arg;

	struct folder *gone = NULL;

	for (size_t i = 0; i < s->folders; i++) {
		struct folder *f = &s->folder[i];

		if (!strcmp(f->path, path))
			return;
		/* The first, this user's own, may come yet. */
		if (i && f->looks && !f->changed.tv_sec && !f->changed.tv_nsec)
			gone = f;
	}
	if (gone) {
		free(gone->path);
		*gone = (struct folder){.path = gw_copy(path)};
		return;
	}
	if (s->folders == FOLDERS_MOST)
		return;
	s->folder = gw_grow(s->folder, &s->folder_room, s->folders + 1, sizeof(*s->folder));
	s->folder[s->folders++].path = gw_copy(path);
}

struct top_source *top_source_new(const struct gw_words *folders, uint32_t pid)
{
	struct top_source *s = gw_alloc(sizeof(*s));

	s->pid = pid;
	for (size_t i = 0; i < folders->count; i++)
		add_folder(s, folders->word[i]);
	s->defaults = !folders->count;
	if (s->defaults)
		gw_live_folders(add_folder, s);
	return s;
}

const char *top_source_folder(const struct top_source *s, unsigned at)
{
	return at < s->folders ? s->folder[at].path : NULL;
}

unsigned top_source_refused(const struct top_source *s, const char **why)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->segments; i++)
		n += s->segment[i]->tries && s->segment[i]->there && !s->segment[i]->over;
	for (size_t i = 0; i < s->folders; i++)
		n += s->folder[i].left;
	*why = s->why;
	return n;
}

/* ---- segments ---- */

static void close_segment(struct segment *g)
{
	if (g->open)
		gw_live_unmap(&g->file);
	if (g->process >= 0)
		close(g->process);
	free(g->sequence);
	g->sequence = NULL;
	g->sequences = 0;
	g->process = -1;
	g->open = false;
}

static void segment_free(struct segment *g)
{
	close_segment(g);
	free(g->path);
	free(g);
}

void top_source_free(struct top_source *s)
{
	for (size_t i = 0; i < s->segments; i++)
		segment_free(s->segment[i]);
	for (size_t i = 0; i < s->folders; i++)
		free(s->folder[i].path);
	free(s->segment);
	free(s->exits);
	free(s->folder);
	free(s);
}

/* False: there is no room for it. */
static bool meet(struct top_source *s, const char *folder, const char *name)
{
	unsigned long long start, ticks;
	struct segment *g;
	struct stat st;
	char path[8400];
	unsigned pid, own = 0;
	uid_t user;

	if (!gw_live_named(name, NULL) || sscanf(name, "%u-%llu-%llu", &pid, &start, &ticks) != 3 ||
	    (s->pid && pid != s->pid))
		return true;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i]->ticks == ticks && !strcmp(s->segment[i]->path, path)) {
			s->segment[i]->there = true;
			return true;
		}
	user = lstat(path, &st) ? (uid_t)-1 : st.st_uid;
	for (size_t i = 0; i < s->segments; i++)
		own += s->segment[i]->user == user;
	/* Another user's files leave half of the room. */
	if (s->segments == SEGMENTS_MOST || (own >= SEGMENTS_MOST / 2 && user != geteuid())) {
		snprintf(s->why, sizeof(s->why), "there are more than %d", (int)s->segments);
		return false;
	}
	g = gw_alloc(sizeof(*g));
	g->path = gw_copy(path);
	g->name = g->path + strlen(folder) + 1;
	g->pid = pid;
	g->user = user;
	g->start = start;
	g->ticks = ticks;
	g->there = true;
	g->process = -1;
	s->segment = gw_grow(s->segment, &s->segment_room, s->segments + 1, sizeof(*s->segment));
	s->segment[s->segments++] = g;
	return true;
}

static bool in_folder(const struct segment *g, const struct folder *f)
{
	const size_t n = strlen(f->path);

	return !strncmp(g->path, f->path, n) && g->name == g->path + n + 1;
}

/* Look what @p f has, unless nothing can have changed in it: false. What changes within a tick of
 * the kernel's clock after a look is seen at the next. */
static bool look(struct top_source *s, struct folder *f)
{
	struct stat st;
	struct dirent *e;
	DIR *d;

	if (stat(f->path, &st))
		memset(&st, 0, sizeof(st));
	if (st.st_mtim.tv_sec != f->changed.tv_sec || st.st_mtim.tv_nsec != f->changed.tv_nsec)
		f->looks = 0;
	if (f->looks++ > 1 && !f->left)
		return false;
	d = opendir(f->path);
	/* Nothing is known of it then. */
	if (!d && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
		f->looks = 0;
		return false;
	}
	f->changed = st.st_mtim;
	f->left = 0;
	for (size_t i = 0; i < s->segments; i++)
		if (in_folder(s->segment[i], f))
			s->segment[i]->there = false;
	for (unsigned n = 0; d && n < ENTRIES_MOST && (e = readdir(d)); n++)
		f->left += !meet(s, f->path, e->d_name);
	if (d)
		closedir(d);
	return true;
}

static void find_replaced(struct top_source *s)
{
	for (size_t i = 0; i < s->segments; i++)
		for (size_t k = 0; k < s->segments; k++) {
			const struct segment *a = s->segment[i], *b = s->segment[k];

			/* Anybody may give a file the name of another user's process. */
			if (b->there && a->pid == b->pid && a->start == b->start &&
			    a->ticks < b->ticks && (a->user == b->user || !b->user))
				s->segment[i]->replaced = true;
		}
}

static void look_everywhere(struct top_source *s)
{
	bool changed = false;

	if (s->defaults && s->looks++ % FOLDERS_EVERY == FOLDERS_EVERY - 1)
		gw_live_folders(add_folder, s);
	for (size_t i = 0; i < s->folders; i++)
		changed |= look(s, &s->folder[i]);
	if (changed)
		find_replaced(s);
}

/* ---- what one segment has ---- */

struct reading {
	struct segment *segment;
	struct top_model *model;
	struct top_process *process;
	enum gw_live_owner owner;
	bool named; /* names are those of this snapshot */
	char *why;
	size_t room;
};

static void map(void *arg)
{
	struct reading *r = arg;

	r->segment->open = gw_live_map(&r->segment->file, r->segment->path, r->why, r->room) &&
			   gw_live_hold_head(&r->segment->file, &r->segment->head);
}

/* It is being made, or none of ours to read; or its process died over it. */
static void refuse(struct segment *g)
{
	bool gone = false;

	if (g->file.data)
		gw_live_unmap(&g->file);
	g->open = false;
	g->tries++;
	gw_live_named(g->name, &gone);
	g->over = gone;
}

/* Half of those that there may be are for other use. */
static bool to_spare(int descriptor)
{
	struct rlimit most;

	return getrlimit(RLIMIT_NOFILE, &most) || (rlim_t)descriptor < most.rlim_cur / 2;
}

/* Map it and see whose it is. What a killed process has left is not live, and not shown. */
static void open_segment(struct top_source *s, struct segment *g)
{
	struct reading r = {.segment = g, .why = s->why, .room = sizeof(s->why)};

	if (!gw_live_guarded(map, &r) || !g->open) {
		refuse(g);
		return;
	}
	/* Taken before its owner is looked at: a number that another process has since names
	 * nobody. */
	g->process = (int)syscall(SYS_pidfd_open, (pid_t)g->file.head->pid, 0);
	r.owner = gw_live_owner(&g->file);
	g->met = true;
	if (r.owner == GW_LIVE_UNOWNED || g->replaced) {
		close_segment(g);
		g->over = true;
		return;
	}
	if (g->process >= 0 && (r.owner == GW_LIVE_ELSEWHERE || !to_spare(g->process))) {
		close(g->process);
		g->process = -1;
	}
	g->tries = 0;
	g->sequences = g->file.head->configs.count;
	g->sequence = gw_alloc(g->sequences * sizeof(*g->sequence));
}

static const char *kernel_name(struct reading *r, uint32_t slot)
{
	static struct gw_live_names names;

	if (!slot)
		return NULL;
	if (!r->named)
		gw_live_names_of(&r->segment->file, &names);
	r->named = true;
	return gw_live_name(&r->segment->file, &names, slot);
}

static void read_config(struct reading *r, uint32_t at)
{
	const bool first = !r->segment->sequence[at], unnamed = top_config_unnamed(r->process, at);
	struct gw_live_config c;

	if (!(r->model->brief ? gw_live_config_brief : gw_live_config_at)(&r->segment->file, at,
									  &c))
		return;
	r->segment->sequence[at] = c.sequence;
	top_config_is(r->model, r->process, at, &c,
		      first || unnamed ? kernel_name(r, c.kernel) : NULL);
}

/* Returns how many are left: none. */
static uint32_t read_soon(struct reading *r, const uint32_t *soon, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		read_config(r, soon[i]);
	return 0;
}

/* Configurations that changed. They come by rising ids, so the table ends where entries do. Each is
 * on cache lines that its process wrote to: they are fetched while others are read. */
static void read_configs(struct reading *r)
{
	enum { AHEAD = 16 };
	const struct gw_live_file *f = &r->segment->file;
	const uint32_t count = (uint32_t)r->segment->sequences;
	const bool unnamed = r->process->unnamed;
	uint32_t soon[AHEAD], n = 0;

	for (uint32_t at = 0, free_ones = 0; at < count && free_ones < GW_LIVE_FREE_MOST; at++) {
		const uint32_t from = at;
		uint32_t sequence;

		if (!unnamed)
			at = gw_live_config_changed(f, at, r->segment->sequence, count);
		if (at == count)
			break;
		sequence = gw_live_config_sequence(f, at);
		free_ones = sequence ? 0 : at > from ? 1 : free_ones + 1;
		if (!sequence ||
		    (sequence == r->segment->sequence[at] && !top_config_unnamed(r->process, at)))
			continue;
		gw_live_config_soon(f, at);
		soon[n++] = at;
		if (n == AHEAD)
			n = read_soon(r, soon, n);
	}
	read_soon(r, soon, n);
}

static void read_tables(void *arg)
{
	struct reading *r = arg;
	struct gw_live_device d;
	struct gw_live_totals t = {0};
	struct gw_live_graph_time g;

	if (gw_live_totals_of(&r->segment->file, &t))
		top_totals_are(r->process, &t);
	/* Reading a page of the file for the first time takes memory, which is the process's. */
	for (uint32_t i = 0; t.counter[GW_COUNTER_graph_launches] &&
			     gw_live_graph_time_at(&r->segment->file, i, &g);
	     i++)
		top_graph_is(r->process, i, &g);
	r->process->switchable = gw_live_answer_of(&r->segment->file, &r->process->switched) &&
				 r->process->switched.sequence;
	read_configs(r);
	for (uint32_t i = 0; i < GW_LIVE_DEVICES; i++)
		if (gw_live_device_at(&r->segment->file, i, &d))
			top_device_is(r->process, i, &d);
}

/* Whether its process runs on. To ask what program it runs costs more, so that happens now and
 * then: it finds one that runs another without gpuwatch. */
static enum gw_live_owner owner_of(struct segment *g)
{
	if (g->process < 0)
		return gw_live_owner(&g->file);
	if (g->exited || (++g->turn % OWNER_EVERY == 0 && !gw_live_same_program(&g->file)))
		return GW_LIVE_UNOWNED;
	return GW_LIVE_OWNED;
}

/* Which processes have ended. */
static void find_exited(struct top_source *s)
{
	nfds_t n = 0;

	s->exits = gw_grow(s->exits, &s->exit_room, s->segments, sizeof(*s->exits));
	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i]->process >= 0)
			s->exits[n++] =
				(struct pollfd){.fd = s->segment[i]->process, .events = POLLIN};
	if (!n || poll(s->exits, n, 0) <= 0)
		return;
	n = 0;
	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i]->process >= 0)
			s->segment[i]->exited = s->exits[n++].revents & POLLIN;
}

/* Else what can't be read is a page for which a full file system has no room: what was read of the
 * others counts. */
static bool cut_short(const struct segment *g)
{
	struct stat st;

	return stat(g->path, &st) || st.st_size < (off_t)g->file.size;
}

static void read_segment(struct segment *g, struct top_model *m)
{
	struct reading r = {.segment = g, .model = m};

	/* Asked first: what it left behind is read once it has ended. */
	if (!g->over && g->there && !g->replaced)
		r.owner = owner_of(g);
	r.process = top_process_of(m, g->path, g->file.head->pid, g->file.head->exe);
	if (!g->over && !gw_live_guarded(read_tables, &r) && cut_short(g))
		r.owner = GW_LIVE_UNOWNED;
	if (r.owner == GW_LIVE_ELSEWHERE)
		r.process->state = TOP_ELSEWHERE;
	if (r.owner == GW_LIVE_UNOWNED)
		g->over = true;
	if (g->over)
		top_process_ended(m, r.process);
	top_process_end(m, r.process);
}

/* Whether the model has let go of it. */
static bool shown(const struct top_model *m, const struct segment *g)
{
	for (size_t i = 0; i < m->processes; i++)
		if (!strcmp(m->process[i]->id, g->path))
			return true;
	return false;
}

/* Those that are neither there nor shown any more; of those that are over the mapping. */
static void drop_gone(struct top_source *s, const struct top_model *m)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->segments; i++) {
		struct segment *g = s->segment[i];
		const bool seen = shown(m, g);

		if (g->over && !seen)
			close_segment(g);
		if (!g->there && !seen) {
			s->missed += !g->met && !g->replaced;
			segment_free(g);
		} else {
			s->segment[kept++] = g;
		}
	}
	s->segments = kept;
}

static void open_new(struct top_source *s)
{
	for (size_t i = 0; i < s->segments; i++) {
		struct segment *g = s->segment[i];

		if (!g->open && !g->over && g->there && g->tries < TRIES_MOST)
			open_segment(s, g);
	}
}

void top_source_look(struct top_source *s)
{
	look_everywhere(s);
	open_new(s);
}

bool top_source_has(const struct top_source *s, const char *name)
{
	for (size_t i = 0; i < s->segments; i++)
		if (!strcmp(s->segment[i]->name, name))
			return true;
	return false;
}

uint64_t top_source_missed(const struct top_source *s)
{
	return s->missed;
}

struct histograms {
	const struct gw_live_file *file;
	const struct top_row *row;
};

static void read_histograms(void *arg)
{
	const struct histograms *h = arg;
	struct top_process *p = h->row->process;
	struct gw_live_config c;

	for (size_t i = 0; i < p->configs; i++)
		if (p->brief[i].known && p->row[p->brief[i].row] == h->row && !p->brief[i].whole &&
		    gw_live_config_at(h->file, (uint32_t)i, &c))
			top_config_whole(p, i, &c);
}

void top_source_whole(struct top_source *s, const struct top_row *row)
{
	for (size_t i = 0; i < s->segments; i++) {
		struct histograms h = {&s->segment[i]->file, row};

		if (s->segment[i]->open && !strcmp(s->segment[i]->path, row->process->id))
			gw_live_guarded(read_histograms, &h);
	}
}

void top_collect(struct top_source *s, struct top_model *m)
{
	look_everywhere(s);
	top_begin(m, top_now());
	open_new(s);
	find_exited(s);
	for (size_t i = 0; i < s->segments; i++)
		if (s->segment[i]->open)
			read_segment(s->segment[i], m);
	top_end(m);
	drop_gone(s, m);
}
