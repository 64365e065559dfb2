/*
 * A second reader of gpuwatch's log, for the proof only: what records mean is written from
 * record.def, apart from the writer and from `gpuwatch report`; only what frames and unpacks them
 * (cli/log/block.h, predictor/log/block.h) is the product's. It is strict: anything odd ends it.
 *   logdump [--launches | --work] FILE…   prints, over all files,
 *     K graph count measured no-call grid block cluster dynamic-shared name
 *     C counter value          D degraded text          H header string
 *     X duplicates N           launches that are in the log twice
 *     X invalid N              launches whose record's times made no sense
 *     X device_D N             launches on the GPU with the ordinal D, or `unknown`: that of the stream,
 *                              where none is reported that of the configuration
 *     X unnamed N              launches in sums of configurations that have no sum of their own
 *     X end N                  files that were closed in good order
 *   and with --launches, for each measured launch in the log's order, times in ns,
 *     L call start duration name   (start 0: timed by a pair of events)
 *   or with --work, for each part of what was known in the end of a configuration's work,
 *     W id measured mean-duration grid block dynamic-shared row source confidence value name
 */
#include "cli/log/block.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 64 };

struct kernel {
	char *name;
};

struct row {
	struct gw_record_config config;
	uint64_t launches[2], measured[2], no_call[2]; /* stream launches, graph nodes */
	uint64_t nanoseconds;                          /* of those measured */
	struct gw_record_quantity *work;
	uint32_t parts;
};

struct stream {
	uint32_t device; /* id, 0 for unknown */
};

struct once {
	uint64_t start;
	uint32_t stream, node, config, zero; /* no padding: compared as bytes */
};

static const char *path;
static struct kernel *kernels;
static struct row *rows;
static struct stream *streams;
static uint32_t kernel_count, row_count, stream_count;
static uint32_t ordinals[DEVICES];            /* by id */
static uint64_t on_device[DEVICES], nowhere; /* launches, by ordinal */
static struct once *seen;
static size_t seen_count, seen_room;
static uint64_t totals[GW_COUNTERS], current[GW_COUNTERS];
static uint64_t duplicates, invalid, ends, unnamed;
static int each_launch, each_work;

/* Of the file that is read. */
struct copy {
	struct log_block block; /* raw is 0 without one */
	size_t at;
};

static bool begun;  /* a HEADER, and so the rest of what stands in it once, was met */
static bool repeat; /* definitions of records that were met already */

static const char *const work_names[] = {
#define WORK(name, unit, meaning) #name,
#include "predictor/core/work.def"
#undef WORK
};

static const char *const counter_names[] = {
#define COUNTER(name, meaning) #name,
#include "predictor/log/counter.def"
#undef COUNTER
};

static void fail(const char *what, size_t offset)
{
	fprintf(stderr, "logdump: %s: %s at byte %zu\n", path, what, offset);
	exit(2);
}

static void *grown(void *rows_, uint32_t *count, uint32_t id, size_t size)
{
	uint32_t wanted = id + 1;
	char *p;

	if (id >= *count && id < 1u << 24) {
		wanted = wanted < 2 * *count ? 2 * *count : wanted;
		p = realloc(rows_, wanted * size);
		if (p)
			memset(p + *count * size, 0, (wanted - *count) * size);
		rows_ = p;
		*count = wanted;
	}
	if (!rows_ || id >= *count)
		fail("id out of reach", id);
	return rows_;
}

static void print_launch(const struct gw_record_launch *l)
{
	uint32_t kernel = rows[l->config].config.kernel;

	if (kernel >= kernel_count || !kernels[kernel].name)
		fail("launch of an unknown kernel", kernel);
	printf("L\t%llu\t%llu\t%llu\t%s\n", (unsigned long long)l->call_ns,
	       (unsigned long long)l->start_ns, (unsigned long long)l->duration_ns,
	       kernels[kernel].name);
}

static void count_device(uint32_t id, uint64_t launches)
{
	if (id && id < DEVICES)
		on_device[ordinals[id]] += launches;
	else
		nowhere += launches;
}

