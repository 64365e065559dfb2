/* libcupti as it was found: its functions, typed, and where it lies. */
#ifndef GW_CUPTI_H
#define GW_CUPTI_H

#include "preload/runtime/driver.h"

/* Not cupti.h: it redefines types of the old functions that driver.h makes visible. */
#include <cupti_result.h>
#include <cupti_version.h>
#include <cupti_activity.h>
#include <cupti_callbacks.h>
#include <cupti_driver_cbid.h>
#include <cupti_target.h>
#include <cupti_profiler_target.h>
#include <cupti_profiler_host.h>
#include <cupti_pmsampling.h>
#include <stddef.h>

struct gw_cupti {
#define CUPTI(symbol, need) __typeof__(symbol) *symbol;
#include "preload/cupti/cupti.def"
#include "preload/cupti/cupti_counters.def"
#undef CUPTI
	uint32_t version; /**< cuptiGetVersion, 0 when none was found */
};
extern struct gw_cupti gw_cupti;

/**
 * Open libcupti: the one GPUWATCH_CUPTI names, else one that is already loaded, else the
 * loader's, else beside other CUDA libraries, else the toolkit's. False, with the reason in
 * @p why, when none is usable. Once it was opened it is not looked for again.
 */
bool gw_cupti_open(char *why, size_t size);

/** Whether GPUWATCH_CUPTI asks for none. */
bool gw_cupti_unwanted(void);

/** Handle of the libcupti that is loaded in this process, ours or the program's; NULL when none. */
void *gw_cupti_loaded(void);

/** Whether the file @p path is a libcupti, by its name. */
bool gw_cupti_is_path(const char *path);

#endif
