/* A window with activity records is charged what it takes from the program (window_cost.h), or
 * the worker's CPU time for it where that is more; so is one with event pairs
 * (gw_window_cost_events()). The pause after it makes that the budget's share of the time in
 * which the program launches: one that launches now and then does not meet a window each time. */
#include "preload/cupti/windows.h"

#include "preload/cupti/activity.h"
#include "preload/cupti/attach.h"
#include "preload/cupti/window_cost.h"
#include "preload/runtime/bell.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/cupti/other_profiler.h"
#include "preload/runtime/options.h"
#include "preload/maps/state.h"
#include "preload/runtime/process.h"

#define MS GW_MS

static const uint64_t FIRST_NS = 40 * MS;  /* what a window is taken to cost before the first */
static const uint64_t MEASURE_NS = 5 * MS; /* how long one measures, and … */
static const uint64_t MEASURE_MAX_NS = 100 * MS; /* … where launches are rare */
static const uint64_t QUIET_NS = 250 * MS;   /* without a launch: the program does something else */
static const uint64_t FLUSH_NS = 10 * MS;    /* between asking for a window's records */
static const uint64_t SETTLE_NS = 2 * MS;    /* for launch calls that are under way */
static const uint64_t GRAPHS_NS = 50 * MS;   /* … and for graphs that were launched, to end */
static const uint64_t LATE_NS = 1000 * MS;   /* when a window that can't be closed is counted … */
static const uint64_t STUCK_NS = 10000 * MS; /* … and given up */
static const uint64_t YIELD_NS = 50 * MS;  /* how long its kernels are waited for by another tool */
static const uint64_t REST_NS = 1000 * MS; /* from its going to our coming back */
static const uint64_t RETRY_MIN_NS = 1000 * MS, RETRY_MAX_NS = 60000 * MS;

enum { YIELD_WAIT_MS = 1000, OPEN_ROUND_MS = 2 };

enum state {
	NEVER,     /* there are none */
	WAITING,   /* mode audit: for the first context */
	ATTACHING, /* mode audit: at the first context */
	CLOSED,    /* to be opened at `due` */
	OPEN,      /* to be ended at `due` */
	ENDING,    /* from `ended`; nothing new is recorded, what was launched is waited for */
};

/* The worker's, but for the first attaching in mode audit, which ends with the state. */
static struct {
	_Atomic int state;           /* enum state */
	uint64_t due, opened, ended; /* steady ns */
	uint64_t off;                /* when recording was switched off */
	uint64_t flushed;            /* when its records were last asked for */
	uint64_t cpu;                /* the worker's when it was opened */
	uint64_t nodes;              /* kernels of graphs launched until then */
	uint64_t round;              /* when the last one was */
	uint64_t launched;           /* when the program last launched */
	uint64_t debt;               /* launching to come: before the next, or still in this one */
	uint64_t launching;          /* in this one until now */
	uint64_t retry;              /* pause after the next attempt that fails */
	bool by_events;              /* the open one times by event pairs */
	bool useless;                /* windows do without libcupti */
	bool put_off;                /* counted for the one that is due */
	bool stopped;                /* ending: recording has been switched off */
	uint64_t dropped;            /* records libcupti had dropped when it was opened */
	bool left;                   /* another tool came: coming back is a return */
	bool forbidden;              /* this process may not measure */
	enum gw_attach_as as;        /* how the open one's records meet launches */
	bool mode_due;               /* the mode has changed and was not looked at yet */
} window;

static const struct gw_windows_calls *calls;
static _Atomic int held;     /* attached, or about to be */
static _Atomic int yielding; /* threads that wait for `held` to end */
static _Atomic int working;  /* there is a worker that will let go */
static _Atomic uint64_t rest_until;

static bool watching(void)
{
	return gw_options.mode == GW_MODE_WATCH;
}

static bool wanted(void)
{
	return gw_options.mode == GW_MODE_AUDIT || (watching() && gw_options.budget);
}

