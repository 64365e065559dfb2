#include "cli/agent/watch.h"

#include "cli/common/memory.h"
#include "cli/live/file.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

enum {
	FOLDERS = 64, /* that are watched; others are looked at in snapshots alone */
	PAUSE_MS = 20 /* between two looks at what came, however much comes */
};

struct agent_watch {
	int fd;              /* -1: there is no inotify; snapshots find what there is */
	int folder[FOLDERS]; /* by the source's number; 0: not watched yet */
	uint64_t missed;
};

struct agent_watch *agent_watch_new(void)
{
	struct agent_watch *w = gw_alloc(sizeof(*w));

	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	return w;
}

void agent_watch_free(struct agent_watch *w)
{
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

uint64_t agent_watch_missed(const struct agent_watch *w)
{
	return w->missed;
}

/* A folder may come later than the agent. */
static void watch_folders(struct agent_watch *w, const struct top_source *s)
{
	const char *path;

	for (unsigned i = 0; w->fd >= 0 && i < FOLDERS && (path = top_source_folder(s, i)); i++)
		if (w->folder[i] <= 0)
			w->folder[i] = inotify_add_watch(
				w->fd, path, IN_CREATE | IN_MOVED_TO | IN_DELETE | IN_ONLYDIR);
}

/* A folder that was removed is watched anew once it is there again. */
static void forget_folder(struct agent_watch *w, int which)
{
	for (int i = 0; i < FOLDERS; i++)
		if (w->folder[i] == which)
			w->folder[i] = 0;
}

static void take(struct agent_watch *w, const struct top_source *s)
{
	_Alignas(struct inotify_event) char text[8192];
	ssize_t n;

	while ((n = read(w->fd, text, sizeof(text))) > 0)
		for (char *at = text; at < text + n;) {
			const struct inotify_event *e = (const void *)at;

			at += sizeof(*e) + e->len;
			if (e->mask & IN_IGNORED)
				forget_folder(w, e->wd);
			if (!e->len || !gw_live_named(e->name, NULL))
				continue;
			if (e->mask & IN_DELETE && !top_source_has(s, e->name))
				w->missed++;
		}
}

void agent_watch_wait(struct agent_watch *w, struct top_source *s, uint64_t until_ns)
{
	uint64_t now;

	watch_folders(w, s);
	while ((now = top_now()) < until_ns) {
		struct pollfd p = {.fd = w->fd, .events = POLLIN};
		const int n = poll(&p, 1, (int)((until_ns - now) / 1000000) + 1);

		if (n < 0)
			return;
		if (!n)
			continue;
		top_source_look(s);
		take(w, s);
		poll(NULL, 0, PAUSE_MS);
	}
}
