/*
 * The tables that `nsys export --type=sqlite` writes, as far as a log has them, so that its
 * reports' queries run. What nsys does not know of a kernel stands in the same row, after nsys's
 * columns: a row in a table of its own would take as long again. The view GPUWATCH_LAUNCH has every
 * column of row.def.
 */
#include "cli/export/sqlite.h"

#include "cli/common/kernel_name.h"
#include "cli/common/memory.h"
#include "cli/common/utf8.h"
#include "cli/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char schema[] =
	"PRAGMA page_size=16384; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
	"locking_mode=EXCLUSIVE; PRAGMA cache_size=200; BEGIN;"
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);"
	"CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL DEFAULT 0, id INTEGER NOT NULL, "
	"name TEXT, busLocation TEXT, isDiscrete INTEGER, l2CacheSize INTEGER, "
	"totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, smCount INTEGER, "
	"pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, "
	"computeMajor INTEGER, computeMinor INTEGER);"
	"CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER NOT NULL, cudaId INTEGER NOT NULL, "
	"pid INTEGER NOT NULL, uuid TEXT, numMultiprocessors INTEGER);"
	"CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, devStateName TEXT NOT NULL, "
	"name TEXT NOT NULL, nameEnum INTEGER NOT NULL, value TEXT NOT NULL);"
	"CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER NOT NULL);"
	"CREATE TABLE ANALYSIS_DETAILS (globalVid INTEGER, duration INTEGER NOT NULL, "
	"startTime INTEGER NOT NULL, stopTime INTEGER NOT NULL);"
	"CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);"
	"CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, "
	"deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "
	"streamId INTEGER NOT NULL, correlationId INTEGER NOT NULL, globalPid INTEGER, "
	"demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, "
	"registersPerThread INTEGER NOT NULL, "
	"gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, "
	"blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, "
	"staticSharedMemory INTEGER NOT NULL, dynamicSharedMemory INTEGER NOT NULL, "
	"localMemoryPerThread INTEGER NOT NULL, graphNodeId INTEGER, "
	"configId INTEGER NOT NULL, callNs INTEGER, "
	"threadId INTEGER, nodeId INTEGER, predictedNs REAL, lowNs REAL, highNs REAL, "
	"basisId INTEGER, workId INTEGER);";
/* Columns of which no log knows anything. SQLite gives them to rows that were written without. */
static const char same_in_all_rows[] =
#define SAME_IN_ALL(column) "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN " column ";"
	SAME_IN_ALL("greenContextId INTEGER") SAME_IN_ALL("launchType INTEGER")
		SAME_IN_ALL("cacheConfig INTEGER") SAME_IN_ALL("sharedMemoryExecuted INTEGER")
			SAME_IN_ALL("sharedMemoryLimitConfig INTEGER")
				SAME_IN_ALL("localMemoryTotal INTEGER NOT NULL DEFAULT 0")
					SAME_IN_ALL("gridId INTEGER NOT NULL DEFAULT 0");
/* ?1 is the process. A list of columns would cost a copy of each. */
static const char kernel_insert[] =
	"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT c0,c1,c2,c3,c4,c5,?1,c6,c7,c8,c9,c10,c11,"
	"c12,c13,c14,c15,c16,c17,c18,c19,c20,c21,c22,c23,c24,c25,c26,c27,c28 FROM rows_of_kernels";
/* The columns that may be NULL come last, from graphNodeId on. */
enum {
	KERNEL_GRAPH_NODE = 19,
	KERNEL_CONFIG,
	KERNEL_CALL,
	KERNEL_THREAD,
	KERNEL_NODE,
	KERNEL_PREDICTED,
	KERNEL_LOW,
	KERNEL_HIGH,
	KERNEL_BASIS,
	KERNEL_WORK,
	KERNEL_COLUMNS
};
static const bool kernel_reals[KERNEL_COLUMNS] = {
	[KERNEL_PREDICTED] = true, [KERNEL_LOW] = true, [KERNEL_HIGH] = true};

