/*
 * Reads logs twice: once into the model of a report, for names, GPUs and what bounds each
 * configuration, and once, as events, for the launches.
 */
#include "cli/common/index.h"
#include "cli/common/memory.h"
#include "cli/export/export.h"
#include "cli/live/file.h"
#include "cli/log/events.h"
#include "cli/log/rows.h"
#include "cli/log/source.h"
#include "cli/common/sorter.h"
#include "cli/log/verdict.h"
#include "cli/window/window.h"
#include "cli/message.h"
#include "cli/spent/ranges.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	CHUNK = 256,        /* kernels or configurations that stay where they are */
	PROGRESS = 1 << 18, /* launches from one look at the clock to the next */
};

/* Elements that do not move as more are added. */
struct list {
	void **chunks;
	size_t count, room;
};

static void *add(struct list *l, size_t size)
{
	size_t chunk = l->count / CHUNK;

	if (l->count % CHUNK == 0) {
		GW_GROW(l->chunks, &l->room, chunk + 1);
		l->chunks[chunk] = gw_alloc(CHUNK * size);
	}
	return (char *)l->chunks[chunk] + l->count++ % CHUNK * size;
}

static void *at(const struct list *l, size_t position, size_t size)
{
	return (char *)l->chunks[position / CHUNK] + position % CHUNK * size;
}

static void free_list(struct list *l)
{
	for (size_t i = 0; i * CHUNK < l->count; i++)
		free(l->chunks[i]);
	free(l->chunks);
}

/* A GPU of the log being read. */
struct device {
	uint32_t gpu;   /* position in the model's gpus; GW_INDEX_NONE: none */
	uint32_t first; /* the first of the log that is the same GPU */
	uint64_t until; /* of that one: end of its last kernel, ns; 0: none yet */
};

/* Everything that lasts from log to log. */
struct source {
	struct export *e;
	const struct export_format *format;
	const struct export_filter *filter;
	struct gw_index rows; /* of the model, by name and configuration */
	uint64_t launches;    /* read */
	time_t next;          /* when progress is shown again; 0: not at all */
	uint64_t sums;        /* launches known only as sums */
	bool shown;
};

/* A launch on its way to its place in the order, and its GPU of the log. */
struct held {
	struct export_row row;
	uint32_t device;
};

/* The log being read. */
struct reading {
	struct source *source;
	struct gw_log log;
	struct export_process process;
	struct list kernels, configs; /* of the log */
	struct device *devices;       /* the same */
	size_t device_room;
	struct export_config lost;
	struct export_kernel lost_kernel;
	struct log_ranges ranges;
	struct export_text lost_text[EXPORT_TEXTS];
	struct gw_sorter order;
	struct held *held;        /* by slot */
	struct export_bins *bins; /* NULL: the format has no rates */
	uint64_t sums;            /* launches known only as sums */
};

static uint64_t row_key(uint32_t name, const struct gw_config *config)
{
	return gw_hash(name, config, sizeof(*config));
}

struct search {
	const struct gw_log_model *model;
	const struct gw_config *config;
	uint32_t name;
};

static bool same(const void *arg, uint32_t position)
{
	const struct search *s = arg;
	const struct gw_row *row = &s->model->rows[position];

	return row->name == s->name && !memcmp(&row->config, s->config, sizeof(*s->config));
}

/* What the model has of a configuration; NULL: nothing. */
static const struct gw_row_bound *bound_of(const struct source *s, uint32_t name,
					   const struct gw_config *config)
{
	const struct search search = {s->e->model, config, name};
	uint32_t row = gw_index_find(&s->rows, row_key(name, config), same, &search);

	return row == GW_INDEX_NONE ? NULL : s->e->model->rows[row].bound;
}

static double *counted(const struct gw_row_bound *bound)
{
	struct gw_work work;

	if (!bound)
		return NULL;
	log_work_of(bound->work, &work);
	return export_counted(&work);
}

static void on_device(struct reading *r, uint32_t device)
{
	const struct log_gpu *d = &r->log.gpus[device];
	const struct gw_log_model *m = r->source->e->model;
	uint32_t i = 0;

	while (i < m->gpu_count &&
	       (*d->uuid ? strcmp(m->gpus[i].uuid, d->uuid) != 0
			 : strcmp(m->gpus[i].name, d->name) != 0 ||
				   m->gpus[i].record.ordinal != d->record.ordinal))
		i++;
	GW_GROW(r->devices, &r->device_room, device + 1u);
	r->devices[device].gpu = i < m->gpu_count ? i : GW_INDEX_NONE;
	while (r->devices[r->devices[device].first].gpu != r->devices[device].gpu)
		r->devices[device].first++;
}

