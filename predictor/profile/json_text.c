#include "predictor/profile/json_text.h"

#include <stdbool.h>
#include <string.h>

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c);
}

const char *gw_json_skip_space(const char *p, const char *end)
{
	while (p < end && is_one_of(*p, " \t\r\n,:"))
		p++;
	return p;
}

const char *gw_json_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		if (*p == '\\' && end - p > 1)
			p++;
	return p < end ? p + 1 : end;
}

static const char *skip_word(const char *p, const char *end)
{
	while (p < end && !is_one_of(*p, " \t\r\n,]}"))
		p++;
	return p;
}

const char *gw_json_skip_value(const char *p, const char *end)
{
	unsigned depth = 0;

	while (p < end) {
		if (*p == '"') {
			p = gw_json_skip_string(p, end);
		} else if (is_one_of(*p, "[{")) {
			depth++;
			p++;
		} else if (!depth) {
			return skip_word(p, end);
		} else {
			depth -= is_one_of(*p, "]}");
			p++;
		}
		if (!depth)
			return p;
	}
	return p;
}

unsigned gw_json_line_at(const char *text, const char *at)
{
	unsigned line = 1;

	for (; text < at; text++)
		line += *text == '\n';
	return line;
}
