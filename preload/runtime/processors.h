/* How many processors the process may use. Not in a sandbox. */
#ifndef GW_PROCESSORS_H
#define GW_PROCESSORS_H

/** Processors that the process may run on, at least one. */
unsigned gw_processors(void);

/**
 * How many of them its control group pays for; infinite without a quota. A quota is used up by
 * threads of lowest priority as by any other, and then all threads wait.
 */
double gw_processors_quota(void);

/** The same of @p text, of a file cpu.max: "QUOTA PERIOD". */
double gw_processors_quota_of(const char *text);

#endif