static void on_kernel(struct reading *r, const struct gw_log_record *record)
{
	const struct gw_record_kernel *k = (const void *)record->head;
	struct gw_log_model *m = r->source->e->model;
	const regex_t *wanted = r->source->filter->kernel;
	uint32_t name = gw_log_model_name(m, r->log.names[r->log.kernel_count - 1].mangled);
	const char *plain = m->names[name].plain ? m->names[name].plain : m->names[name].mangled;
	const bool match = !wanted || !regexec(wanted, plain, 0, NULL, 0);

	r->source->e->matched |= match;
	*(struct export_kernel *)add(&r->kernels, sizeof(struct export_kernel)) =
		(struct export_kernel){.mangled = m->names[name].mangled,
				       .plain = plain,
				       .name = name,
				       .registers = k->registers,
				       .static_shared = k->static_shared,
				       .local = k->local,
				       .binary_version = k->binary_version,
				       .wanted = match};
}

/* The model has read the log before: configurations have the same positions. */
static void find_stack(struct reading *r, uint32_t position, struct export_config *config)
{
	struct log_stacks *stacks = &r->source->e->model->files[r->process.number].stacks;
	char line[LOG_LINE];

	config->log = r->process.number;
	config->stack =
		position < stacks->config_count ? stacks->of_config[position] : GW_INDEX_NONE;
	if (config->stack == GW_INDEX_NONE)
		return;
	log_stack_line(stacks, position, line, sizeof(line));
	config->line = gw_copy(line);
}

static void on_config(struct reading *r, uint32_t position)
{
	const struct log_config *c = &r->log.configs[position];
	struct export_config config = {.kernel = at(&r->kernels, c->kernel, sizeof(*config.kernel)),
				       .kernel_number = c->kernel + 1,
				       .number = position + 1,
				       .known = true,
				       .config = c->config};
	const struct gw_row_bound *bound;

	config.text = gw_alloc(EXPORT_TEXTS * sizeof(*config.text));
	bound = bound_of(r->source, config.kernel->name, &config.config);
	config.bound = bound ? gw_bound_of(bound) : GW_BOUND_UNKNOWN;
	config.counted = r->bins ? counted(bound) : NULL;
	find_stack(r, position, &config);
	*(struct export_config *)add(&r->configs, sizeof(config)) = config;
}

static uint32_t gpu_of(const struct reading *r, uint32_t device)
{
	return device == GW_INDEX_NONE ? device : r->devices[device].gpu;
}

static const struct export_config *config_of(const struct reading *r, uint32_t config)
{
	return config == GW_INDEX_NONE ? &r->lost : at(&r->configs, config, sizeof(r->lost));
}

static void emit(struct reading *r, const struct export_row *row, uint32_t device)
{
	const struct source *s = r->source;
	const struct gw_record_launch *l = &row->launch;
	uint64_t start = row->measured ? l->start_ns : 0;

	if (start && device != GW_INDEX_NONE) {
		uint64_t *until = &r->devices[device].until;

		if (*until && start > *until && s->format->idle && log_window_has(start) &&
		    row->gpu_number != GW_INDEX_NONE)
			s->format->idle(s->e, &r->process, row->gpu_number,
					log_gap_kind(start, l->call_ns,
						     (l->flags & GW_LAUNCH_GRAPH) != 0, *until),
					*until, start);
		if (start + l->duration_ns > *until)
			*until = start + l->duration_ns;
	}
	if (!row->config->kernel->wanted)
		return;
	if (s->format->launch)
		s->format->launch(s->e, row);
	if (start && r->bins)
		export_bins_add(r->bins, row);
}

/* The launch that began first of those held. */
static void release(struct reading *r)
{
	const struct held *h = &r->held[gw_sorter_take(&r->order)];

	emit(r, &h->row, h->device);
}

static void hold(struct reading *r, const struct export_row *row, uint32_t device)
{
	if (gw_sorter_full(&r->order))
		release(r);
	r->held[gw_sorter_add(&r->order, row->launch.start_ns)] = (struct held){*row, device};
}

static void release_all(struct reading *r)
{
	while (gw_sorter_count(&r->order))
		release(r);
	for (size_t i = 0; i < r->log.gpu_count; i++)
		r->devices[i].until = 0;
}

static void show_progress(struct source *s)
{
	if (++s->launches % PROGRESS || !s->next || time(NULL) < s->next)
		return;
	fprintf(stderr, "\rgpuwatch: export: %" PRIu64 " launches", s->launches);
	s->next = time(NULL) + 1;
	s->shown = true;
}

