#include "operations.cuh"

#define BATCH(name, count) \
	extern "C" __global__ void __launch_bounds__(1024) \
		gw_batch_##name##_##count(gw::arguments a) \
	{ \
		gw::batch<gw::name, count>(a); \
	}
#define PIPELINED(name, type, meaning) \
	BATCH(name, 1) BATCH(name, 2) BATCH(name, 3) BATCH(name, 4) \
	BATCH(name, 5) BATCH(name, 6) BATCH(name, 7) BATCH(name, 8)
#include "pipelined.def"

/* What the clock costs in such a kernel: the same without operation, by type. */
#define CLOCK(type, name) \
	extern "C" __global__ void __launch_bounds__(1024) gw_clock_##type(gw::arguments a) \
	{ \
		gw::batch<gw::name, 0>(a); \
	}
CLOCK(f32, add_f32)
CLOCK(f64, add_f64)
CLOCK(b32, add_s32)
