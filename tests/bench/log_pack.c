/*
 * What the records of logs take once packed, and what packing them costs: log_pack [--launches]
 * LOG…; with --launches of LAUNCH records alone.
 * Records are packed as the library does it, in blocks of at most 256 KiB.
 */
#include "cli/log/reader.h"
#include "predictor/log/block.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BLOCK = 256 << 10 };

static struct {
	unsigned char raw[BLOCK], back[BLOCK], packed[BLOCK + 64];
	uint32_t length;
	struct gw_block_model *model;
	uint64_t launches, bytes, packed_bytes, pack_ns, unpack_ns;
	bool differs, launches_alone;
} all;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void pack(void)
{
	uint64_t begin = now(), middle;
	size_t size = gw_block_pack(all.model, all.raw, all.length, all.packed, sizeof(all.packed));

	middle = now();
	all.differs |= !gw_block_unpack(all.model, all.packed, size, all.back, all.length) ||
		       memcmp(all.raw, all.back, all.length) != 0;
	all.unpack_ns += now() - middle;
	all.pack_ns += middle - begin;
	all.bytes += all.length;
	all.packed_bytes += size + sizeof(struct gw_packed_block);
	all.length = 0;
}

static bool take(void *arg, const struct gw_log_record *record)
{
	(void)arg;
	if (all.launches_alone && record->head->kind != GW_RECORD_LAUNCH)
		return true;
	if (all.length + record->head->length > BLOCK)
		pack();
	memcpy(all.raw + all.length, record->head, record->head->length);
	all.length += record->head->length;
	all.launches += record->head->kind == GW_RECORD_LAUNCH;
	return true;
}

int main(int argc, char **argv)
{
	all.model = malloc(gw_block_model_size());
	all.launches_alone = argc > 1 && !strcmp(argv[1], "--launches");
	for (int i = 1 + all.launches_alone; i < argc && all.model; i++) {
		struct gw_log_status status;
		double launches;

		all.launches = all.bytes = all.packed_bytes = all.pack_ns = all.unpack_ns = 0;
		if (!gw_log_read(argv[i], take, NULL, &status)) {
			fprintf(stderr, "%s: %s\n", argv[i], status.error);
			return 1;
		}
		if (all.length)
			pack();
		launches = all.launches ? (double)all.launches : 1;
		printf("%s: %llu launches, %.1f bytes a launch before, %.2f packed, %.0f ns to "
		       "pack, %.0f ns to unpack\n",
		       argv[i], (unsigned long long)all.launches, (double)all.bytes / launches,
		       (double)all.packed_bytes / launches, (double)all.pack_ns / launches,
		       (double)all.unpack_ns / launches);
	}
	free(all.model);
	return all.differs;
}
