/*
 * How the command speaks: messages on stderr, colour on terminals only, text from logs made
 * safe to print.
 */
#ifndef GW_MESSAGE_H
#define GW_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/** Learn the locale and whether stdout and stderr take colour (a terminal, no NO_COLOR). Once,
 * first. */
void gw_message_init(void);

/** "gpuwatch: …" and a newline on stderr, printable. Returns 2, the exit status of bad input. */
int gw_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** The same, for what does not stop the command. */
void gw_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** The same, for what is neither: how far something is, where a result went. */
void gw_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/**
 * What can be done where a file can't be opened for @p error (errno), as the end of a message, such
 * as "; check its name". "" where nothing is known to help.
 */
const char *gw_open_remedy(int error);

enum gw_ink { GW_INK_OFF, GW_INK_BOLD, GW_INK_DIM, GW_INK_GOOD, GW_INK_WARN, GW_INK_BAD };

/** The escape sequence that sets @p ink on @p stream; "" where there is no colour. */
const char *gw_ink(FILE *stream, enum gw_ink ink);

/** Columns of stdout: the terminal's, else $COLUMNS, else 120; at least 60. */
unsigned gw_width(void);

/** Whether output may hold UTF-8. */
bool gw_utf8(void);

/**
 * Copy @p text to @p out, at most @p size bytes with the NUL, each control character and each byte
 * that is not well-formed UTF-8 replaced by '?', likewise the marks that turn the direction of
 * writing (U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069) and Unicode's line separators, so
 * that a log or a file's name can neither drive a terminal nor show as what it is not. Returns @p
 * out.
 */
char *gw_printable(char *out, size_t size, const char *text);

/** Columns that well-formed UTF-8 takes, one per code point. */
size_t gw_columns(const char *text);

#endif
