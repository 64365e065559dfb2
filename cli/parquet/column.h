/* The values of one column in one row group, on their way into pages. */
#ifndef GW_PARQUET_COLUMN_H
#define GW_PARQUET_COLUMN_H

#include "cli/common/index.h"
#include "cli/parquet/bytes.h"
#include "cli/parquet/parquet.h"

/** A text of a dictionary. */
struct pq_text {
	char *utf8;
	size_t length;
};

/** A text by where it lies: the position of what it says. */
struct pq_place {
	const char *text;
	uint32_t position;
};

struct pq_column {
	enum parquet_type type;
	uint32_t rows, known;  /**< rows, and those with a value */
	struct pq_text *texts; /**< different ones, in order of appearance */
	size_t text_count, text_room;
	struct gw_index by_text;
	struct pq_place *places;
	size_t place_count, place_room;
	struct gw_index by_place;
	struct pq_place last;           /**< the text before */
	uint64_t values[PARQUET_GROUP]; /**< the known ones, as they are written; positions in texts
					   of PARQUET_TEXT */
	uint32_t levels[PARQUET_GROUP]; /**< by row: 1 where the value is known, else 0 */
};

/** The pages of a column: their bodies, not packed yet. */
struct pq_pages {
	struct pq_bytes dictionary, data;
	uint32_t entries; /**< of the dictionary; 0: there is none */
	int encoding;     /**< of the data page's values */
	bool bounded;     /**< least and most are set */
	struct pq_bytes least, most;
};

enum { PQ_PLAIN = 0, PQ_RLE = 3, PQ_DICTIONARY = 8 }; /**< encodings' numbers */

void pq_column_add(struct pq_column *column, const struct parquet_value *value);
/** Fill @p pages, which are empty, with what @p column has; it is empty then. */
void pq_column_pages(struct pq_column *column, struct pq_pages *pages);
void pq_column_free(struct pq_column *column);

#endif
