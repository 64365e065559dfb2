/*
 * What simulated GPUs of a fleet run: configurations of recorded launches, each with a pool of
 * times (gpuwatch export --format=csv), and chance.
 */
#ifndef GW_FLEET_POOL_H
#define GW_FLEET_POOL_H

#include "cli/health/detect.h"

#include <stdint.h>

enum { CONFIGS = 4096, FILES = 8, PER_CONFIG = 256 };

struct config {
	char kernel[64], plain[136];
	char shape[64];
	enum health_resource resource;
	double ns[PER_CONFIG];
	double mean[PER_CONFIG]; /* of the run that begins there */
	unsigned count, seen;
	unsigned file;
	double spread;  /* of the logarithm of these means */
	double follows; /* the clock, 0 to 1 */
};

/** [CONFIGS], allocated by the program; those of file i begin at first[i]. */
extern struct config *configs;
extern unsigned count, first[FILES + 1];
extern uint64_t pool_seed;

/** Add the configurations of a file; ends the program where it can't be read. */
void pool_read(unsigned file, const char *path);

/** Between 0 and 1; a whole number below @p n; a standard normal. */
double uniform(void);
unsigned below(unsigned n);
double normal(void);

#endif