static void on_launch(struct reading *r, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct export_row row = {.process = &r->process,
				 .config = config_of(r, e->config),
				 .gpu_number = gpu_of(r, e->gpu),
				 .stream = l->stream,
				 .launch = *l};

	show_progress(r->source);
	row.measured = gw_launch_measured(l) && l->duration_ns <= UINT64_MAX / 2 &&
		       l->start_ns <= INT64_MAX / 2;
	row.launch.tier = (uint8_t)e->tier;
	row.launch.work = (uint8_t)e->work;
	if (e->thread != GW_INDEX_NONE)
		row.tid = r->log.threads[e->thread];
	if (e->stream != GW_INDEX_NONE) {
		row.stream = r->log.streams[e->stream].number;
		row.context = r->log.streams[e->stream].context;
	}
	if (e->node != GW_INDEX_NONE) {
		row.graph = r->log.nodes[e->node].graph;
		row.node = r->log.nodes[e->node].node;
	}
	if (row.gpu_number != GW_INDEX_NONE)
		row.gpu = &r->source->e->model->gpus[row.gpu_number];
	if (row.measured && l->start_ns)
		hold(r, &row, row.gpu ? r->devices[e->gpu].first : GW_INDEX_NONE);
	else
		emit(r, &row, GW_INDEX_NONE);
}

static void on_aggregate(struct reading *r, const struct log_event *e)
{
	const struct gw_record_aggregate *a = (const void *)e->record->head;
	const struct source *s = r->source;
	const struct export_config *config = config_of(r, e->config);

	if (!config->kernel->wanted)
		return;
	r->source->sums += a->launches;
	r->sums += a->launches;
	if (s->format->sum)
		s->format->sum(s->e, config, gpu_of(r, e->gpu), a);
}

static void on_clock(struct reading *r, const struct log_event *e)
{
	const struct gw_record_clock *c = (const void *)e->record->head;
	const struct source *s = r->source;
	uint32_t gpu = gpu_of(r, e->gpu);

	if (s->format->clock && gpu != GW_INDEX_NONE && c->ns)
		s->format->clock(s->e, &r->process, gpu, c);
}

static void on_copy(struct reading *r, const struct log_event *e)
{
	const struct gw_record_copy *c = (const void *)e->record->head;
	const struct source *s = r->source;
	uint32_t gpu = gpu_of(r, e->gpu);

	if (s->format->copy && gpu != GW_INDEX_NONE && c->start_ns)
		s->format->copy(s->e, &r->process, gpu, c);
}

static void on_wait(struct reading *r, const struct log_event *e)
{
	const struct gw_record_wait *w = (const void *)e->record->head;
	const struct source *s = r->source;

	if (s->format->wait)
		s->format->wait(s->e, &r->process, r->log.threads[e->thread], w);
}

uint32_t export_ranges_kept(struct export_ranges *r, uint32_t depth, const char *name)
{
	const uint32_t names = sizeof(r->name) / sizeof(*r->name);
	const uint32_t hash = name ? (uint32_t)gw_hash(0, name, strlen(name)) : 0;
	const bool goes_on =
		depth && depth < r->depth && depth <= names && r->name[depth - 1] == hash;
	const uint32_t kept = r->depth < depth ? r->depth : depth - (depth && !goes_on);

	for (uint32_t i = kept; i < depth && i < names; i++)
		r->name[i] = i + 1 == depth ? hash : 0;
	return kept;
}

static void on_range(struct reading *r, const struct log_event *e)
{
	const struct gw_record_range *range = (const void *)e->record->head;
	const struct source *s = r->source;

	if (s->format->range && log_window_has(range->ns))
		s->format->range(s->e, &r->process,
				 e->thread == GW_INDEX_NONE ? 0 : r->log.threads[e->thread],
				 log_range_text(&r->ranges, range->name),
				 range->depth < EXPORT_DEEPEST ? range->depth : EXPORT_DEEPEST,
				 range->ns);
}

static void take(void *arg, const struct log_event *e)
{
	struct reading *r = arg;

	switch (e->kind) {
	case GW_RECORD_HEADER:
		r->process.pid = r->log.header.pid;
		r->process.start_ns = r->log.header.start_ns;
		break;
	case GW_RECORD_DEVICE:
		on_device(r, e->gpu);
		break;
	case GW_RECORD_KERNEL:
		on_kernel(r, e->record);
		break;
	case GW_RECORD_CONFIG:
		on_config(r, e->config);
		break;
	case GW_RECORD_LAUNCH:
		on_launch(r, e);
		break;
	case GW_RECORD_AGGREGATE:
		on_aggregate(r, e);
		break;
	case GW_RECORD_CLOCK:
		on_clock(r, e);
		break;
	case GW_RECORD_COPY:
		on_copy(r, e);
		break;
	case GW_RECORD_WAIT:
		on_wait(r, e);
		break;
	case GW_RECORD_RANGE_NAME:
		log_range_name(&r->ranges, (const void *)e->record->head,
			       gw_log_text(e->record, 0));
		break;
	case GW_RECORD_RANGE:
		on_range(r, e);
		break;
	case GW_RECORD_DEGRADED:
		if (((const struct gw_record_degraded *)(const void *)e->record->head)->code ==
		    GW_DEGRADED_CLOCK_SET)
			release_all(r);
		break;
	default:
		break;
	}
	r->log.stop = r->source->e->out->error != 0; /* a full disk ends it at once */
}

