/* The live view: what it shows, and what keys do to it. */
#ifndef GW_TOP_LIVE_H
#define GW_TOP_LIVE_H

#include "cli/top/top.h"

enum { TOP_FILTER_MOST = 200 };

enum top_page { TOP_PAGE_LIST, TOP_PAGE_KERNEL, TOP_PAGE_HELP };

struct top_screen {
	struct top_view *view;
	enum top_page page;
	bool paused, editing, ended;
	struct top_row **rows;  /* those shown, in order */
	size_t count, ordered;  /* of them the first are in order */
	size_t selected, first; /* positions in rows: marked, and at the top of the screen */
	size_t room;            /* kernels that the screen has room for, as drawn last */
	struct top_row *row;    /* the marked one; NULL: none */
	char filter[TOP_FILTER_MOST], edit[TOP_FILTER_MOST];
	regex_t regex;       /* of filter, where that is not "" */
	const char *message; /* on the last line, until the next key; NULL: none */
};

/** Choose the rows anew: after a snapshot, another order or filter. The marked row stays marked. */
void top_screen_choose(struct top_screen *screen);

/** Do what @p key asks for. */
void top_screen_do(struct top_screen *screen, int key);

/** Use @p text as filter; false: it is no regular expression. */
bool top_screen_filter(struct top_screen *screen, const char *text);

/** Draw the page that is shown. */
void top_screen_draw(struct top_screen *screen);

/** Draw the histograms of the marked kernel. */
void top_screen_draw_kernel(const struct top_screen *screen);

#endif
