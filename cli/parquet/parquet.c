/* The file: pages as row groups fill up, then what describes them (parquet.thrift). */
#include "cli/parquet/parquet.h"

#include "cli/common/memory.h"
#include "cli/message.h"
#include "cli/parquet/column.h"

#include <stdlib.h>
#include <string.h>

#ifdef GW_HAVE_ZSTD
#include <zstd.h>
enum { LEVEL = 1 };
#endif

/* Numbers of parquet.thrift. */
enum {
	INT64 = 2,
	DOUBLE = 5,
	BYTE_ARRAY = 6,
	OPTIONAL = 1,
	UTF8 = 0,
	UNCOMPRESSED = 0,
	ZSTD = 6,
	DATA_PAGE = 0,
	DICTIONARY_PAGE = 2,
};

static const char magic[] = "PAR1";

struct parquet {
	const struct parquet_column *names;
	struct pq_column **columns;
	size_t count;
	parquet_sink *sink;
	void *arg;
	uint32_t rows; /* of the row group */
	uint64_t offset, all_rows;
	struct pq_bytes groups; /* the descriptions of the row groups, one after another */
	size_t group_count;
#ifdef GW_HAVE_ZSTD
	ZSTD_CCtx *zstd;
#endif
};

static void put(struct parquet *p, const void *data, size_t size)
{
	p->sink(p->arg, data, size);
	p->offset += size;
}

struct parquet *parquet_begin(const struct parquet_column *columns, size_t count,
			      parquet_sink *sink, void *arg)
{
	struct parquet *p = gw_alloc(sizeof(*p));

	*p = (struct parquet){.names = columns, .count = count, .sink = sink, .arg = arg};
	p->columns = gw_alloc(count * sizeof(struct pq_column *));
	for (size_t i = 0; i < count; i++) {
		p->columns[i] = gw_alloc_raw(sizeof(struct pq_column));
		memset(p->columns[i], 0, offsetof(struct pq_column, values));
		p->columns[i]->type = columns[i].type;
	}
#ifdef GW_HAVE_ZSTD
	p->zstd = ZSTD_createCCtx();
#endif
	put(p, magic, strlen(magic));
	return p;
}

/* A page's body as it is written. */
static void compress(struct parquet *p, const struct pq_bytes *from, struct pq_bytes *to)
{
#ifdef GW_HAVE_ZSTD
	size_t most = ZSTD_compressBound(from->length), size;

	size = ZSTD_compressCCtx(p->zstd, pq_extend(to, most), most, from->data, from->length,
				 LEVEL);
	if (ZSTD_isError(size)) { /* it has room, so memory has run out */
		gw_error("%s", ZSTD_getErrorName(size));
		exit(2);
	}
	to->length = size;
#else
	(void)p;
	pq_put(to, from->data, from->length);
#endif
}

/* What a column takes in the file. */
struct extent {
	uint64_t dictionary, data; /* offsets; 0: there is none */
	uint64_t raw, packed;      /* bytes, with headers */
};

static void put_page(struct parquet *p, const struct pq_bytes *body, bool dictionary,
		     uint32_t values, int encoding, struct extent *extent)
{
	struct pq_bytes head = {0}, packed = {0};
	struct thrift t = {.out = &head}, page;

	compress(p, body, &packed);
	thrift_i32(&t, 1, dictionary ? DICTIONARY_PAGE : DATA_PAGE);
	thrift_i32(&t, 2, (int32_t)body->length);
	thrift_i32(&t, 3, (int32_t)packed.length);
	page = thrift_struct(&t, dictionary ? 7 : 5);
	thrift_i32(&page, 1, (int32_t)values);
	thrift_i32(&page, 2, encoding);
	if (!dictionary) {
		thrift_i32(&page, 3, PQ_RLE);
		thrift_i32(&page, 4, PQ_RLE);
	}
	thrift_end(&page);
	thrift_end(&t);
	*(dictionary ? &extent->dictionary : &extent->data) = p->offset;
	put(p, head.data, head.length);
	put(p, packed.data, packed.length);
	extent->raw += head.length + body->length;
	extent->packed += head.length + packed.length;
	free(head.data);
	free(packed.data);
}

static int32_t physical(enum parquet_type type)
{
	return type == PARQUET_TEXT ? BYTE_ARRAY : type == PARQUET_DOUBLE ? DOUBLE : INT64;
}

static void describe_statistics(struct thrift *t, const struct pq_pages *pages, uint32_t nulls)
{
	struct thrift s = thrift_struct(t, 12);

	thrift_i64(&s, 3, nulls);
	if (pages->bounded) {
		thrift_binary(&s, 5, pages->most.data, pages->most.length);
		thrift_binary(&s, 6, pages->least.data, pages->least.length);
	}
	thrift_end(&s);
}

