#include "preload/analysis/analyze.h"

#include "preload/launch/arguments.h"
#include "preload/runtime/clock.h"
#include "preload/analysis/code.h"
#include "preload/analysis/code_pack.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/live/log.h"
#include "preload/runtime/options.h"
#include "preload/maps/own_use.h"
#include "preload/analysis/analysis_code.h"
#include "preload/analysis/analysis_jobs.h"
#include "preload/analysis/analysis_queue.h"
#include "preload/analysis/digests.h"
#include "preload/analysis/elsewhere.h"
#include "preload/maps/configs.h"
#include "preload/maps/devices.h"
#include "preload/analysis/known_work.h"

#include <stdio.h>
#include <string.h>

enum state {
	NOT_YET,
	WAITING,
	ANALYZED,
	ANALYZED_BARE,   /* without arguments */
	ANALYZED_BRIEFLY /* and waits for a longer analysis */
};

/* Kernels of which a longer analysis cannot follow any warp to its end either. */
static uint8_t endless[GW_KERNELS_MAX / 8];
static uint8_t code_logged[GW_KERNELS_MAX / 8]; /* likewise: its CODE is written */

static struct gw_device unknown;                /* where there is no profile: nothing of it */
static uint64_t begun_ns, spent_ns, threads_ns; /* threads_ns: of spent_ns, on threads */
static unsigned untimed_out; /* jobs that threads have, of configurations not timed when queued … */
static unsigned first_out;   /* … and those that are not a second, longer analysis */
static uint64_t done_ns;     /* when the last analysis had its result; 0: nothing is kept of any */
static bool on, off_said;

/* Untimed configurations that wait for analysis, from the first one until none waits, or until
 * times were taken none the less. */
static struct {
	uint64_t begun_ns;
	uint32_t configs; /* that came */
	bool over;        /* times are taken */
	bool fresh;       /* a kernel among them is new: times of it can't predict it either */
	uint64_t held_ns; /* by such rows before */
} row;

/* Reasons that name a limit. */
static struct {
	char took_long[48], no_time[128], too_many[48];
} texts;

/* Answers come first: before the budget rules there is a minute, of processors that are idle; in
 * mode watch a second. */
static uint64_t first_ns(void)
{
	const bool usable = gw_options.budget && gw_analysis_jobs_usable();

	return GW_MS * (gw_options_watch() ? GW_ANALYSIS_WATCH_MS
			: usable           ? GW_ANALYSIS_ANSWERS_MS
					   : GW_ANALYSIS_FIRST_MS);
}

static void make_texts(void)
{
	snprintf(texts.took_long, sizeof(texts.took_long), "it took longer than %d ms",
		 GW_ANALYSIS_LAUNCH_MS);
	snprintf(texts.no_time, sizeof(texts.no_time),
		 "the time for code analysis (%d s of CPU, and %d%% of the program's time, or "
		 "GPUWATCH_BUDGET) was used up",
		 (int)(first_ns() / 1000000000),
		 gw_options_watch() ? GW_ANALYSIS_WATCH_PERCENT : GW_ANALYSIS_PERCENT);
	snprintf(texts.too_many, sizeof(texts.too_many), "more than %d configurations waited",
		 GW_ANALYSIS_QUEUE);
}

/* The analysis under way on the worker. */
static struct {
	bool (*meanwhile)(void);
	struct gw_analysis_job job;
	uint64_t looked, last; /* when the rings were last looked after; when all must end, or 0 */
	bool ends;             /* the program does */
} now;

void gw_analysis_mode(void)
{
	on = gw_options.analyze_code && (gw_options.mode == GW_MODE_AUDIT || gw_options_watch());
	gw_hot_want(GW_EVENT_ARGUMENTS, on);
	gw_analysis_queue_by_time(gw_options_watch());
	make_texts();
}

