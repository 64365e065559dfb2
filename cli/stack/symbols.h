/*
 * Names of native code: functions by the objects' symbols, source lines by elfutils' libdw, which
 * is opened where it is installed. Objects are looked for at the path that the log has, and count
 * only with the build id that it has: of one without a build id nothing is known.
 */
#ifndef GW_CLI_SYMBOLS_H
#define GW_CLI_SYMBOLS_H

#include <stdint.h>

/** The function (demangled), source file and line of @p address of the object; "" and 0 where they
 * are not known. free() both texts. */
void symbols_find(const char *path, const char *build_id, uint64_t address, char **function,
		  char **file, uint32_t *line);

/** Why native frames have no source lines, as a sentence; NULL where libdw is there. */
const char *symbols_missing(void);

/** Close what was opened. */
void symbols_end(void);

#endif
