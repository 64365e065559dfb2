/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded launches by configuration, for fleet_gpus. */
#ifndef GW_FLEET_RECORDINGS_H
#define GW_FLEET_RECORDINGS_H

#include "cli/health/detect.h"

enum { CONFIGS = 4096, FILES = 8, PER_CONFIG = 256 };

struct config {
	char kernel[64];
	char shape[64];
	enum health_resource resource;
	double ns[PER_CONFIG];
	double mean[PER_CONFIG]; /* of the run that begins there */
	unsigned count, seen;
	unsigned file;
	double spread;  /* of the logarithm of these means */
	double follows; /* the clock, 0 to 1 */
};

/** Room for CONFIGS. */
extern struct config *configs;
/** How many there are, and the first one of each file. */
extern unsigned count, first[FILES + 1];

/** Add the configurations of @p path (gpuwatch export --format=csv), the file of that number. */
void recordings_read(unsigned file, const char *path);

#endif
