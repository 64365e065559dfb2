/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks kubelet which pod has which GPU, by its pod-resources socket: gRPC without encryption over a
 * Unix socket, on a thread of its own.
 */
#ifndef GW_AGENT_PODS_H
#define GW_AGENT_PODS_H

#include "cli/agent/pod_list.h"

#define PODS_SOCKET "/var/lib/kubelet/pod-resources/kubelet.sock" /**< where kubelet has it */

struct pods;

/** Ask at @p socket from now on, every ten seconds. NULL after a message. */
struct pods *pods_start(const char *socket);

/** Ask soon: a process began. */
void pods_ask(struct pods *pods);

/**
 * The last answer into @p list, in place of what it has; it stays where none is new. Returns the
 * questions that failed so far; @p why: why the last one did, "" where it did not.
 */
uint64_t pods_take(struct pods *pods, struct agent_pod_list *list, char *why, size_t size);

void pods_stop(struct pods *pods);

#endif
