#include "preload/counters/pm_answers.h"

#include "preload/counters/pm_sets.h"
#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/options.h"

#include <string.h>

enum {
	ALL = 1000,       /* permille */
	GROWTH = 100,     /* part of what is missing by which … */
	GROWTH_LEAST = 2, /* … what is known has to grow, in permille: less is none */
	PAIRS_FIRST = 32, /* launches that pairs timed: kernels of this program do end */
	EARNED_MS = 30,   /* by the budget before the first such session: 3 s at 1% */
	SPARED = 3,       /* sessions without windows that are not counted … */
	EMPTY = 4,        /* … and of each set those without kernels that are no tries */
	NEWS = 100,       /* so much less is known than was: there are new launches */
};

/* Traffic and instructions are what most predictions use, and what code analysis derives least. */
static const double FIRST_SET = 1.5;
/* Then what matrix products are bound by. */
static const double TENSOR = 1.2;
enum { TENSOR_SET = 2 };

static _Atomic uint32_t missing[GW_PM_SETS]; /* permille of GPU time; the worker sets it */

/* The thread's */
static struct {
	uint32_t known;   /* permille when it was last better, or worse for new launches */
	unsigned tries;   /* sessions */
	unsigned stalled; /* of these, since then */
	unsigned empty;
} sets[GW_PM_SETS];
static uint64_t spent_ns;
static unsigned spared;

void gw_pm_answers_start(void)
{
	for (unsigned i = 0; i < GW_PM_SETS; i++)
		atomic_store(&missing[i], ALL);
	memset(sets, 0, sizeof(sets));
	spent_ns = 0;
	spared = 0;
}

void gw_pm_answers_missing(unsigned number, double share)
{
	atomic_store_explicit(&missing[number], (uint32_t)(share * ALL), memory_order_relaxed);
}

static uint32_t missing_of(unsigned number)
{
	uint32_t now = atomic_load_explicit(&missing[number], memory_order_relaxed);

	return now < ALL ? now : ALL;
}

/* Compare with what was known. */
static void look(unsigned number)
{
	const uint32_t now = missing_of(number), known = ALL - now, before = sets[number].known;
	const uint32_t growth = now / GROWTH > GROWTH_LEAST ? now / GROWTH : GROWTH_LEAST;

	/* Of a long tail each session brings a part of what is left. */
	if (known < before + growth && known + NEWS > before)
		return;
	sets[number].known = known;
	sets[number].stalled = 0;
}

double gw_pm_answers_worth(unsigned number)
{
	uint32_t now = missing_of(number);

	look(number);
	if (now <= GW_PM_ANSWERS_PERMILLE || sets[number].stalled >= GW_PM_ANSWERS_TRIES)
		return 0;
	/* Results come a second or two behind: meanwhile the others have their turn. */
	if (number == TENSOR_SET && gw_options_watch()) /* there are few sessions */
		return TENSOR * now / (1 + sets[number].tries);
	return (number ? 1 : FIRST_SET) * now / (1 + sets[number].tries);
}

bool gw_pm_answers_wanted(void)
{
	const uint64_t most = gw_options_watch() ? GW_PM_ANSWERS_WATCH_MS : GW_PM_ANSWERS_MS;

	return spent_ns < most * GW_MS && gw_pm_sets_worthwhile(gw_pm_answers_worth);
}

bool gw_pm_answers_earned(uint64_t first_ns)
{
	const uint64_t timed = atomic_load(&gw_counters[GW_COUNTER_events_timed]) +
			       atomic_load(&gw_counters[GW_COUNTER_graphs_timed]);

	return timed >= PAIRS_FIRST &&
	       (gw_steady_ns() - first_ns) / 100 * gw_options.budget >= EARNED_MS * GW_MS;
}

void gw_pm_answers_took(unsigned number, uint64_t cpu, bool sampled, bool ran)
{
	if (!sampled && spared < SPARED) {
		spared++;
		return;
	}
	spent_ns += cpu;
	if (!ran && sets[number].empty++ < EMPTY)
		return;
	sets[number].tries++;
	sets[number].stalled++;
}

uint64_t gw_pm_answers_cpu(void)
{
	return spent_ns;
}
