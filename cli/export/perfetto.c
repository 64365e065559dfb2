/*
 * Perfetto's trace: a launch is a GpuRenderStageEvent on its stream's hardware queue, with
 * predictions as launch arguments. A log is a packet sequence of its own: names are interned, and
 * times are differences on an incremental clock. Packets are deflated together
 * (TracePacket.compressed_packets).
 */
#include "cli/common/index.h"
#include "cli/common/memory.h"
#include "cli/export/export.h"
#include "cli/export/perfetto_fields.h"
#include "cli/export/proto.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Stages: copies by direction, then kernels, whose slices have the stage's name, and queues in
 * turns. */
enum { COPY_FIRST = 1, KERNEL_FIRST = COPY_FIRST + GW_DIRECTIONS, QUEUE_FIRST, CHUNK = 1 << 18 };
enum { TRACK_WAITS, TRACK_RANGES };
enum { TRACK_IDLE, TRACK_SM, TRACK_MEM, TRACK_POWER, TRACK_TEMPERATURE, TRACK_RATES };

/* Arguments of a launch by name; their iids count from 1. */
static const char *const args[] = {"predicted_ns", "low_ns", "high_ns", "bound", "basis", "line"};
enum { ARG_PREDICTED = 1, ARG_LOW, ARG_HIGH, ARG_BOUND, ARG_BASIS, ARG_LINE, ARGS = ARG_LINE };
/* Strings: bounds from 1, then bases, then lines of the program by configuration. */
enum {
	BOUND_FIRST = 1,
	BASIS_FIRST = GW_BOUND_LAUNCH + 2,
	LINE_FIRST = BASIS_FIRST + GW_TIER_STEADY + 1
};

static const char *const gaps[GW_GAPS] = {[GW_GAP_LATE] = "GPU starved",
					  [GW_GAP_LATE_GRAPH] = "GPU starved (graph)",
					  [GW_GAP_QUEUED] = "queued",
					  [GW_GAP_PAUSED] = "GPU idle"};

static const char *const directions[] = {
#define DIRECTION(NAME, name, meaning) name,
#include "predictor/log/value.def"
};
static const char *const wait_calls[] = {
#define WAIT_CALL(NAME, name, meaning) name,
#include "predictor/log/value.def"
};

struct perfetto {
	struct proto p; /* packets not yet written */
	z_stream z;
	unsigned char *packed;
	size_t packed_room;
	uint64_t last, events;
	uint32_t sequence;
	unsigned char *kernels; /* by number: named already in this sequence */
	size_t kernel_room;
	char **names; /* of the model's kernels, as in the report */
	struct gw_index queues;
	uint32_t queue_count;
	struct gw_index threads; /* tracks of threads, by uuid: which slices are open */
	struct thread_track {
		uint64_t uuid;
		struct export_ranges in;
	} * thread_tracks;
	size_t thread_count, thread_room;
	uint16_t *tracks; /* by GPU: bits of tracks described */
	uint32_t pid;
	bool ready;
};

static void flush(struct export *e)
{
	struct perfetto *s = e->state;
	struct proto head = {0};
	uLong most = deflateBound(&s->z, s->p.length);
	size_t opened;

	if (!s->p.length || !s->ready)
		return;
	s->packed = gw_grow(s->packed, &s->packed_room, most, 1);
	deflateReset(&s->z);
	s->z.next_in = s->p.data;
	s->z.avail_in = (uInt)s->p.length;
	s->z.next_out = s->packed;
	s->z.avail_out = (uInt)most;
	deflate(&s->z, Z_FINISH);
	opened = proto_open(&head, TRACE_PACKET);
	proto_bytes(&head, PACKET_COMPRESSED, s->packed, most - s->z.avail_out);
	proto_close(&head, opened);
	export_write(e->out, head.data, head.length);
	free(head.data);
	s->p.length = 0;
}

static void begin(struct export *e)
{
	struct perfetto *s = gw_alloc(sizeof(*s));

	e->state = s;
	s->names = gw_log_model_short_names(e->model);
	s->tracks = gw_alloc(e->model->gpu_count * sizeof(*s->tracks));
	s->ready = deflateInit(&s->z, 1) == Z_OK;
	if (!s->ready)
		e->out->error = ENOMEM;
}

