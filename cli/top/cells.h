/* The lists of gpuwatch top as lines of text: for --once, and for the screen. */
#ifndef GW_TOP_CELLS_H
#define GW_TOP_CELLS_H

#include "cli/top/model.h"

#include <stdio.h>

enum top_column {
#define KERNEL(id, title, width, priority, meaning) TOP_COLUMN_##id,
#include "cli/top/columns.def"
#undef KERNEL
	TOP_COLUMNS
};

enum { TOP_COLUMNS_MOST = 16, TOP_LINE_MOST = 2048 /* bytes */ };

/** A column where it is. */
struct top_place {
	bool shown;
	unsigned at, width; /**< terminal columns */
};

/** Which columns of a list fit. */
struct top_layout {
	struct top_place place[TOP_COLUMNS_MOST];
	unsigned width;
};

/** Title and meaning of a column of the list of kernels. */
const char *top_column_title(enum top_column column);
const char *top_column_meaning(enum top_column column);

/** Lay out the list of kernels in @p width columns, for what @p model has. */
void top_layout_kernels(struct top_layout *layout, const struct top_model *model, unsigned width);
void top_layout_processes(struct top_layout *layout, unsigned width);

/**
 * A list as text: its head, and @p count lines of at most layout->width columns. free() it, and
 * each line. The lines of kernels are those of @p rows.
 */
char **top_kernel_lines(const struct top_layout *layout, const struct top_model *model,
			struct top_row *const *rows, size_t count);
/** All processes with their GPUs; @p lines: how many, with the head. The text of those from @p most
 * on is NULL. */
char **top_process_lines(const struct top_layout *layout, const struct top_model *model,
			 size_t most, size_t *lines);
void top_lines_free(char **lines, size_t count);

/** One line on all of it: processes, GPUs, runs. */
void top_summary(const struct top_model *model, char *out, size_t size);
/** "memory 61%  compute 20%": GPU time by what bounds it. */
void top_bounds(const struct top_model *model, char *out, size_t size);

/**
 * Copy @p text to @p out, of @p size bytes: what takes one column as it is, the rest byte by byte
 * as \xHH: control characters, wide and combining ones, what is not UTF-8, and all beyond ASCII
 * where the terminal has no UTF-8. Returns @p out.
 */
char *top_visible(char *out, size_t size, const char *text);

/** Bytes of the first @p columns columns of @p text, in which a character takes one. */
size_t top_clip(const char *text, size_t columns);

/** The last part of a path. */
const char *top_base_name(const char *path);

/** Totals' mode as the option names it; "-" where it is not known. */
const char *top_mode_name(const struct top_process *process);

/** What is wrong with a process or holds down a GPU; "" for nothing. */
void top_remark(const struct top_process *process, const struct top_device *device, char *out,
		size_t size);

#endif
