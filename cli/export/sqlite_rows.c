#include "cli/export/sqlite_rows.h"

#include "cli/common/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The virtual table, and a place in it. */
struct table {
	sqlite3_vtab base;
	const struct sqlite_rows *rows;
};
struct place {
	sqlite3_vtab_cursor base;
	unsigned row;
};

static int connect(sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **out,
		   char **error)
{
	const struct sqlite_rows *rows = arg;
	struct table *table = sqlite3_malloc(sizeof(*table));
	char text[1024] = "CREATE TABLE x(c0";
	size_t length = strlen(text);

	(void)argc;
	(void)argv;
	(void)error;
	if (!table)
		return SQLITE_NOMEM;
	*table = (struct table){.rows = rows};
	for (unsigned i = 1; i < rows->columns; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, ",c%u", i);
	snprintf(text + length, sizeof(text) - length, ")");
	*out = &table->base;
	return sqlite3_declare_vtab(db, text);
}

static int disconnect(sqlite3_vtab *table)
{
	sqlite3_free(table);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	(void)table;
	info->estimatedCost = SQLITE_ROWS;
	return SQLITE_OK;
}

static int open_place(sqlite3_vtab *table, sqlite3_vtab_cursor **out)
{
	struct place *place = sqlite3_malloc(sizeof(*place));

	(void)table;
	if (!place)
		return SQLITE_NOMEM;
	*place = (struct place){0};
	*out = &place->base;
	return SQLITE_OK;
}

static int close_place(sqlite3_vtab_cursor *place)
{
	sqlite3_free(place);
	return SQLITE_OK;
}

static int first(sqlite3_vtab_cursor *place, int index, const char *name, int argc,
		 sqlite3_value **argv)
{
	(void)index;
	(void)name;
	(void)argc;
	(void)argv;
	((struct place *)place)->row = 0;
	return SQLITE_OK;
}

static int next(sqlite3_vtab_cursor *place)
{
	((struct place *)place)->row++;
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *place)
{
	return ((struct place *)place)->row >= ((struct table *)place->pVtab)->rows->count;
}

static int column(sqlite3_vtab_cursor *place, sqlite3_context *context, int number)
{
	const struct sqlite_rows *rows = ((struct table *)place->pVtab)->rows;
	size_t at = (size_t)((struct place *)place)->row * rows->columns + (unsigned)number;
	double real;

	if (!rows->known[at])
		return SQLITE_OK; /* NULL */
	if (rows->reals[number]) {
		memcpy(&real, &rows->values[at], sizeof(real));
		sqlite3_result_double(context, real);
	} else {
		sqlite3_result_int64(context, (int64_t)rows->values[at]);
	}
	return SQLITE_OK;
}

static int row_number(sqlite3_vtab_cursor *place, sqlite3_int64 *out)
{
	*out = ((struct place *)place)->row;
	return SQLITE_OK;
}

/* No xCreate: it is there without a statement that makes it. */
static sqlite3_module module = {.iVersion = 1,
				.xConnect = connect,
				.xBestIndex = best_index,
				.xDisconnect = disconnect,
				.xOpen = open_place,
				.xClose = close_place,
				.xFilter = first,
				.xNext = next,
				.xEof = at_end,
				.xColumn = column,
				.xRowid = row_number};

int sqlite_rows_open(struct sqlite_rows *r, sqlite3 *db, const char *name, unsigned columns,
		     const bool *reals, const char *insert)
{
	int result;

	*r = (struct sqlite_rows){.columns = columns, .reals = reals};
	r->values = gw_alloc((size_t)SQLITE_ROWS * columns * sizeof(*r->values));
	r->known = gw_alloc((size_t)SQLITE_ROWS * columns * sizeof(*r->known));
	result = sqlite3_create_module(db, name, &module, r);
	if (result != SQLITE_OK)
		return result;
	return sqlite3_prepare_v2(db, insert, -1, &r->insert, NULL);
}

unsigned sqlite_rows_add(struct sqlite_rows *r)
{
	unsigned at = r->count++ * r->columns;

	memset(&r->known[at], 0, r->columns * sizeof(*r->known));
	return at;
}

bool sqlite_rows_full(const struct sqlite_rows *r)
{
	return r->count == SQLITE_ROWS;
}

int sqlite_rows_write(struct sqlite_rows *r)
{
	int result;

	if (!r->count)
		return SQLITE_OK;
	sqlite3_step(r->insert);
	result = sqlite3_reset(r->insert);
	r->count = 0;
	return result;
}

void sqlite_rows_close(struct sqlite_rows *r)
{
	sqlite3_finalize(r->insert);
	free(r->values);
	free(r->known);
}
