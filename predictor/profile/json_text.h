/*
 * Where values stand in a text that jansson has read: it says what a value is, but not its line,
 * which a message about its meaning needs.
 *
 * The text is valid JSON; nothing at or behind @p end is looked at.
 */
#ifndef GW_JSON_TEXT_H
#define GW_JSON_TEXT_H

/** Behind white space, commas and colons. */
const char *gw_json_skip_space(const char *p, const char *end);

/** Behind the string whose opening quote is at @p p. */
const char *gw_json_skip_string(const char *p, const char *end);

/** Behind the value that begins at @p p. */
const char *gw_json_skip_value(const char *p, const char *end);

/** Line of @p at in @p text, from 1. */
unsigned gw_json_line_at(const char *text, const char *at);

#endif
