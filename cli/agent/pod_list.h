/* Which pod a GPU is allotted to: the answer of kubelet's PodResourcesLister (v1), and a look-up.
 */
#ifndef GW_AGENT_POD_LIST_H
#define GW_AGENT_POD_LIST_H

#include "cli/agent/owner.h"

#include <stdbool.h>

enum { POD_ROWS = 4096 }; /**< GPUs of containers that are kept; a node has fewer */

struct agent_pod {
	char gpu[37]; /**< the UUID without "GPU-" or "MIG-", in small letters */
	char namespace[OWNER_TEXT], pod[OWNER_TEXT], container[OWNER_TEXT];
};

/** Zero-initialised is empty; free() row. */
struct agent_pod_list {
	struct agent_pod *row;
	size_t rows;
};

/**
 * Read a ListPodResourcesResponse of @p size bytes into @p out, which is empty. False where it is
 * none: @p out is empty then. Devices whose ids are no UUIDs are left out.
 */
bool agent_pod_list_read(const void *data, size_t size, struct agent_pod_list *out);

/** The row of the GPU @p uuid ("GPU-..."); NULL: it is allotted to no container, or to several. */
const struct agent_pod *agent_pod_of(const struct agent_pod_list *list, const char *uuid);

/*
 * Asks kubelet which pod has which GPU, by its pod-resources socket: gRPC without encryption over a
 * Unix socket, on a thread of its own.
 */

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
