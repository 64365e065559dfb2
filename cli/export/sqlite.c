/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables that `nsys export --type=sqlite` writes for kernels, as far as a log has them, so that
 * its reports' queries run; predictions are in GPUWATCH_LAUNCH, every column of row.def, by the
 * same correlationId. Times are ns since the first log's start, as nsys counts from the session's.
 */
#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/export/export.h"
#include "cli/export/sqlite_rows.h"
#include "cli/message.h"

#include <endian.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL_COLUMNS                                                                             \
	"start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, "                \
	"contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, "          \
	"correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, "               \
	"shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, "                    \
	"cacheConfig INTEGER, registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, "       \
	"gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, "                \
	"blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, "  \
	"dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, "            \
	"localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, "                             \
	"sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER"
static const char schema[] =
        "PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE; PRAGMA journal_mode=OFF; "
        "PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; BEGIN;"
        "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
        "CREATE TABLE TARGET_INFO_GPU (id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, "
        "clockRate INTEGER, smCount INTEGER, uuid TEXT, cuDevice INTEGER, computeMajor INTEGER, "
        "computeMinor INTEGER);"
        "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER NOT NULL);"
        "CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (" KERNEL_COLUMNS ");"
        "CREATE TABLE GPUWATCH_CLOCK (gpu INTEGER NOT NULL, start INTEGER NOT NULL, sm_khz "
        "INTEGER, mem_khz INTEGER, temperature INTEGER, power_mw INTEGER);"
        "CREATE TABLE GPUWATCH_LAUNCH (correlationId INTEGER NOT NULL PRIMARY KEY"
#define SQL_COUNT                        "INTEGER"
#define SQL_TIME                         "INTEGER"
#define SQL_REAL                         "REAL"
#define SQL_TEXT                         "INTEGER"
#define COLUMN(name, kind, known, value) ", " #name " " SQL_##kind
#include "cli/export/row.def"
#undef COLUMN
        ");"
        "CREATE VIEW GPUWATCH_PREDICTION AS SELECT correlationId, predicted_ns, low_ns, high_ns, "
        "b.value AS basis, w.value AS work, d.value AS bound FROM GPUWATCH_LAUNCH "
        "LEFT JOIN StringIds b ON b.id = basis LEFT JOIN StringIds w ON w.id = work "
        "LEFT JOIN StringIds d ON d.id = bound WHERE predicted_ns IS NOT NULL;";
static const char small_tables[] =
        "PRAGMA whole.journal_mode=OFF; PRAGMA whole.synchronous=OFF; BEGIN;"
        "INSERT INTO whole.StringIds SELECT * FROM main.StringIds;"
        "INSERT INTO whole.TARGET_INFO_GPU SELECT * FROM main.TARGET_INFO_GPU;"
        "INSERT INTO whole.TARGET_INFO_SESSION_START_TIME "
        "SELECT * FROM main.TARGET_INFO_SESSION_START_TIME;"
        "INSERT INTO whole.PROCESSES SELECT * FROM main.PROCESSES;"
        "INSERT INTO whole.GPUWATCH_CLOCK SELECT * FROM main.GPUWATCH_CLOCK;"
        "COMMIT;";

/* One thread uses it. */
#define FLAGS (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX)

enum insert { STRING, GPU, SESSION, PROCESS, CLOCK, INSERTS };
static const char *const inserts[INSERTS] = {
        [STRING] = "INSERT INTO StringIds VALUES (?,?)",
        [GPU] = "INSERT INTO TARGET_INFO_GPU VALUES (?,?,?,?,?,?,?,?,?)",
        [SESSION] = "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)",
        [PROCESS] = "INSERT INTO PROCESSES VALUES (?,?,?)",
        [CLOCK] = "INSERT INTO GPUWATCH_CLOCK VALUES (?,?,?,?,?,?)",
};

/* What is of each launch: columns of the two large tables. */
enum { KERNEL_COLUMNS_COUNT = 28, LAUNCH_COLUMNS = 1 + EXPORT_COLUMNS };
static const bool kernel_reals[KERNEL_COLUMNS_COUNT];
static const bool launch_reals[LAUNCH_COLUMNS] = {
        false,
#define REAL_COUNT                       false
#define REAL_TIME                        false
#define REAL_TEXT                        false
#define REAL_REAL                        true
#define COLUMN(name, kind, known, value) REAL_##kind,
#include "cli/export/row.def"
#undef COLUMN
};

