#include "tests/preload/harness.h"

#include "cli/log/reader.h"
#include "predictor/code/digest.h"
#include "predictor/core/types.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const struct tally *a, const struct tally *b)
{
	return strcmp(a->name, b->name) == 0 && memcmp(a->grid, b->grid, sizeof(a->grid)) == 0 &&
	       memcmp(a->block, b->block, sizeof(a->block)) == 0 && a->shared == b->shared &&
	       a->graph == b->graph;
}

uint64_t account_count(const struct account *a, const struct tally *wanted)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < a->kernels; i++)
		n += same(&a->kernel[i], wanted) ? a->kernel[i].count : 0;
	return n;
}

static void add(struct account *a, const struct tally *t)
{
	unsigned i = 0;

	a->total += t->count;
	while (i < a->kernels && !same(&a->kernel[i], t))
		i++;
	if (i < a->kernels) {
		struct tally *to = &a->kernel[i];

		to->count += t->count;
		to->started += t->started;
		if (t->min_ns && (!to->min_ns || t->min_ns < to->min_ns))
			to->min_ns = t->min_ns;
	} else if (a->kernels < KERNELS_MAX)
		a->kernel[a->kernels++] = *t;
}

/* ---- the stand-in's count ---- */

static void three(const json_t *from, uint32_t to[3])
{
	for (size_t i = 0; i < 3; i++)
		to[i] = (uint32_t)json_integer_value(json_array_get(from, i));
}

bool account_of_truth(const char *path, struct account *out)
{
	json_t *root = json_load_file(path, 0, NULL), *row;
	size_t i;

	memset(out, 0, sizeof(*out));
	if (!root)
		return false;
	out->pid = (pid_t)json_integer_value(json_object_get(root, "pid"));
	json_array_foreach(json_object_get(root, "kernels"), i, row)
	{
		struct tally t = {.count = 0};

		snprintf(t.name, sizeof(t.name), "%s",
			 json_string_value(json_object_get(row, "name")));
		three(json_object_get(row, "grid"), t.grid);
		three(json_object_get(row, "block"), t.block);
		t.shared = (uint32_t)json_integer_value(json_object_get(row, "dynamic_shared"));
		t.graph = json_is_true(json_object_get(row, "graph"));
		t.count = (uint64_t)json_integer_value(json_object_get(row, "count"));
		add(out, &t);
	}
	json_decref(root);
	return true;
}

/* ---- a log ---- */

enum { NAMES_MAX = 256, CONFIGS_MAX = 4096, PROMPT_NS = 50000 };

struct reading {
	struct account *account;
	char (*name)[64];
	struct gw_record_config *config;
	uint32_t *stream; /* its device */
	uint64_t *first;  /* by configuration: time of its first launch, 0: none yet */
};

static void take_time(struct reading *r, const struct gw_record_launch *l)
{
	uint64_t *first = &r->first[l->config < CONFIGS_MAX ? l->config : 0];

	if (!*first)
		*first = l->duration_ns;
	r->account->mixed += l->duration_ns < *first * 2 / 3 || l->duration_ns > *first * 3 / 2;
}

static struct tally tally_of(const struct reading *r, uint32_t config, bool graph)
{
	struct tally t = {.graph = graph};
	const struct gw_record_config *c = &r->config[config < CONFIGS_MAX ? config : 0];

	snprintf(t.name, sizeof(t.name), "%s", r->name[c->kernel < NAMES_MAX ? c->kernel : 0]);
	memcpy(t.grid, (const uint32_t[]){c->grid_x, c->grid_y, c->grid_z}, sizeof(t.grid));
	memcpy(t.block, (const uint32_t[]){c->block_x, c->block_y, c->block_z}, sizeof(t.block));
	t.shared = c->dynamic_shared;
	return t;
}

static void take_device(struct reading *r, const struct gw_record_launch *l)
{
	uint32_t device = r->config[l->config < CONFIGS_MAX ? l->config : 0].device;
	double off = (double)l->predicted / (double)l->duration_ns;

	r->account->on_device[device & 3]++;
	r->account->unlike +=
		l->stream && l->stream < CONFIGS_MAX && r->stream[l->stream] != device;
	r->account->steady_far += l->tier == GW_TIER_STEADY && l->flags & GW_LAUNCH_MEASURED &&
				  !(off > 0.5 && off < 1.5);
}

