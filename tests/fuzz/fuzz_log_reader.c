/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes at all to the log reader, and every record it hands on to what a report does with it.
 */
#include "cli/log_reader.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* Touch all that the reader promises: a sanitizer sees what lies outside. */
static bool touch(void *arg, const struct gw_log_record *r)
{
	uint64_t *sum = arg;

	for (size_t i = 0; i < r->head->length; i++)
		*sum += ((const unsigned char *)r->head)[i];
	for (unsigned n = 0; n < 4; n++)
		*sum += strlen(gw_log_text(r, n));
	*sum += strlen(gw_log_value(r, "host"));
	if (r->head->kind == GW_RECORD_COUNTERS) {
		const struct gw_record_counters *c = (const void *)r->head;
		uint64_t last;

		if (c->count)
			*sum += *(const unsigned char *)memcpy(&last, r->tail + 8 * (c->count - 1),
			                                       8);
	}
	return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct gw_log_status status;
	uint64_t sum = 0;
	char line[300];

	if (gw_log_read_memory(data, size, touch, &sum, &status) && status.blocks == 0)
		abort();
	for (unsigned i = 0; gw_log_complaint(&status, i, line, sizeof(line)); i++)
		sum += strlen(line);
	if (status.bytes + status.damaged_bytes > size)
		abort();
	return sum == UINT64_MAX ? -1 : 0;
}
