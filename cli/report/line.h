/* The lines of a report's header: a label, and parts separated by dots, wrapped under it. */
#ifndef GW_REPORT_LINE_H
#define GW_REPORT_LINE_H

#include "cli/message.h"

enum { REPORT_LABEL = 11 }; /**< width of the labels */

/** A line being printed. */
struct report_line {
	const char *label;
	size_t column;   /**< what the parts so far took; 0: none yet */
	unsigned width;  /**< of the page */
	bool brief;      /**< one row: a part that does not fit is cut short, or left out */
	size_t reserved; /**< columns at the row's end that the next part leaves free */
};

struct report_line report_begin(const char *label, unsigned width);
void report_part(struct report_line *line, enum gw_ink ink, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** Further parts start on a new row. */
void report_break(struct report_line *line);
/** End the line; @p nothing is printed when it has no part. */
void report_finish(struct report_line *line, const char *nothing);

/** A sentence, wrapped at blanks within @p width, further lines after @p indent blanks. */
void report_wrapped(const char *text, unsigned width, unsigned indent);

/** What is printed, up to 1,023 bytes, as lines of the terminal's width after @p indent blanks. */
void report_sentence(unsigned indent, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