/* A column of row.def from that table, k, a second one for what a configuration decides, c. */
#define OF_KERNEL_start_ns     "k.start + (SELECT utcEpochNs FROM TARGET_INFO_SESSION_START_TIME)"
#define OF_KERNEL_duration_ns  "k.end - k.start"
#define OF_KERNEL_call_ns      "k.callNs"
#define OF_KERNEL_thread       "k.threadId"
#define OF_KERNEL_gpu          "(SELECT cuDevice FROM TARGET_INFO_GPU WHERE id = k.deviceId)"
#define OF_KERNEL_context      "nullif(k.contextId, 0)"
#define OF_KERNEL_stream       "k.streamId"
#define OF_KERNEL_graph        "k.graphNodeId >> 32"
#define OF_KERNEL_node         "k.nodeId"
#define OF_KERNEL_predicted_ns "k.predictedNs"
#define OF_KERNEL_low_ns       "k.lowNs"
#define OF_KERNEL_high_ns      "k.highNs"
#define OF_KERNEL_basis        "k.basisId"
#define OF_KERNEL_work         "k.workId"
/* Where a row of that table has it; KERNEL_COLUMNS: in a column of nsys's. */
#define AT_start_ns                          KERNEL_COLUMNS
#define AT_duration_ns                       KERNEL_COLUMNS
#define AT_call_ns                           KERNEL_CALL
#define AT_thread                            KERNEL_THREAD
#define AT_gpu                               KERNEL_COLUMNS
#define AT_context                           KERNEL_COLUMNS
#define AT_stream                            KERNEL_COLUMNS
#define AT_graph                             KERNEL_COLUMNS
#define AT_node                              KERNEL_NODE
#define AT_predicted_ns                      KERNEL_PREDICTED
#define AT_low_ns                            KERNEL_LOW
#define AT_high_ns                           KERNEL_HIGH
#define AT_basis                             KERNEL_BASIS
#define AT_work                              KERNEL_WORK
#define SQL_COUNT                            "INTEGER"
#define SQL_TIME                             "INTEGER"
#define SQL_REAL                             "REAL"
#define SQL_TEXT                             "INTEGER"
#define TYPED(name, kind, known, value)      ", " #name " " SQL_##kind
#define OF_CONFIG(name, kind, known, value)  ", c." #name
#define OF_UNTIMED(name, kind, known, value) ", u." #name
#define OF_KERNEL(name, kind, known, value)  ", " OF_KERNEL_##name " AS " #name
#define PARAMETER(name, kind, known, value)  ",?"
#define NOTHING(name, kind, known, value)
static const char own_schema[] =
	"CREATE TABLE GPUWATCH_CONFIG (id INTEGER NOT NULL PRIMARY KEY"
#define COLUMN        NOTHING
#define CONFIG_COLUMN TYPED
#include "cli/export/row.def"
#undef COLUMN
	"); CREATE TABLE GPUWATCH_UNTIMED (config INTEGER NOT NULL"
#define COLUMN        TYPED
#define CONFIG_COLUMN NOTHING
#include "cli/export/row.def"
#undef COLUMN
	"); CREATE VIEW GPUWATCH_LAUNCH AS SELECT k.correlationId"
#define COLUMN        OF_KERNEL
#define CONFIG_COLUMN OF_CONFIG
#include "cli/export/row.def"
#undef COLUMN
	" FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN GPUWATCH_CONFIG c ON c.id = k.configId "
	"UNION ALL SELECT NULL"
#define COLUMN        OF_UNTIMED
#define CONFIG_COLUMN OF_CONFIG
#include "cli/export/row.def"
#undef COLUMN
	" FROM GPUWATCH_UNTIMED u JOIN GPUWATCH_CONFIG c ON c.id = u.config; "
	"CREATE VIEW GPUWATCH_PREDICTION AS SELECT correlationId, predictedNs AS "
	"predicted_ns, lowNs AS low_ns, highNs AS high_ns, "
	"b.value AS basis, w.value AS work, d.value AS bound FROM CUPTI_ACTIVITY_KIND_KERNEL k "
	"JOIN GPUWATCH_CONFIG c ON c.id = k.configId LEFT JOIN StringIds b ON b.id = k.basisId "
	"LEFT JOIN StringIds w ON w.id = k.workId LEFT JOIN StringIds d ON d.id = c.bound "
	"WHERE predictedNs IS NOT NULL;";
