/*
 * The agent's samples as Parquet files, for what outgrows one machine: one file a span of time,
 * FOLDER/host=HOST/day=2026-11-26/140000-123456789.parquet (UTC), whole or not there. Beside them
 * the tables of hours (work.def), FOLDER/hours/host=HOST/day=2026-11-26/work-140000.parquet and
 * state-140000.parquet, which hold a day and are written anew with each file of samples.
 */
#ifndef GW_AGENT_STORE_H
#define GW_AGENT_STORE_H

#include "cli/agent/metrics.h"

#include <stdio.h>

struct agent_store;

/**
 * Files below @p folder, which is there; of this host at most @p most bytes, the oldest go first.
 * @p host names the host's folder.
 */
struct agent_store *agent_store_new(const char *folder, const char *host, uint64_t most);

/** Keep all samples of now, @p now_ns by CLOCK_REALTIME, for the next file. */
void agent_store_add(struct agent_store *store, const struct agent_node *node,
		     const struct agent_self *self, uint64_t now_ns);

/**
 * Write what is kept as a file. False where that fails, with @p why: it stays for the next time,
 * the newest 2^17 samples at most.
 */
bool agent_store_write(struct agent_store *store, char *why, size_t room);

/** Whether so much is kept that it should be written. */
bool agent_store_full(const struct agent_store *store);

/** Samples that were dropped, because files could not be written. */
uint64_t agent_store_dropped(const struct agent_store *store);

/** Write a file of samples without one to @p out: its columns. */
void agent_store_put_none(FILE *out);

/** What is kept is lost. */
void agent_store_free(struct agent_store *store);

#endif
