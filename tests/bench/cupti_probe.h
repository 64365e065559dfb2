// SPDX-License-Identifier: Apache-2.0
// What the probes of CUPTI share: how long a call takes and what it answers.
#ifndef GW_BENCH_CUPTI_PROBE_H
#define GW_BENCH_CUPTI_PROBE_H

#include <cstdio>
#include <cupti.h>
#include <ctime>

static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

// Time a CUPTI call and say what it answered.
template <class F> static CUptiResult timed(const char *what, F f)
{
	double t = now();
	CUptiResult r = f();
	double ms = (now() - t) * 1e3;
	const char *text = "";
	if (r != CUPTI_SUCCESS)
		cuptiGetResultString(r, &text);
	printf("  %-44s %9.3f ms  %d %s\n", what, ms, r, text);
	fflush(stdout);
	return r;
}

#endif
