/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto, gzipped: a kernel is a function, called by what bounds it, called by its
 * GPU; samples are GPU time and launches.
 */
#include "cli/common/memory.h"
#include "cli/export/proto.h"
#include "cli/export/totals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Fields of profile.proto. */
enum { SAMPLE_TYPE = 1, SAMPLE = 2, LOCATION = 4, FUNCTION = 5, STRING_TABLE = 6, TIME_NANOS = 9 };
enum { TYPE = 1, UNIT = 2 };
enum { LOCATION_ID = 1, VALUE = 2 };
enum { ID = 1, LINE = 4, FUNCTION_ID = 1, NAME = 2, SYSTEM_NAME = 3 };

/* Strings go into the table as they come; those of functions are numbered from here. */
enum { EMPTY, GPU_TIME, NANOSECONDS, LAUNCHES, COUNT, FIXED };

static void sample_type(struct proto *p, unsigned type, unsigned unit)
{
	size_t opened = proto_open(p, SAMPLE_TYPE);

	proto_uint(p, TYPE, type);
	proto_uint(p, UNIT, unit);
	proto_close(p, opened);
}

/* A function with its location, both number @p id, and its name's string. */
static void put_function(struct proto *p, uint64_t id, const char *name)
{
	size_t opened, line;

	proto_text(p, STRING_TABLE, name);
	opened = proto_open(p, FUNCTION);
	proto_uint(p, ID, id);
	proto_uint(p, NAME, FIXED + id - 1);
	proto_uint(p, SYSTEM_NAME, FIXED + id - 1);
	proto_close(p, opened);
	opened = proto_open(p, LOCATION);
	proto_uint(p, ID, id);
	line = proto_open(p, LINE);
	proto_uint(p, FUNCTION_ID, id);
	proto_close(p, line);
	proto_close(p, opened);
}

/* Functions are numbered: bounds, GPUs, then kernels by total. */
static void build(const struct export *e, const struct export_totals *t, struct proto *p)
{
	static const char *const fixed[FIXED] = {"", "gpu_time", "nanoseconds", "launches",
	                                         "count"};
	uint64_t id = 0, gpus = GW_BOUND_LAUNCH + 2, kernels = gpus + e->model->gpu_count + 1;
	char name[64];

	sample_type(p, LAUNCHES, COUNT);
	sample_type(p, GPU_TIME, NANOSECONDS);
	for (unsigned i = 0; i < FIXED; i++)
		proto_text(p, STRING_TABLE, fixed[i]);
	for (unsigned b = 0; b <= GW_BOUND_LAUNCH; b++) {
		snprintf(name, sizeof(name), "bound: %s", gw_bound_name((enum gw_bound)b));
		put_function(p, ++id, name);
	}
	for (size_t i = 0; i < e->model->gpu_count; i++) {
		snprintf(name, sizeof(name), "GPU %u", e->model->gpus[i].record.ordinal);
		put_function(p, ++id, name);
	}
	put_function(p, ++id, "GPU unknown");
	for (size_t i = 0; i < t->count; i++) {
		const struct export_total *total = &t->list[i];
		size_t opened;

		put_function(p, ++id, export_total_name(e, total));
		opened = proto_open(p, SAMPLE);
		proto_uint(p, LOCATION_ID, kernels + i);
		proto_uint(p, LOCATION_ID, (uint64_t)total->bound + 1);
		proto_uint(p, LOCATION_ID,
		           gpus + (total->gpu == GW_INDEX_NONE ? e->model->gpu_count : total->gpu));
		proto_uint(p, VALUE, total->launches);
		proto_uint(p, VALUE, total->ns);
		proto_close(p, opened);
	}
	proto_uint(p, TIME_NANOS, e->epoch_ns);
}

static void put_gzip(struct export_out *out, const struct proto *p)
{
	z_stream z = {0};
	unsigned char *packed;
	uLong most;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		out->error = ENOMEM;
		return;
	}
	most = deflateBound(&z, p->length);
	packed = gw_alloc(most);
	z.next_in = p->data;
	z.avail_in = (uInt)p->length;
	z.next_out = packed;
	z.avail_out = (uInt)most;
	deflate(&z, Z_FINISH);
	export_write(out, packed, most - z.avail_out);
	deflateEnd(&z);
	free(packed);
}

static bool end(struct export *e)
{
	struct proto p = {0};

	if (!e->state)
		return true;
	build(e, e->state, &p);
	put_gzip(e->out, &p);
	free(p.data);
	export_totals_free(e->state);
	return true;
}

const struct export_format export_pprof = {.begin = export_totals_begin,
                                           .launch = export_totals_launch,
                                           .sum = export_totals_sum,
                                           .end = end,
                                           .binary = true};
