/*
 * Is a GPU as fast as it should be? A sequential test of how long kernels take against what the
 * same configurations took on this GPU, at the clock they ran at. Pure: time and measurements come
 * in, a verdict is read. docs/internals/health.md describes the statistics.
 */
#ifndef GW_HEALTH_DETECT_H
#define GW_HEALTH_DETECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** What of a GPU is judged. */
enum health_resource {
#define RESOURCE(NAME, name, meaning) HEALTH_##NAME,
#include "cli/health/resource.def"
#undef RESOURCE
	HEALTH_RESOURCES
};

/** Measured launches of one configuration between two calls. */
struct health_sample {
	uint64_t key; /**< of kernel and configuration; the same in every process that runs it */
	const char *kernel;            /**< its name, for the evidence; copied */
	enum health_resource resource; /**< what bounds it; not HEALTH_CLOCK */
	double launches;               /**< that were measured, above 0 */
	double mean_ns;                /**< their mean GPU time, above 0 */
	double sm_khz;                 /**< SM clock meanwhile; NaN: unknown */
};

enum health_state {
	HEALTH_UNKNOWN, /**< nothing to compare with yet */
	HEALTH_GOOD,
	HEALTH_SLOW,
};

/** A configuration that a verdict rests on. */
struct health_evidence {
	const char *kernel; /**< valid until the next health_tick() */
	double launches;    /**< since the change */
	double expected_ns; /**< at the clock it ran at */
	double measured_ns; /**< mean */
	double weight;      /**< its share in the verdict, 0 to 1 */
};
enum { HEALTH_EVIDENCE = 5 };

/** What is known of one resource. */
struct health_verdict {
	enum health_state state;
	double ratio;      /**< measured / expected now (1: as expected); NaN: unknown */
	double score;      /**< log-likelihood ratio of the most likely change until now */
	double margin;     /**< how near the last tick brought it to being called slow: from 1 on
				it was; 0: not near, or slow already */
	double confidence; /**< that it is none of the false alarms of a day, 0 to 1 */
	uint64_t since_ns; /**< when it began, as times were given; 0: nothing is slow */
	size_t configs;    /**< configurations that had a say in the last interval */
	size_t evidence;   /**< how many follow, the heaviest first */
	struct health_evidence row[HEALTH_EVIDENCE];
};

struct health;

/** A detector for one GPU. Ends the command where memory ends. */
struct health *health_new(void);
void health_free(struct health *h);

/** Take a sample. */
void health_add(struct health *h, const struct health_sample *s);

/**
 * An interval of health_interval_ns() or more has passed: judge what came in it. @p now_ns rises
 * from call to call.
 */
void health_tick(struct health *h, uint64_t now_ns);

/** Time between two calls of health_tick(). */
uint64_t health_interval_ns(void);

/** The verdict on @p resource after the last tick. */
void health_of(const struct health *h, enum health_resource resource, struct health_verdict *out);

/** The worst of all resources: a slow one, else a good one; unknown where all but the clock are. */
enum health_state health_state(const struct health *h, enum health_resource *worst);

const char *health_resource_name(enum health_resource resource);
const char *health_state_name(enum health_state state);

#endif
