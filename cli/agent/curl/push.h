/* Sends what is due to a collector, on a thread of its own: whoever queues never waits. */
#ifndef GW_AGENT_PUSH_H
#define GW_AGENT_PUSH_H

#include "cli/export/proto.h"

#include <stdint.h>

enum { PUSH_QUEUE = 16 }; /**< messages that wait; the oldest one goes for a new one */

struct push;

/** Send to @p url (http or https). @p ca: a file with certificates, NULL: the system's. NULL after
 * a message. */
struct push *push_start(const char *url, const char *ca);

/** Send @p message, whose data is the queue's from here. */
void push_queue(struct push *push, struct proto message);

/** Messages that were dropped, for lack of room or because the collector refused them, and attempts
 * that failed. @p why: what became of the latest, "" where it arrived. */
uint64_t push_failures(struct push *push, char *why, size_t size);

/** Send what waits, for at most @p seconds, and end. */
void push_stop(struct push *push, unsigned seconds);

#endif
