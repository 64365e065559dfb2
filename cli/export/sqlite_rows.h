/*
 * Rows on their way into a table of SQLite, many by one statement: they are the rows of a virtual
 * table, which exists on this connection alone. A statement a row takes twice the time.
 */
#ifndef GW_EXPORT_SQLITE_ROWS_H
#define GW_EXPORT_SQLITE_ROWS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum { SQLITE_ROWS = 512 }; /**< rows by one statement */

/** Zero-initialised is closed. */
struct sqlite_rows {
	unsigned columns;
	const bool *reals; /**< by column: the 64 bits are a double */
	unsigned count;    /**< rows waiting */
	uint64_t *values;  /**< by row and column */
	bool *known;       /**< the same; false: NULL */
	sqlite3_stmt *insert;
};

/**
 * Prepare @p rows, which stay where they are, as a virtual table called @p name, of @p columns
 * columns c0, c1 and so on; @p insert is a statement that inserts a SELECT from it. SQLite's code.
 */
int sqlite_rows_open(struct sqlite_rows *rows, sqlite3 *db, const char *name, unsigned columns,
		     const bool *reals, const char *insert);
/** Number of the first value of a new row, all of them NULL; there is room for one. */
unsigned sqlite_rows_add(struct sqlite_rows *rows);
/** Whether sqlite_rows_write() must come before the next row. */
bool sqlite_rows_full(const struct sqlite_rows *rows);
/** Put the rows that wait into the table; SQLite's code. */
int sqlite_rows_write(struct sqlite_rows *rows);
void sqlite_rows_close(struct sqlite_rows *rows);

#endif
