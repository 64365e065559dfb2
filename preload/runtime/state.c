#include "preload/runtime/counters.h"
#include "preload/runtime/hot.h"

struct gw_hot gw_hot;
_Atomic uint64_t gw_counters[GW_COUNTERS];
