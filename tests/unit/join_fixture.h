/*
 * Joining alone: launches and records of three configurations, what came of them, and a clock that
 * the test moves. A launch is reported by its `known`, a record by its duration.
 */
#ifndef GW_TESTS_UNIT_JOIN_FIXTURE_H
#define GW_TESTS_UNIT_JOIN_FIXTURE_H

#include "preload/join/join.h"
#include "preload/worker/registry.h"
#include "tests/unit/preload_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

enum { STREAM_A = 1, STREAM_B = 2, GRAPH = 9, MANY = 1 << 19 };

/** The latest meetings. */
struct meeting {
	uint32_t launch;
	uint64_t duration;
	double seconds;
};
extern struct meeting met[64];
extern uint32_t wrong; /**< meetings of a launch with another's record, reported by the duration */
extern uint32_t met_count, lost[64], lost_count, orphan_count;
extern uint32_t records_there; /**< of the launches that wait: they come when the queue is full */
extern uint64_t now;
extern uint64_t asked; /**< times that a configuration was looked at */
extern struct gw_config_entry configs[4];

/** Nothing waits, nothing has met. */
int join_start(void **state);
/** Frees what waits, so that the leak checker can tell a leak. */
int join_stop(void **state);

void wait_in(enum gw_join_by by, uint64_t key, uint32_t number, uint32_t config, uint32_t launch);
void launch(uint32_t stream, uint32_t config, uint32_t number);
struct gw_activity activity(uint32_t config, uint32_t correlation, uint64_t duration);
void record(uint32_t stream, uint32_t config, uint32_t correlation, uint64_t duration);
/** A record of a node of GRAPH, in STREAM_A. */
void node(uint32_t config, uint32_t correlation, uint64_t duration);

#endif