void gw_analysis_start(unsigned threads)
{
	gw_analysis_jobs_start(threads);
	gw_analysis_queue_start();
	memset(endless, 0, sizeof(endless));
	memset(code_logged, 0, sizeof(code_logged));
	spent_ns = threads_ns = done_ns = 0;
	untimed_out = first_out = 0;
	memset(&row, 0, sizeof(row));
	off_said = false;
	gw_analysis_mode();
	begun_ns = gw_steady_ns();
	gw_device_clear(&unknown, "");
	gw_analysis_code_start(threads ? threads : 1);
}

void gw_analysis_stop(void)
{
	gw_analysis_jobs_stop();
}

size_t gw_analysis_held(void)
{
	return gw_analysis_code_held() + gw_code_held();
}

static void write_end(uint32_t config, enum gw_analysis_end end, bool bare, const char *why)
{
	struct gw_record_analysis r = {.config = config, .end = end, .bare = bare};

	gw_log_write(GW_RECORD_ANALYSIS, &r, sizeof(r), why, strlen(why) + 1);
}

/* A complete analysis writes no ANALYSIS record, unless it supersedes an earlier one. */
static void say(uint32_t config, enum gw_analysis_end end, const char *why)
{
	struct gw_config_entry *c = gw_config_entry(config);

	c->analysis_end = (uint8_t)end;
	c->analysis_why = why ? why : "";
	if (end != GW_ANALYSIS_DONE || why || c->analysis_said)
		write_end(config, end, c->analysis == ANALYZED_BARE, c->analysis_why);
	c->analysis_said |= end != GW_ANALYSIS_DONE || why;
}

/* Where the queue is full, the configuration's next launch asks again. */
void gw_analysis_want(uint32_t config)
{
	struct gw_config_entry *c = config ? gw_config_entry(config) : NULL;

	if (!on || !c || !c->slot || c->analysis == WAITING || c->analysis == ANALYZED ||
	    c->analysis == ANALYZED_BRIEFLY || (c->analysis == ANALYZED_BARE && !c->arguments))
		return;
	if (!gw_analysis_queue_untimed() && !untimed_out) {
		row.begun_ns = gw_steady_ns();
		row.configs = 0;
		row.fresh = false;
	}
	row.fresh |= gw_analysis_queue_new_kernel(config);
	if (gw_analysis_queue_put(config, c->analysis == ANALYZED_BARE && *c->analysis_why)) {
		c->analysis = WAITING;
		row.configs += !c->measured;
	}
}

void gw_analysis_launched(uint32_t config)
{
	const unsigned state = gw_config_entry(config)->analysis;

	if (state == ANALYZED_BARE || (state == NOT_YET && gw_analysis_queue_worth(config)))
		gw_analysis_want(config);
}

void gw_analysis_same(uint32_t config, uint32_t as)
{
	struct gw_work from_code;

	if (gw_config_entry(as)->analysis != ANALYZED &&
	    gw_config_entry(as)->analysis != ANALYZED_BRIEFLY)
		return; /* it may still wait; this one is analysed itself */
	gw_config_entry(config)->analysis = ANALYZED;
	if (gw_config_entry(as)->analysis_said)
		say(config, gw_config_entry(as)->analysis_end, gw_config_entry(as)->analysis_why);
	gw_work_by_code(as, &from_code);
	gw_work_offer(config, &from_code);
}

/* Whether it passes memory of the host. It is then analysed itself, which asks again. */
static bool passes_elsewhere(struct gw_config_entry *c)
{
	struct gw_static_memory found[GW_ANALYSIS_MEMORIES];

	c->analysis_elsewhere =
		c->analysis_elsewhere ||
		gw_elsewhere_any(found, gw_elsewhere(c->arguments, found, GW_ANALYSIS_MEMORIES));
	return c->analysis_elsewhere;
}

/*
 * Before the code is read, launches of a shape are of as many configurations as their numbers
 * differ. Where it turns out to depend on none of these, one analysis is for all, so that what
 * waits for its prediction does not wait for each.
 */
