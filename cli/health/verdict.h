/* Verdicts of a node as JSON: `gpuwatch-health-1`, which the agent serves and the command reads.
 * The names of verdicts and the worst of a GPU, declared in detect.h, are in verdict.c, too. */
#ifndef GW_HEALTH_VERDICT_H
#define GW_HEALTH_VERDICT_H
#include "cli/health/detect.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** A GPU and its detector. */
struct health_gpu {
	const char *uuid, *model, *pci; /**< "": unknown */
	uint32_t ordinal;
	const struct health *health;
};

/** All of @p count GPUs as of @p ns, CLOCK_REALTIME. */
json_t *health_json(const struct health_gpu *gpus, size_t count, uint64_t ns);

/* Asks the agent of this machine. */

/**
 * What the agent at @p where (ADDRESS:PORT or unix:PATH) serves at @p path, with @p token where
 * that is not NULL; ended by a NUL, free() it. Each of connecting, asking and the answer takes
 * @p seconds at most. NULL, and @p why, where
 * there is none.
 */
char *health_ask(const char *where, const char *path, const char *token, unsigned seconds,
		 char *why, size_t room);

#endif