static size_t packet(struct perfetto *s)
{
	size_t opened = proto_open(&s->p, TRACE_PACKET);

	proto_uint(&s->p, PACKET_SEQUENCE, s->sequence);
	proto_uint(&s->p, PACKET_FLAGS, NEEDED);
	return opened;
}

/* The time of a packet: a difference where @p advance and time goes on, else on the clock that
 * differences are of. What comes out of order must not advance: all after it would take more bytes.
 */
static void put_time(struct perfetto *s, uint64_t ns, bool advance)
{
	if (advance && ns >= s->last) {
		proto_uint(&s->p, PACKET_TIMESTAMP, ns - s->last);
		s->last = ns;
	} else {
		proto_uint(&s->p, PACKET_TIMESTAMP, ns);
		proto_uint(&s->p, PACKET_CLOCK_ID, BOOTTIME);
	}
}

static size_t packet_at(struct perfetto *s, uint64_t ns, bool advance)
{
	size_t opened = packet(s);

	put_time(s, ns, advance);
	return opened;
}

static void close_packet(struct export *e, size_t opened)
{
	struct perfetto *s = e->state;

	proto_close(&s->p, opened);
	if (s->p.length >= CHUNK)
		flush(e);
}

static void put_clock(struct proto *p, unsigned id, uint64_t ns, bool incremental)
{
	size_t opened = proto_open(p, SNAPSHOT_CLOCKS);

	proto_uint(p, CLOCK_ID, id);
	proto_uint(p, CLOCK_TIME, ns);
	if (incremental)
		proto_uint(p, CLOCK_INCREMENTAL, 1);
	proto_close(p, opened);
}

static void put_interned(struct proto *p, unsigned field, uint64_t iid, const char *text)
{
	size_t opened = proto_open(p, field);

	proto_uint(p, IID, iid);
	proto_text(p, IID_TEXT, text);
	proto_close(p, opened);
}

static void put_start(struct perfetto *s, uint64_t ns)
{
	size_t opened = proto_open(&s->p, TRACE_PACKET), snapshot, defaults;

	proto_uint(&s->p, PACKET_SEQUENCE, s->sequence);
	proto_uint(&s->p, PACKET_FLAGS, CLEARED);
	defaults = proto_open(&s->p, PACKET_DEFAULTS);
	proto_uint(&s->p, DEFAULTS_CLOCK_ID, INCREMENTAL);
	proto_close(&s->p, defaults);
	snapshot = proto_open(&s->p, PACKET_CLOCK_SNAPSHOT);
	put_clock(&s->p, BOOTTIME, ns, false);
	put_clock(&s->p, REALTIME, ns, false);
	put_clock(&s->p, INCREMENTAL, ns, true);
	proto_close(&s->p, snapshot);
	proto_close(&s->p, opened);
}

static void process(struct export *e, const struct export_process *process)
{
	struct perfetto *s = e->state;
	size_t opened, interned, item;

	s->sequence = process->number + 1;
	s->last = process->start_ns;
	s->pid = process->pid;
	s->queue_count = 0;
	gw_index_free(&s->queues);
	s->queues = (struct gw_index){0};
	gw_index_free(&s->threads);
	s->threads = (struct gw_index){0};
	s->thread_count = 0;
	if (s->kernels)
		memset(s->kernels, 0, s->kernel_room);
	memset(s->tracks, 0, e->model->gpu_count * sizeof(*s->tracks));
	put_start(s, process->start_ns);
	opened = packet(s);
	interned = proto_open(&s->p, PACKET_INTERNED);
	item = proto_open(&s->p, INTERNED_CONTEXTS);
	proto_uint(&s->p, IID, s->sequence);
	proto_uint(&s->p, CONTEXT_PID, process->pid);
	proto_uint(&s->p, CONTEXT_API, API_CUDA);
	proto_close(&s->p, item);
	for (unsigned i = 0; i < GW_DIRECTIONS; i++)
		put_interned(&s->p, INTERNED_STAGES, COPY_FIRST + i, directions[i]);
	for (unsigned i = 0; i < ARGS; i++)
		put_interned(&s->p, INTERNED_ARGS, i + 1, args[i]);
	for (unsigned i = 0; i <= GW_BOUND_LAUNCH; i++)
		put_interned(&s->p, INTERNED_STRINGS, BOUND_FIRST + i,
			     gw_bound_name((enum gw_bound)i));
	for (unsigned i = 0; i <= GW_TIER_STEADY; i++)
		put_interned(&s->p, INTERNED_STRINGS, BASIS_FIRST + i,
			     gw_tier_name((enum gw_tier)i));
	proto_close(&s->p, interned);
	close_packet(e, opened);
}