static uint32_t another_like(uint32_t config)
{
	struct gw_config_entry *c = gw_config_entry(config), *other;

	for (uint32_t id = c->arguments && c->analysis == WAITING ? c->head : 0; id;
	     id = other->hashed) {
		other = gw_config_entry(id);
		if ((other->analysis == ANALYZED || other->analysis == ANALYZED_BRIEFLY) &&
		    other->arguments && !other->analysis_elsewhere &&
		    gw_digests_alike(c->slot, c->arguments, other->arguments))
			return passes_elsewhere(c) ? 0 : id;
	}
	return 0;
}

static bool needless(const struct gw_analysis_job *job)
{
	return another_like(job->config) != 0;
}

GW_COLD static bool take_from_another(uint32_t config)
{
	uint32_t other = another_like(config);

	if (!other)
		return false;
	gw_analysis_queue_back(config);
	gw_analysis_same(config, other);
	return true;
}

static bool go_on(void *unused)
{
	uint64_t ns = gw_steady_ns();

	(void)unused;
	if (ns - now.looked >= GW_ANALYSIS_LOOK_US * UINT64_C(1000)) {
		now.ends = !now.meanwhile() || now.ends;
		now.looked = gw_steady_ns();
	}
	if (now.last ? ns > now.last : now.ends)
		return false;
	return gw_thread_cpu_ns() - now.job.begun_cpu < GW_ANALYSIS_LAUNCH_MS * UINT64_C(1000000);
}

static void count(enum gw_analysis_end end, bool bare)
{
	static const enum gw_counter counters[] = {
		[GW_ANALYSIS_DONE] = GW_COUNTER_studied,
		[GW_ANALYSIS_NO_CODE] = GW_COUNTER_analysis_no_code,
		[GW_ANALYSIS_UNSUPPORTED] = GW_COUNTER_analysis_unknown,
		[GW_ANALYSIS_ABANDONED] = GW_COUNTER_analysis_abandoned,
	};

	gw_bump(&gw_counters[counters[end]], 1);
	gw_bump(&gw_counters[GW_COUNTER_analysis_no_arguments], bare && end != GW_ANALYSIS_NO_CODE);
}

/* Whether a longer analysis can add to a brief one; never for an endless kernel. */
static bool wants_more(const struct gw_config_entry *c, bool limited)
{
	return limited && !(endless[c->slot / 8] >> c->slot % 8 & 1);
}

/* Brief where others wait for a thread, or the program ends: else a longer one follows soon. */
static void fill_in(struct gw_analysis_job *job, uint32_t config, bool untimed, bool last)
{
	const struct gw_config_entry *c = gw_config_entry(config);
	const struct gw_device *profile = gw_device_profile(gw_device_id((int)c->device - 1));

	job->config = config;
	job->untimed = untimed;
	job->first = c->analysis != ANALYZED_BRIEFLY;
	job->launch = (struct gw_analysis_launch){.slot = c->slot,
						  .config = c->config,
						  .arguments = c->arguments,
						  .device = profile ? profile : &unknown,
						  .go_on = go_on};
	job->launch.brief =
		job->first && (last || gw_options_watch() || !wants_more(c, true) ||
			       gw_analysis_queue_first() + first_out >= GW_ANALYSIS_THREADS);
	if (!last) /* the driver may be going, too */
		job->launch.memory_count =
			gw_elsewhere(c->arguments, job->launch.memory, GW_ANALYSIS_MEMORIES);
}

static void report_failure(const struct gw_analysis_job *job, const char *why)
{
	const struct gw_config_entry *c = gw_config_entry(job->config);

	if (job->end == GW_ANALYSIS_NO_CODE && !gw_device_stand_in())
		gw_degrade(GW_DEGRADED_CODE, "the code of a kernel can't be read: %s (%s)", why,
			   c->name);
	else if (job->end == GW_ANALYSIS_ABANDONED && !job->stopped)
		gw_degrade(GW_DEGRADED_ANALYSIS,
			   "the analysis of a kernel's code took too long: it is predicted without "
			   "(%s)",
			   c->name);
}

