/* What the parts of `gpuwatch whatif` share. */
#ifndef GW_WHATIF_H
#define GW_WHATIF_H

#include "cli/common/device_set.h"

/** Whether @p path is a folder or begins like a log of libgpuwatch, compressed or not. */
bool whatif_is_log(const char *path);

/**
 * Say how long the launches that the log at @p path, or the logs of that folder, have a time for
 * would take on @p devices, by @p model from the work that the log knows of them; with @p
 * utilisation each configuration's times on other GPUs are multiplied by E_util, its measured over
 * its predicted time on the GPU that it ran on. Returns the exit status.
 */
int whatif_log(const char *path, const struct gw_model *model, const struct device_set *devices,
	       bool utilisation, bool json);

#endif
