/* Reading runs: their logs as rows of times. */
#include "cli/diff/runs.h"

#include "cli/common/memory.h"
#include "cli/log/events.h"
#include "cli/log/folder.h"
#include "cli/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct taking {
	struct diff *diff;
	struct diff_run *run;
	unsigned side;
	struct gw_log log;
	uint32_t *rows; /* of each configuration of the log, 1 + position; 0: not asked for yet */
	size_t row_room;
};

struct wanted {
	const struct diff *diff;
	const char *mangled;
	const struct gw_config *config;
};

static bool is_wanted(const void *arg, uint32_t at)
{
	const struct wanted *w = arg;
	const struct diff_row *row = &w->diff->rows[at];

	return !strcmp(row->mangled, w->mangled) &&
	       !memcmp(&row->config, w->config, sizeof(row->config));
}

/* The row of a configuration of the log: made where there is none, which moves the others. */
static struct diff_row *row_of(struct taking *t, uint32_t config)
{
	const struct log_config *c = &t->log.configs[config];
	const struct gw_kernel *k = &t->log.kernels[c->kernel].kernel;
	struct wanted w = {t->diff, k->name, &c->config};
	uint64_t key = gw_hash(gw_hash(0, k->name, strlen(k->name)), &c->config, sizeof(c->config));
	struct diff *d = t->diff;
	uint32_t at;

	GW_GROW(t->rows, &t->row_room, config + 1);
	if (t->rows[config])
		return &d->rows[t->rows[config] - 1];
	at = gw_index_find(&d->index, key, is_wanted, &w);
	if (at == GW_INDEX_NONE) {
		at = (uint32_t)d->count++;
		GW_GROW(d->rows, &d->room, d->count);
		d->rows[at] = (struct diff_row){.mangled = gw_copy(k->name),
						.kernel = *k,
						.config = c->config,
						.shift = {NAN, NAN, NAN, NAN},
						.cycles = {NAN, NAN, NAN, NAN}};
		d->rows[at].kernel.name = d->rows[at].mangled;
		gw_index_add(&d->index, key, at);
	}
	t->rows[config] = at + 1;
	return &d->rows[at];
}

static void take_prediction(struct diff_side *s, const struct gw_record_launch *l)
{
	/* Once the kernel was timed, a prediction follows what was measured. */
	if (l->tier != GW_TIER_COLD ||
	    !(l->low > 0 && l->low < l->predicted && l->predicted < l->high))
		return;
	s->predicted = (double)l->predicted;
	s->low = (double)l->low;
	s->high = (double)l->high;
}

/* The span under way has ended. */
static void end_span(struct diff_spans *s)
{
	if (s->times) {
		GW_GROW(s->means, &s->room, s->count + 1);
		s->means[s->count++] = (float)(s->sum / (double)s->times);
	}
	s->sum = 0;
	s->times = 0;
}

static void span_add(struct diff_spans *s, uint64_t span, double sum, uint64_t times)
{
	if (s->span != span)
		end_span(s);
	s->span = span;
	s->sum += sum;
	s->times += times;
}

static void take_launch(struct taking *t, const struct log_event *e)
{
	const struct gw_record_launch *l = (const void *)e->record->head;
	struct diff_run *run = t->run;
	struct diff_side *s;

	run->launches++;
	if (l->call_ns) {
		run->from = run->from != 0 && run->from < (double)l->call_ns ? run->from
									     : (double)l->call_ns;
		run->to = fmax(run->to, (double)l->call_ns);
	}
	if (e->config == GW_INDEX_NONE) {
		run->nameless++;
		return;
	}
	s = &row_of(t, e->config)->side[t->side];
	s->launches++;
	if (!gw_log_measured(l->flags, l->duration_ns))
		return;
	s->measured++;
	s->total += (double)l->duration_ns;
	run->total += (double)l->duration_ns;
	if (l->flags & GW_LAUNCH_OVERLAPPED)
		return;
	span_add(&s->spans, l->start_ns / (DIFF_SPAN_MS * UINT64_C(1000000)),
		 (double)l->duration_ns, 1);
	GW_GROW(s->times, &s->room, s->count + 1);
	s->times[s->count++] = (float)l->duration_ns;
	take_prediction(s, l);
}

