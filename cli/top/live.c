/* The live view's loop: a snapshot, the screen, keys until it is time for the next one. */
#include "cli/top/live.h"

#include "cli/command.h"
#include "cli/top/screen.h"

#include <stdlib.h>

/* A kernel whose process the model has let go of is no more to be shown. */
static bool still_there(const struct top_screen *s)
{
	const struct top_model *m = s->view->model;

	for (size_t i = 0; i < m->processes; i++)
		for (size_t k = 0; k < m->process[i]->rows; k++)
			if (m->process[i]->row[k] == s->row)
				return true;
	return false;
}

static void snapshot(struct top_screen *s)
{
	top_collect(s->view->source, s->view->model);
	if (s->page == TOP_PAGE_KERNEL && !still_there(s)) {
		s->page = TOP_PAGE_LIST;
		s->message = "the process of that kernel has ended";
	}
	top_screen_choose(s);
}

static uint64_t after(uint64_t ns, double seconds)
{
	return ns + (uint64_t)(seconds * 1e9);
}

static void live(struct top_screen *s)
{
	uint64_t taken = 0;

	while (!s->ended) {
		const uint64_t now = top_now();
		int key;

		if (!taken || (!s->paused && now >= after(taken, s->view->interval_s))) {
			snapshot(s);
			taken = now;
		}
		if (s->page == TOP_PAGE_KERNEL)
			top_source_whole(s->view->source, s->row);
		top_screen_draw(s);
		key = top_screen_key(s->paused ? after(now, 3600)
					       : after(taken, s->view->interval_s));
		if (key == TOP_KEY_END)
			s->ended = true;
		else if (key != TOP_KEY_NONE)
			top_screen_do(s, key);
	}
}

int top_live(struct top_view *view, const char *filter)
{
	struct top_screen s = {.view = view};

	view->model->brief = true; /* all that a list shows */
	if (!top_screen_open())
		return GW_EXIT_USAGE;
	if (filter)
		top_screen_filter(&s, filter);
	live(&s);
	top_screen_close();
	top_screen_filter(&s, "");
	free(s.rows);
	return GW_EXIT_OK;
}
