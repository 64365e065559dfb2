/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/counters/pm_failure.h"

#include "preload/counters/pm_sampler.h"
#include "preload/runtime/process.h"

#include <stddef.h>

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

const char *gw_pm_against(void)
{
	if (!gw_pm_usable())
		return "the libcupti found has no PM sampling (it came with CUDA 12.6)";
	if (!gw_exit_watched())
		return "the program's exit can't be seen in time: the library was loaded by "
		       "another thread than the main one";
	return NULL;
}
