#include "cli/agent/store/hours.h"

#include "cli/parquet/parquet.h"
#include "predictor/core/hash.h"
#include "predictor/core/types.h"

#include <string.h>

#define WRITER "gpuwatch version " GW_VERSION

#define TYPE_COUNT PARQUET_COUNT
#define TYPE_REAL  PARQUET_DOUBLE
#define TYPE_TEXT  PARQUET_TEXT

#define TABLE(name, meaning)                      static const struct parquet_column name##_columns[] = {
#define COLUMN(name, kind, known, value, meaning) {#name, TYPE_##kind},
#define TABLE_END(name) \
	} \
	;
#include "cli/agent/store/work.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END

#define SET_COUNT(v, value) (v)->count = (value)
#define SET_REAL(v, value)  (v)->real = (value)
#define SET_TEXT(v, value)  (v)->text = (value)

/* Numbers are grouped and joined several times faster than names. */
static uint64_t hours_number(const char *name, const char *more)
{
	return gw_hash(gw_hash(1, name, strlen(name)), more, strlen(more)) >> 1;
}

static void take(void *out, const void *data, size_t size)
{
	fwrite(data, 1, size, out);
}

#define TABLE(name, meaning) \
	void hours_put_##name(FILE *out, const char *host, const struct hours_##name *rows, \
			      size_t count) \
	{ \
		enum { COLUMNS = sizeof(name##_columns) / sizeof(*name##_columns) }; \
		struct parquet *table = parquet_begin(name##_columns, COLUMNS, take, out); \
												   \
		for (const struct hours_##name *r = rows; r < rows + count; r++) { \
			struct parquet_value values[COLUMNS], *v = values;
#define COLUMN(name, kind, is_known, value, meaning) \
	*v = (struct parquet_value){.known = (is_known)}; \
	if (v->known) \
		SET_##kind(v, value); \
	v++;
#define TABLE_END(name) \
	parquet_row(table, values); \
	} \
	parquet_end(table, WRITER); \
	}
#include "cli/agent/store/work.def"
#undef TABLE
#undef COLUMN
#undef TABLE_END
