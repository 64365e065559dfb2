/* Each prints one manual page on stdout. */
#ifndef GW_MANUAL_H
#define GW_MANUAL_H

#include "cli/command.h"

#include <stdbool.h>

/** gpuwatch(1) */
void gw_manual_main(void);
/** gpuwatch-COMMAND(1) */
void gw_manual_command(const struct gw_command *command);
/** libgpuwatch(7) */
void gw_manual_library(void);
/** gpuwatch-log(5), or the same as Markdown. */
void gw_manual_log(bool markdown);

/*
 * Writes one text as a manual page (roff) or as Markdown, on stdout.
 */

enum gw_document { GW_DOCUMENT_MAN, GW_DOCUMENT_MARKDOWN };

/** Begin: "gpuwatch-run", section 1, one line of what it is. */
void gw_document_title(enum gw_document kind, const char *name, int section, const char *summary);
void gw_document_heading(enum gw_document kind, const char *text);
/** Paragraphs separated by empty lines; other line ends are spaces. `code` in back quotes. */
void gw_document_text(enum gw_document kind, const char *text);
/** Text whose lines stay as they are: a synopsis, a command. */
void gw_document_verbatim(enum gw_document kind, const char *text);
/** An entry of a list: a term and what it means. */
void gw_document_item(enum gw_document kind, const char *term, const char *text);
/** The head of a table of fields: in Markdown its title line. */
void gw_document_fields(enum gw_document kind);
/** A field: name, type, unit ("" for none), meaning. */
void gw_document_field(enum gw_document kind, const char *name, const char *type, const char *unit,
		       const char *meaning);

#endif