static void take_hash(struct account *a, uint32_t digest)
{
	a->plain += !digest;
	a->guessed += (digest & GW_DIGEST_IS_PROVISIONAL) != 0;
}

static void take_launch(struct reading *r, const struct gw_record_launch *l)
{
	struct tally t = tally_of(r, l->config, (l->flags & GW_LAUNCH_GRAPH) != 0);

	t.count = 1;
	t.started = l->start_ns != 0;
	t.min_ns = l->flags & GW_LAUNCH_MEASURED ? l->duration_ns : 0;
	add(r->account, &t);
	take_device(r, l);
	r->account->measured += (l->flags & GW_LAUNCH_MEASURED) != 0;
	r->account->by_events += (l->flags & GW_LAUNCH_EVENTS) != 0;
	r->account->cold_static += l->tier == GW_TIER_COLD && l->work == GW_SOURCE_STATIC;
	r->account->warm_static += l->tier == GW_TIER_WARM && l->work == GW_SOURCE_STATIC;
	r->account->invalid += (l->flags & GW_LAUNCH_INVALID) != 0;
	r->account->no_call += (l->flags & GW_LAUNCH_NO_CALL) != 0;
	r->account->of_thread[l->thread & 7]++;
	/* Of a launch into an idle stream whose time of call is its own. */
	if (t.min_ns && l->start_ns && !(l->flags & (GW_LAUNCH_CALL_OPEN | GW_LAUNCH_GRAPH))) {
		r->account->timed++;
		r->account->prompt +=
			l->start_ns + 5000 > l->call_ns && l->start_ns < l->call_ns + PROMPT_NS;
	}
	if (l->flags & GW_LAUNCH_MEASURED) {
		take_time(r, l);
		r->account->tiers[l->tier & 3]++;
		r->account->late += (l->flags & GW_LAUNCH_LATE) != 0;
		take_hash(r->account, r->config[l->config < CONFIGS_MAX ? l->config : 0].digest);
		r->account->off += l->tier == GW_TIER_STEADY &&
				   fabs((double)l->predicted / (double)l->duration_ns - 1) > 0.1;
		r->account->early += l->known > r->account->known;
	}
}

static void take_digest(struct account *a, uint32_t digest)
{
	if (digest & GW_DIGEST_IS_PROVISIONAL)
		a->provisional++;
	else
		a->digests += digest != 0;
}

/* Rows that it names replace those of earlier ones. */
static void take_work(struct reading *r, const struct gw_record_work *w,
		      const struct gw_record_quantity *part)
{
	struct account *a = r->account;
	unsigned i = 0;

	while (i < a->works && a->work[i].config != w->config)
		i++;
	if (i == sizeof(a->work) / sizeof(*a->work))
		return;
	a->works += i == a->works;
	a->work[i].config = w->config;
	a->work[i].blocks = r->config[w->config < CONFIGS_MAX ? w->config : 0].grid_x;
	for (uint32_t k = 0; k < w->count; k++) {
		a->work[i].counted[part[k].field] = part[k].source == GW_SOURCE_COUNTED;
		a->work[i].value[part[k].field] = part[k].value;
	}
}

