/*
 * launches_log PROFILE LAUNCHES.json LOG: described launches with measured times
 * (docs/user/launch.md) as a log in which each ran a few times, one after the other, and its work
 * was known before. So what was measured by other means is replayed and scored like a log of the
 * library's own. A configuration is a launch: those that differ by their arguments alone are
 * reported apart.
 */
#include "cli/launch/file.h"
#include "predictor/core/types.h"
#include "tests/cli/log_builder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 5, PIECE = 4000, BLOCK_RECORDS = 64, GAP_NS = 20000 };

/* Kernels by name: those of one name are one kernel. */
struct names {
	const char *name[LAUNCH_FILE_LAUNCHES];
	uint32_t count;
};

static uint32_t kernel_of(struct lb *b, struct names *names, const struct gw_kernel *k)
{
	struct gw_record_kernel r;
	uint32_t i = 0;

	while (i < names->count && strcmp(names->name[i], k->name))
		i++;
	if (i < names->count)
		return i + 1;
	names->name[names->count++] = k->name;
	r = gw_record_of_kernel(i + 1, 0, k);
	lb_record(b, GW_RECORD_KERNEL, &r, sizeof(r), k->name, strlen(k->name) + 1);
	return i + 1;
}

static void add_config(struct lb *b, uint32_t id, uint32_t kernel, const struct gw_config *c)
{
	struct gw_record_config r = gw_record_of_config(id, kernel, 0, c);

	lb_record(b, GW_RECORD_CONFIG, &r, sizeof(r), NULL, 0);
}

static void add_work(struct lb *b, uint32_t id, uint64_t known, const struct gw_work *work)
{
	struct gw_record_quantity parts[GW_WORK_FIELDS];
	uint32_t count = 0;

	for (unsigned f = 0; f < GW_WORK_FIELDS; f++) {
		const struct gw_quantity *q = &work->q[f];

		if (q->source != GW_SOURCE_NONE)
			parts[count++] = (struct gw_record_quantity){.field = (uint16_t)f,
								     .source = (uint8_t)q->source,
								     .confidence = q->confidence,
								     .value = q->value};
	}
	lb_work(b, id, known, parts, count);
}

static char *text_of(const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = calloc(1, 1 << 20);

	if (!f || !text || !fread(text, 1, (1 << 20) - 1, f)) {
		fprintf(stderr, "launches_log: %s can't be read\n", path);
		exit(2);
	}
	fclose(f);
	return text;
}

static void add_all(struct lb *b, const struct launch_file *file)
{
	struct names *names = calloc(1, sizeof(*names));
	uint64_t known = 0, now = 0;

	for (uint32_t i = 0; names && i < file->count; i++) {
		const struct launch_case *l = &file->launches[i];

		if (!l->measured_count)
			continue;
		add_config(b, i + 1, kernel_of(b, names, &l->kernel), &l->config);
		add_work(b, i + 1, known, &l->work);
		for (unsigned t = 0; t < TIMES; t++) {
			uint64_t ns = (uint64_t)llround(l->measured[0].seconds * 1e9);

			lb_add_launch(b, lb_launch(i + 1, now, ns, NAN, (uint32_t)known));
			now += ns + GAP_NS;
			lb_published(b, ++known);
		}
		if (i % BLOCK_RECORDS == 0)
			lb_block(b);
	}
	free(names);
}

int main(int argc, char **argv)
{
	struct launch_file file;
	struct lb b = {0};
	char error[256], *profile;
	bool good;

	if (argc != 4) {
		fprintf(stderr, "usage: launches_log PROFILE LAUNCHES.json LOG\n");
		return 2;
	}
	if (!launch_file_read(&file, argv[2], error, sizeof(error))) {
		fprintf(stderr, "launches_log: %s\n", error);
		return 2;
	}
	profile = text_of(argv[1]);
	lb_header(&b, 1, 0, file.title ? file.title : argv[2]);
	lb_device(&b, 1, "NVIDIA H200", "aabbccdd00112233");
	lb_stream(&b, 1, 1);
	lb_profile(&b, 1, profile, PIECE);
	lb_block(&b);
	add_all(&b, &file);
	lb_end(&b);
	good = lb_write(&b, argv[3]);
	lb_free(&b);
	free(profile);
	launch_file_free(&file);
	return good ? 0 : 2;
}
