/*
 * JSON output by jansson: what an unknown number and a broken text become.
 */
#ifndef GW_JSON_H
#define GW_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/** A number; null when it is not finite. */
json_t *gw_json_number(double value);
/** A whole number; beyond 2^63 as a real number. */
json_t *gw_json_count(uint64_t value);
/** A text, null for NULL; bytes that are not UTF-8 and control characters become '?'. */
json_t *gw_json_text(const char *text);
/** Set key @p key of object @p o to such a number, whole number or text, or to a truth value. */
void gw_set_number(json_t *o, const char *key, double value);
void gw_set_count(json_t *o, const char *key, uint64_t value);
void gw_set_text(json_t *o, const char *key, const char *text);
void gw_set_bool(json_t *o, const char *key, bool value);
/** Print on stdout with a newline, and release @p value. */
void gw_json_print(json_t *value);

#endif
