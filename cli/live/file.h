/*
 * Live segments (predictor/log/live.h), read: what a process that was killed had not written into
 * its log. A segment may be damaged or hostile: each offset and count is checked before it is used.
 */
#ifndef GW_LIVE_FILE_H
#define GW_LIVE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** A segment's file, copied into memory. */
struct gw_live_file {
	unsigned char *data;
	size_t size;
	uid_t user; /**< whose the file is */
	const struct gw_live_head *head;
};

/** What came of one. */
struct gw_live_rest {
	unsigned char *log; /**< a whole log: what was written, and the rest; free() it */
	size_t size;
	uint64_t launches; /**< of them from the segment */
	uint64_t graphs;   /**< graph launches in it whose kernels are not known */
	uint64_t lost;     /**< launches that are in neither */
	uint32_t unlisted; /**< rings of which it has nothing */
	uint64_t span_ns;  /**< from the first of them to the last */
};

struct stat;

/**
 * Open the plain file at @p path to read it, with open()'s @p flags beside; nothing else is opened.
 * -1, and @p why, when it can't be.
 */
int gw_live_open_plain(const char *path, int flags, struct stat *st, char *why, size_t room);

/** The plain file at @p path, whole; NULL, and @p why, when it can't be read. free() it. */
unsigned char *gw_live_read_file(const char *path, size_t *size, char *why, size_t room);

/** Read the segment at @p path; false, and @p why, when it is none. */
bool gw_live_open(struct gw_live_file *file, const char *path, char *why, size_t size);
void gw_live_close(struct gw_live_file *file);

/** Whose a segment is. */
enum gw_live_owner {
	GW_LIVE_UNOWNED, /**< the process that made it has ended, or is another user's: a forgery */
	GW_LIVE_OWNED,   /**< it runs */
	GW_LIVE_ELSEWHERE, /**< it is of another PID namespace of this machine: nobody here knows */
};
enum gw_live_owner gw_live_owner(const struct gw_live_file *file);
/** Whether a process that has not ended still runs the program that its segment names; it may have
 * run another since. */
bool gw_live_same_program(const struct gw_live_file *file);

/** Whether the process that made it still runs, or may. */
bool gw_live_owned(const struct gw_live_file *file);

/** The name of its log, "" before there is one. */
const char *gw_live_log_of(const struct gw_live_file *file);

/** The same for @p size bytes at @p data, which stay the caller's. */
bool gw_live_check(struct gw_live_file *file, unsigned char *data, size_t size);

/** The log @p log (@p size bytes; NULL: there is none) and what @p file has beyond it. */
void gw_live_add(const struct gw_live_file *file, const unsigned char *log, size_t size,
		 struct gw_live_rest *rest);

/**
 * The log at @p path with what the segment that it names has beyond it. False when there is nothing
 * to add: the log is complete, the process runs on, the segment is gone or another's: @p rest is
 * zeroed then. Says so.
 */
bool gw_live_rest_of(const char *path, struct gw_live_rest *rest);

/** Warn of launches of the log at @p path that are in neither. */
void gw_live_say_lost(const char *path, const struct gw_live_rest *rest);

/**
 * Whether @p name is that of a segment's file; @p gone: whether the process that it names has
 * ended, NULL: it does not matter.
 */
bool gw_live_named(const char *name, bool *gone);

/** When the process of the segment's file @p path began, field 22 of its stat; 0: the name is no
 * segment's. */
uint64_t gw_live_began(const char *path);

/** Whether the file at @p path, which gw_live_open() refuses, holds nothing: it was being made. */
bool gw_live_empty(const char *path);

/** The folder where segments of this user are. */
void gw_live_folder(char *out, size_t size);

#endif
