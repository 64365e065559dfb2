#include "operations.cuh"

#define CODE(name, type, place, steps, parts, sass, ptx) \
	extern "C" __global__ void __launch_bounds__(1024) gw_rate_##name(gw::arguments a) \
	{ \
		gw::rate<gw::name>(a); \
	}
#include "code.def"