static void take_aggregate(struct taking *t, const struct log_event *e)
{
	const struct gw_record_aggregate *a = (const void *)e->record->head;
	struct diff_side *s;

	t->run->launches += a->launches;
	t->run->total += (double)a->total_ns;
	t->run->sums = true;
	if (a->end_ns)
		t->run->to = fmax(t->run->to, (double)a->end_ns);
	if (a->start_ns && (t->run->from == 0 || (double)a->start_ns < t->run->from))
		t->run->from = (double)a->start_ns;
	if (e->config == GW_INDEX_NONE)
		return;
	s = &row_of(t, e->config)->side[t->side];
	s->launches += a->launches;
	s->measured += a->measured;
	s->total += (double)a->total_ns;
	/* Launches of its span that have records of their own are some of many. */
	span_add(&s->spans, s->spans.span, (double)a->total_ns, a->measured);
	end_span(&s->spans);
}

static void take_gpu(struct diff_run *run, const char *name)
{
	if (!run->gpu)
		run->gpu = gw_copy(name);
	run->gpus_differ |= strcmp(run->gpu, name) != 0;
}

static void take(void *arg, const struct log_event *e)
{
	struct taking *t = arg;

	if (e->kind == GW_RECORD_LAUNCH)
		take_launch(t, e);
	else if (e->kind == GW_RECORD_AGGREGATE)
		take_aggregate(t, e);
	else if (e->kind == GW_RECORD_DEVICE)
		take_gpu(t->run, t->log.gpus[e->gpu].name);
	else if (e->kind == GW_RECORD_CLOCK)
		log_clock_add(&t->run->clocks, (const void *)e->record->head);
}

/* Once the log is read: code is known after a kernel's first launches. Logs of one run that have
 * different code under one name leave it unknown. */
static void take_code(struct taking *t)
{
	for (size_t i = 0; i < t->row_room && i < t->log.config_count; i++) {
		uint64_t code = t->log.kernels[t->log.configs[i].kernel].code, *known;

		if (!t->rows[i] || !code)
			continue;
		known = &t->diff->rows[t->rows[i] - 1].code[t->side];
		*known = *known == 0 || *known == code ? code : DIFF_CODE_MIXED;
	}
}

static bool read_one(void *arg, const char *path)
{
	struct taking *t = arg;
	bool good = gw_log_events(&t->log, path, NULL, 0, take, t);

	if (good) {
		for (size_t i = 0; i < t->diff->count; i++)
			end_span(&t->diff->rows[i].side[t->side].spans);
		take_code(t);
		t->run->logs++;
		t->run->stand_in |= (t->log.header.flags & GW_HEADER_STAND_IN) != 0;
		t->run->incomplete |= !gw_log_whole(&t->log.status);
	} else {
		gw_error("%s: %s", path, t->log.status.error);
	}
	gw_log_free(&t->log);
	t->log = (struct gw_log){0};
	free(t->rows);
	t->rows = NULL;
	t->row_room = 0;
	return good;
}

int diff_read(struct diff *diff, unsigned run, const char *path)
{
	struct taking t = {.diff = diff, .run = &diff->run[run], .side = run};

	t.run->path = path;
	return gw_log_each(path, read_one, &t);
}

void diff_free(struct diff *diff)
{
	for (size_t i = 0; i < diff->count; i++) {
		struct diff_row *r = &diff->rows[i];

		free(r->mangled);
		free(r->plain);
		free(r->name);
		free(r->was);
		free(r->side[BASE].times);
		free(r->side[OTHER].times);
		free(r->side[BASE].spans.means);
		free(r->side[OTHER].spans.means);
	}
	for (unsigned i = 0; i < RUNS; i++) {
		free(diff->run[i].gpu);
		log_clocks_free(&diff->run[i].clocks);
	}
	gw_index_free(&diff->index);
	free(diff->rows);
}
