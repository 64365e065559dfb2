/*
 * Collectives as NCCL reports them to its profiler (hook/nccl.c): on its threads, out of the launch
 * path. No lock, allocation or system call.
 */
#ifndef GW_COLLECTIVES_H
#define GW_COLLECTIVES_H

#include "preload/launch/call.h"

enum { GW_COMMUNICATORS = 1024 /**< that are kept, of all that a process ever has */ };

/** A communicator is made: its id from 1, 0 where there is no room. Any thread. */
GW_COLD uint32_t gw_communicator_new(uint64_t hash, uint32_t rank, uint32_t ranks);

/** What communicator @p id is, one that gw_communicator_new() returned. */
void gw_communicator(uint32_t id, uint64_t *hash, uint32_t *rank, uint32_t *ranks);

/**
 * The calling thread has launched a collective of communicator @p id (0: unknown, it is counted
 * alone): leave an event in its ring, where it has one and half of that is free. @p function and
 * @p datatype: names of NCCL, NULL: unknown; @p count: elements.
 */
GW_COLD void gw_collective(uint32_t id, const char *function, const char *datatype,
			   uint64_t sequence, uint64_t count);

#endif
