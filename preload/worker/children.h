/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Child processes at work while the threads that launch are not: what reads a program's input, such
 * as the workers of PyTorch's DataLoader. In mode audit. Worker only.
 */
#ifndef GW_CHILDREN_H
#define GW_CHILDREN_H

#include <stdint.h>

/** A log begins. */
void gw_children_start(void);

/**
 * Once a round, before its launches are taken: what was used since the last round goes before
 * launches that were called later. @p now: CLOCK_MONOTONIC, ns. A system call for each child and
 * each thread that launches, at most 64 of each; where there is no child, a file for each of these
 * threads once a second.
 */
void gw_children_tick(uint64_t now);

#endif
