/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded through CUDA_INJECTION64_PATH: launches come from CUPTI callbacks. */
#ifndef GW_INJECTION_H
#define GW_INJECTION_H

#include <stdbool.h>

/** Whether launches come from callbacks in this process. */
bool gw_injection_active(void);

#endif