/* The iid of the queue of a stream, for kernels or for copies; a new one is described. */
static uint64_t queue_of(struct perfetto *s, uint32_t gpu, uint64_t context, uint32_t stream,
			 bool copies)
{
	uint64_t key[] = {gpu, context, stream, copies};
	uint64_t hash = gw_hash(0, key, sizeof(key));
	uint32_t queue = gw_index_find(&s->queues, hash, NULL, NULL);
	char name[64];
	size_t opened, interned;

	if (queue != GW_INDEX_NONE)
		return QUEUE_FIRST + 2 * (uint64_t)queue;
	queue = s->queue_count++;
	gw_index_add(&s->queues, hash, queue);
	snprintf(name, sizeof(name), "%sstream %u (process %u)", copies ? "copies, " : "", stream,
		 s->pid);
	opened = packet(s);
	interned = proto_open(&s->p, PACKET_INTERNED);
	put_interned(&s->p, INTERNED_STAGES, QUEUE_FIRST + 2 * (uint64_t)queue, name);
	proto_close(&s->p, interned);
	proto_close(&s->p, opened);
	return QUEUE_FIRST + 2 * (uint64_t)queue;
}

static uint64_t kernel_of(struct perfetto *s, const struct export_config *c)
{
	size_t opened, interned, item;
	char arch[16];

	s->kernels = gw_grow(s->kernels, &s->kernel_room, c->kernel_number + 1, 1);
	if (s->kernels[c->kernel_number])
		return c->kernel_number + 1;
	s->kernels[c->kernel_number] = 1;
	opened = packet(s);
	interned = proto_open(&s->p, PACKET_INTERNED);
	item = proto_open(&s->p, INTERNED_KERNELS);
	proto_uint(&s->p, IID, c->kernel_number + 1);
	proto_text(&s->p, IID_TEXT, c->kernel->mangled);
	proto_text(&s->p, KERNEL_DEMANGLED, c->kernel->plain);
	if (c->kernel->binary_version != UINT32_MAX) {
		snprintf(arch, sizeof(arch), "sm_%u", c->kernel->binary_version);
		proto_text(&s->p, KERNEL_ARCH, arch);
	}
	proto_close(&s->p, item);
	item = proto_open(&s->p, INTERNED_STAGES);
	proto_uint(&s->p, IID, KERNEL_FIRST + 2 * (uint64_t)c->kernel_number);
	proto_text(&s->p, IID_TEXT,
		   c->kernel->name == GW_INDEX_NONE ? c->kernel->plain : s->names[c->kernel->name]);
	proto_text(&s->p, STAGE_DESCRIPTION, c->kernel->plain);
	proto_uint(&s->p, STAGE_CATEGORY, COMPUTE);
	proto_close(&s->p, item);
	proto_close(&s->p, interned);
	proto_close(&s->p, opened);
	return c->kernel_number + 1;
}

static void put_extent(struct proto *p, unsigned field, struct gw_dim3 d)
{
	size_t opened = proto_open(p, field);

	proto_uint(p, 1, d.x);
	proto_uint(p, 2, d.y);
	proto_uint(p, 3, d.z);
	proto_close(p, opened);
}

static void put_arg(struct proto *p, unsigned name, unsigned field, uint64_t value)
{
	size_t opened = proto_open(p, LAUNCH_ARG);

	proto_uint(p, ARG_NAME, name);
	proto_uint(p, field, value);
	proto_close(p, opened);
}

static void put_ns(struct proto *p, unsigned name, float ns)
{
	if (ns >= 0 && ns < 1e18F)
		put_arg(p, name, ARG_UINT, (uint64_t)((double)ns + 0.5));
}