static const char untimed_insert[] = "INSERT INTO GPUWATCH_UNTIMED SELECT * FROM rows_of_untimed";
static const bool untimed_reals[] = {
	false,
#define REAL_COUNT                       false
#define REAL_TIME                        false
#define REAL_TEXT                        false
#define REAL_REAL                        true
#define COLUMN(name, kind, known, value) REAL_##kind,
#define CONFIG_COLUMN                    NOTHING
#include "cli/export/row.def"
#undef COLUMN
};
enum { UNTIMED_COLUMNS = sizeof(untimed_reals) / sizeof(*untimed_reals) };

/* One thread uses it. */
#define FLAGS (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX)

static const char *const inserts[DB_INSERTS] = {
	[DB_STRING] = "INSERT INTO StringIds VALUES (?,?)",
	[DB_GPU] = "INSERT INTO TARGET_INFO_GPU (id, name, totalMemory, clockRate, smCount, uuid, "
		   "cuDevice, computeMajor, computeMinor) VALUES (?,?,?,?,?,?,?,?,?)",
	[DB_DEVICE] = "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?,?,?,?,?)",
	[DB_HOST] = "INSERT INTO TARGET_INFO_SYSTEM_ENV SELECT NULL,'','Hostname',0,?1 WHERE NOT "
		    "EXISTS (SELECT 1 FROM TARGET_INFO_SYSTEM_ENV WHERE value = ?1)",
	[DB_SPAN] = "INSERT INTO ANALYSIS_DETAILS VALUES (NULL,?1,0,?1)",
	[DB_SESSION] = "INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (?)",
	[DB_PROCESS] = "INSERT INTO PROCESSES VALUES (?,?,?)",
	[DB_CONFIG] = "INSERT INTO GPUWATCH_CONFIG VALUES (?"
#define COLUMN        NOTHING
#define CONFIG_COLUMN PARAMETER
#include "cli/export/row.def"
#undef COLUMN
		      ")",
};

bool sqlite_good(struct sqlite *s, int result)
{
	if (result != SQLITE_OK && result != SQLITE_DONE && result != SQLITE_ROW && !s->failed) {
		s->failed = result;
		snprintf(s->why, sizeof(s->why), "%s", sqlite3_errmsg(s->db));
	}
	return !s->failed;
}

void sqlite_bind(struct sqlite *s, enum sqlite_insert insert, int at, bool known, uint64_t value)
{
	sqlite3_stmt *to = s->statements[insert];

	sqlite_good(s,
		    known ? sqlite3_bind_int64(to, at, (int64_t)value) : sqlite3_bind_null(to, at));
}

void sqlite_bind_string(struct sqlite *s, enum sqlite_insert insert, int at, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	sqlite_good(s, sqlite3_bind_text(s->statements[insert], at, utf8, -1, SQLITE_TRANSIENT));
	free(utf8);
}

void sqlite_step(struct export *e, enum sqlite_insert insert)
{
	struct sqlite *s = e->state;

	if (s->failed)
		return;
	sqlite_good(s, sqlite3_step(s->statements[insert]));
	sqlite_good(s, sqlite3_reset(s->statements[insert]));
	if (s->failed)
		e->out->error = -1; /* ends the reading; end() says why */
}

static bool same(const void *arg, uint32_t position)
{
	const void *const *pair = arg;

	return !strcmp(((const struct sqlite *)pair[0])->strings[position], pair[1]);
}

uint64_t sqlite_string(struct export *e, const char *text)
{
	struct sqlite *s = e->state;
	uint64_t key = gw_hash(0, text, strlen(text));
	uint32_t position = gw_index_find(&s->texts, key, same, (const void *[]){s, text});

	if (position != GW_INDEX_NONE)
		return position + UINT64_C(1);
	position = (uint32_t)s->count;
	GW_GROW(s->strings, &s->room, ++s->count);
	s->strings[position] = gw_copy(text);
	gw_index_add(&s->texts, key, position);
	sqlite_bind(s, DB_STRING, 1, true, s->count);
	sqlite_bind_string(s, DB_STRING, 2, text);
	sqlite_step(e, DB_STRING);
	return s->count;
}

/*
 * The ids of GPUs in TARGET_INFO_GPU, which nsys's queries join with the kernel's deviceId: the
 * driver's number, or a free one where another process calls another GPU by that number.
 */
