#include "tests/cli/log_builder.h"

#include "predictor/core/types.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { T0 = 1700000000 }; /* seconds; every time is relative to it */

/* Bit by bit: an independent second opinion on the product's table. */
static uint32_t crc(const unsigned char *data, size_t length)
{
	uint32_t c = 0xffffffff;

	for (size_t i = 0; i < length; i++) {
		c ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			c = c & 1 ? (c >> 1) ^ 0x82f63b78 : c >> 1;
	}
	return ~c;
}

void lb_record(struct lb *b, unsigned kind, void *record, size_t size, const void *tail,
	       size_t tail_size)
{
	size_t length = (size + tail_size + 7) / 8 * 8;
	struct gw_record head = {(uint16_t)kind, (uint16_t)length};
	unsigned char *p;

	b->block = realloc(b->block, b->block_length + length);
	p = b->block + b->block_length;
	memset(p, 0, length);
	memcpy(record, &head, sizeof(head));
	memcpy(p, record, size);
	if (tail_size)
		memcpy(p + size, tail, tail_size);
	b->block_length += length;
	b->records++;
}

void lb_block(struct lb *b)
{
	uint32_t header[4] = {0x31425747, (uint32_t)b->block_length, b->sequence,
			      crc(b->block, b->block_length)};

	if (!b->block_length)
		return;
	b->sequence++;
	b->data = realloc(b->data, b->length + sizeof(header) + b->block_length);
	memcpy(b->data + b->length, header, sizeof(header));
	memcpy(b->data + b->length + sizeof(header), b->block, b->block_length);
	b->length += sizeof(header) + b->block_length;
	b->block_length = 0;
}

void lb_header(struct lb *b, uint32_t pid, uint32_t flags, const char *command)
{
	struct gw_record_header r = {.version = GW_LOG_VERSION,
				     .pid = pid,
				     .ppid = 1,
				     .flags = flags,
				     .start_ns = T0 * 1000000000ull + b->later_ns,
				     .monotonic_ns = 1,
				     .ticks = 1};
	char tail[512];
	int n = snprintf(
		tail, sizeof(tail),
		"host=node1%cboot_id=b%cexe=/bin/app%ccommand=%s%cmode=audit%cbuild=0.1.0%c"
		"driver=13.0%ccupti=130001%crank=",
		0, 0, 0, command, 0, 0, 0, 0, 0);

	lb_record(b, GW_RECORD_HEADER, &r, sizeof(r), tail, (size_t)n + 1);
}

void lb_device(struct lb *b, uint32_t id, const char *name, const char *uuid)
{
	struct gw_record_device r = {.id = id,
				     .ordinal = id - 1,
				     .compute_capability = 90,
				     .sm_count = 132,
				     .sm_clock_khz = 1980000,
				     .mem_clock_khz = 3201000,
				     .driver_version = 13000,
				     .memory = 150ull << 30};
	char tail[256];
	int n = snprintf(tail, sizeof(tail), "%s%c%s", name, 0, uuid);

	lb_record(b, GW_RECORD_DEVICE, &r, sizeof(r), tail, (size_t)n + 1);
}

void lb_module(struct lb *b, uint32_t id, const char *path)
{
	struct gw_record_module r = {.id = id, .bytes = 1 << 20};

	lb_record(b, GW_RECORD_MODULE, &r, sizeof(r), path, strlen(path) + 1);
}

void lb_kernel(struct lb *b, uint32_t id, const char *mangled)
{
	lb_kernel_of(b, id, mangled, 0);
}

void lb_kernel_of(struct lb *b, uint32_t id, const char *mangled, uint32_t module)
{
	struct gw_record_kernel r = {.id = id,
				     .module = module,
				     .registers = 32,
				     .max_threads = 1024,
				     .binary_version = 90};

	lb_record(b, GW_RECORD_KERNEL, &r, sizeof(r), mangled, strlen(mangled) + 1);
}

static struct gw_record_config config(uint32_t id, uint32_t kernel, uint32_t grid_x,
				      uint32_t block_x)
{
	const struct gw_config c = {
		.grid = {grid_x, 1, 1}, .block = {block_x, 1, 1}, .cluster = {1, 1, 1}};

	return gw_record_of_config(id, kernel, 0, &c);
}

void lb_config(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t block_x)
{
	struct gw_record_config r = config(id, kernel, grid_x, block_x);

	lb_record(b, GW_RECORD_CONFIG, &r, sizeof(r), NULL, 0);
}

