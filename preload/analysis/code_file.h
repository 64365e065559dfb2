/* Code that lies in files, read by the worker without ever touching the program's mappings. */
#ifndef GW_CODE_FILE_H
#define GW_CODE_FILE_H

#include "predictor/core/arena.h"
#include "predictor/code/binary/bytes.h"
#include "preload/launch/modules.h"

/**
 * Read the image of @p note from its file into @p arena: the container at its address in an
 * executable or library, or else the whole file. NULL, or why not (a static text). The file is
 * read, not mapped: one that is cut off meanwhile must not end the process.
 */
const char *gw_code_file_read(const struct gw_module_note *note, struct gw_arena *arena,
			      struct gw_bytes *out);

/** Open the file @p path for reading, without waiting for anybody; -1 when that can't be. */
int gw_code_file_open(const char *path);

/** Read the @p size bytes at @p offset of file @p fd; false when they aren't all there. */
bool gw_code_file_bytes(int fd, void *to, size_t size, uint64_t offset);

#endif
