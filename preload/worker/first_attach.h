/*
 * The first attaching to libcupti in mode audit: the program's thread that is about to make a
 * context asks for it and waits, bounded; the worker does it.
 */
#ifndef GW_FIRST_ATTACH_H
#define GW_FIRST_ATTACH_H

#include <stdbool.h>

/** The worker attaches, as gw_pipeline_attach() asked it to, or will not. */
void gw_attach_first(void);
void gw_attach_tried(void);

/** A context is about to be made: have the worker attach, unless that was tried. The caller waits,
 * 2 s at most. */
void gw_first_attach_wait(void);

/** In a forked child that starts over: @p tried, nothing is attached for its contexts. */
void gw_first_attach_reset(bool tried);

#endif
