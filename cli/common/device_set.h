/* The devices that a command was given. */
#ifndef GW_DEVICE_SET_H
#define GW_DEVICE_SET_H

#include "cli/launch/file.h"
#include "cli/options.h"
#include "predictor/profile/profile.h"

/** The row of a command's table of options that fills a set. */
#define DEVICE_SET_OPTION \
	GW_OPT_LIST(device, "NAME|FILE", \
		    "GPU to predict for: the name of a known profile or a profile's file; may be " \
		    "repeated")

/** Profiles in the order they were asked for; freed by device_set_free. */
struct device_set {
	size_t count;
	struct gw_profile **profiles;
};

/**
 * Open the profiles of @p count @p names, each a name or a file. On failure returns false after one
 * message on stderr, which for a name lists the known ones, and leaves an empty set.
 */
bool device_set_open(struct device_set *set, const char *const *names, size_t count);
/** The same for the --device options of a command, which must be given once at least. */
bool device_set_asked(struct device_set *set, const struct gw_words *words, const char *command);
void device_set_free(struct device_set *set);

/** Seconds that @p item gives as measured on the device of @p profile, by any of its names; NaN for
 * none. */
double device_measured(const struct launch_case *item, const struct gw_profile *profile);

/** The shortest of the device's names, for where there is little room. */
const char *device_short_name(const struct gw_profile *profile);

#endif