static void take_launch(const struct gw_record_launch *l)
{
	int graph = (l->flags & GW_LAUNCH_GRAPH) != 0;

	if (!l->config || l->config >= row_count || !rows[l->config].config.id)
		fail("launch of a configuration that was not reported before", l->config);
	rows[l->config].launches[graph]++;
	if (l->flags & GW_LAUNCH_MEASURED) {
		rows[l->config].measured[graph]++;
		rows[l->config].nanoseconds += l->duration_ns;
	}
	rows[l->config].no_call[graph] += (l->flags & GW_LAUNCH_NO_CALL) != 0;
	invalid += (l->flags & GW_LAUNCH_INVALID) != 0;
	streams = grown(streams, &stream_count, l->stream, sizeof *streams);
	count_device(l->stream ? streams[l->stream].device : rows[l->config].config.device, 1);
	if (each_launch && l->flags & GW_LAUNCH_MEASURED)
		print_launch(l);
	if (!(l->flags & GW_LAUNCH_MEASURED) || !l->start_ns)
		return;
	if (seen_count == seen_room) {
		seen_room = seen_room ? 2 * seen_room : 4096;
		seen = realloc(seen, seen_room * sizeof *seen);
		if (!seen)
			fail("no memory", 0);
	}
	seen[seen_count++] = (struct once){l->start_ns, l->stream, l->node, l->config, 0};
}

/* In the place of an earlier one of its row. */
static void put_part(struct row *r, const char *part)
{
	struct gw_record_quantity q;
	uint32_t at = 0;

	memcpy(&q, part, sizeof q);
	while (at < r->parts && r->work[at].field != q.field)
		at++;
	if (at == r->parts)
		r->work = realloc(r->work, ++r->parts * sizeof q);
	if (!r->work)
		fail("no memory", 0);
	r->work[at] = q;
}

static void take_work(const struct gw_record_work *w, const char *end)
{
	const char *parts = (const char *)(w + 1);
	size_t size = w->count * sizeof(struct gw_record_quantity);

	if ((size_t)(end - parts) < size)
		fail("work cut short", 0);
	if (!w->config || w->config >= row_count || !rows[w->config].config.id)
		fail("work of a configuration that was not reported before", w->config);
	for (uint32_t i = 0; i < w->count; i++)
		put_part(&rows[w->config], parts + i * sizeof(struct gw_record_quantity));
}

static void take_aggregate(const struct gw_record_aggregate *a)
{
	if (!a->config) {
		unnamed += a->launches;
		return;
	}
	if (a->config >= row_count || !rows[a->config].config.id)
		fail("aggregate of an unknown configuration", a->config);
	rows[a->config].launches[0] += a->launches;
	rows[a->config].measured[0] += a->measured;
	rows[a->config].nanoseconds += a->total_ns;
	count_device(rows[a->config].config.device, a->launches);
}

static void take_counters(const struct gw_record_counters *c, const char *end)
{
	const char *values = (const char *)(c + 1);

	if ((size_t)(end - values) < c->count * sizeof(uint64_t))
		fail("counters cut short", 0);
	for (uint32_t i = 0; i < c->count && i < GW_COUNTERS; i++)
		memcpy(&current[i], values + i * sizeof(uint64_t), sizeof(uint64_t));
}

static void take_header(const char *text, const char *end)
{
	begun = true;
	for (; text < end && *text; text += strlen(text) + 1)
		printf("H\t%s\n", text);
}