/* A text and its number in StringIds. Each lasts, where it lies, as long as the model or the
 * program. */
struct known {
	const char *text;
	int64_t id;
};

/*
 * Rows of the two large tables are appended as pages to a file that SQLite has made and closed.
 * What else there is waits in a temporary database, and is added to the file at the end.
 */
struct sqlite {
	sqlite3 *db; /* the temporary one */
	sqlite3_stmt *statements[INSERTS];
	struct sqlite_pages pages;
	struct sqlite_rows kernels, own; /* rows of CUPTI_ACTIVITY_KIND_KERNEL, GPUWATCH_LAUNCH */
	uint32_t kernels_root, own_root; /* pages */
	uint64_t kernel_count;
	struct gw_index texts;
	struct known *list;
	size_t count, room;
	struct gw_index places; /* of texts met, by where they lie */
	struct known *met;
	size_t met_count, met_room;
	int64_t launches;
	int failed; /* SQLite's code of the first failure */
	char why[200];
};

static bool good(struct sqlite *s, int result)
{
	if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW && !s->failed) {
		s->failed = result;
		snprintf(s->why, sizeof(s->why), "%s", sqlite3_errmsg(s->db));
	}
	return !s->failed;
}

/* Bind from number @p at on. */
static void bind(struct sqlite *s, enum insert insert, int at, bool known, uint64_t value)
{
	sqlite3_stmt *to = s->statements[insert];

	good(s, known ? sqlite3_bind_int64(to, at, (int64_t)value) : sqlite3_bind_null(to, at));
}

static void bind_text(struct sqlite *s, enum insert insert, int at, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	good(s, sqlite3_bind_text(s->statements[insert], at, utf8, -1, SQLITE_TRANSIENT));
	free(utf8);
}

static void step(struct export *e, enum insert insert)
{
	struct sqlite *s = e->state;

	if (s->failed)
		return;
	good(s, sqlite3_step(s->statements[insert]));
	good(s, sqlite3_reset(s->statements[insert]));
	if (s->failed)
		e->out->error = -1; /* ends the reading; end() says why */
}

static bool same(const void *arg, uint32_t position)
{
	const void *const *pair = arg;

	return !strcmp(((const struct sqlite *)pair[0])->list[position].text, pair[1]);
}

static uint64_t new_string_id(struct export *e, const char *text)
{
	struct sqlite *s = e->state;
	uint64_t key = gw_hash(0, text, strlen(text));
	uint32_t position = gw_index_find(&s->texts, key, same, (const void *[]){s, text});

	if (position != GW_INDEX_NONE)
		return (uint64_t)s->list[position].id;
	position = (uint32_t)s->count;
	s->list = gw_grow(s->list, &s->room, ++s->count, sizeof(*s->list));
	s->list[position] = (struct known){text, (int64_t)s->count};
	gw_index_add(&s->texts, key, position);
	bind(s, STRING, 1, true, s->count);
	bind_text(s, STRING, 2, text);
	step(e, STRING);
	return s->count;
}

static bool same_place(const void *arg, uint32_t position)
{
	const void *const *pair = arg;

	return ((const struct sqlite *)pair[0])->met[position].text == pair[1];
}

static uint64_t string_id(struct export *e, const char *text)
{
	struct sqlite *s = e->state;
	uint64_t key = gw_hash_mix((uintptr_t)text);
	uint32_t position = gw_index_find(&s->places, key, same_place, (const void *[]){s, text});

	if (position == GW_INDEX_NONE) {
		position = (uint32_t)s->met_count;
		s->met = gw_grow(s->met, &s->met_room, ++s->met_count, sizeof(*s->met));
		s->met[position] = (struct known){text, (int64_t)new_string_id(e, text)};
		gw_index_add(&s->places, key, position);
	}
	return (uint64_t)s->met[position].id;
}

static void put_gpus(struct export *e)
{
	struct sqlite *s = e->state;

	for (size_t i = 0; i < e->model->gpu_count; i++) {
		const struct gw_gpu *gpu = &e->model->gpus[i];
		const uint64_t cc = gpu->record.compute_capability;

		bind(s, GPU, 1, true, gpu->record.ordinal);
		bind_text(s, GPU, 2, gpu->name);
		bind(s, GPU, 3, gpu->record.memory, gpu->record.memory);
		bind(s, GPU, 4, true, (uint64_t)gpu->record.sm_clock_khz * 1000);
		bind(s, GPU, 5, true, gpu->record.sm_count);
		bind_text(s, GPU, 6, gpu->uuid);
		bind(s, GPU, 7, true, gpu->record.ordinal);
		bind(s, GPU, 8, true, cc / 10);
		bind(s, GPU, 9, true, cc % 10);
		step(e, GPU);
	}
}