static void number_gpus(struct export *e)
{
	struct sqlite *s = e->state;
	const size_t count = e->model->gpu_count;
	uint64_t spare = 0;

	s->device = gw_alloc((count + 1) * sizeof(*s->device));
	s->used = gw_alloc((count + 1) * sizeof(*s->used));
	for (size_t i = 0; i < count; i++)
		if (e->model->gpus[i].record.ordinal >= spare)
			spare = e->model->gpus[i].record.ordinal + UINT64_C(1);
	for (size_t i = 0; i < count; i++) {
		s->device[i] = e->model->gpus[i].record.ordinal;
		for (size_t j = 0; j < i; j++)
			if (s->device[j] == s->device[i])
				s->device[i] = spare++;
	}
}

static void put_gpus(struct export *e)
{
	struct sqlite *s = e->state;

	for (size_t i = 0; i < e->model->gpu_count; i++) {
		const struct gw_gpu *gpu = &e->model->gpus[i];
		const uint64_t cc = gpu->record.compute_capability;

		sqlite_bind(s, DB_GPU, 1, true, s->device[i]);
		sqlite_bind_string(s, DB_GPU, 2, gpu->name);
		sqlite_bind(s, DB_GPU, 3, gpu->record.memory, gpu->record.memory);
		sqlite_bind(s, DB_GPU, 4, true, (uint64_t)gpu->record.sm_clock_khz * 1000);
		sqlite_bind(s, DB_GPU, 5, true, gpu->record.sm_count);
		sqlite_bind_string(s, DB_GPU, 6, gpu->uuid);
		sqlite_bind(s, DB_GPU, 7, true, gpu->record.ordinal);
		sqlite_bind(s, DB_GPU, 8, true, cc / 10);
		sqlite_bind(s, DB_GPU, 9, true, cc % 10);
		sqlite_step(e, DB_GPU);
	}
}

uint64_t sqlite_device(struct export *e, uint32_t gpu)
{
	struct sqlite *s = e->state;

	if (gpu == GW_INDEX_NONE)
		return UINT64_MAX;
	if (!s->used[gpu]) {
		s->used[gpu] = true;
		sqlite_bind(s, DB_DEVICE, 1, true, s->device[gpu]);
		sqlite_bind(s, DB_DEVICE, 2, true, s->device[gpu]);
		sqlite_bind(s, DB_DEVICE, 3, true, s->pid);
		sqlite_bind_string(s, DB_DEVICE, 4, e->model->gpus[gpu].uuid);
		sqlite_bind(s, DB_DEVICE, 5, true, e->model->gpus[gpu].record.sm_count);
		sqlite_step(e, DB_DEVICE);
	}
	return s->device[gpu];
}

static void begin(struct export *e)
{
	struct sqlite *s = gw_alloc(sizeof(*s));
	const char *path = e->out->temporary ? e->out->temporary : e->out->path;
	const char *const schemas[] = {schema, own_schema, sqlite_event_schema};

	e->state = s;
	number_gpus(e);
	sqlite_good(s, sqlite3_open_v2(path, &s->db, FLAGS, NULL));
	for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas) && !s->failed; i++)
		sqlite_good(s, sqlite3_exec(s->db, schemas[i], NULL, NULL, NULL));
	for (unsigned i = 0; i < DB_INSERTS && !s->failed; i++)
		sqlite_good(s, sqlite3_prepare_v2(s->db,
						  inserts[i] ? inserts[i] : sqlite_event_inserts[i],
						  -1, &s->statements[i], NULL));
	if (!s->failed)
		sqlite_good(s, sqlite_rows_open(&s->kernels, s->db, "rows_of_kernels",
						KERNEL_COLUMNS, kernel_reals, kernel_insert));
	if (!s->failed)
		sqlite_good(s, sqlite_rows_open(&s->untimed, s->db, "rows_of_untimed",
						UNTIMED_COLUMNS, untimed_reals, untimed_insert));
	if (s->failed) {
		e->out->error = -1;
		return;
	}
	sqlite_bind(s, DB_SESSION, 1, true, e->epoch_ns);
	sqlite_step(e, DB_SESSION);
	sqlite_string(e, SQLITE_LAUNCH_CALL);
	sqlite_string(e, SQLITE_GRAPH_CALL);
	put_gpus(e);
}

