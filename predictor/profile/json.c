/* Lines, units and messages of profile files. */
#include "predictor/profile/json.h"

#include "predictor/profile/json_text.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

/* The key @p key of the object whose '{' is at @p p: its opening quote, or NULL. */
static const char *find_key(const char *p, const char *end, const char *key)
{
	size_t length = strlen(key);

	p = gw_json_skip_space(p + 1, end);
	while (p < end && *p == '"') {
		const char *after = gw_json_skip_string(p, end);

		if ((size_t)(after - p) == length + 2 && !memcmp(p + 1, key, length))
			return p;
		p = gw_json_skip_value(gw_json_skip_space(after, end), end);
		p = gw_json_skip_space(p, end);
	}
	return NULL;
}

unsigned gw_json_line(const char *text, size_t length, const char *const path[])
{
	const char *end = text + length, *p = memchr(text, '{', length), *found = text;

	for (unsigned i = 0; p && path[i]; i++) {
		const char *key = find_key(p, end, path[i]);

		if (!key)
			break;
		found = key;
		p = gw_json_skip_space(gw_json_skip_string(key, end), end);
		if (p == end || *p != '{')
			break;
	}
	return gw_json_line_at(text, found);
}

void gw_profile_say(struct gw_profile_error *error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	for (char *c = error->text; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = '?';
}

enum prefixes { PLAIN, SI, BIN, SUB };

static const struct {
	char name[16]; /* in place: a table of pointers is relocated in every process */
	enum prefixes prefixes;
	double low, high;
} units[] = {
#define UNIT(name, prefixes, low, high) {name, prefixes, low, high},
#include "predictor/core/units.def"
#undef UNIT
};

static double prefix_scale(enum prefixes allowed, const char *prefix, size_t length)
{
	static const struct {
		char name[3];
		enum prefixes of;
		double scale;
	} rows[] = {
		{"k", SI, 1e3},      {"M", SI, 1e6},      {"G", SI, 1e9},      {"T", SI, 1e12},
		{"Ki", BIN, 0x1p10}, {"Mi", BIN, 0x1p20}, {"Gi", BIN, 0x1p30}, {"Ti", BIN, 0x1p40},
		{"m", SUB, 1e-3},    {"u", SUB, 1e-6},    {"n", SUB, 1e-9},
	};

	if (!length)
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if ((rows[i].of == allowed || (rows[i].of == SI && allowed == BIN)) &&
		    strlen(rows[i].name) == length && !memcmp(rows[i].name, prefix, length))
			return rows[i].scale;
	return NAN;
}

double gw_unit_scale(const char *unit, const char *written, double *low, double *high)
{
	size_t full = strlen(written), base = strlen(unit);

	*low = *high = NAN;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(units[i].name, unit))
			continue;
		*low = units[i].low;
		*high = units[i].high;
		if (full < base || strcmp(written + full - base, unit))
			return NAN;
		return prefix_scale(units[i].prefixes, written, full - base);
	}
	return NAN;
}

bool gw_unit_range(const char *unit, double *low, double *high)
{
	return gw_unit_scale(unit, unit, low, high) == 1;
}

static const struct {
	const char *name;
	size_t offset;
} provenance[] = {
#define ROW(member) \
	{ \
#member, offsetof(struct gw_provenance, member) \
	}
	ROW(tool), ROW(date), ROW(driver), ROW(cuda), ROW(clocks), ROW(note),
#undef ROW
};

const char *gw_provenance_name(unsigned i)
{
	return i < sizeof(provenance) / sizeof(*provenance) ? provenance[i].name : NULL;
}

char *gw_provenance_text(struct gw_provenance *p, unsigned i)
{
	return (char *)p + provenance[i].offset;
}

const struct gw_group_field *gw_group_field(unsigned i)
{
#define TEXT(member) \
	{ \
#member, offsetof(struct gw_group_run, member), \
			sizeof(((struct gw_group_run *)0)->member) \
	}
#define NUMBER(member) \
	{ \
#member, offsetof(struct gw_group_run, member), 0 \
	}
	static const struct gw_group_field fields[] = {
		TEXT(date),           NUMBER(seconds), TEXT(driver),        NUMBER(sm_clock),
		NUMBER(sm_clock_low), TEXT(throttle),  NUMBER(temperature), NUMBER(power)};
#undef TEXT
#undef NUMBER

	return i < sizeof(fields) / sizeof(*fields) ? &fields[i] : NULL;
}
