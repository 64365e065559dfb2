/* SPDX-License-Identifier: Apache-2.0 */
#include "preload/runtime/counters.h"

_Atomic uint64_t gw_counters[GW_COUNTERS];
