/* Logs by their names: which there are, whose they are, and which belong to one run. */
#ifndef GW_LOG_FIND_H
#define GW_LOG_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/** GPUWATCH_OUT where it is not set (config.def). */
#define LOG_DEFAULT_NAME "gpuwatch.%h.%p.gwl"

/** Whose log a file is. Times in ns since 1970. */
struct log_identity {
	char *path;
	bool known;   /**< it starts with a HEADER record; the rest is empty where it does not */
	bool stated;  /**< `file` and `folder` are valid */
	ino_t file;   /**< number of the file ... */
	dev_t folder; /**< ... and of its file system */
	uint32_t pid;
	uint64_t from;                        /**< when the log was opened */
	uint64_t to;                          /**< when the file was last written */
	char *host, *command, *replay, *part; /**< "" when unknown */
};

/**
 * Identify the log at @p path by its first record. A file that is not one is left unknown; other
 * than regular files are not opened. Free with log_identity_free.
 */
void log_identify(struct log_identity *id, const char *path);
void log_identity_free(struct log_identity *id);

/** Whether both are one file, or hold the log of one process (a copy, a compressed one). */
bool log_identity_same(const struct log_identity *a, const struct log_identity *b);

/** A time span with the command that ran in it. */
struct log_span {
	uint64_t from, to;
	const char *command;
	unsigned run; /**< set by log_runs: from 0 in the order of time */
};

/**
 * Number the runs of @p count spans, sorted or not. A run ends where no process of it is left: the
 * next that starts belongs to another run where it is the same command again, or starts a minute
 * later. Returns how many runs there are.
 */
unsigned log_runs(struct log_span *spans, size_t count);

/**
 * The logs that GPUWATCH_OUT (@p pattern; NULL or "": the default name) stands for, in the order
 * of their names, into @p paths: free() each and the array. Returns how many.
 */
size_t log_find(const char *pattern, char ***paths);

#endif
