/*
 * pprof's profile.proto, gzipped: a kernel is a function, called by the functions that its first
 * launch came from, called by its GPU; where no stack is known, by what bounds it instead. Samples
 * are GPU time and launches, with the bound as a label.
 */
#include "cli/common/index.h"
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
enum { LOCATION_ID = 1, VALUE = 2, LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2 };
enum {
	ID = 1,
	LINE = 4,
	FUNCTION_ID = 1,
	LINE_NUMBER = 2,
	NAME = 2,
	SYSTEM_NAME = 3,
	FILE_NAME = 4
};

/* The first strings. */
static const char *const first[] = {"", "gpu_time", "nanoseconds", "launches", "count", "bound"};
enum { EMPTY, GPU_TIME, NANOSECONDS, LAUNCHES, COUNT, BOUND };

/* What is written once and then named by its number. */
struct table {
	struct gw_index index;
	uint32_t count;
};

struct profile {
	struct proto *p;
	struct table strings, functions, locations;
};

/* The number of what has hash @p hash; @p fresh: it is new. */
static uint32_t number_of(struct table *t, uint64_t hash, bool *fresh)
{
	uint32_t number = gw_index_find(&t->index, hash, NULL, NULL);

	*fresh = number == GW_INDEX_NONE;
	if (*fresh) {
		number = t->count++;
		gw_index_add(&t->index, hash, number);
	}
	return number;
}

static uint32_t string(struct profile *f, const char *text)
{
	bool fresh;
	uint32_t number = number_of(&f->strings, gw_hash(1, text, strlen(text)), &fresh);

	if (fresh)
		proto_text(f->p, STRING_TABLE, text);
	return number;
}

static uint32_t function(struct profile *f, const char *name, const char *file)
{
	const uint32_t strings[] = {string(f, name), string(f, file)};
	bool fresh;
	uint32_t id = number_of(&f->functions, gw_hash(2, strings, sizeof(strings)), &fresh) + 1;
	size_t opened;

	if (!fresh)
		return id;
	opened = proto_open(f->p, FUNCTION);
	proto_uint(f->p, ID, id);
	proto_uint(f->p, NAME, strings[0]);
	proto_uint(f->p, SYSTEM_NAME, strings[0]);
	if (strings[1])
		proto_uint(f->p, FILE_NAME, strings[1]);
	proto_close(f->p, opened);
	return id;
}

static uint32_t location(struct profile *f, const char *name, const char *file, uint32_t line)
{
	const uint32_t parts[] = {function(f, name, file), line};
	bool fresh;
	uint32_t id = number_of(&f->locations, gw_hash(3, parts, sizeof(parts)), &fresh) + 1;
	size_t opened, inner;

	if (!fresh)
		return id;
	opened = proto_open(f->p, LOCATION);
	proto_uint(f->p, ID, id);
	inner = proto_open(f->p, LINE);
	proto_uint(f->p, FUNCTION_ID, parts[0]);
	if (line)
		proto_uint(f->p, LINE_NUMBER, line);
	proto_close(f->p, inner);
	proto_close(f->p, opened);
	return id;
}

static uint32_t frame_location(struct profile *f, const struct log_stacks *stacks, uint32_t frame)
{
	const struct stack_frame *s = &stacks->frames[frame];
	const bool native = s->object != GW_INDEX_NONE;
	char text[LOG_LINE];

	if (*s->function)
		return location(f, s->function,
				native && !*s->file ? stacks->objects[s->object].path : s->file,
				s->line);
	log_frame_text(stacks, frame, text, sizeof(text));
	return location(f, text, "", 0);
}

static void sample_type(struct proto *p, unsigned type, unsigned unit)
{
	size_t opened = proto_open(p, SAMPLE_TYPE);

	proto_uint(p, TYPE, type);
	proto_uint(p, UNIT, unit);
	proto_close(p, opened);
}

/* The locations of @p t from the innermost: how many there are. */
static size_t stack_of(struct profile *f, const struct export *e, const struct export_total *t,
		       uint32_t out[STACK_SHOWN + 2])
{
	struct log_stacks *stacks = &e->model->files[t->log].stacks;
	uint32_t shown[STACK_SHOWN];
	size_t count = 0, frames = 0;
	char name[64];

	out[count++] = location(f, export_total_name(e, t), "", 0);
	if (t->stack != GW_INDEX_NONE)
		frames = log_stack_shown(stacks, t->stack, shown);
	for (size_t i = 0; i < frames; i++)
		out[count++] = frame_location(f, stacks, shown[i]);
	if (!frames) {
		snprintf(name, sizeof(name), "bound: %s", gw_bound_name(t->bound));
		out[count++] = location(f, name, "", 0);
	}
	if (t->gpu == GW_INDEX_NONE)
		snprintf(name, sizeof(name), "GPU unknown");
	else
		snprintf(name, sizeof(name), "GPU %u", e->model->gpus[t->gpu].record.ordinal);
	out[count++] = location(f, name, "", 0);
	return count;
}

static void put_sample(struct profile *f, const struct export *e, const struct export_total *t)
{
	const uint32_t bound = string(f, gw_bound_name(t->bound));
	uint32_t locations[STACK_SHOWN + 2];
	const size_t count = stack_of(f, e, t, locations);
	size_t opened = proto_open(f->p, SAMPLE), label;

	for (size_t i = 0; i < count; i++)
		proto_uint(f->p, LOCATION_ID, locations[i]);
	proto_uint(f->p, VALUE, t->launches);
	proto_uint(f->p, VALUE, t->ns);
	label = proto_open(f->p, LABEL);
	proto_uint(f->p, LABEL_KEY, BOUND);
	proto_uint(f->p, LABEL_STRING, bound);
	proto_close(f->p, label);
	proto_close(f->p, opened);
}

static void build(const struct export *e, const struct export_totals *t, struct proto *p)
{
	struct profile f = {.p = p};

	sample_type(p, LAUNCHES, COUNT);
	sample_type(p, GPU_TIME, NANOSECONDS);
	for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
		string(&f, first[i]);
	for (size_t i = 0; i < t->count; i++)
		put_sample(&f, e, &t->list[i]);
	proto_uint(p, TIME_NANOS, e->epoch_ns);
	gw_index_free(&f.strings.index);
	gw_index_free(&f.functions.index);
	gw_index_free(&f.locations.index);
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

static void begin(struct export *e)
{
	export_totals_begin(e);
	((struct export_totals *)e->state)->by_stack = true;
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

const struct export_format export_pprof = {.begin = begin,
					   .launch = export_totals_launch,
					   .sum = export_totals_sum,
					   .end = end,
					   .binary = true};
