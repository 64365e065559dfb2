#include "preload/maps/own_use.h"

#include "preload/runtime/counters.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"
#include "preload/runtime/options.h"

#include <stdatomic.h>

static _Atomic unsigned level; /* enum gw_shed */

/* The worker's. */
static struct {
	uint64_t looked_ns, cpu_ns; /* the last time; 0: never */
	uint64_t changed_ns;        /* when the level was … */
	int64_t changed_at;         /* … and what was saved then */
	int64_t saved_ns;           /* CPU time that may be taken; below 0: owed */
} use;

static const int64_t AHEAD_NS = (int64_t)GW_OWN_USE_AHEAD_MS * GW_MS;

void gw_own_use_start(void)
{
	atomic_store(&level, GW_SHED_NOTHING);
	use.looked_ns = use.cpu_ns = use.changed_ns = 0;
	use.saved_ns = use.changed_at = AHEAD_NS;
}

bool gw_sheds(enum gw_shed what)
{
	return atomic_load_explicit(&level, memory_order_relaxed) >= (unsigned)what;
}

static void change(unsigned to, uint64_t now_ns)
{
	gw_count(GW_COUNTER_sheds, to > atomic_load(&level));
	atomic_store(&level, to);
	atomic_store(&gw_counters[GW_COUNTER_shed_level], to);
	use.changed_ns = now_ns;
	use.changed_at = use.saved_ns;
}

static void shed_more(uint64_t now_ns, unsigned now)
{
	gw_degrade_asked(GW_DEGRADED_OWN_USE,
			 "gpuwatch itself took more than GPUWATCH_CPU_MAX, %u%% of a processor: "
			 "until there is room again it leaves out "
#define SHED(NAME, name) name ", "
#include "predictor/log/shed.def"
#undef SHED
			 "in this order and as far as needed",
			 gw_options.cpu_max);
	change(now + 1, now_ns);
}

static bool limited(void)
{
	return gw_options_watch() && gw_options.cpu_max;
}

static void save(int64_t ns)
{
	use.saved_ns += ns;
	if (use.saved_ns > AHEAD_NS)
		use.saved_ns = AHEAD_NS;
	if (use.saved_ns < -AHEAD_NS)
		use.saved_ns = -AHEAD_NS;
}

void gw_own_use_tick(uint64_t now_ns, uint64_t cpu_ns)
{
	const unsigned now = atomic_load(&level);
	const uint64_t before_ns = use.looked_ns;
	/* A thread that just ends may be missing from one look. */
	const uint64_t taken = cpu_ns > use.cpu_ns ? cpu_ns - use.cpu_ns : 0;

	use.looked_ns = now_ns;
	use.cpu_ns += taken;
	if (!limited()) {
		use.saved_ns = use.changed_at = AHEAD_NS; /* nothing is owed from such a time */
		if (now)
			change(GW_SHED_NOTHING, now_ns);
		return;
	}
	if (before_ns)
		save((int64_t)((now_ns - before_ns) / 100 * gw_options.cpu_max));
	save(-(int64_t)taken);
	/* Not while what was shed last is enough. */
	if (use.saved_ns < 0 && use.saved_ns <= use.changed_at && now + 1 < GW_SHEDS &&
	    now_ns - use.changed_ns >= GW_OWN_USE_STEP_MS * GW_MS)
		shed_more(now_ns, now);
	else if (use.saved_ns > AHEAD_NS / 2 && now &&
		 now_ns - use.changed_ns >= GW_OWN_USE_BACK_MS * GW_MS)
		change(now - 1, now_ns);
}
