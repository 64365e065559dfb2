/*
 * Every function we hook or call fails at its first, second, third or every call. The program
 * hears what it hears without us, and we say one line at most.
 */
#include "tests/preload/harness.h"
#include "tests/test.h"

static const char *const hooked[] = {
#define HOOK(symbol, base, need, pt, params, args, before, after) #symbol,
#include "preload/hook/hooks.def"
#undef HOOK
};

static const char *const called[] = {
#define DRIVER(symbol) #symbol,
#include "preload/runtime/driver.def"
#undef DRIVER
};

static const char *const cupti[] = {
#define CUPTI(symbol, need) #symbol,
#include "preload/cupti/cupti.def"
#undef CUPTI
};

/*
 * A launch that is known is in the log, counted as lost, or counted as in the log by its record.
 */
static bool adds_up(const struct account *log)
{
	const uint64_t *c = log->counter;

	return c[GW_COUNTER_launches] + c[GW_COUNTER_graph_kernels] ==
	       log->total - log->no_call + c[GW_COUNTER_launches_by_record] +
		       c[GW_COUNTER_ring_dropped];
}

/* Where a graph's nodes could not be listed and no records come, the log says that much. */
static bool is_true(const struct outcome *o)
{
	const struct account *log = &o->log[0];

	if (!log->ended || log->damaged || !adds_up(log))
		return false;
	return log->counter[GW_COUNTER_graph_unknown] && !log->counter[GW_COUNTER_activity]
		       ? log->total <= o->truth[0].total
		       : log->total == o->truth[0].total;
}

static unsigned wrong; /* runs whose log is not true */

/* The log may lack what could not be asked, but never claims kernels that did not run. */
static void fail_call(const char *function, const char *nth, const char *more, bool inject)
{
	struct run r = RUN("work", "everything");
	char rule[128];
	struct outcome *o;

	snprintf(rule, sizeof(rule), "STANDIN_FAIL=%s:%s:999", function, nth);
	r.env[0] = rule;
	r.env[1] = more;
	r.inject = inject;
	o = run_both(&r);
	/* Where nothing can be watched that is said. */
	if (!(inject && !o->logs && warnings(o->err)) &&
	    (o->logs != (o->truths && o->truth[0].total) || (o->logs && !is_true(o)))) {
		fprintf(stderr, "%s: %llu kernels ran; %u logs, %llu kernels in it%s%s\n", rule,
			(unsigned long long)(o->truths ? o->truth[0].total : 0), o->logs,
			(unsigned long long)o->log[0].total, o->log[0].ended ? "" : ", not ended",
			o->log[0].damaged ? ", damaged" : "");
		wrong++;
	}
	outcome_free(o);
}

static void sweep(const char *const *functions, size_t count, bool inject)
{
	static const char *const nth[] = {"1", "2", "3", "*"};

	wrong = 0;
	for (size_t i = 0; i < count; i++)
		for (size_t n = 0; n < 4; n++)
			fail_call(functions[i], nth[n], NULL, inject);
	assert_int_equal(wrong, 0);
}

TEST(hooked_functions)
{
	sweep(hooked, COUNT(hooked), false);
}

TEST(functions_we_call)
{
	sweep(called, COUNT(called), false);
}

TEST(functions_we_call_to_time_by_events)
{
	wrong = 0;
	for (size_t i = 0; i < COUNT(called); i++)
		for (int n = 0; n < 2; n++)
			fail_call(called[i], n ? "*" : "2", "GPUWATCH_CUPTI=none", false);
	assert_int_equal(wrong, 0);
}

TEST(functions_of_cupti)
{
	sweep(cupti, COUNT(cupti), false);
}

TEST(hooked_functions_when_injected)
{
	sweep(hooked, COUNT(hooked), true);
}

/* What can't be subscribed to is not seen at all; the program is the same. */
TEST(functions_of_cupti_when_injected)
{
	sweep(cupti, COUNT(cupti), true);
}

TESTS_MAIN()
