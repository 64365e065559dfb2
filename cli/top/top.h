/* gpuwatch top: its parts. */
#ifndef GW_TOP_H
#define GW_TOP_H

#include "cli/top/collect.h"
#include "cli/top/model.h"

/** What to show, and how often to look. */
struct top_view {
	struct top_source *source;
	struct top_model *model;
	struct top_choice choice;
	double interval_s;
	uint64_t rows; /**< show so many kernels; 0: all, or as many as the screen has room for */
};

/** Print a snapshot as text, and as JSON. */
void top_text(const struct top_view *view);
void top_json(const struct top_view *view);

/**
 * Show it on the terminal until the user ends it. The exit status, after a message where the
 * terminal can't be used or gpuwatch was built without ncurses.
 */
int top_live(struct top_view *view, const char *filter);

#endif
