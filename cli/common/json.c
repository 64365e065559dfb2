#include "cli/common/json.h"

#include "cli/common/memory.h"
#include "cli/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *gw_json_number(double value)
{
	if (!isfinite(value))
		return json_null();
	/* Whole nanoseconds print as such; doubles hold them exactly up to 2^53. */
	if (value == floor(value) && fabs(value) < 9007199254740992.0)
		return json_integer((json_int_t)value);
	return json_real(value);
}

json_t *gw_json_count(uint64_t value)
{
	return value <= INT64_MAX ? json_integer((json_int_t)value) : json_real((double)value);
}

json_t *gw_json_text(const char *text)
{
	json_t *value;
	char *clean;
	size_t size;

	if (!text)
		return json_null();
	size = strlen(text) + 1;
	clean = gw_alloc(size);
	value = json_string(gw_printable(clean, size, text));
	free(clean);
	return value ? value : json_null();
}

void gw_set_number(json_t *o, const char *key, double value)
{
	json_object_set_new(o, key, gw_json_number(value));
}

void gw_set_count(json_t *o, const char *key, uint64_t value)
{
	json_object_set_new(o, key, gw_json_count(value));
}

void gw_set_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, gw_json_text(text));
}

void gw_set_bool(json_t *o, const char *key, bool value)
{
	json_object_set_new(o, key, json_boolean(value));
}

void gw_json_print(json_t *value)
{
	json_dumpf(value, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(12));
	putchar('\n');
	json_decref(value);
}
