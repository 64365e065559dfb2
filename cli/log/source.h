/*
 * Where the bytes of a log come from: a file, a zstd-compressed file, memory.
 */
#ifndef GW_LOG_SOURCE_H
#define GW_LOG_SOURCE_H

#include <stdbool.h>
#include <stddef.h>

struct gw_log_source;

/**
 * Open @p path, or standard input for "-". It is a file, or a pipe, which can be read once. A
 * zstd-compressed file is known by its first bytes and decompressed as it is read. NULL on failure
 * with the reason, without the path, in @p why
 * (@p size bytes). Close it with gw_log_source_close.
 */
struct gw_log_source *gw_log_source_open(const char *path, char *why, size_t size);

/** Whether the log at @p path can be read only once: standard input ("-") or a pipe. */
bool gw_log_source_is_once(const char *path);

/**
 * Whether the file at @p path starts as a gpuwatch log, compressed or not, does. False for other
 * than regular files and for what can't be read.
 */
bool gw_log_source_is_log(const char *path);

/** The same as gw_log_source_open() for @p length bytes in memory, which must outlive the source.
 */
struct gw_log_source *gw_log_source_memory(const void *data, size_t length);

/**
 * Up to @p size bytes into @p buffer; fewer only at the end. After a failure *failed says why
 * (static or owned by the source) and what was read before it is returned.
 */
size_t gw_log_source_read(struct gw_log_source *source, void *buffer, size_t size,
			  const char **failed);

/** Bytes that it holds in all, where that is known before they are read; SIZE_MAX elsewhere. */
size_t gw_log_source_size(const struct gw_log_source *source);

/** Whether positions are those of the decompressed bytes. */
bool gw_log_source_compressed(const struct gw_log_source *source);

void gw_log_source_close(struct gw_log_source *source);

#endif
