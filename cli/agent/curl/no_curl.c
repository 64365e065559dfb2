/* The agent where it was built without libcurl. */
#include "cli/agent/pod_list.h"
#include "cli/agent/curl/push.h"

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

uint64_t push_failures(struct push *push, char *why, size_t size)
{
	(void)push;
	if (size)
		*why = 0;
	return 0;
}

void push_stop(struct push *push, unsigned seconds)
{
	(void)push;
	(void)seconds;
}

struct pods *pods_start(const char *socket)
{
	(void)socket;
	gw_error("agent: this gpuwatch was built without libcurl: --pod-resources can't be used; "
		 "install libcurl4-openssl-dev and build again");
	return NULL;
}

void pods_ask(struct pods *pods)
{
	(void)pods;
}

uint64_t pods_take(struct pods *pods, struct agent_pod_list *list, char *why, size_t size)
{
	(void)pods;
	(void)list;
	if (size)
		*why = 0;
	return 0;
}

void pods_stop(struct pods *pods)
{
	(void)pods;
}