/* Whether there is another, longer analysis of the same; in mode watch where only bytes lack. */
static bool once_more(const struct gw_analysis_job *job)
{
	return job->launch.brief && job->launch.arguments &&
	       (!gw_options_watch() || gw_analysis_lacks_bytes(&job->work)) &&
	       wants_more(gw_config_entry(job->config), job->limited) &&
	       gw_analysis_queue_put_brief(job->config);
}

static void log_code(const struct gw_analysis_job *job)
{
	const struct gw_config_entry *c = gw_config_entry(job->config);
	struct gw_record_code r = {
		.kernel = c->kernel, .bytes = job->code.bytes, .digest = job->code.digest};

	if (!r.digest || code_logged[c->slot / 8] >> c->slot % 8 & 1)
		return;
	code_logged[c->slot / 8] |= (uint8_t)(1u << c->slot % 8);
	gw_log_write(GW_RECORD_CODE, &r, sizeof(r), NULL, 0);
}

static void take_result(const struct gw_analysis_job *job)
{
	struct gw_config_entry *c = gw_config_entry(job->config);
	const char *why = job->why;

	spent_ns += job->cpu_ns;
	done_ns = gw_steady_ns();
	gw_analysis_queue_took(c->slot, job->evaluated, job->first);
	if (job->first)
		count(job->end, !job->launch.arguments);
	if (!job->launch.brief && job->limited &&
	    job->work.q[GW_WORK_inst_executed].source == GW_SOURCE_NONE)
		endless[c->slot / 8] |= (uint8_t)(1u << c->slot % 8);
	c->analysis = job->launch.arguments ? ANALYZED : ANALYZED_BARE;
	c->analysis_elsewhere = gw_elsewhere_any(job->launch.memory, job->launch.memory_count);
	if (once_more(job))
		c->analysis = ANALYZED_BRIEFLY;
	log_code(job);
	gw_digests_analysed(c->slot);
	gw_work_offer(job->config, &job->work);
	if (job->end == GW_ANALYSIS_ABANDONED)
		why = job->stopped ? "the program ended meanwhile" : texts.took_long;
	say(job->config, job->end, why);
	report_failure(job, why);
}

uint64_t gw_analysis_allowance(uint64_t ns)
{
	const uint64_t by_now = GW_ANALYSIS_WATCH_NOW_MS * GW_MS + ns / GW_ANALYSIS_WATCH_PART;
	uint32_t usual = gw_options_watch() ? GW_ANALYSIS_WATCH_PERCENT : GW_ANALYSIS_PERCENT;
	uint64_t first = first_ns();

	if (gw_options_watch() && by_now < first)
		first = by_now;
	/* A larger GPUWATCH_BUDGET applies to code analysis too. */
	return first + ns / 100 * (gw_options.budget > usual ? gw_options.budget : usual);
}

/* Whether there is time left for analyses: some of it is reserved for new configurations. */
static bool affordable(uint64_t ns)
{
	uint64_t kept = gw_analysis_queue_first() ? 0 : first_ns() / 4 * 3;

	return !gw_sheds(GW_SHED_ANALYSIS) &&
	       spent_ns + kept < gw_analysis_allowance(ns - begun_ns);
}

/* Why a configuration was not analysed. */
static const char *not_reached(uint32_t config)
{
	const struct gw_config_entry *c = gw_config_entry(config);

	if (c->analysis == NOT_YET && !gw_analysis_queue_worth(config))
		return "its launches take less time than its analysis";
	if (spent_ns >= gw_analysis_allowance(gw_steady_ns() - begun_ns))
		return texts.no_time;
	return c->analysis == WAITING ? "the program ended before its turn" : texts.too_many;
}

