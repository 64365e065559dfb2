/*
 * The thread that writes the log. It packs blocks of the pool and puts them into the file, so that
 * a disk that stalls holds up nobody else.
 */
#ifndef GW_LOG_WRITER_H
#define GW_LOG_WRITER_H

#include "preload/live/log_pool.h"
#include "predictor/log/record.h"

#include <stdbool.h>

/** Where in the file what goes, of the bytes it may take. */
struct gw_log_room {
	uint64_t append; /**< nothing is appended beyond this */
	uint32_t copy;   /**< bytes of each of the two copies that may follow */
	uint64_t ring;   /**< bytes of all files together, where the log is a ring of them */
};

/** Begin a log named @p path out of @p pool. False when no thread could be created. */
bool gw_log_writer_start(struct gw_log_pool *pool, const char *path, struct gw_log_room room);

/** From now on the log is a ring of files; undone by gw_log_writer_start(). */
void gw_log_writer_ring(void);

/** Whether there is, or may yet be, a file. */
bool gw_log_writer_runs(void);

/** There are full blocks in the pool. */
void gw_log_writer_wake(void);

/** Changes whenever blocks were given back. */
uint32_t gw_log_writer_done(void);

/** Wait until gw_log_writer_done() is not @p seen any more; false after @p ms without that. */
bool gw_log_writer_await(uint32_t seen, unsigned ms);

/** Wait until every block that is full now was written or can't be, at most @p ms. */
void gw_log_writer_wait(unsigned ms);

/** Write what there is, close the file, end the thread; wait for that, at most @p ms. */
void gw_log_writer_end(unsigned ms);

/** Bytes appended to the file. */
uint64_t gw_log_writer_size(void);

/** Changes whenever the file lost its content, or there is a new one. */
uint32_t gw_log_writer_epoch(void);

/** Changes whenever part of what was written, or was to be, is not in the file. */
uint32_t gw_log_writer_losses(void);

/** On the writer: note what can't be done, for the worker to say. */
void gw_log_report(enum gw_degraded code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/** On any other thread: say what was noted. */
void gw_log_writer_say(void);

/** Name of the file, "" before it is open. */
const char *gw_log_writer_name(void);

/** In a forked child: there is no such thread. */
void gw_log_writer_forget(void);

#endif