void gw_windows_start(bool forbidden, const struct gw_windows_calls *c)
{
	calls = c;
	gw_window_cost_start();
	window.retry = RETRY_MIN_NS;
	window.left = window.put_off = window.by_events = window.useless = false;
	window.forbidden = forbidden;
	window.mode_due = false;
	window.due = window.round = window.launched = gw_steady_ns();
	window.debt = 0;
	if (watching() && gw_options.budget)
		window.due += gw_window_cost_pause(FIRST_NS, false);
	atomic_store(&held, 0);
	atomic_store(&yielding, 0);
	atomic_store(&working, 1);
	if (!wanted() || forbidden)
		window.state = NEVER;
	else
		window.state = watching() ? CLOSED : WAITING;
}

/* Buffers of ours may be in libcupti between windows, or the counters' thread. */
static bool stays(void)
{
	return gw_attach_stays() || (watching() && calls->sampler() >= GW_SAMPLER_RESTS);
}

/* Done with libcupti, but for what stays between windows. */
static void release(void)
{
	gw_window_records_end();
	atomic_store(&held, stays());
}

/* Dekker handshake with gives_way() of other_profiler.c (tool.calls): flag first, seq_cst. */
static bool hold(void)
{
	atomic_store(&held, 1);
	if (!gw_other_profiler_busy())
		return true;
	release();
	gw_window_taken();
	return false;
}

static enum gw_attached attach(enum gw_attach_as as, bool (*in_time)(void))
{
	enum gw_attached r;

	if (!hold())
		return GW_ATTACH_LATER;
	r = !watching() || gw_window_records_begin() ? gw_attach(as) : GW_ATTACH_LATER;
	if (r == GW_ATTACHED && in_time && !in_time()) {
		gw_attach_stop();
		r = GW_ATTACH_LATER;
	}
	window.as = as;
	if (r == GW_ATTACHED)
		gw_activity_begin(as);
	else
		release();
	return r;
}

/* To see whether another tool has gone costs nothing; to ask libcupti in vain does. */
static void retry_later(uint64_t now)
{
	if (gw_other_profiler_busy()) {
		gw_window_taken();
		window.due = now + RETRY_MIN_NS;
		return;
	}
	window.due = now + window.retry;
	if (window.retry < RETRY_MAX_NS)
		window.retry *= 2;
}

/* At the first context, before there are launches. */
void gw_windows_first(bool (*in_time)(void))
{
	enum gw_attached r;
	int expected = WAITING;

	/* A change of mode takes WAITING away on the worker. */
	if (!atomic_compare_exchange_strong(&window.state, &expected, ATTACHING))
		return;
	r = attach(gw_injection_active() ? GW_ATTACH_IDS : GW_ATTACH_ORDER, in_time);
	if (r == GW_ATTACHED) {
		window.due = UINT64_MAX;
		window.opened = gw_steady_ns();
		window.state = OPEN;
		return;
	}
	gw_window_events_begin();
	retry_later(gw_steady_ns());
	window.state = r == GW_ATTACH_NEVER ? NEVER : CLOSED;
}

/* ---- opening ---- */

static bool put_off(void)
{
	if (!window.put_off)
		gw_count(GW_COUNTER_windows_put_off, 1);
	window.put_off = true;
	return true;
}

/* A capture must not see what libcupti does to the driver. */
static bool captured(void)
{
	return atomic_load_explicit(&gw_hot.captures, memory_order_relaxed) && put_off();
}

/* libcupti can't be detached from a running program safely, while it is attached each launch
 * call takes longer, and to attach it beside a kernel that waits for the host hangs both: mode
 * watch does so on request alone, where the budget bears it, and beside no conditional node. */
static bool useful(void)
{
	if (!watching())
		return !window.useless;
	return !window.useless &&
	       (gw_attach_count() || gw_injection_active() || gw_window_cost_attach()) &&
	       !gw_window_conditional();
}

/* Injected, libcupti's callbacks come anyway. */
static enum gw_attach_as way(void)
{
	return watching() && !gw_injection_active() ? GW_ATTACH_WINDOW : GW_ATTACH_IDS;
}

static void opened(void)
{
	calls->opened();
	gw_count(GW_COUNTER_returns, window.left);
	window.left = false;
}