/* The iid of the line of the program that @p c comes from, which is named here. */
static uint64_t line_of(struct perfetto *s, const struct export_config *c)
{
	size_t opened = packet(s), interned = proto_open(&s->p, PACKET_INTERNED);

	put_interned(&s->p, INTERNED_STRINGS, LINE_FIRST + (uint64_t)c->number, c->line);
	proto_close(&s->p, interned);
	proto_close(&s->p, opened);
	return LINE_FIRST + (uint64_t)c->number;
}

static void put_launch(struct proto *p, const struct export_row *r, uint64_t line)
{
	const struct gw_record_launch *l = &r->launch;
	size_t opened = proto_open(p, STAGE_LAUNCH);

	if (r->config->known) {
		put_extent(p, LAUNCH_GRID, r->config->config.grid);
		put_extent(p, LAUNCH_BLOCK, r->config->config.block);
	}
	put_ns(p, ARG_PREDICTED, l->predicted);
	put_ns(p, ARG_LOW, l->low);
	put_ns(p, ARG_HIGH, l->high);
	put_arg(p, ARG_BOUND, ARG_STRING, BOUND_FIRST + (uint64_t)r->config->bound);
	if (isfinite(l->predicted))
		put_arg(p, ARG_BASIS, ARG_STRING, BASIS_FIRST + (uint64_t)l->tier);
	if (line)
		put_arg(p, ARG_LINE, ARG_STRING, line);
	proto_close(p, opened);
}

/* What decides the fields of a launch's event but for its number and its time. */
struct alike {
	uint64_t context;
	uint32_t gpu, stream, tier;
	float predicted, low, high;
};

static struct alike alike_of(const struct export_row *r)
{
	const struct gw_record_launch *l = &r->launch;

	return (struct alike){r->context,   r->gpu_number, r->stream, l->tier,
			      l->predicted, l->low,        l->high};
}

/* Those fields, behind a struct alike, are kept in the configuration's first text. */
static const struct export_text *fields_of(struct perfetto *s, const struct export_row *r)
{
	const struct alike alike = alike_of(r);
	struct export_text *text = &r->config->text[0];
	struct proto p = {0};
	uint64_t line;

	if (text->data && !memcmp(text->data, &alike, sizeof(alike)))
		return text;
	line = !r->config->line ? 0
	       : text->data     ? LINE_FIRST + (uint64_t)r->config->number
				: line_of(s, r->config);
	proto_append(&p, &alike, sizeof(alike));
	proto_uint(&p, STAGE_KERNEL, kernel_of(s, r->config));
	proto_uint(&p, STAGE_CONTEXT, s->sequence);
	proto_uint(&p, STAGE_GPU, r->gpu ? r->gpu->record.ordinal : 0);
	proto_uint(&p, STAGE_QUEUE, queue_of(s, r->gpu_number, r->context, r->stream, false));
	proto_uint(&p, STAGE_STAGE, KERNEL_FIRST + 2 * (uint64_t)r->config->kernel_number);
	put_launch(&p, r, line);
	free(text->data);
	*text = (struct export_text){(char *)p.data, p.length};
	return text;
}

static void launch(struct export *e, const struct export_row *r)
{
	struct perfetto *s = e->state;
	const struct export_text *fields;
	size_t opened, stage;

	if (!r->measured || !r->launch.start_ns)
		return;
	fields = fields_of(s, r);
	opened = packet(s);
	stage = proto_open(&s->p, PACKET_RENDER_STAGE);
	proto_append(&s->p, fields->data + sizeof(struct alike),
		     fields->length - sizeof(struct alike));
	proto_uint(&s->p, STAGE_DURATION, r->launch.duration_ns);
	proto_uint(&s->p, STAGE_EVENT, ++s->events);
	proto_close(&s->p, stage);
	put_time(s, r->launch.start_ns, true);
	close_packet(e, opened);
}