void gw_analysis_finish(void)
{
	for (uint32_t i = 1; on && i <= gw_config_count(); i++) {
		const struct gw_config_entry *c = gw_config_entry(i);

		if (gw_log_sums())
			break;
		if (c->analysis_said || (c->analysis != NOT_YET && c->analysis != WAITING))
			continue;
		if (c->slot)
			say(i, GW_ANALYSIS_NOT_REACHED, not_reached(i));
		else
			say(i, GW_ANALYSIS_NO_CODE, "no launch of it was seen, only that it ran");
	}
}

bool gw_analysis_waits(void)
{
	return gw_analysis_jobs_out() ||
	       (gw_analysis_queue_waiting() && affordable(gw_steady_ns()));
}

bool gw_analysis_unfinished(void)
{
	return first_out || (gw_analysis_queue_first() && affordable(gw_steady_ns()));
}

bool gw_analysis_inline(void)
{
	return !gw_analysis_jobs_usable();
}

/* So many launches may wait, and for so long. */
static bool patient(uint32_t launches, uint64_t waited_ns)
{
	if (row.fresh && launches <= GW_ANALYSIS_HOLD_NEW &&
	    row.held_ns + waited_ns < GW_ANALYSIS_HOLD_NEW_MS * GW_MS)
		return true;
	return launches <= GW_ANALYSIS_HOLD && launches / GW_ANALYSIS_HOLD_EACH <= row.configs &&
	       waited_ns < GW_ANALYSIS_HOLD_MS * GW_MS;
}

static void end_row(uint64_t ns)
{
	if (row.fresh)
		row.held_ns += ns - row.begun_ns;
	row.fresh = row.over = false;
}

bool gw_analysis_defers_join(uint32_t launches)
{
	uint64_t ns = gw_steady_ns();

	if (gw_options_watch())
		return false;
	if (row.over) {
		end_row(ns);
		gw_analysis_queue_timed();
		row.begun_ns = ns;
		row.configs = gw_analysis_queue_untimed() + untimed_out;
	}
	if (untimed_out || (gw_analysis_queue_untimed() && affordable(ns))) {
		row.over = !patient(launches, ns - row.begun_ns);
		return !row.over;
	}
	end_row(ns);
	return false;
}

/* On the worker. @p last: what was not timed, and no longer than so. */
static void run_inline(bool last)
{
	uint64_t begin = gw_steady_ns(), ns = begin;
	uint64_t most = (last ? GW_ANALYSIS_LAST_MS : GW_ANALYSIS_ROUND_MS) * UINT64_C(1000000);

	now.looked = begin;
	now.last = last ? begin + most : 0;
	now.ends = last;
	while ((last ? gw_analysis_queue_untimed() : gw_analysis_queue_waiting()) &&
	       ns - begin < most && affordable(ns)) {
		uint32_t config = gw_analysis_queue_next(last);

		if (take_from_another(config))
			continue;
		fill_in(&now.job, config, false, last);
		gw_analysis_job_do(&now.job);
		now.job.stopped = now.ends;
		take_result(&now.job);
		ns = gw_steady_ns();
		if (now.ends && !last) /* the rest is analysed when it has ended */
			break;
	}
}

static struct gw_analysis_job *taken_back(struct gw_analysis_job *job)
{
	if (job) {
		untimed_out -= job->untimed;
		first_out -= job->first;
	}
	return job;
}

static void take_results(void)
{
	struct gw_analysis_job *job;

	while ((job = gw_analysis_job_done())) {
		take_result(job);
		threads_ns += job->cpu_ns;
		taken_back(job);
		atomic_store(&job->state, GW_ANALYSIS_JOB_FREE);
		/* What waits for a thread though the last results are its own, too. */
		while ((job = taken_back(gw_analysis_job_withdraw(needless))))
			take_from_another(job->config);
	}
}