static void take(const char *data, size_t length)
{
	const struct gw_record *head = (const void *)data;
	const char *end = data + length;

	switch (head->kind) {
	case GW_RECORD_HEADER:
		take_header(data + sizeof(struct gw_record_header), end);
		break;
	case GW_RECORD_DEVICE: {
		const struct gw_record_device *d = (const void *)data;

		if (d->id >= DEVICES || d->ordinal >= DEVICES)
			fail("device out of reach", d->id);
		ordinals[d->id] = d->ordinal;
		break;
	}
	case GW_RECORD_STREAM: {
		const struct gw_record_stream *s = (const void *)data;

		streams = grown(streams, &stream_count, s->id, sizeof *streams);
		streams[s->id].device = s->device;
		break;
	}
	case GW_RECORD_KERNEL: {
		const struct gw_record_kernel *k = (const void *)data;

		kernels = grown(kernels, &kernel_count, k->id, sizeof *kernels);
		free(kernels[k->id].name);
		kernels[k->id].name = strdup(data + sizeof *k);
		break;
	}
	case GW_RECORD_CONFIG: {
		const struct gw_record_config *c = (const void *)data;

		rows = grown(rows, &row_count, c->id, sizeof *rows);
		/* Older ones end before what this one has. */
		memcpy(&rows[c->id].config, c, length < sizeof *c ? length : sizeof *c);
		break;
	}
	case GW_RECORD_LAUNCH:
		take_launch((const void *)data);
		break;
	case GW_RECORD_WORK:
		take_work((const void *)data, end);
		break;
	case GW_RECORD_AGGREGATE:
		take_aggregate((const void *)data);
		break;
	case GW_RECORD_DEGRADED:
		printf("D\t%u\t%s\n", ((const struct gw_record_degraded *)(const void *)data)->code,
		       data + sizeof(struct gw_record_degraded));
		break;
	case GW_RECORD_COUNTERS:
		take_counters((const void *)data, end);
		break;
	case GW_RECORD_END:
		ends++;
		break;
	default:
		break;
	}
}

static int by_time(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct once));
}

static void print_work(const struct row *r)
{
	const struct gw_record_config *c = &r->config;
	uint64_t measured = r->measured[0] + r->measured[1];

	for (uint32_t i = 0; i < r->parts; i++) {
		const struct gw_record_quantity *q = &r->work[i];

		if (q->field >= sizeof work_names / sizeof *work_names)
			fail("a row of work that there is not", q->field);
		printf("W\t%u\t%llu\t%.1f\t%ux%ux%u\t%ux%ux%u\t%u\t%s\t%u\t%g\t%.17g\t%s\n",
		       c->id, (unsigned long long)measured,
		       measured ? (double)r->nanoseconds / (double)measured : 0, c->grid_x, c->grid_y,
		       c->grid_z, c->block_x, c->block_y, c->block_z, c->dynamic_shared,
		       work_names[q->field], q->source, (double)q->confidence, q->value,
		       kernels[c->kernel].name);
	}
}

static void finish_file(void)
{
	for (uint32_t i = 1; i < row_count; i++) {
		if (each_work && rows[i].config.kernel < kernel_count &&
		    kernels[rows[i].config.kernel].name)
			print_work(&rows[i]);
		free(rows[i].work);
	}
	for (uint32_t i = 1; i < row_count; i++) {
		const struct gw_record_config *c = &rows[i].config;

		for (int graph = 0; graph < 2; graph++) {
			if (!rows[i].launches[graph])
				continue;
			if (c->kernel >= kernel_count || !kernels[c->kernel].name)
				fail("configuration of an unknown kernel", c->kernel);
			printf("K\t%d\t%llu\t%llu\t%llu\t%u,%u,%u\t%u,%u,%u\t%u,%u,%u\t%u\t%s\n",
			       graph, (unsigned long long)rows[i].launches[graph],
			       (unsigned long long)rows[i].measured[graph],
			       (unsigned long long)rows[i].no_call[graph], c->grid_x, c->grid_y,
			       c->grid_z, c->block_x, c->block_y, c->block_z, c->cluster_x,
			       c->cluster_y, c->cluster_z, c->dynamic_shared,
			       kernels[c->kernel].name);
		}
	}
	if (seen_count)
		qsort(seen, seen_count, sizeof *seen, by_time);
	for (size_t i = 1; i < seen_count; i++)
		duplicates += !memcmp(&seen[i], &seen[i - 1], sizeof *seen);
	for (uint32_t i = 0; i < GW_COUNTERS; i++)
		totals[i] += current[i];
	for (uint32_t i = 0; i < kernel_count; i++)
		free(kernels[i].name);
	if (kernels)
		memset(kernels, 0, kernel_count * sizeof *kernels);
	if (rows)
		memset(rows, 0, row_count * sizeof *rows);
	if (streams)
		memset(streams, 0, stream_count * sizeof *streams);
	memset(current, 0, sizeof current);
	seen_count = 0;
}

