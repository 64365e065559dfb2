#include "cli/common/number.h"

#include "cli/message.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static const char *unknown(struct gw_text *out)
{
	strcpy(out->s, "-");
	return out->s;
}

/* Digits after the point that leave three significant ones. */
static int decimals(double value)
{
	return fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0;
}

const char *gw_duration(struct gw_text *out, double ns)
{
	static const struct {
		double ns;
		const char *utf8, *ascii;
	} units[] = {{1e9, "s", "s"}, {1e6, "ms", "ms"}, {1e3, "µs", "us"}, {1, "ns", "ns"}};
	unsigned u = 0;

	if (isnan(ns))
		return unknown(out);
	while (u < 3 && fabs(ns) < units[u].ns * 0.9995)
		u++;
	snprintf(out->s, sizeof(out->s), "%.*f %s",
		 u == 3 && ns == floor(ns) ? 0 : decimals(ns / units[u].ns), ns / units[u].ns,
		 gw_utf8() ? units[u].utf8 : units[u].ascii);
	return out->s;
}

const char *gw_thousands(struct gw_text *out, double value)
{
	char digits[40];
	size_t length, n = 0;

	if (isnan(value))
		return unknown(out);
	if (fabs(value) >= 1e18) {
		snprintf(out->s, sizeof(out->s), "%.3g", value);
		return out->s;
	}
	length = (size_t)snprintf(digits, sizeof(digits), "%.0f", value);
	for (size_t i = 0; i < length; i++) {
		if (i && digits[i - 1] != '-' && (length - i) % 3 == 0)
			out->s[n++] = ',';
		out->s[n++] = digits[i];
	}
	out->s[n] = '\0';
	return out->s;
}

const char *gw_percent(struct gw_text *out, double share)
{
	double percent = share * 100;

	if (isnan(percent))
		return unknown(out);
	if (percent > 0 && percent < 0.05)
		return strcpy(out->s, "<0.1%");
	if (percent < 100 && percent >= 99.95)
		return strcpy(out->s, ">99.9%");
	if (percent >= 1e6)
		return strcpy(out->s, ">1e6%");
	snprintf(out->s, sizeof(out->s), "%.*f%%",
		 percent >= 999.95 || percent == 100 || percent == 0 ? 0 : 1, percent);
	return out->s;
}

const char *gw_bytes(struct gw_text *out, double bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
	unsigned u = 0;

	if (isnan(bytes))
		return unknown(out);
	while (u < 5 && bytes >= 1023.5) {
		bytes /= 1024;
		u++;
	}
	snprintf(out->s, sizeof(out->s), "%.*f %s", u ? decimals(bytes) : 0, bytes, units[u]);
	return out->s;
}

const char *gw_counted(struct gw_text *out, double value, const char *noun, const char *plural)
{
	struct gw_text number;
	bool one = value == 1;

	snprintf(out->s, sizeof(out->s), "%s %s%s", gw_thousands(&number, value),
		 one || !plural ? noun : plural, one || plural ? "" : "s");
	return out->s;
}