static uint32_t next_turn; /* of the one that is next in the queue, while room() looks */

/* Whether that one would have its turn before it. */
static bool crowds(const struct gw_analysis_job *job)
{
	return job->turn > next_turn;
}

/* A free job; where there is none, and it does not go by time, that of a kernel of which many wait
 * for a thread: else a costly one keeps new ones waiting for as many analyses as there are jobs. */
static struct gw_analysis_job *room(void)
{
	struct gw_analysis_job *job = gw_analysis_job_new();

	if (job || gw_options_watch() || !gw_analysis_queue_untimed())
		return job;
	next_turn = gw_analysis_queue_turns(gw_analysis_queue_peek()) + 1;
	job = taken_back(gw_analysis_job_withdraw(crowds));
	if (job && job->first) {
		gw_analysis_queue_back(job->config);
		if (!gw_analysis_queue_put(job->config, false))
			gw_config_entry(job->config)->analysis = NOT_YET;
	} else if (job) {
		gw_analysis_queue_put_brief(job->config);
	}
	return job;
}

/* False: there is no thread to do it. */
static bool hand_out(struct gw_analysis_job *job, bool untimed_only)
{
	uint32_t before = gw_analysis_queue_untimed(),
		 config = gw_analysis_queue_next(untimed_only);

	if (take_from_another(config))
		return true;
	fill_in(job, config, gw_analysis_queue_untimed() < before, untimed_only);
	job->turn = job->untimed ? gw_analysis_queue_turns(config) : UINT32_MAX;
	if (!gw_analysis_job_put(job)) {
		gw_config_entry(config)->analysis = NOT_YET; /* its next launch asks again */
		make_texts();                                /* the worker has less time */
		return false;
	}
	untimed_out += job->untimed;
	first_out += job->first;
	return true;
}

static void hand_out_all(bool untimed_only)
{
	struct gw_analysis_job *job;

	while ((untimed_only ? gw_analysis_queue_untimed() : gw_analysis_queue_waiting()) &&
	       affordable(gw_steady_ns()) && (job = room()))
		if (!hand_out(job, untimed_only))
			return;
}

/* With threads. @p last: what was not timed is waited for, but not for long. */
static void run_on_threads(bool last)
{
	const uint64_t until = gw_deadline_in(GW_ANALYSIS_LAST_MS * GW_MS);

	take_results();
	hand_out_all(last);
	while (last && untimed_out && gw_steady_ns() < until) {
		gw_pause(GW_MS / 4);
		take_results();
		hand_out_all(true);
	}
}

/* In mode watch what was read is not kept for the rare kernel that is new later. */
static void tidy(void)
{
	if (!gw_options_watch() || !done_ns || gw_analysis_waits() ||
	    gw_steady_ns() - done_ns < GW_ANALYSIS_TIDY_MS * GW_MS)
		return;
	gw_analysis_code_tidy();
	done_ns = 0;
}

void gw_analysis_run(bool (*meanwhile)(void), bool last)
{
	if (!on && !off_said)
		write_end(0, GW_ANALYSIS_OFF, false,
			  gw_options.analyze_code ? "only modes audit and watch read code"
						  : "GPUWATCH_STATIC=0");
	off_said = true;
	now.meanwhile = meanwhile;
	if (gw_analysis_jobs_usable())
		run_on_threads(last);
	else
		run_inline(last);
	tidy();
	/* What is analysed next is unpacked again, and mode watch has no time for both. */
	if (on && !gw_sheds(GW_SHED_ANALYSIS) && !(gw_options_watch() && gw_analysis_waits()))
		gw_code_pack_some();
	atomic_store_explicit(&gw_counters[GW_COUNTER_analysis_ns], spent_ns, memory_order_relaxed);
	atomic_store_explicit(&gw_counters[GW_COUNTER_analysis_threads_ns], threads_ns,
			      memory_order_relaxed);
}
