/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of a table in SQLite's file format (https://sqlite.org/fileformat2.html), written as pages
 * of its b-tree. Rows of numbers come in the order of their rowid, so that each page is written
 * once: by statements they take five times the time.
 */
#ifndef GW_EXPORT_SQLITE_ROWS_H
#define GW_EXPORT_SQLITE_ROWS_H

#include "cli/export/export.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SQLITE_PAGE = 4096, SQLITE_COLUMNS = 32 }; /**< bytes of a page; most columns of a table */

/** Pages appended to a database that no one has open. */
struct sqlite_pages {
	struct export_out *out; /**< is where page @p next comes */
	uint32_t next;          /**< number of the next page; the first of a file is 1 */
};

/** A page of the tree, and the largest rowid in it. */
struct sqlite_child {
	uint32_t page;
	uint64_t last;
};

/** A table. Zero-initialised but for the first three is empty. */
struct sqlite_rows {
	struct sqlite_pages *pages;
	unsigned columns;
	const bool *reals; /**< by column: its 64 bits are a double */
	/** The row that sqlite_rows_add() takes, by column; not known: NULL. */
	uint64_t values[SQLITE_COLUMNS];
	bool known[SQLITE_COLUMNS];
	unsigned char
	        page[SQLITE_PAGE]; /**< the leaf being filled; after sqlite_rows_end() the root */
	unsigned cells, free_end;  /**< of it: rows, and where they begin; 0: none yet */
	uint64_t last;             /**< rowid of the last row */
	struct sqlite_child *children; /**< pages written that have no parent yet */
	size_t count, room;
};

/** Add a row with @p rowid, which is greater than those before and below 2^56. */
void sqlite_rows_add(struct sqlite_rows *rows, uint64_t rowid);
/** Write what is left, but for the root, which is then in @p rows->page. */
void sqlite_rows_end(struct sqlite_rows *rows);
void sqlite_rows_free(struct sqlite_rows *rows);

#endif