/* The track's uuid, after it was described. */
static uint64_t track_of(struct export *e, uint32_t gpu, unsigned track, const char *what,
			 const char *unit)
{
	struct perfetto *s = e->state;
	uint64_t uuid = ((uint64_t)s->sequence << 32 | gpu << 8 | track) + 1;
	char name[128];
	size_t opened, descriptor;

	if (s->tracks[gpu] & 1U << track)
		return uuid;
	s->tracks[gpu] |= (uint16_t)(1U << track);
	snprintf(name, sizeof(name), "GPU %u %s (process %u)", e->model->gpus[gpu].record.ordinal,
		 what, s->pid);
	opened = packet(s);
	descriptor = proto_open(&s->p, PACKET_TRACK);
	proto_uint(&s->p, TRACK_UUID, uuid);
	proto_text(&s->p, TRACK_NAME, name);
	if (unit) {
		size_t counter = proto_open(&s->p, TRACK_COUNTER);

		proto_text(&s->p, COUNTER_UNIT_NAME, unit);
		proto_close(&s->p, counter);
	}
	proto_close(&s->p, descriptor);
	close_packet(e, opened);
	return uuid;
}

static void put_edge_at(struct export *e, uint64_t ns, bool advance, unsigned type, uint64_t track,
			const char *name)
{
	struct perfetto *s = e->state;
	size_t opened = packet_at(s, ns, advance), event = proto_open(&s->p, PACKET_TRACK_EVENT);

	proto_uint(&s->p, EVENT_TYPE, type);
	proto_uint(&s->p, EVENT_TRACK, track);
	if (name)
		proto_text(&s->p, EVENT_NAME, name);
	proto_close(&s->p, event);
	close_packet(e, opened);
}

/* What the GPU takes from one queued kernel to the next is no idling to look at. */
static void idle(struct export *e, const struct export_process *p, uint32_t gpu, enum gw_gap why,
		 uint64_t from_ns, uint64_t until_ns)
{
	uint64_t track;

	(void)p;
	if (why == GW_GAP_QUEUED)
		return;
	track = track_of(e, gpu, TRACK_IDLE, "idle", NULL);
	put_edge_at(e, from_ns, true, SLICE_BEGIN, track, gaps[why]);
	put_edge_at(e, until_ns, true, SLICE_END, track, NULL);
}

static void put_counter(struct export *e, uint32_t gpu, unsigned track, const char *what,
			const char *unit, uint64_t ns, double value)
{
	struct perfetto *s = e->state;
	uint64_t uuid = track_of(e, gpu, track, what, unit);
	size_t opened = packet_at(s, ns, false), event = proto_open(&s->p, PACKET_TRACK_EVENT);

	proto_uint(&s->p, EVENT_TYPE, COUNTER_VALUE);
	proto_uint(&s->p, EVENT_TRACK, uuid);
	proto_double(&s->p, EVENT_COUNTER, value);
	proto_close(&s->p, event);
	close_packet(e, opened);
}

static void clock_sample(struct export *e, const struct export_process *p, uint32_t gpu,
			 const struct gw_record_clock *c)
{
	(void)p;
	if (c->sm_khz)
		put_counter(e, gpu, TRACK_SM, "SM clock", "MHz", c->ns, c->sm_khz / 1e3);
	if (c->mem_khz)
		put_counter(e, gpu, TRACK_MEM, "memory clock", "MHz", c->ns, c->mem_khz / 1e3);
	if (c->power_mw != UINT32_MAX)
		put_counter(e, gpu, TRACK_POWER, "power", "W", c->ns, c->power_mw / 1e3);
	if (c->temperature != UINT32_MAX)
		put_counter(e, gpu, TRACK_TEMPERATURE, "temperature", "degree C", c->ns,
			    c->temperature);
}

static void rate(struct export *e, const struct export_process *p, uint32_t gpu,
		 enum export_rate which, double share, uint64_t ns, double value)
{
	char name[EXPORT_RATE_LABEL];

	(void)p;
	put_counter(e, gpu, TRACK_RATES + (unsigned)which, export_rate_label(name, which, share),
		    export_rate_units[which], ns, value);
}