static void free_texts(struct export_text *texts)
{
	for (unsigned i = 0; i < EXPORT_TEXTS; i++)
		free(texts[i].data);
}

static void end_reading(struct reading *r)
{
	for (size_t i = 0; i < r->configs.count; i++) {
		struct export_config *config = at(&r->configs, i, sizeof(*config));

		free_texts(config->text);
		free(config->text);
		free(config->line);
		free(config->counted);
	}
	free_texts(r->lost_text);
	free_list(&r->kernels);
	free_list(&r->configs);
	free(r->devices);
	gw_log_free(&r->log);
	log_ranges_free(&r->ranges);
	gw_sorter_free(&r->order);
	free(r->held);
}

/* The launches of log @p number: of @p rest where the log has one. */
static bool read_launches(struct source *s, uint32_t number, const char *path,
			  const struct gw_live_rest *rest)
{
	const struct gw_file *file = &s->e->model->files[number];
	struct reading r = {.source = s,
			    .process = {number, file->header.pid, file->text[GW_TEXT_command],
					file->header.start_ns},
			    .held = gw_alloc(GW_SORTER_ROOM * sizeof(*r.held))};
	bool good;

	r.lost_kernel =
		(struct export_kernel){"(unknown)", "(unknown)", GW_INDEX_NONE, UINT32_MAX,
				       UINT32_MAX,  UINT32_MAX,  UINT32_MAX,    !s->filter->kernel};
	r.lost = (struct export_config){
		.kernel = &r.lost_kernel, .text = r.lost_text, .stack = GW_INDEX_NONE};
	if (s->format->process)
		s->format->process(s->e, &r.process);
	if (s->format->rate && file->first_ns)
		r.bins = export_bins_new(file->first_ns, file->last_ns, file->launches,
					 s->e->model->gpu_count);
	good = gw_log_events(&r.log, path, rest->log, rest->size, take, &r);
	if (good)
		release_all(&r);
	else
		gw_error("%s: %s", path, r.log.status.error);
	/* Of launches that are a sample of all there is no rate. */
	if (r.bins)
		export_bins_end(r.bins, s->e, good && !r.sums ? s->format : NULL, &r.process);
	end_reading(&r);
	return good;
}

/* Everything but the launches. */
static bool read_model(struct source *s, const char *path, struct gw_live_rest *rest)
{
	struct gw_log_model *m = s->e->model;
	const struct gw_file *f;
	char line[400];

	if (gw_log_source_is_once(path)) {
		gw_error("export: %s: a log is read twice, and a pipe can't be; give a file", path);
		return false;
	}
	gw_live_rest_of(path, rest);
	if (!gw_log_model_read_memory(m, path, rest->log, rest->size)) {
		gw_error("%s: %s", path, m->files[m->file_count - 1].status.error);
		return false;
	}
	f = &m->files[m->file_count - 1];
	for (unsigned i = 0; gw_log_complaint(&f->status, i, line, sizeof(line)); i++)
		gw_warning("%s: %s", path, line);
	if (f->header.start_ns && (!s->e->epoch_ns || f->header.start_ns < s->e->epoch_ns))
		s->e->epoch_ns = f->header.start_ns;
	return true;
}

bool export_read(struct export *e, const struct export_format *format,
		 const struct export_filter *filter, char **paths, int count)
{
	struct source s = {
		.e = e, .format = format, .filter = filter, .next = isatty(2) ? time(NULL) + 1 : 0};
	struct gw_live_rest *rests = gw_alloc((size_t)count * sizeof(*rests));
	bool good = true;

	for (int i = 0; good && i < count; i++)
		good = read_model(&s, paths[i], &rests[i]);
	for (size_t i = 0; i < e->model->row_count; i++)
		gw_index_add(&s.rows, row_key(e->model->rows[i].name, &e->model->rows[i].config),
			     (uint32_t)i);
	if (good && format->begin)
		format->begin(e);
	for (int i = 0; good && i < count; i++)
		good = read_launches(&s, (uint32_t)i, paths[i], &rests[i]);
	if (s.shown)
		fputs("\r\033[K", stderr);
	if (good && s.sums && !format->sum)
		gw_warning("export: %" PRIu64
			   " launches are in the logs as sums only, and left out",
			   s.sums);
	for (int i = 0; i < count; i++)
		free(rests[i].log);
	free(rests);
	gw_index_free(&s.rows);
	return good;
}