static const char *path_of(const struct export *e)
{
	return e->out->temporary ? e->out->temporary : e->out->path;
}

static bool make(struct sqlite *s, const char *path)
{
	return good(s, sqlite3_open_v2(path, &s->db, FLAGS, NULL)) &&
	       good(s, sqlite3_exec(s->db, schema, NULL, NULL, NULL));
}

static uint32_t number_of(struct sqlite *s, const char *query)
{
	sqlite3_stmt *statement;
	uint32_t number = 0;

	if (!good(s, sqlite3_prepare_v2(s->db, query, -1, &statement, NULL)))
		return 0;
	good(s, sqlite3_step(statement));
	number = (uint32_t)sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return number;
}

/* The file with all tables, empty. */
static bool make_file(struct export *e)
{
	struct sqlite *s = e->state;

	if (!make(s, path_of(e)) || !good(s, sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL)))
		return false;
	s->kernels_root = number_of(s, "SELECT rootpage FROM sqlite_master WHERE name = "
	                               "'CUPTI_ACTIVITY_KIND_KERNEL'");
	s->own_root =
	        number_of(s, "SELECT rootpage FROM sqlite_master WHERE name = 'GPUWATCH_LAUNCH'");
	s->pages = (struct sqlite_pages){e->out, number_of(s, "PRAGMA page_count") + 1};
	if (s->failed)
		return false;
	good(s, sqlite3_close(s->db));
	s->db = NULL;
	s->kernels = (struct sqlite_rows){
	        .pages = &s->pages, .columns = KERNEL_COLUMNS_COUNT, .reals = kernel_reals};
	s->own = (struct sqlite_rows){
	        .pages = &s->pages, .columns = LAUNCH_COLUMNS, .reals = launch_reals};
	export_seek(e->out, (uint64_t)(s->pages.next - 1) * SQLITE_PAGE);
	return true;
}

static void begin(struct export *e)
{
	struct sqlite *s = gw_alloc(sizeof(*s));

	e->state = s;
	if (!make_file(e) || !make(s, "")) {
		e->out->error = -1;
		return;
	}
	for (unsigned i = 0; i < INSERTS; i++)
		good(s, sqlite3_prepare_v2(s->db, inserts[i], -1, &s->statements[i], NULL));
	if (s->failed) {
		e->out->error = -1;
		return;
	}
	bind(s, SESSION, 1, true, e->epoch_ns);
	step(e, SESSION);
	put_gpus(e);
}

static uint64_t global_pid(uint32_t pid)
{
	return (uint64_t)pid << 24; /* as nsys has it, of machine 0 */
}

static void process(struct export *e, const struct export_process *p)
{
	struct sqlite *s = e->state;

	bind(s, PROCESS, 1, true, global_pid(p->pid));
	bind(s, PROCESS, 2, true, p->pid);
	bind_text(s, PROCESS, 3, p->name);
	step(e, PROCESS);
}

static uint64_t or_0(uint32_t value)
{
	return value == UINT32_MAX ? 0 : value;
}

/* A value of a row that @p rows has new. */
static void put(struct sqlite_rows *rows, unsigned at, bool known, uint64_t value)
{
	rows->known[at] = known;
	rows->values[at] = value;
}

static void put_kernel(struct export *e, const struct export_row *r)
{
	struct sqlite *s = e->state;
	const struct export_kernel *k = r->config->kernel;
	const struct gw_config *c = &r->config->config;
	const uint64_t name = string_id(e, k->plain), start = r->launch.start_ns - e->epoch_ns;
	/* By the table's column; those that are not here are NULL. */
	const struct {
		unsigned column;
		uint64_t value;
	} values[] = {{0, start},
	              {1, start + r->launch.duration_ns},
	              {2, r->gpu ? r->gpu->record.ordinal : 0},
	              {3, r->context},
	              {5, r->stream},
	              {6, (uint64_t)s->launches},
	              {7, global_pid(r->process->pid)},
	              {8, name},
	              {9, name},
	              {10, string_id(e, k->mangled)},
	              {13, or_0(k->registers)},
	              {14, c->grid.x},
	              {15, c->grid.y},
	              {16, c->grid.z},
	              {17, c->block.x},
	              {18, c->block.y},
	              {19, c->block.z},
	              {20, or_0(k->static_shared)},
	              {21, c->dynamic_shared},
	              {22, or_0(k->local)},
	              {23, 0},
	              {24, (uint64_t)s->launches}};

	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		put(&s->kernels, values[i].column, true, values[i].value);
	put(&s->kernels, 26, r->launch.node, (uint64_t)r->graph << 32 | (r->node & UINT32_MAX));
	sqlite_rows_add(&s->kernels, ++s->kernel_count);
}