static void write_full(struct export *e, struct sqlite_rows *rows, bool always)
{
	struct sqlite *s = e->state;

	if (s->failed || !(always || sqlite_rows_full(rows)))
		return;
	if (!sqlite_good(s, sqlite_rows_write(rows)))
		e->out->error = -1; /* ends the reading; end() says why */
}

static void process(struct export *e, const struct export_process *p)
{
	struct sqlite *s = e->state;

	sqlite_end_ranges(e);
	write_full(e, &s->kernels, true);
	if (!s->failed)
		sqlite_good(s,
			    sqlite3_bind_int64(s->kernels.insert, 1, (int64_t)sqlite_pid(p->pid)));
	if (s->config_room)
		memset(s->configs, 0, s->config_room * sizeof(*s->configs));
	memset(s->used, 0, e->model->gpu_count * sizeof(*s->used));
	s->pid = p->pid;
	if (*e->model->files[p->number].text[GW_TEXT_host]) {
		sqlite_bind_string(s, DB_HOST, 1, e->model->files[p->number].text[GW_TEXT_host]);
		sqlite_step(e, DB_HOST);
	}
	sqlite_bind(s, DB_PROCESS, 1, true, sqlite_pid(p->pid));
	sqlite_bind(s, DB_PROCESS, 2, true, p->pid);
	sqlite_bind_string(s, DB_PROCESS, 3, p->name);
	sqlite_step(e, DB_PROCESS);
}

/* The kernel's name alone: without namespaces, template arguments and parameters. */
static uint64_t base_name(struct export *e, const char *plain)
{
	char *name = gw_kernel_name(plain);
	uint64_t id;

	if (strcmp(name, plain) != 0 && *name != '<')
		name[strcspn(name, "<")] = '\0';
	id = sqlite_string(e, name);
	free(name);
	return id;
}

/* What the database has of the launch's configuration, after it was put there. */
static const struct sqlite_config *config_of(struct export *e, const struct export_row *r)
{
	struct sqlite *s = e->state;
	const struct export_kernel *k = r->config->kernel;
	struct sqlite_config *c;
	int at = 1;

	GW_GROW(s->configs, &s->config_room, r->config->number + (size_t)1);
	c = &s->configs[r->config->number];
	if (c->id)
		return c;
	*c = (struct sqlite_config){++s->config_count, sqlite_string(e, k->plain),
				    base_name(e, k->plain), sqlite_string(e, k->mangled)};
	sqlite_bind(s, DB_CONFIG, at++, true, c->id);
#define BIND_COUNT(known, value) sqlite_bind(s, DB_CONFIG, at++, known, (known) ? (value) : 0)
#define BIND_TEXT(known, value) \
	sqlite_bind(s, DB_CONFIG, at++, known, (known) ? sqlite_string(e, value) : 0)
#define COLUMN                                  NOTHING
#define CONFIG_COLUMN(name, kind, known, value) BIND_##kind(known, value);
#include "cli/export/row.def"
#undef COLUMN
	sqlite_step(e, DB_CONFIG);
	return c;
}

static uint64_t or_0(uint32_t value)
{
	return value == UINT32_MAX ? 0 : value;
}

static uint64_t bits(double real)
{
	uint64_t value;

	memcpy(&value, &real, sizeof(value));
	return value;
}

/* The number of a text that lasts: mostly that of the launch before. */
static uint64_t lasting(struct export *e, enum export_column column, const char *text)
{
	struct sqlite *s = e->state;

	if (s->last[column].text != text) {
		s->last[column].text = text;
		s->last[column].id = sqlite_string(e, text);
	}
	return s->last[column].id;
}

/* Of a column that a kernel's row has as row.def has it. */
#define VALUE_COUNT(name, value) (value)
#define VALUE_TIME(name, value)  (value)
#define VALUE_REAL(name, value)  bits(value)
#define VALUE_TEXT(name, value)  lasting(e, EXPORT_##name, value)