void lb_config_on(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t device,
		  bool older)
{
	struct gw_record_config r = config(id, kernel, grid_x, 128);

	r.device = device;
	lb_record(b, GW_RECORD_CONFIG, &r,
		  older ? offsetof(struct gw_record_config, device) : sizeof(r), NULL, 0);
}

void lb_config_with(struct lb *b, uint32_t id, uint32_t kernel, uint32_t grid_x, uint32_t digest)
{
	struct gw_record_config r = config(id, kernel, grid_x, 128);

	r.digest = digest;
	lb_record(b, GW_RECORD_CONFIG, &r, sizeof(r), NULL, 0);
}

void lb_stream(struct lb *b, uint32_t id, uint32_t device)
{
	struct gw_record_stream r = {
		.id = id, .device = device, .kind = GW_STREAM_LEGACY, .cupti_id = 7};

	lb_record(b, GW_RECORD_STREAM, &r, sizeof(r), NULL, 0);
}

struct gw_record_launch lb_launch(uint32_t config, uint64_t start_ns, uint64_t duration_ns,
				  float predicted, uint32_t known)
{
	uint64_t start = T0 * 1000000000ull + start_ns;

	return (struct gw_record_launch){
		.flags = GW_LAUNCH_MEASURED | GW_LAUNCH_LEARNT,
		.config = config,
		.stream = 1,
		.thread = 1,
		.tier = isnan(predicted) ? GW_TIER_NONE : GW_TIER_STEADY,
		.known = known,
		.predicted = predicted,
		.call_ns = start - 10000,
		.start_ns = start,
		.duration_ns = duration_ns,
		.low = predicted * 0.9f,
		.high = predicted * 1.1f,
	};
}

void lb_add_launch(struct lb *b, struct gw_record_launch launch)
{
	launch.call_ns += launch.call_ns ? b->later_ns : 0;
	launch.start_ns += launch.start_ns ? b->later_ns : 0;
	lb_record(b, GW_RECORD_LAUNCH, &launch, sizeof(launch), NULL, 0);
}

void lb_work(struct lb *b, uint32_t config, uint64_t known, const struct gw_record_quantity *parts,
	     uint32_t count)
{
	struct gw_record_work r = {.config = config, .count = count, .known = known};

	lb_record(b, GW_RECORD_WORK, &r, sizeof(r), parts, count * sizeof(*parts));
}

void lb_published(struct lb *b, uint64_t known)
{
	struct gw_record_published r = {.known = known};

	lb_record(b, GW_RECORD_PUBLISHED, &r, sizeof(r), NULL, 0);
}

void lb_profile(struct lb *b, uint32_t device, const char *text, size_t piece)
{
	size_t length = strlen(text);

	for (size_t at = 0; at < length; at += piece) {
		struct gw_record_profile r = {.device = device, .offset = (uint32_t)at};
		size_t part = length - at < piece ? length - at : piece;
		char *copy = malloc(part + 1);

		memcpy(copy, text + at, part);
		copy[part] = 0;
		lb_record(b, GW_RECORD_PROFILE, &r, sizeof(r), copy, part + 1);
		free(copy);
	}
}

void lb_degraded(struct lb *b, uint32_t code, const char *text)
{
	struct gw_record_degraded r = {.code = code, .ns = T0 * 1000000000ull + b->later_ns};

	lb_record(b, GW_RECORD_DEGRADED, &r, sizeof(r), text, strlen(text) + 1);
}

void lb_counters(struct lb *b, const uint64_t *values, uint32_t count)
{
	struct gw_record_counters r = {.count = count, .ns = T0 * 1000000000ull + b->later_ns};

	lb_record(b, GW_RECORD_COUNTERS, &r, sizeof(r), values, count * sizeof(*values));
}

void lb_end(struct lb *b)
{
	struct gw_record_end r = {.ns = (T0 + 10) * 1000000000ull, .records = b->records + 1};

	lb_record(b, GW_RECORD_END, &r, sizeof(r), NULL, 0);
	lb_block(b);
}

bool lb_write(struct lb *b, const char *path)
{
	FILE *f = fopen(path, "wb");
	bool good = f && fwrite(b->data, 1, b->length, f) == b->length;

	return f && !fclose(f) && good;
}

void lb_free(struct lb *b)
{
	free(b->data);
	free(b->block);
	*b = (struct lb){0};
}
