/*
 * Device profiles on disk: JSON, described in docs/internals/profile.md. This is the only part of
 * the predictor that does I/O; library gwprofile. Nothing here prints or exits, and no
 * input, however corrupt, does more than fail with a message.
 */
#ifndef GW_PROFILE_H
#define GW_PROFILE_H

#include <stdio.h>

#include "predictor/core/device.h"

enum {
	GW_PROFILE_VERSION = 1,     /**< the format's number, key "gpuwatch_profile" */
	GW_PROFILE_ALIASES = 8,     /**< most other names of a device */
	GW_PROFILE_TEXT = 192,      /**< room for a source or a line of provenance, NUL included */
	GW_PROFILE_BYTES = 1 << 20, /**< longest file that is read */
	GW_PROFILE_FILES = 4096,    /**< most files tried in one folder */
	GW_PROFILE_GROUPS = 32,     /**< most groups of a calibration */
};

/** Under what a profile was made; an empty string is not known. Rows: profile.c. */
struct gw_provenance {
	char tool[GW_PROFILE_TEXT];   /**< program and version that wrote it */
	char date[GW_PROFILE_TEXT];   /**< when, YYYY-MM-DD or ISO 8601 */
	char driver[GW_PROFILE_TEXT]; /**< driver version */
	char cuda[GW_PROFILE_TEXT];   /**< CUDA version */
	char clocks[GW_PROFILE_TEXT]; /**< clocks and how they were held */
	char note[GW_PROFILE_TEXT];   /**< anything a reader must know */
};

/** Under what one group of a calibration ran. Texts are empty, numbers NaN when not known. */
struct gw_group_run {
	char name[32];
	char date[32];       /**< ISO 8601 */
	char driver[32];     /**< driver version */
	char throttle[128];  /**< what held the clocks down, "none" when nothing did */
	double sm_clock;     /**< SM clock under load, median, Hz */
	double sm_clock_low; /**< least of it, Hz */
	double temperature;  /**< of the GPU at the end, degrees Celsius */
	double power;        /**< drawn at the end, W */
	double seconds;      /**< it took */
};

/** A device, and where each of its values is from. About 150 KiB: keep it off stacks. */
struct gw_profile {
	struct gw_device device;
	unsigned alias_count;
	char aliases[GW_PROFILE_ALIASES][sizeof(((struct gw_device *)0)->name)];
	struct gw_provenance provenance;
	char source[GW_PARAMS][GW_PROFILE_TEXT];       /**< document and table; empty: none given */
	char curve_source[GW_CURVES][GW_PROFILE_TEXT]; /**< the same for curves */
	char how[GW_PARAMS][GW_PROFILE_TEXT];          /**< how it was measured, or, of an unknown
							  one, why it could not be; may be empty */
	char curve_how[GW_CURVES][GW_PROFILE_TEXT];    /**< the same for curves */
	unsigned group_count;
	struct gw_group_run groups[GW_PROFILE_GROUPS];
	uint8_t group[GW_PARAMS];       /**< 1 + the index in groups it was measured by; 0: none */
	uint8_t curve_group[GW_CURVES]; /**< the same for curves */
	char path[4096]; /**< file it was read from; empty when it was not read from a file */
};

/** One message for the user: file, line, what is wrong, remedy. Empty: nothing to say. */
struct gw_profile_error {
	char text[640];
};

/** A profile of which nothing is known but the device's name. */
void gw_profile_clear(struct gw_profile *profile, const char *name);

/**
 * Read @p length bytes of JSON at @p text; @p file appears in messages. Returns 0, or -1 with @p
 * error filled and @p out cleared. Refuses what docs/internals/profile.md does not allow: other
 * syntax, unknown or duplicate keys, unknown units, values out of range.
 */
int gw_profile_parse(const char *text, size_t length, const char *file, struct gw_profile *out,
		     struct gw_profile_error *error);

/** Read the file @p path. Returns 0, or -1 with @p error filled and @p out cleared. */
int gw_profile_read(const char *path, struct gw_profile *out, struct gw_profile_error *error);

/**
 * Write as JSON, in the units of device.def, so that reading it back gives the same bits.
 * Returns 0, or -1 when @p out reports an error. Text that is not UTF-8 can't be read back.
 */
int gw_profile_write(const struct gw_profile *profile, FILE *out);

/**
 * Write to @p path by way of a temporary file beside it, so that a reader never sees half a
 * profile and a failure leaves the old one. Returns 0, or -1 with @p error filled.
 */
int gw_profile_save(const struct gw_profile *profile, const char *path,
		    struct gw_profile_error *error);

/**
 * Find out whether gw_profile_save could write to @p path, making the folders above it where
 * @p make. Returns 0, or -1 with @p error filled; nothing but folders is left behind.
 */
int gw_profile_writable(const char *path, bool make, struct gw_profile_error *error);

/** What a value in @p unit (a unit of device.def) may be; false for other units. */
bool gw_unit_range(const char *unit, double *low, double *high);

/** The group called @p name, added where it is missing: 1 + its index; 0 when there is no room. */
unsigned gw_profile_group(struct gw_profile *profile, const char *name);

/** True when @p name is the profile's name or an alias; case, spaces and punctuation are ignored.
 */
bool gw_profile_is(const struct gw_profile *profile, const char *name);

/**
 * The profile of the GPU called @p name, by search: the file or folder @p given (NULL or empty: the
 * environment's GPUWATCH_PROFILE), $XDG_CONFIG_HOME/gpuwatch/profiles or
 * ~/.config/gpuwatch/profiles, /etc/gpuwatch/profiles, share/gpuwatch/profiles beside the program
 * or library. What others may write is skipped. The first match wins. Returns 0, or -1 with @p
 * error filled. On success @p error names the first file skipped before the match, if any: show it
 * to the user.
 */
int gw_profile_find(const char *name, const char *given, struct gw_profile *out,
		    struct gw_profile_error *error);

/**
 * Where the user's own profile of the GPU called @p name goes: a file in the first folder of the
 * search path that is the user's. Returns false when there is no home or no room in @p path.
 */
bool gw_profile_own_path(const char *name, char *path, size_t size);

/** Letters and digits of @p name in lower case, a hyphen for all between: a file name anywhere. */
void gw_profile_slug(const char *name, char *out, size_t size);

/**
 * What `--device` takes: the path of a file (it has a slash or ends in .json) or a name to
 * search for. As gw_profile_find.
 */
int gw_profile_open(const char *name_or_file, const char *given, struct gw_profile *out,
		    struct gw_profile_error *error);

/**
 * Call @p visit for every profile on the search path, in its order; files that can't be
 * read are passed to @p visit with a NULL profile and the message. Stops when @p visit
 * returns false. Returns false when there was no memory for the search.
 */
bool gw_profile_each(const char *given,
		     bool (*visit)(void *arg, const struct gw_profile *profile,
				   const char *message),
		     void *arg);

#endif