static void put_kernel(struct export *e, const struct export_row *r,
		       const struct sqlite_config *config)
{
	struct sqlite *s = e->state;
	const struct gw_record_launch *l = &r->launch;
	const struct export_kernel *k = r->config->kernel;
	const struct gw_config *c = &r->config->config;
	const uint64_t start = l->start_ns - e->epoch_ns;
	const uint64_t first[KERNEL_GRAPH_NODE] = {start,
						   start + l->duration_ns,
						   sqlite_device(e, r->gpu_number),
						   r->context,
						   r->stream,
						   ++s->kernel_count,
						   config->plain,
						   config->base,
						   config->mangled,
						   or_0(k->registers),
						   c->grid.x,
						   c->grid.y,
						   c->grid.z,
						   c->block.x,
						   c->block.y,
						   c->block.z,
						   or_0(k->static_shared),
						   c->dynamic_shared,
						   or_0(k->local)};
	const unsigned at = sqlite_rows_add(&s->kernels);
	uint64_t *values = &s->kernels.values[at];
	bool *known = &s->kernels.known[at];

	sqlite_ends(s, start + l->duration_ns);
	memcpy(values, first, sizeof(first));
	memset(known, true, KERNEL_GRAPH_NODE);
	known[KERNEL_GRAPH_NODE] = l->node != 0;
	values[KERNEL_GRAPH_NODE] = (uint64_t)r->graph << 32 | (r->node & UINT32_MAX);
	known[KERNEL_CONFIG] = true;
	values[KERNEL_CONFIG] = config->id;
#define COLUMN(name, kind, is_known, value) \
	if (AT_##name < KERNEL_COLUMNS) { \
		known[AT_##name] = (is_known); \
		values[AT_##name] = known[AT_##name] ? VALUE_##kind(name, value) : 0; \
	}
#define CONFIG_COLUMN NOTHING
#include "cli/export/row.def"
#undef COLUMN
	write_full(e, &s->kernels, false);
}

/* A launch that no row of a kernel can stand for: its start is unknown. */
static void put_untimed(struct export *e, const struct export_row *r,
			const struct sqlite_config *config)
{
	struct sqlite *s = e->state;
	const struct gw_record_launch *l = &r->launch;
	const unsigned at = sqlite_rows_add(&s->untimed);
	uint64_t *values = &s->untimed.values[at];
	bool *known = &s->untimed.known[at];

	*known++ = true;
	*values++ = config->id;
#define COLUMN(name, kind, is_known, value) \
	*known = (is_known); \
	*values++ = *known++ ? VALUE_##kind(name, value) : 0;
#define CONFIG_COLUMN NOTHING
#include "cli/export/row.def"
#undef COLUMN
	write_full(e, &s->untimed, false);
}

static void launch(struct export *e, const struct export_row *r)
{
	struct sqlite *s = e->state;
	const struct sqlite_config *config;

	if (s->failed)
		return;
	config = config_of(e, r);
	if (r->measured && r->launch.start_ns)
		put_kernel(e, r, config);
	else
		put_untimed(e, r, config);
}

static bool end(struct export *e)
{
	struct sqlite *s = e->state;
	bool done;

	if (!s)
		return true;
	sqlite_end_ranges(e);
	write_full(e, &s->kernels, true);
	write_full(e, &s->untimed, true);
	sqlite_bind(s, DB_SPAN, 1, true, (uint64_t)s->last_ns);
	sqlite_step(e, DB_SPAN);
	sqlite_rows_close(&s->kernels);
	sqlite_rows_close(&s->untimed);
	for (unsigned i = 0; i < DB_INSERTS; i++)
		sqlite3_finalize(s->statements[i]);
	if (!s->failed)
		sqlite_good(s, sqlite3_exec(s->db, same_in_all_rows, NULL, NULL, NULL));
	if (!s->failed)
		sqlite_good(s, sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL));
	done = !s->failed;
	if (!done)
		gw_error("%s: can't be written: %s", e->out->path, s->why);
	e->out->error = 0;
	sqlite3_close(s->db);
	for (size_t i = 0; i < s->count; i++)
		free(s->strings[i]);
	free(s->strings);
	gw_index_free(&s->texts);
	free(s->configs);
	free(s->device);
	free(s->used);
	free(s->threads);
	free(s);
	return done;
}

const struct export_format export_sqlite = {.begin = begin,
					    .process = process,
					    .launch = launch,
					    .clock = sqlite_clock,
					    .copy = sqlite_copy,
					    .wait = sqlite_wait,
					    .range = sqlite_range,
					    .end = end,
					    .file = true,
					    .binary = true};