static bool take(void *arg, const struct gw_log_record *record)
{
	struct reading *r = arg;
	struct account *a = r->account;
	const void *fixed = record->head;

	switch (record->head->kind) {
	case GW_RECORD_HEADER:
		a->pid = (pid_t)((const struct gw_record_header *)fixed)->pid;
		a->flags = ((const struct gw_record_header *)fixed)->flags;
		break;
	case GW_RECORD_KERNEL: {
		uint32_t id = ((const struct gw_record_kernel *)fixed)->id;

		a->kernel_records++;
		if (id < NAMES_MAX)
			snprintf(r->name[id], sizeof(r->name[0]), "%s", gw_log_text(record, 0));
		break;
	}
	case GW_RECORD_CONFIG: {
		uint32_t id = ((const struct gw_record_config *)fixed)->id;

		a->config_records++;
		take_digest(a, ((const struct gw_record_config *)fixed)->digest);
		if (id < CONFIGS_MAX)
			r->config[id] = *(const struct gw_record_config *)fixed;
		break;
	}
	case GW_RECORD_STREAM: {
		const struct gw_record_stream *s = fixed;

		if (s->id < CONFIGS_MAX)
			r->stream[s->id] = s->device;
		break;
	}
	case GW_RECORD_LAUNCH:
		take_launch(r, fixed);
		break;
	case GW_RECORD_AGGREGATE: {
		const struct gw_record_aggregate *g = fixed;
		struct tally t = tally_of(r, g->config, false);

		t.count = g->launches;
		a->aggregated += g->launches;
		a->measured += g->measured;
		add(a, &t);
		break;
	}
	case GW_RECORD_GRAPH: {
		const struct gw_record_graph *g = fixed;

		a->graph_launches += g->launches;
		a->graph_timed += g->timed;
		a->graph_ns += g->total_ns;
		if (g->graph)
			a->graph = *g;
		break;
	}
	case GW_RECORD_DEGRADED:
		a->degraded |= 1u << ((const struct gw_record_degraded *)fixed)->code;
		break;
	case GW_RECORD_PUBLISHED: {
		const struct gw_record_published *p = fixed;

		a->published++;
		a->disorder += p->known <= a->known;
		a->known = p->known;
		break;
	}
	case GW_RECORD_PROFILE:
		a->profile += strlen(gw_log_text(record, 0));
		if (((const struct gw_record_profile *)fixed)->offset +
			    strlen(gw_log_text(record, 0)) ==
		    ((const struct gw_record_profile *)fixed)->size)
			a->profiled |= 1u << ((const struct gw_record_profile *)fixed)->device;
		a->profile_size = ((const struct gw_record_profile *)fixed)->size;
		break;
	case GW_RECORD_WORK:
		take_work(r, fixed, (const struct gw_record_quantity *)(const void *)record->tail);
		break;
	case GW_RECORD_ANALYSIS:
		a->analyses[((const struct gw_record_analysis *)fixed)->end % GW_ANALYSIS_ENDS]++;
		a->analysis_config = ((const struct gw_record_analysis *)fixed)->config;
		snprintf(a->analysis_text, sizeof(a->analysis_text), "%s", gw_log_text(record, 0));
		break;
	case GW_RECORD_CLOCK:
		a->clocks++;
		a->clock = *(const struct gw_record_clock *)fixed;
		break;
	case GW_RECORD_SLOW:
		a->slows++;
		a->slow = *(const struct gw_record_slow *)fixed;
		break;
	case GW_RECORD_COUNTERS:
		memcpy(a->counter, record->tail,
		       sizeof(uint64_t) *
			       (((const struct gw_record_counters *)fixed)->count < GW_COUNTERS
					? ((const struct gw_record_counters *)fixed)->count
					: GW_COUNTERS));
		break;
	default:
		break;
	}
	return true;
}

bool account_of_log(const char *path, struct account *out)
{
	struct reading r = {.account = out};
	struct gw_log_status status;
	bool readable;

	memset(out, 0, sizeof(*out));
	snprintf(out->path, sizeof(out->path), "%s", path);
	r.name = calloc(NAMES_MAX, sizeof(*r.name));
	r.config = calloc(CONFIGS_MAX, sizeof(*r.config));
	r.stream = calloc(CONFIGS_MAX, sizeof(*r.stream));
	r.first = calloc(CONFIGS_MAX, sizeof(*r.first));
	readable =
		r.name && r.config && r.stream && r.first && gw_log_read(path, take, &r, &status);
	if (readable) {
		out->ended = status.ended;
		out->damaged = status.notes || status.invalid || status.missing_blocks;
	}
	free(r.name);
	free(r.config);
	free(r.stream);
	free(r.first);
	return readable;
}
