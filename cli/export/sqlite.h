/*
 * A database on its way: what its launches (sqlite.c) and the other events of a log
 * (sqlite_events.c) share. Times in it are ns since the first log's start, as nsys counts from the
 * session's.
 */
#ifndef GW_EXPORT_SQLITE_H
#define GW_EXPORT_SQLITE_H

#include "cli/common/index.h"
#include "cli/export/export.h"
#include "cli/export/sqlite_rows.h"

#include <sqlite3.h>

/** Statements for rows of which there are few. */
enum sqlite_insert {
	DB_STRING,
	DB_GPU,
	DB_DEVICE,
	DB_HOST,
	DB_SPAN,
	DB_SESSION,
	DB_PROCESS,
	DB_CONFIG,
	DB_CLOCK,
	DB_COPY,
	DB_SET,
	DB_WAIT,
	DB_CALL,
	DB_RANGE,
	DB_INSERTS
};

/** What a configuration of the log has in the database; all 0: nothing yet. */
struct sqlite_config {
	uint64_t id;                   /**< in GPUWATCH_CONFIG */
	uint64_t plain, base, mangled; /**< its kernel's names in StringIds */
};

/** A thread of the log, and the NVTX ranges that it is in, the outermost first. */
struct sqlite_thread {
	uint32_t tid;
	struct sqlite_open {
		uint64_t name; /**< in StringIds */
		uint64_t ns;
	} * open;
	struct export_ranges in;
	size_t room;
};

struct sqlite {
	sqlite3 *db;
	sqlite3_stmt *statements[DB_INSERTS];
	struct sqlite_rows kernels, untimed; /**< launches with and without a start */
	struct gw_index texts;               /**< of strings, by their bytes */
	char **strings;                      /**< number 1 and on in StringIds */
	size_t count, room;
	struct {
		const char *text; /**< lasts longer than the state; NULL: none yet */
		uint64_t id;
	} last[EXPORT_COLUMNS];        /**< of the launch before */
	struct sqlite_config *configs; /**< of the log, by number */
	size_t config_room;
	uint64_t config_count;         /**< rows of GPUWATCH_CONFIG */
	uint64_t kernel_count;         /**< rows of kernels, each with a correlationId of its own */
	struct gw_index thread_of;     /**< position in threads, by number of the thread */
	struct sqlite_thread *threads; /**< of the log */
	size_t thread_count, thread_room;
	uint32_t pid;     /**< of the log */
	uint64_t *device; /**< id in TARGET_INFO_GPU of each GPU of the model */
	bool *used;       /**< whether the log's process is known to use it */
	int64_t last_ns;  /**< end of the last kernel, copy, wait or range */
	int failed;       /**< SQLite's code of the first failure */
	char why[200];
};

/** Whether all is well; the first @p result that is a failure is kept. */
bool sqlite_good(struct sqlite *s, int result);
/** Bind the parameter number @p at (from 1) of a statement; NULL where it is not known. */
void sqlite_bind(struct sqlite *s, enum sqlite_insert insert, int at, bool known, uint64_t value);
/** The same of a text, as UTF-8. */
void sqlite_bind_string(struct sqlite *s, enum sqlite_insert insert, int at, const char *text);
/** Insert the row that was bound. */
void sqlite_step(struct export *e, enum sqlite_insert insert);
/** nsys's deviceId of a GPU of the model, GW_INDEX_NONE: unknown. The process of the log uses it.
 */
uint64_t sqlite_device(struct export *e, uint32_t gpu);
/** The number of @p text in StringIds, where it is put if it is new. */
uint64_t sqlite_string(struct export *e, const char *text);
/** An event ends @p ns after the first log's start; one of a damaged log may be before it. */
static inline void sqlite_ends(struct sqlite *s, uint64_t ns)
{
	if ((int64_t)ns > s->last_ns)
		s->last_ns = (int64_t)ns;
}
/** A process as nsys serialises it, of machine 0; a thread of it is this number plus its own. */
static inline uint64_t sqlite_pid(uint32_t pid)
{
	return (uint64_t)pid << 24;
}

/** Calls in StringIds: a log has neither which function launched nor how long that took. */
#define SQLITE_LAUNCH_CALL "cudaLaunchKernel or alike, duration unknown"
#define SQLITE_GRAPH_CALL  "cudaGraphLaunch, for each kernel, duration unknown"

/** Tables of the other events, and what a format does with these. */
extern const char sqlite_event_schema[];
extern const char *const sqlite_event_inserts[DB_INSERTS];
void sqlite_clock(struct export *e, const struct export_process *p, uint32_t gpu,
		  const struct gw_record_clock *clock);
void sqlite_copy(struct export *e, const struct export_process *p, uint32_t gpu,
		 const struct gw_record_copy *copy);
void sqlite_wait(struct export *e, const struct export_process *p, uint32_t tid,
		 const struct gw_record_wait *wait);
void sqlite_range(struct export *e, const struct export_process *p, uint32_t tid, const char *name,
		  uint32_t depth, uint64_t ns);
/** The log is at its end: ranges that are still open have none. */
void sqlite_end_ranges(struct export *e);

#endif