static void copy(struct export *e, const struct export_process *p, uint32_t gpu,
		 const struct gw_record_copy *c)
{
	struct perfetto *s = e->state;
	uint64_t queue = queue_of(s, gpu, 0, c->stream, true);
	size_t opened = packet_at(s, c->start_ns, false),
	       stage = proto_open(&s->p, PACKET_RENDER_STAGE);

	(void)p;
	proto_uint(&s->p, STAGE_EVENT, ++s->events);
	proto_uint(&s->p, STAGE_DURATION, c->duration_ns);
	proto_uint(&s->p, STAGE_CONTEXT, s->sequence);
	proto_uint(&s->p, STAGE_GPU, e->model->gpus[gpu].record.ordinal);
	proto_uint(&s->p, STAGE_QUEUE, queue);
	proto_uint(&s->p, STAGE_STAGE,
		   COPY_FIRST + (c->direction < GW_DIRECTIONS ? c->direction : 0));
	proto_close(&s->p, stage);
	close_packet(e, opened);
}

/* The track of a thread (0: of the process), after it was described. */
static struct thread_track *thread_track(struct export *e, uint32_t tid, unsigned track)
{
	struct perfetto *s = e->state;
	uint64_t uuid =
		UINT64_C(1) << 63 | (uint64_t)s->sequence << 33 | (uint64_t)tid << 1 | track;
	uint32_t at = gw_index_find(&s->threads, uuid, NULL, NULL);
	char name[80];
	size_t opened, descriptor;

	if (at != GW_INDEX_NONE)
		return &s->thread_tracks[at];
	gw_index_add(&s->threads, uuid, (uint32_t)s->thread_count);
	GW_GROW(s->thread_tracks, &s->thread_room, s->thread_count + 1);
	s->thread_tracks[s->thread_count] = (struct thread_track){.uuid = uuid};
	snprintf(name, sizeof(name), tid ? "%s, thread %u (process %u)" : "%s (process)",
		 track == TRACK_WAITS ? "waits" : "NVTX", tid, s->pid);
	opened = packet(s);
	descriptor = proto_open(&s->p, PACKET_TRACK);
	proto_uint(&s->p, TRACK_UUID, uuid);
	proto_text(&s->p, TRACK_NAME, name);
	proto_close(&s->p, descriptor);
	close_packet(e, opened);
	return &s->thread_tracks[s->thread_count++];
}

static void wait_of(struct export *e, const struct export_process *p, uint32_t tid,
		    const struct gw_record_wait *w)
{
	uint64_t track = thread_track(e, tid, TRACK_WAITS)->uuid;

	(void)p;
	put_edge_at(e, w->start_ns, false, SLICE_BEGIN, track,
		    w->call < GW_WAIT_CALLS ? wait_calls[w->call] : "wait");
	put_edge_at(e, w->start_ns + w->duration_ns, false, SLICE_END, track, NULL);
}

static void range(struct export *e, const struct export_process *p, uint32_t tid, const char *name,
		  uint32_t depth, uint64_t ns)
{
	struct thread_track *t = thread_track(e, tid, TRACK_RANGES);
	const uint32_t kept = export_ranges_kept(&t->in, depth, name);

	(void)p;
	for (; t->in.depth > kept; t->in.depth--)
		put_edge_at(e, ns, false, SLICE_END, t->uuid, NULL);
	for (; t->in.depth < depth; t->in.depth++)
		put_edge_at(e, ns, false, SLICE_BEGIN, t->uuid,
			    t->in.depth + 1 == depth && name ? name : "[unknown]");
}

static bool end(struct export *e)
{
	struct perfetto *s = e->state;

	if (!s)
		return true;
	flush(e);
	if (s->ready)
		deflateEnd(&s->z);
	gw_index_free(&s->queues);
	gw_index_free(&s->threads);
	free(s->thread_tracks);
	free(s->p.data);
	free(s->packed);
	for (size_t i = 0; i < e->model->name_count; i++)
		free(s->names[i]);
	free(s->names);
	free(s->kernels);
	free(s->tracks);
	free(s);
	return true;
}

const struct export_format export_perfetto = {.begin = begin,
					      .process = process,
					      .launch = launch,
					      .idle = idle,
					      .clock = clock_sample,
					      .rate = rate,
					      .copy = copy,
					      .wait = wait_of,
					      .range = range,
					      .end = end,
					      .binary = true};
