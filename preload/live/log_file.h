/*
 * The log's file. Everything here is called on the log's writer alone, whose table of files is its
 * own: the program can neither close this one nor put another in its place.
 */
#ifndef GW_LOG_FILE_H
#define GW_LOG_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_log_place {
	GW_LOG_OPEN,    /**< there is a file */
	GW_LOG_AGAIN,   /**< not now: errno says why; later it may be possible */
	GW_LOG_NOWHERE, /**< no log was asked for: /dev/null */
	GW_LOG_REFUSED, /**< a pipe or a device */
};

/** What was found before a write. */
enum gw_log_health {
	GW_LOG_SOUND,
	GW_LOG_SHORTER, /**< somebody cut it; its end is where it now ends */
	GW_LOG_NEW,     /**< it was deleted: another one was begun */
	GW_LOG_GONE,    /**< it was deleted, and no other can be had now: errno says why */
};

/** Begin the file at @p path, or at the first name after it that is free. Missing its last folder,
 * that is made. */
enum gw_log_place gw_log_file_open(const char *path);

/** See to it that the file is there and ends where it should. */
enum gw_log_health gw_log_file_check(void);

/**
 * Whether the file, or a folder on its way, was renamed, or is not seen by its name for another
 * reason: it is written on, and its name is the new one where the system reports it.
 */
bool gw_log_file_moved(void);

/** Append two parts; both or, with errno set, none. */
bool gw_log_file_append(const void *head, size_t head_size, const void *data, size_t size);

/** The same at @p at, a place that gw_log_file_append() will not reach. */
bool gw_log_file_write_at(uint64_t at, const void *head, size_t head_size, const void *data,
			  size_t size);

/**
 * Close the file and begin another under the next number; false, with errno set: there is none, and
 * this one stays.
 */
bool gw_log_file_next(void);

/**
 * Remove files that gw_log_file_next() left, the oldest first, until @p size more bytes make at
 * most
 * @p most with those of all; how many. One that is another's by now is left alone.
 */
unsigned gw_log_file_drop(uint64_t most, uint64_t size);

/** Bytes of the files that gw_log_file_drop() may still remove, and of this one. */
uint64_t gw_log_file_ring(void);

/** Number of this file among those of the ring, from 1. */
unsigned gw_log_file_part(void);

/** Bytes that were appended to this file and those before it. */
uint64_t gw_log_file_all(void);

/** Bytes that were appended. */
uint64_t gw_log_file_size(void);

/** Name of the file as it is now, "" before there is one. Any thread; good until it changes twice.
 */
const char *gw_log_file_name(void);

void gw_log_file_close(void);

/** In a forked child nothing of it is there. */
void gw_log_file_forget(void);

#endif