static void launch(struct export *e, const struct export_row *r)
{
	struct sqlite *s = e->state;
	struct export_value v[EXPORT_COLUMNS];

	if (s->failed)
		return;
	s->launches++;
	if (r->measured && r->launch.start_ns)
		put_kernel(e, r);
	export_values(r, v);
	/* The first column is the rowid, and stands as NULL in the row. */
	for (unsigned i = 0; i < EXPORT_COLUMNS; i++) {
		uint64_t value = v[i].count;

		if (!v[i].known)
			value = 0;
		else if (export_kinds[i] == EXPORT_REAL)
			memcpy(&value, &v[i].real, sizeof(value));
		else if (export_kinds[i] == EXPORT_TEXT)
			value = string_id(e, v[i].text);
		put(&s->own, 1 + i, v[i].known, value);
	}
	sqlite_rows_add(&s->own, (uint64_t)s->launches);
}

static void clock_sample(struct export *e, const struct export_process *p, uint32_t gpu,
                         const struct gw_record_clock *c)
{
	struct sqlite *s = e->state;

	(void)p;
	bind(s, CLOCK, 1, true, e->model->gpus[gpu].record.ordinal);
	bind(s, CLOCK, 2, true, c->ns - e->epoch_ns);
	bind(s, CLOCK, 3, c->sm_khz, c->sm_khz);
	bind(s, CLOCK, 4, c->mem_khz, c->mem_khz);
	bind(s, CLOCK, 5, c->temperature != UINT32_MAX, c->temperature);
	bind(s, CLOCK, 6, c->power_mw != UINT32_MAX, c->power_mw);
	step(e, CLOCK);
}

static void write_at(struct export *e, uint64_t offset, const void *data, size_t size)
{
	export_seek(e->out, offset);
	export_write(e->out, data, size);
}

/* The roots of the large tables, and how many pages the file has now. */
static void write_roots(struct export *e)
{
	enum { PAGE_COUNT = 28 }; /* in the file's header */
	struct sqlite *s = e->state;
	uint32_t count;

	sqlite_rows_end(&s->kernels);
	sqlite_rows_end(&s->own);
	write_at(e, (uint64_t)(s->kernels_root - 1) * SQLITE_PAGE, s->kernels.page, SQLITE_PAGE);
	write_at(e, (uint64_t)(s->own_root - 1) * SQLITE_PAGE, s->own.page, SQLITE_PAGE);
	count = htobe32(s->pages.next - 1);
	write_at(e, PAGE_COUNT, &count, sizeof(count));
	export_seek(e->out, 0); /* all is in the file */
}

static void add_small_tables(struct export *e)
{
	struct sqlite *s = e->state;
	char *attach = sqlite3_mprintf("COMMIT; ATTACH %Q AS whole", path_of(e));

	if (good(s, attach ? SQLITE_OK : SQLITE_NOMEM) &&
	    good(s, sqlite3_exec(s->db, attach, NULL, NULL, NULL)))
		good(s, sqlite3_exec(s->db, small_tables, NULL, NULL, NULL));
	sqlite3_free(attach);
}

static bool end(struct export *e)
{
	struct sqlite *s = e->state;
	bool done;

	if (!s)
		return true;
	for (unsigned i = 0; i < INSERTS; i++)
		sqlite3_finalize(s->statements[i]);
	if (!e->out->error)
		write_roots(e);
	if (!e->out->error)
		add_small_tables(e);
	done = !s->failed;
	if (!done) {
		gw_error("%s: can't be written: %s", e->out->path, s->why);
		e->out->error = 0; /* said already */
	}
	sqlite3_close(s->db);
	sqlite_rows_free(&s->kernels);
	sqlite_rows_free(&s->own);
	gw_index_free(&s->texts);
	gw_index_free(&s->places);
	free(s->met);
	free(s->list);
	free(s);
	return done;
}

const struct export_format export_sqlite = {.begin = begin,
                                            .process = process,
                                            .launch = launch,
                                            .clock = clock_sample,
                                            .end = end,
                                            .file = true,
                                            .binary = true};