static void take_all(const char *records, const struct log_block *block, size_t offset)
{
	/* What has an id is the same once more; the rest is printed and would be twice. */
	repeat = block->flags & GW_BLOCK_REPEAT && begun;
	for (size_t at = 0; at < block->raw;) {
		const struct gw_record *head = (const void *)(records + at);

		if (head->length < 8 || head->length % 8 || head->length > block->raw - at)
			fail("record of a wrong length", offset + block->head + at);
		if (!repeat || (head->kind != GW_RECORD_HEADER && head->kind != GW_RECORD_DEGRADED))
			take(records + at, head->length);
		at += head->length;
	}
}

/* The records of the block at @p at, whose end is no further than that of the file. */
static void open_block(const unsigned char *file, size_t at, const struct log_block *block)
{
	static _Alignas(8) unsigned char records[GW_BLOCK_MAX];
	static struct gw_block_model *model;
	const char *wrong;

	if (!model)
		model = malloc(gw_block_model_size());
	wrong = model ? log_block_open(block, file + at + block->head, model, records) : "no memory";
	if (wrong)
		fail(wrong, at);
	take_all((const char *)records, block, at);
}

static void read_blocks(const unsigned char *file, size_t size)
{
	struct copy last = {{0}, 0};
	struct log_block block;
	uint32_t sequence = 0;

	begun = false;
	for (size_t at = 0; at < size; at += block.space) {
		if (!log_block_parse(file + at, size - at, &block))
			fail("not a block", at);
		if (block.head + block.length > size - at)
			fail("block cut short", at);
		if (block.flags & GW_BLOCK_COPY) {
			if (!last.block.raw || block.sequence > last.block.sequence)
				last = (struct copy){block, at};
			if (block.space > size - at) /* what pads the last one is left out */
				break;
			continue;
		}
		if (block.sequence != sequence++)
			fail("a block is missing before the one", at);
		open_block(file, at, &block);
	}
	if (last.block.raw)
		open_block(file, last.at, &last.block);
}

static unsigned char *whole(FILE *in, size_t *size)
{
	size_t room = GW_BLOCK_MAX;
	unsigned char *data = malloc(room);

	for (*size = 0; data;) {
		size_t n = fread(data + *size, 1, room - *size, in);

		*size += n;
		if (*size < room)
			break;
		room *= 2;
		data = realloc(data, room);
	}
	if (!data || ferror(in))
		fail("it can't be read", *size);
	return data;
}

static void read_file(void)
{
	FILE *in = fopen(path, "rb");
	unsigned char *data;
	size_t size;

	if (!in) {
		perror(path);
		exit(2);
	}
	data = whole(in, &size);
	fclose(in);
	read_blocks(data, size);
	free(data);
}

int main(int argc, char **argv)
{
	each_launch = argc > 1 && !strcmp(argv[1], "--launches");
	each_work = argc > 1 && !strcmp(argv[1], "--work");
	for (int i = 1 + each_launch + each_work; i < argc; i++) {
		path = argv[i];
		read_file();
		finish_file();
	}
	for (unsigned i = 0; i < GW_COUNTERS; i++)
		printf("C\t%s\t%llu\n", counter_names[i], (unsigned long long)totals[i]);
	printf("X\tduplicates\t%llu\nX\tinvalid\t%llu\nX\tend\t%llu\n",
	       (unsigned long long)duplicates, (unsigned long long)invalid,
	       (unsigned long long)ends);
	for (int i = 0; i < DEVICES; i++)
		if (on_device[i])
			printf("X\tdevice_%d\t%llu\n", i, (unsigned long long)on_device[i]);
	if (unnamed)
		printf("X\tunnamed\t%llu\n", (unsigned long long)unnamed);
	if (nowhere)
		printf("X\tdevice_unknown\t%llu\n", (unsigned long long)nowhere);
	free(kernels);
	free(streams);
	free(rows);
	free(seen);
	return 0;
}
