#include "preload/counters/pm_parts.h"

#include "preload/maps/state.h"
#include "preload/runtime/clock.h"
#include "preload/runtime/deadline.h"
#include "preload/runtime/degrade.h"

#include <stdio.h>
#include <string.h>

enum {
	RETRY_MS = 500,       /* after the first failure; twice that after each further one … */
	RETRY_MAX_MS = 60000, /* … up to here */
	FAILURES_SAID = 3,    /* of one kind in a row are worth a word */
};

static struct {
	uint64_t retry_ms;
	unsigned count; /* in a row */
	char last[160];
} failures;

void gw_pm_failure_start(void)
{
	memset(&failures, 0, sizeof(failures));
}

const char *gw_pm_failure_text(CUptiResult r)
{
	const char *text = NULL;

	gw_cupti.cuptiGetResultString(r, &text);
	return text ? text : "unknown error";
}

static const struct {
	CUptiResult code;
	const char *remedy;
} final[] = {
	{CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
	 "the administrator of this machine can allow them: NVreg_RestrictProfilingToAdminUsers=0"},
	{CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
	 "the administrator of the host can allow them to this virtual GPU"},
	{CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
	 "part of a GPU has none: they need a GPU without MIG"},
	{CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED, "this virtual GPU has none"},
	{CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, "confidential computing hides them"},
	{CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED, "this GPU has none"},
	{CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED, "they need a GPU without SLI"},
	{CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "they are not available under WSL"},
	{CUPTI_ERROR_NOT_SUPPORTED, "this GPU or driver has none"},
	{CUPTI_ERROR_INVALID_DEVICE, "this GPU has none"},
};

const char *gw_pm_failure_remedy(CUptiResult r)
{
	for (size_t i = 0; i < sizeof(final) / sizeof(*final); i++)
		if (final[i].code == r)
			return final[i].remedy;
	return NULL;
}

uint64_t gw_pm_failed(const char *what, CUptiResult r)
{
	const char *remedy = gw_pm_failure_remedy(r);

	gw_count(GW_COUNTER_pm_failed, 1);
	failures.count++;
	snprintf(failures.last, sizeof(failures.last), "%s: %s", what, gw_pm_failure_text(r));
	if (remedy) {
		gw_degrade(GW_DEGRADED_COUNTERS, "no counters: %s (%s)", failures.last, remedy);
		return 0;
	}
	/* A GPU has one sampler: no message on the terminal, only in the log. */
	if (r == CUPTI_ERROR_HARDWARE_BUSY)
		gw_degrade_asked(GW_DEGRADED_COUNTERS,
				 "counters were held by another profiler or process, and tried for "
				 "again and again: %s",
				 failures.last);
	if (failures.count == FAILURES_SAID)
		gw_degrade(GW_DEGRADED_COUNTERS, "counters are not available for now: %s",
			   failures.last);
	failures.retry_ms = failures.retry_ms ? failures.retry_ms * 2 : RETRY_MS;
	if (failures.retry_ms > RETRY_MAX_MS)
		failures.retry_ms = RETRY_MAX_MS;
	return failures.retry_ms * GW_MS;
}

void gw_pm_never(bool unrecorded, uint64_t first_ns)
{
	const char *why;

	if (atomic_load(&gw_counters[GW_COUNTER_pm_other_profiler]))
		why = "other processes used the GPU in every window of samples";
	else if (unrecorded)
		why = "kernels have no activity records";
	else if (atomic_load(&gw_counters[GW_COUNTER_pm_turns_waited]))
		why = "other processes sampled the same GPU, and this one had no turn";
	else if (atomic_load(&gw_counters[GW_COUNTER_pm_failed]))
		return;
	else
		return gw_degrade_asked(
			GW_DEGRADED_COUNTERS,
			"no counters: the program ended %.2f s after its first launch, "
			"before counters were set up; a run of some seconds has them",
			first_ns ? (double)(gw_steady_ns() - first_ns) * 1e-9 : 0);
	gw_degrade_asked(GW_DEGRADED_COUNTERS, "no counters: %s", why);
}

void gw_pm_failure_over(void)
{
	failures.count = 0;
	failures.retry_ms = 0;
}

const char *gw_pm_failure_last(void)
{
	return failures.last;
}
