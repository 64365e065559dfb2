/* SPDX-License-Identifier: Apache-2.0 */
/* The agent where it was built without libcurl. */
#include "cli/agent/push.h"

#include "cli/message.h"

#include <stdlib.h>

struct push *push_start(const char *url, const char *ca)
{
	(void)url;
	(void)ca;
	gw_error("agent: this gpuwatch was built without libcurl: --otlp can't be used; install "
	         "libcurl4-openssl-dev and build again");
	return NULL;
}

void push_queue(struct push *push, struct proto message)
{
	(void)push;
	free(message.data);
}

uint64_t push_failures(struct push *push)
{
	(void)push;
	return 0;
}

void push_stop(struct push *push, unsigned seconds)
{
	(void)push;
	(void)seconds;
}
