/*
 * Any bytes at all to the log reader; and the same bytes as the records of a whole block, whose
 * checksum a fuzzer would never guess, to the reader, to what a report makes of them, and as the
 * logs of two ranks of a job.
 */
#include "cli/common/memory.h"
#include "cli/log/model.h"
#include "cli/log/reader.h"
#include "cli/log/rows.h"
#include "cli/ranks/build.h"
#include "predictor/log/block.h"

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

/* A log as those of two ranks. */
static void as_ranks(const void *data, size_t length)
{
	struct ranks_shapes shapes = {0};
	struct ranks_steps steps;
	struct ranks_log logs[2];
	struct ranks_job job;

	for (unsigned i = 0; i < 2; i++)
		if (!ranks_log_read(&logs[i], &shapes, i ? "b" : "a", data, length))
			abort();
	/* Of another machine: clocks are set, too. */
	free(logs[1].host);
	logs[1].host = gw_copy("b");
	if (ranks_build(&job, logs, 2, &shapes, &steps))
		ranks_judge(&job);
	ranks_job_free(&job);
	ranks_unbuild(&job);
	for (unsigned i = 0; i < 2; i++)
		ranks_log_free(&logs[i]);
	ranks_shapes_free(&shapes);
}

/* The input as one block of records, into a report. */
static void as_records(const unsigned char *data, size_t size)
{
	struct gw_block head = {GW_BLOCK_MAGIC, (uint32_t)(size & ~(size_t)7), 0, 0};
	static struct gw_log_model model;
	unsigned char *log;

	if (!head.length || head.length > GW_BLOCK_MAX)
		return;
	head.crc = gw_crc32(0, data, head.length);
	log = malloc(sizeof(head) + head.length);
	if (!log)
		return;
	memcpy(log, &head, sizeof(head));
	memcpy(log + sizeof(head), data, head.length);
	gw_log_model_init(&model);
	model.by = (enum gw_by)(head.crc % (GW_BY_LINE + 1));
	if (gw_log_model_read_memory(&model, "fuzz", log, sizeof(head) + head.length))
		as_ranks(log, sizeof(head) + head.length);
	else if (!*model.files[0].status.error)
		abort();
	for (size_t i = 0; i < model.row_count; i++)
		if (gw_quantile(&model.rows[i].time, 0.5) < 0 || gw_row_mape(&model.rows[i]) < 0)
			abort();
	gw_log_model_free(&model);
	free(log);
}

/* The input as packed records: what unpacks from it packs, and unpacks to the same again. */
static void as_packed(const unsigned char *data, size_t size)
{
	enum { RAW = 16 << 10 };
	static unsigned char raw[RAW], again[RAW], packed[2 * RAW + 64];
	struct gw_block_model *model = malloc(gw_block_model_size());
	size_t length;

	if (model && gw_block_unpack(model, data, size, raw, RAW)) {
		length = gw_block_pack(model, raw, RAW, packed, sizeof(packed));
		if (!length || !gw_block_unpack(model, packed, length, again, RAW) ||
		    memcmp(raw, again, RAW) != 0)
			abort();
	}
	free(model);
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
	/* A block's records as they are in the samples, then the bytes as records themselves. */
	if (size > sizeof(struct gw_block))
		as_records(data + sizeof(struct gw_block), size - sizeof(struct gw_block));
	as_packed(data, size);
	return sum == UINT64_MAX ? -1 : 0;
}
