/*
 * Any bytes as the records of a log that is replayed and scored: whatever they say, the predictor's
 * answers are times, intervals hold what they are of, and no count exceeds another.
 */
#include "cli/replay/replay.h"
#include "cli/score/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* What is asked of the predictions of one trace. */
struct asked {
	const struct trace *trace;
	struct score *score;
};

static void take(void *arg, size_t launch, const struct gw_prediction *p)
{
	/* A model beside it that says twice as much. */
	const double models[SCORE_MODELS_MAX] = {[SCORE_OURS + 1] = 2 * p->seconds};
	struct asked *a = arg;
	const struct trace_launch *l;

	if (launch >= a->trace->launch_count)
		abort();
	if (!isnan(p->seconds) &&
	    !(p->seconds >= 0 && p->low <= p->seconds && p->seconds <= p->high))
		abort();
	l = &a->trace->launches[launch];
	if (trace_measured(l))
		score_add(a->score, 0, l->config, isnan(p->seconds) ? GW_TIER_NONE : p->tier,
			  p->work,
			  &(struct score_answer){p->seconds, p->low, p->high,
						 (double)l->duration * 1e-9},
			  models);
}

static void check_cells(const struct score *score)
{
	for (size_t m = 0; m < score->model_count; m++) {
		const struct score_cell *all =
			&score->cells[m][SCORE_TIERS][SCORE_SOURCES][SCORE_LENGTHS];

		if (all->answered > all->count || all->within10 > all->within25 ||
		    all->within25 > all->answered || all->intervals > all->answered ||
		    all->covered > (double)all->intervals)
			abort();
	}
}

/* Two ways share a score, which is large: making it would take most of the time. */
static void ask(const struct trace *trace, const struct replay_options ways[2])
{
	struct asked a = {.trace = trace, .score = score_new(trace, ways->hide != REPLAY_ALL)};
	struct replay_result result;

	/* Every model's cells are counted alike: one beside ours stands for all. */
	a.score->model_count = SCORE_OURS + 2;
	for (int i = 0; i < 2; i++) {
		replay(trace, &ways[i], take, &a, &result);
		if (result.equal > result.logged || result.in_step > result.steps)
			abort();
	}
	score_finish(a.score);
	check_cells(a.score);
	score_free(a.score);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	static const struct replay_options ways[] = {
		{.own = false},
		{.own = true},
		{.hide = REPLAY_KERNEL, .hide_work = true},
		{.hide = REPLAY_CONFIGURATION},
	};
	struct gw_block head = {GW_BLOCK_MAGIC, 0, 0, 0};
	unsigned char *log;
	struct trace trace;

	/* A sample's first block without its header, then as many records as the rest holds. */
	if (size <= sizeof(head))
		return -1;
	data += sizeof(head);
	size -= sizeof(head);
	head.length = (uint32_t)(size & ~(size_t)7);
	if (!head.length || head.length > GW_BLOCK_MAX)
		return -1;
	head.crc = gw_crc32(0, data, head.length);
	log = malloc(sizeof(head) + head.length);
	if (!log)
		return -1;
	memcpy(log, &head, sizeof(head));
	memcpy(log + sizeof(head), data, head.length);
	if (trace_read_memory(&trace, "fuzz", log, sizeof(head) + head.length))
		for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i += 2)
			ask(&trace, &ways[i]);
	trace_free(&trace);
	free(log);
	return 0;
}
