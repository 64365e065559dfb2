#include "cli/agent/pod_list.h"

#include "cli/common/memory.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Fields by their numbers in k8s.io/kubelet/pkg/apis/podresources/v1/api.proto. */
enum {
	LIST_POD = 1,
	POD_NAME = 1,
	POD_NAMESPACE = 2,
	POD_CONTAINER = 3,
	CONTAINER_NAME = 1,
	CONTAINER_DEVICES = 2,
	DEVICES_ID = 2,
};

/* A message, or what is left of it. */
struct piece {
	const unsigned char *at, *end;
};

static bool varint(struct piece *p, uint64_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 64 && p->at < p->end; shift += 7) {
		const unsigned char byte = *p->at++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field of @p p: its number, and what it holds where that has a length. 0: the end; -1: no
 * message. */
static int next(struct piece *p, struct piece *inner)
{
	uint64_t tag, size = 0;

	*inner = (struct piece){0};
	if (p->at == p->end)
		return 0;
	if (!varint(p, &tag) || tag >> 3 == 0 || tag >> 3 > 1 << 29)
		return -1;
	switch (tag & 7) {
	case 0:
		return varint(p, &size) ? (int)(tag >> 3) : -1;
	case 1:
		size = 8;
		break;
	case 2:
		if (!varint(p, &size))
			return -1;
		break;
	case 5:
		size = 4;
		break;
	default:
		return -1;
	}
	if (size > (uint64_t)(p->end - p->at))
		return -1;
	if ((tag & 7) == 2)
		*inner = (struct piece){p->at, p->at + size};
	p->at += size;
	return (int)(tag >> 3);
}

static void put(char *to, const struct piece *text)
{
	size_t length = (size_t)(text->end - text->at);

	length = length < OWNER_TEXT - 1 ? length : OWNER_TEXT - 1;
	if (length)
		memcpy(to, text->at, length);
	/* Owners are compared with all of their bytes. */
	memset(to + length, 0, OWNER_TEXT - length);
}

/* The UUID in "GPU-UUID", "MIG-UUID", or, where GPUs are shared, "GPU-UUID::2". */
static bool uuid_of(const char *id, size_t length, char out[37])
{
	if (length < 40 || (memcmp(id, "GPU-", 4) != 0 && memcmp(id, "MIG-", 4) != 0))
		return false;
	for (int i = 0; i < 36; i++) {
		const char c = id[4 + i];
		const bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? c != '-' : !isxdigit((unsigned char)c))
			return false;
		out[i] = (char)tolower((unsigned char)c);
	}
	out[36] = 0;
	return true;
}

static bool take_devices(struct piece devices, const struct agent_pod *as,
			 struct agent_pod_list *out)
{
	struct piece id;
	int field;

	while ((field = next(&devices, &id)) > 0) {
		struct agent_pod pod = *as;

		if (field != DEVICES_ID || out->rows == POD_ROWS ||
		    !uuid_of((const char *)id.at, (size_t)(id.end - id.at), pod.gpu))
			continue;
		if (!out->row)
			out->row = gw_alloc(POD_ROWS * sizeof(*out->row));
		out->row[out->rows++] = pod;
	}
	return !field;
}

/* Names may stand behind what they are of: a message is read for them first. */
static bool take_container(struct piece container, struct agent_pod *as, struct agent_pod_list *out)
{
	struct piece all = container, inner;
	int field;

	while ((field = next(&container, &inner)) > 0)
		if (field == CONTAINER_NAME)
			put(as->container, &inner);
	if (field)
		return false;
	while ((field = next(&all, &inner)) > 0)
		if (field == CONTAINER_DEVICES && !take_devices(inner, as, out))
			return false;
	return true;
}

static bool take_pod(struct piece pod, struct agent_pod_list *out)
{
	struct piece all = pod, inner;
	struct agent_pod as = {0};
	int field;

	while ((field = next(&pod, &inner)) > 0)
		if (field == POD_NAME)
			put(as.pod, &inner);
		else if (field == POD_NAMESPACE)
			put(as.namespace, &inner);
	if (field)
		return false;
	while ((field = next(&all, &inner)) > 0) {
		memset(as.container, 0, sizeof(as.container));
		if (field == POD_CONTAINER && !take_container(inner, &as, out))
			return false;
	}
	return true;
}

bool agent_pod_list_read(const void *data, size_t size, struct agent_pod_list *out)
{
	struct piece list = {data, (const unsigned char *)data + size}, inner;
	int field;

	while ((field = next(&list, &inner)) > 0)
		if (field == LIST_POD && !take_pod(inner, out))
			break;
	if (!field)
		return true;
	free(out->row);
	*out = (struct agent_pod_list){0};
	return false;
}

const struct agent_pod *agent_pod_of(const struct agent_pod_list *list, const char *uuid)
{
	const struct agent_pod *found = NULL;
	char gpu[37];

	if (!uuid_of(uuid, strlen(uuid), gpu))
		return NULL;
	for (size_t i = 0; i < list->rows; i++) {
		if (strcmp(list->row[i].gpu, gpu) != 0)
			continue;
		/* Replicas of a GPU may all be one container's. */
		if (found && memcmp(found, &list->row[i], sizeof(*found)) != 0)
			return NULL;
		found = &list->row[i];
	}
	return found;
}