/* Counters are sampled where kernels have no records, too: PM sampling needs nothing attached. What
 * runs meanwhile is known by a pair of events around every launch, for some milliseconds. */
static void begin_sampling(void)
{
	const enum gw_sampler s = calls->sampler();

	if ((s != GW_SAMPLER_START && s != GW_SAMPLER_WAITS) || !hold())
		return;
	if (s == GW_SAMPLER_WAITS)
		gw_window_exact_begin();
	opened();
}

/* Without libcupti a window of mode watch has event pairs; mode audit has them always. */
static void open_window(uint64_t now)
{
	enum gw_attached r = useful() ? attach(way(), NULL) : GW_ATTACH_LATER;

	window.put_off = false;
	window.useless |= r == GW_ATTACH_NEVER;
	window.dropped = atomic_load(&gw_counters[GW_COUNTER_activity_dropped]);
	if (r == GW_ATTACHED) {
		opened();
		window.retry = RETRY_MIN_NS;
		atomic_store(&gw_hot.events, 0);
	} else if (!watching() || gw_other_profiler_busy()) {
		retry_later(now);
		window.state = window.useless ? NEVER : CLOSED;
		return;
	} else {
		gw_window_cost_events(0); /* what was timed in mode audit is not this window's */
		begin_sampling();
		gw_window_events_begin();
	}
	if (watching() && gw_injection_active())
		gw_degrade_asked(GW_DEGRADED_WINDOW,
				 "injected, gpuwatch stays attached between windows: launches cost "
				 "more, and no other profiler can come");
	window.by_events = r != GW_ATTACHED;
	window.stopped = false;
	window.state = OPEN;
	window.opened = now;
	window.cpu = gw_thread_cpu_ns();
	window.nodes = atomic_load(&gw_counters[GW_COUNTER_graph_kernels]);
	window.launching = 0;
	window.debt = MEASURE_NS;
	window.due = watching() ? gw_steady_ns() + MEASURE_NS : UINT64_MAX;
	gw_count(GW_COUNTER_windows, watching());
}

/* ---- ending ---- */

static void end_window(uint64_t now)
{
	window.put_off = false;
	window.stopped = window.by_events;
	window.ended = window.off = now;
	window.flushed = 0;
	window.state = ENDING;
	atomic_store(&gw_hot.exact, 0);
	if (window.by_events) {
		atomic_store(&gw_hot.events, 0);
		calls->ending();
	} else {
		calls->ending(); /* another tool may come next, and counters are one's only */
		gw_attach_settle();
		gw_activity_settle();
	}
}

/* The buffers for times stay full: attached, launches would only cost more. */
static bool worn(void)
{
	return gw_activity_worn() && !watching();
}

/* What a window of mode watch registered stays for the next, unless another tool comes. */
static void stop(bool asked)
{
	gw_activity_off();
	gw_attach_stop();
	gw_activity_end();
	gw_window_records_end();
	if (asked || !wanted())
		gw_attach_leave();
	window.stopped = true;
	window.off = gw_steady_ns();
	window.flushed = 0;
	if (worn())
		gw_window_events_begin();
}

/* But for records that libcupti has lost, which nobody can wait for. */
static bool all_came(void)
{
	uint64_t lost = atomic_load(&gw_counters[GW_COUNTER_activity_dropped]) - window.dropped;

	return calls->waiting() <= lost;
}

static void flush(uint64_t now)
{
	if (now < window.flushed + FLUSH_NS)
		return;
	gw_activity_flush(false);
	window.flushed = now;
}

/* Of kernels of graphs that end after recording was switched off, libcupti reads other ends. */
static bool graphs_run(uint64_t now)
{
	return window.as == GW_ATTACH_WINDOW && now < window.ended + GRAPHS_NS && !all_came() &&
	       atomic_load(&gw_counters[GW_COUNTER_graph_kernels]) != window.nodes;
}

/* Launches that were called just while recording was switched off may have no record, and
 * nothing shows it. They are not waited for where another tool waits for libcupti, nor where we
 * shall not need it again, nor for ever, as kernels that do not end. */
