/* Made-up snapshots of gpuwatch top's model, of one process. */
#ifndef GW_SNAPSHOTS_H
#define GW_SNAPSHOTS_H

#include "cli/top/model.h"
#include "tests/test.h"

#define SECOND UINT64_C(1000000000)

static struct top_model *m;
static uint64_t now;

/** A snapshot begins, @p later than the one before. */
static struct top_process *begin(uint64_t later)
{
	now += later;
	top_begin(m, now);
	return top_process_of(m, "a", 10, "/bin/a");
}

static int end_test(void **state)
{
	top_model_free(m);
	return 0;
}

static void assert_near(double a, double b)
{
	assert_true(fabs(a - b) < 1e-9 * fabs(b) + 1e-12);
}

#endif
