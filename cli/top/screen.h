/*
 * The terminal of gpuwatch top. It is as it was found on every way out: at the end, by a signal,
 * and while the program is stopped.
 */
#ifndef GW_TOP_SCREEN_H
#define GW_TOP_SCREEN_H

#include "cli/message.h"

#include <stdbool.h>
#include <stdint.h>

/* What top_screen_key() gives beside characters and ncurses' KEY_*. */
enum {
	TOP_KEY_NONE = -1, /* it was time */
	TOP_KEY_END = -2,  /* a signal or the terminal's end asks to leave */
};

/** Take the terminal; false after a message where that can't be. */
bool top_screen_open(void);
/** Give it back. */
void top_screen_close(void);

/** A key, at the latest at @p until_ns (top_now()). */
int top_screen_key(uint64_t until_ns);

unsigned top_screen_rows(void);
unsigned top_screen_columns(void);

/** Clear; what follows is shown at top_screen_show(). */
void top_screen_clear(void);
void top_screen_show(void);

/** Write @p text, printable, at a place, clipped at the screen's right end. */
void top_screen_put(unsigned row, unsigned column, enum gw_ink ink, const char *text);
/** Show @p count columns of a row in reverse. */
void top_screen_reverse(unsigned row, unsigned column, unsigned count);

#endif