static bool given_up(uint64_t now, bool asked)
{
	return now > window.ended + (asked ? YIELD_NS : worn() ? LATE_NS : STUCK_NS);
}

/* It has measured for long enough; where launches are rare, until one came; or rings fill up. */
static bool measured_enough(uint64_t now)
{
	bool met =
		window.by_events || window.as == GW_ATTACH_WINDOW ? !window.debt : gw_attach_met();

	if (window.by_events) /* counters are sampled as the launches run that it timed */
		met &= !atomic_load(&gw_hot.exact) && calls->sampler() != GW_SAMPLER_SAMPLES;
	return (watching() && gw_window_cost_behind()) ||
	       (now >= window.due && (met || now >= window.opened + MEASURE_MAX_NS));
}

static bool recording(void)
{
	return (window.state == OPEN || window.state == ENDING) && !window.stopped &&
	       !window.by_events;
}

/* A round of the worker's is over, with @p launches calls in it. */
static void pass(uint64_t now, uint32_t launches, double full)
{
	uint64_t whole = now - window.round, ns = launches ? whole : 0;

	window.round = now;
	window.launching += ns;
	window.debt -= ns < window.debt ? ns : window.debt;
	if (launches)
		window.launched = now;
	/* A ring that is full as it opens, or while a busy machine keeps the worker, ends none. */
	if (watching() && now - window.launched < QUIET_NS)
		gw_window_cost_round(recording(), whole, launches,
				     window.state == ENDING ? full : 0);
}

/* The first one of a mode that has windows; after others mode watch still owes a pause. */
static void reopen(uint64_t now)
{
	window.due = now;
	if (!watching())
		window.debt = 0;
	else if (!window.off)
		window.due += gw_window_cost_pause(FIRST_NS, false);
	window.state = CLOSED;
}

/* An open window goes on where the new mode can use it. */
static void change_open(uint64_t now)
{
	if (watching() && !window.by_events)
		gw_window_records_begin(); /* where it must not, this round ends it */
	else
		gw_window_records_end(); /* mode audit's are not waited for */
	/* What it has cost until now the new mode's budget does not pay. */
	window.opened = now;
	window.cpu = gw_thread_cpu_ns();
	if (!wanted() || window.by_events ||
	    window.as == (watching() ? GW_ATTACH_ORDER : GW_ATTACH_WINDOW))
		end_window(now);
	else
		window.due = watching() ? now + MEASURE_NS : UINT64_MAX;
}

uint64_t gw_windows_rest(void)
{
	const uint64_t now = gw_steady_ns();

	if (window.state != CLOSED)
		return window.state == NEVER ? UINT64_MAX : 0;
	return window.due > now + window.debt ? window.due - now : window.debt;
}

void gw_windows_mode(void)
{
	uint64_t now = gw_steady_ns();
	int expected = WAITING;

	window.mode_due = atomic_load(&window.state) == ATTACHING;
	if (window.forbidden || window.mode_due)
		return;
	if (atomic_compare_exchange_strong(&window.state, &expected, NEVER))
		expected = NEVER;
	if (expected == OPEN)
		change_open(now);
	else if (expected == ENDING)
		return;
	else if (!wanted())
		window.state = NEVER;
	else if (expected == NEVER && (!window.useless || watching()))
		reopen(now);
	if (!wanted() || watching())
		atomic_store(&gw_hot.events, 0);
	else if (window.state != OPEN)
		gw_window_events_begin();
}

static void gave_way(void)
{
	gw_count(GW_COUNTER_yields, 1);
	gw_window_taken();
	window.left = true;
	atomic_store(&rest_until, gw_steady_ns() + REST_NS);
	if (!watching())
		gw_window_events_begin();
}

/* Between windows of mode watch: another tool comes, or there will be no more. */
static void leave(bool asked)
{
	calls->ending(); /* the counters' thread may be in libcupti between windows, too */
	gw_attach_leave();
	if (asked)
		gave_way();
	release();
}

