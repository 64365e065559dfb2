/*
 * A text table: aligned columns that fit a width. One column may be elastic: its cells are
 * shortened, those that differ to texts that differ (common/kernel_name.h). Other columns leave,
 * least important first, when there is no room.
 */
#ifndef GW_TABLE_H
#define GW_TABLE_H

#include <stdbool.h>
#include <stdio.h>

/** A column. */
struct gw_table_column {
	const char *title;
	bool right;   /**< align right, as numbers are */
	bool elastic; /**< takes the room that is left; at most one column */
	int priority; /**< 0 always stays; of the others the highest leaves first. A negative one
			 does when the elastic column would have too little otherwise. */
};

struct gw_table;

/** A table with @p count columns, copied; NULL without memory. Free with gw_table_free. */
struct gw_table *gw_table_new(const struct gw_table_column *columns, unsigned count);
void gw_table_free(struct gw_table *table);

/** The next cell, row by row, copied and made printable. */
void gw_table_cell(struct gw_table *table, const char *text);
/** The same as printf() makes it, of at most 511 bytes. */
void gw_table_cellf(struct gw_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** Leave out, without counting them, columns in which every cell is "" or "-". */
void gw_table_drop_empty(struct gw_table *table);

/**
 * Print within @p width columns, 0 for no limit, each line after @p indent spaces. Returns
 * how many columns had to leave.
 */
unsigned gw_table_print(const struct gw_table *table, FILE *out, unsigned width, unsigned indent);

/** Print on stdout, in its width, and free @p table. */
void gw_table_show(struct gw_table *table, unsigned indent);

/** Shorten @p text (UTF-8) in its middle to @p columns columns; the caller frees the result. */
char *gw_shorten(const char *text, size_t columns);

#endif