static void describe(struct thrift *chunk, const struct parquet_column *column,
		     const struct pq_pages *pages, uint32_t rows, uint32_t nulls,
		     const struct extent *extent)
{
	const int32_t encodings[] = {PQ_RLE, pages->encoding, PQ_PLAIN};
	struct thrift t;

	thrift_i64(chunk, 2, (int64_t)(extent->dictionary ? extent->dictionary : extent->data));
	t = thrift_struct(chunk, 3);
	thrift_i32(&t, 1, physical(column->type));
	thrift_i32_list(&t, 2, encodings, extent->dictionary ? 3 : 2);
	thrift_text_list(&t, 3, column->name);
#ifdef GW_HAVE_ZSTD
	thrift_i32(&t, 4, ZSTD);
#else
	thrift_i32(&t, 4, UNCOMPRESSED);
#endif
	thrift_i64(&t, 5, rows);
	thrift_i64(&t, 6, (int64_t)extent->raw);
	thrift_i64(&t, 7, (int64_t)extent->packed);
	thrift_i64(&t, 9, (int64_t)extent->data);
	if (extent->dictionary)
		thrift_i64(&t, 11, (int64_t)extent->dictionary);
	describe_statistics(&t, pages, nulls);
	thrift_end(&t);
	thrift_end(chunk);
}

static void free_pages(struct pq_pages *pages)
{
	free(pages->dictionary.data);
	free(pages->data.data);
	free(pages->least.data);
	free(pages->most.data);
}

static void put_column(struct parquet *p, size_t number, struct thrift *group, uint64_t *raw,
		       uint64_t *packed)
{
	struct pq_pages pages = {0};
	struct extent extent = {0};
	struct thrift chunk = thrift_element(group);
	uint32_t nulls = p->columns[number]->rows - p->columns[number]->known;

	pq_column_pages(p->columns[number], &pages);
	if (pages.entries)
		put_page(p, &pages.dictionary, true, pages.entries, PQ_PLAIN, &extent);
	put_page(p, &pages.data, false, p->rows, pages.encoding, &extent);
	describe(&chunk, &p->names[number], &pages, p->rows, nulls, &extent);
	*raw += extent.raw;
	*packed += extent.packed;
	free_pages(&pages);
}

static void put_group(struct parquet *p)
{
	struct thrift t = {.out = &p->groups};
	const uint64_t from = p->offset;
	uint64_t raw = 0, packed = 0;

	if (!p->rows)
		return;
	thrift_list(&t, 1, p->count);
	for (size_t i = 0; i < p->count; i++)
		put_column(p, i, &t, &raw, &packed);
	thrift_i64(&t, 2, (int64_t)raw);
	thrift_i64(&t, 3, p->rows);
	thrift_i64(&t, 5, (int64_t)from);
	thrift_i64(&t, 6, (int64_t)packed);
	thrift_end(&t);
	p->group_count++;
	p->all_rows += p->rows;
	p->rows = 0;
}

void parquet_row(struct parquet *p, const struct parquet_value *values)
{
	for (size_t i = 0; i < p->count; i++)
		pq_column_add(p->columns[i], &values[i]);
	if (++p->rows == PARQUET_GROUP)
		put_group(p);
}

static void describe_type(struct thrift *t, enum parquet_type type)
{
	struct thrift logical, time, unit, nanos;

	if (type == PARQUET_TEXT)
		thrift_i32(t, 6, UTF8);
	if (type != PARQUET_TEXT && type != PARQUET_TIME)
		return;
	logical = thrift_struct(t, 10);
	time = thrift_struct(&logical, type == PARQUET_TEXT ? 1 : 8);
	if (type == PARQUET_TIME) {
		thrift_bool(&time, 1, true);
		unit = thrift_struct(&time, 2);
		nanos = thrift_struct(&unit, 3);
		thrift_end(&nanos);
		thrift_end(&unit);
	}
	thrift_end(&time);
	thrift_end(&logical);
}

static void describe_schema(const struct parquet *p, struct thrift *t)
{
	struct thrift e;

	thrift_list(t, 2, p->count + 1);
	e = thrift_element(t);
	thrift_text(&e, 4, "schema");
	thrift_i32(&e, 5, (int32_t)p->count);
	thrift_end(&e);
	for (size_t i = 0; i < p->count; i++) {
		e = thrift_element(t);
		thrift_i32(&e, 1, physical(p->names[i].type));
		thrift_i32(&e, 3, OPTIONAL);
		thrift_text(&e, 4, p->names[i].name);
		describe_type(&e, p->names[i].type);
		thrift_end(&e);
	}
}

/* Least and most are by the order of the type. */
static void describe_orders(const struct parquet *p, struct thrift *t)
{
	thrift_list(t, 7, p->count);
	for (size_t i = 0; i < p->count; i++) {
		struct thrift order = thrift_element(t), by_type = thrift_struct(&order, 1);

		thrift_end(&by_type);
		thrift_end(&order);
	}
}

static void put_footer(struct parquet *p, const char *writer)
{
	struct pq_bytes footer = {0};
	struct thrift t = {.out = &footer};

	thrift_i32(&t, 1, 2);
	describe_schema(p, &t);
	thrift_i64(&t, 3, (int64_t)p->all_rows);
	thrift_list(&t, 4, p->group_count);
	pq_put(&footer, p->groups.data, p->groups.length);
	thrift_text(&t, 6, writer);
	describe_orders(p, &t);
	thrift_end(&t);
	pq_little(&footer, footer.length, 4);
	pq_put(&footer, magic, strlen(magic));
	put(p, footer.data, footer.length);
	free(footer.data);
}

void parquet_end(struct parquet *p, const char *writer)
{
	put_group(p);
	put_footer(p, writer);
	for (size_t i = 0; i < p->count; i++) {
		pq_column_free(p->columns[i]);
		free(p->columns[i]);
	}
#ifdef GW_HAVE_ZSTD
	ZSTD_freeCCtx(p->zstd);
#endif
	free(p->columns);
	free(p->groups.data);
	free(p);
}