bool gw_windows_tick(uint32_t launches, double full)
{
	uint64_t now = gw_steady_ns();
	bool asked = atomic_load(&yielding) != 0;

	if (window.mode_due)
		gw_windows_mode();
	asked |= watching() && gw_windows_open() && !window.by_events && gw_window_conditional();
	pass(now, launches, full);
	if (atomic_load(&gw_hot.exact) && gw_window_exact_over(window.opened, now))
		window.due = now + MEASURE_NS;
	if (stays() && (window.state == CLOSED || window.state == NEVER || window.by_events)) {
		bool other = asked || gw_other_profiler_busy();

		if (other || !watching() || !wanted())
			leave(other);
	}
	if (window.state == CLOSED) {
		if (launches && !window.debt && now >= window.due &&
		    now >= atomic_load(&rest_until) && !captured())
			open_window(now);
	} else if (window.state == OPEN &&
		   (asked || gw_activity_worn() || (measured_enough(now) && !captured()))) {
		end_window(now);
	}
	/* Who asked waits: a round more is long on a busy machine. */
	if (window.state == ENDING && !window.stopped &&
	    (asked || now >= window.ended + SETTLE_NS)) {
		flush(now);
		if (asked || !graphs_run(now))
			stop(asked);
	}
	if (window.state != ENDING || !window.stopped)
		return false;
	if (window.by_events) { /* times that are out come with the next window's launches */
		gw_windows_close();
		return false;
	}
	flush(now);
	if (all_came())
		return true;
	/* Its kernels still run, and no other is opened before they have their times. */
	if (now > window.ended + LATE_NS)
		put_off();
	return given_up(now, asked);
}

static void plan(uint64_t now)
{
	const uint64_t cpu = gw_thread_cpu_ns() - window.cpu;
	uint64_t cost =
		gw_window_cost_of(window.by_events, window.off - window.opened, window.launching);

	cost = cost > cpu ? cost : cpu;
	gw_count(GW_COUNTER_window_ns, cost);
	window.debt = gw_window_cost_pause(cost, window.by_events) +
		      (window.by_events ? 0 : gw_window_cost_rest());
	window.due = now;
}

static void without_times(void)
{
	gw_degrade(GW_DEGRADED_NO_TIMES, "%s: kernels are timed by sampled events",
		   "libcupti's records come without times any more");
	window.useless = true;
	if (watching())
		return;
	window.state = NEVER;
	/* Not set by stop() where it was another tool that ended the window. */
	gw_window_events_begin();
}

void gw_windows_close(void)
{
	uint64_t now = gw_steady_ns();

	if (!window.by_events)
		gw_activity_gone();
	window.state = wanted() ? CLOSED : NEVER;
	window.due = now;
	window.debt = 0;
	if (watching() && wanted())
		plan(now);
	if (gw_other_profiler_busy() && !window.by_events) {
		calls->ending(); /* it may have come after the window's end had begun */
		gw_attach_leave();
		gave_way();
	}
	if (gw_activity_worn())
		without_times();
	release();
}

void gw_windows_suspend(bool away)
{
	atomic_store(&working, !away);
}

void gw_windows_stop(void)
{
	atomic_store(&working, 0);
	atomic_store(&held, 0);
	gw_window_records_end();
}

bool gw_windows_open(void)
{
	return window.state == OPEN || window.state == ENDING;
}

uint64_t gw_windows_pause(uint64_t ms)
{
	bool busy = (watching() && window.state == OPEN) || window.state == ENDING;

	return busy && ms > OPEN_ROUND_MS ? OPEN_ROUND_MS : ms;
}

/* ---- those who need us away ---- */

void gw_windows_yield(void)
{
	uint64_t deadline = gw_deadline_in(YIELD_WAIT_MS * MS);

	if (!atomic_load(&held))
		return;
	atomic_fetch_add(&yielding, 1);
	gw_bell_ring();
	while (atomic_load(&held) && atomic_load(&working) && gw_steady_ns() < deadline)
		gw_pause(200000);
	atomic_fetch_sub(&yielding, 1);
}

void gw_windows_backoff(void)
{
	atomic_store(&rest_until, gw_steady_ns() + REST_NS);
}
