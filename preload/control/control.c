/*
 * A request comes from outside and is taken for no more than it is: each word is checked, and what
 * is none of the documented values is refused. A process that writes nonsense into the segment
 * therefore chooses a documented mode, or nothing.
 */
#include "preload/launch/stacks.h"
#include "preload/control/control.h"

#include "preload/analysis/analyze.h"
#include "preload/cupti/windows.h"
#include "preload/live/live.h"
#include "preload/live/log.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/hot.h"
#include "preload/runtime/options.h"
#include "preload/runtime/sandbox.h"

#include <stdio.h>
#include <string.h>

enum { BUDGET_MOST = 100 };

static const uint64_t S = 1000 * GW_MS;

struct state {
	uint32_t mode, budget;
};

static struct {
	struct state base;          /* what it goes back to */
	uint64_t until;             /* when, by the steady clock; 0: it does not */
	uint64_t until_wall;        /* the same, CLOCK_REALTIME */
	uint32_t request;           /* the last one */
	bool forbidden;             /* kernels of this process can't be timed */
	bool shown;                 /* the segment says which mode it is in */
	bool begun;                 /* there is a log, or was to be */
	struct gw_record_mode last; /* the last change; its mode is `before` while there was none */
} control;

static struct state now_in(void)
{
	return (struct state){gw_options.mode, gw_options.budget};
}

void gw_control_start(bool forbidden)
{
	memset(&control, 0, sizeof(control));
	control.base = now_in();
	control.forbidden = forbidden;
}

static void write_last(void)
{
	if (control.last.ns)
		gw_log_write(GW_RECORD_MODE, &control.last, sizeof(control.last), NULL, 0);
}

void gw_control_logged(void)
{
	control.begun = true;
	write_last();
}

/* The order: what a launch does comes last when more is to be done, and first when less is. */
static void go_into(struct state to)
{
	const bool idle = to.mode == GW_MODE_IDLE;

	if (idle)
		atomic_store(&gw_hot.active, GW_HOT_IDLE);
	gw_options.budget = to.budget;
	gw_options.mode = (enum gw_mode)to.mode;
	atomic_store(&gw_hot.untimed, to.mode == GW_MODE_AUDIT ? 0 : GW_UNTIMED);
	if (gw_options_sum() && control.begun)
		gw_log_make_ring();
	gw_windows_mode();
	gw_analysis_mode();
	gw_stacks_mode();
	if (!idle)
		/* Pairs with the acquires in the wrappers (hook/hooks.c). */
		atomic_store_explicit(&gw_hot.active, GW_HOT_ON, memory_order_release);
}

static void change(struct state to, uint32_t seconds, bool time_up)
{
	const struct state from = now_in();

	if (to.mode == from.mode && to.budget == from.budget)
		return;
	go_into(to);
	gw_count(GW_COUNTER_switches, 1);
	control.last = (struct gw_record_mode){.mode = to.mode,
					       .before = from.mode,
					       .budget = to.budget,
					       .seconds = seconds,
					       .cause = time_up,
					       .ns = gw_wall_ns()};
	if (control.begun)
		write_last();
	if (control.begun)
		gw_log_flush();
}

static void show(uint32_t request, bool refused, const char *text)
{
	struct gw_live_answer a = {.request = request,
				   .refused = refused,
				   .mode = gw_options.mode,
				   .budget = gw_options.budget,
				   .then = control.base.mode,
				   .until_ns = control.until ? control.until_wall : 0};

	snprintf(a.text, sizeof(a.text), "%s", text);
	gw_live_answer(&a);
}

/* Why it can't be done; NULL: it can. */
static const char *against(const struct gw_live_control *c, struct state to)
{
	const bool times = to.mode == GW_MODE_AUDIT || to.mode == GW_MODE_WATCH;

	if (to.mode >= GW_MODES || to.mode == GW_MODE_OFF)
		return "the mode is none of audit, watch, count and idle";
	if (to.budget > BUDGET_MOST)
		return "the budget is more than 100";
	if (c->seconds > GW_LIVE_SECONDS_MOST)
		return "the time is more than 31 days";
	if (times && control.forbidden)
		return "the process was forked while the GPU was in use: its launches can be "
		       "counted (mode=count), its kernels not be timed";
	if (to.mode != GW_MODE_IDLE && !control.begun && gw_sandboxed())
		return "the process has entered a sandbox (seccomp): no log can be opened";
	return NULL;
}

/* What of a mode does not work here. */
static const char *lacking(struct state to)
{
	if (to.mode == GW_MODE_AUDIT && !strcmp(gw_options.cupti, "none"))
		return "GPUWATCH_CUPTI=none: of the launches some are timed, by events";
	if (to.mode == GW_MODE_WATCH && !to.budget)
		return "the budget is 0: no kernel is timed";
	if (to.mode != GW_MODE_IDLE && control.begun && !gw_log_is_open())
		return "there is no log";
	return "";
}

static void obey(const struct gw_live_control *c, uint64_t now_ns)
{
	struct state to = now_in();
	const char *why;

	to.mode = c->mode == GW_LIVE_AS_IT_IS ? to.mode : c->mode;
	to.budget = c->budget == GW_LIVE_AS_IT_IS ? to.budget : c->budget;
	control.request = c->sequence;
	why = against(c, to);
	if (why) {
		show(c->sequence, true, why);
		return;
	}
	if (!c->seconds)
		control.base = to;
	else if (!control.until)
		control.base = now_in();
	control.until = c->seconds ? now_ns + S * c->seconds : 0;
	control.until_wall = gw_wall_ns() + S * c->seconds;
	change(to, c->seconds, false);
	show(c->sequence, false, lacking(to));
}

void gw_control_tick(uint64_t now_ns)
{
	struct gw_live_control c;

	if (!control.shown && gw_live_there()) {
		control.shown = true;
		show(0, false, "");
	}
	if (gw_live_asked(&c))
		obey(&c, now_ns);
	if (!control.until || now_ns < control.until)
		return;
	control.until = 0;
	change(control.base, 0, true);
	show(control.request, false, "");
}
