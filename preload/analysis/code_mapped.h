/*
 * The fat binaries in the executable and the shared libraries of the process, as the compiler puts
 * them there (section .nv_fatbin): where the code of a module is that no hook saw loaded. Files are
 * read, mappings are not touched: they may go at any time. Worker only.
 */
#ifndef GW_CODE_MAPPED_H
#define GW_CODE_MAPPED_H

#include "preload/launch/modules.h"

/**
 * Look for objects that have been loaded since the last call. False where not all that are, and
 * were, could be listed: no file may be opened, one was replaced, has no sections or more than 64
 * MiB of such code, or there is no room.
 */
bool gw_code_mapped_look(void);

/** How many containers of code are known. */
uint32_t gw_code_mapped_count(void);

/** Where container @p index lies in its file; it stays as long as the process. */
const struct gw_module_note *gw_code_mapped(uint32_t index);

/** Start with none. */
void gw_code_mapped_start(void);

#endif
