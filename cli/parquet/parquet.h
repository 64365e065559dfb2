/*
 * Writes one Apache Parquet file, front to back, in bounded memory: flat columns that may be null,
 * row groups of PARQUET_GROUP rows, a page for each column of one. Values are coded by a dictionary
 * where few are different, else plainly, and packed by zstd where gpuwatch is built with it.
 * Differences of neighbours would save a fifth of a file, but not every reader gets them right
 * (fastparquet: none of 25 bits or more).
 */
#ifndef GW_CLI_PARQUET_H
#define GW_CLI_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PARQUET_GROUP = 1 << 17 }; /**< rows in memory at a time */

enum parquet_type {
	PARQUET_COUNT,  /**< INT64, from 0 to INT64_MAX; larger values are written as null */
	PARQUET_TIME,   /**< TIMESTAMP, ns since 1970, UTC; larger values the same */
	PARQUET_DOUBLE, /**< DOUBLE; NaN is written as null */
	PARQUET_TEXT,   /**< STRING; bytes that are not UTF-8 become U+FFFD */
};

struct parquet_column {
	const char *name;
	enum parquet_type type;
};

/** A value, by its column's type. */
struct parquet_value {
	bool known; /**< false: null */
	uint64_t count;
	double real;
	const char *text; /**< stays where it is, and the same, until parquet_end() */
};

/** Takes @p size bytes that come next in the file. */
typedef void parquet_sink(void *arg, const void *data, size_t size);

struct parquet;

/** A table of @p count @p columns, which live as long as it does, written to @p sink. */
struct parquet *parquet_begin(const struct parquet_column *columns, size_t count,
			      parquet_sink *sink, void *arg);
/** Add a row: a value for each column. */
void parquet_row(struct parquet *table, const struct parquet_value *values);
/** Write what is left and the footer, which names @p writer as what made the file; free @p table.
 */
void parquet_end(struct parquet *table, const char *writer);

#endif
