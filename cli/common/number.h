/*
 * Numbers as people read them. Each function writes into a struct gw_text of the caller, so
 * that several fit in one printf, and returns the string. NaN gives "-".
 */
#ifndef GW_NUMBER_H
#define GW_NUMBER_H

#include <stdint.h>

struct gw_text {
	char s[48];
};

/** A time given in ns with three digits and its unit: "12.3 µs". */
const char *gw_duration(struct gw_text *out, double ns);
/** A whole number with commas: "12,345,678". */
const char *gw_thousands(struct gw_text *out, double value);
/** A share of 1 as per cent: "12.3%"; tiny and near-whole shares do not round to 0 or 100. */
const char *gw_percent(struct gw_text *out, double share);
/** Bytes with a binary unit: "1.5 MiB". */
const char *gw_bytes(struct gw_text *out, double bytes);

/** "1 launch", "2 launches": a counted noun. @p plural NULL adds an s. */
const char *gw_counted(struct gw_text *out, double value, const char *noun, const char *plural);

#endif
