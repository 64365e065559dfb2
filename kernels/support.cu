/* Kernels of the bench itself: the latch that holds a stream, and random contents. */
#include <stdint.h>

static __device__ uint64_t nanoseconds(void)
{
	uint64_t t;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

/* Waits until the host has written *gate, at most `timeout` ns: a host that died leaves no kernel
 * behind. *held becomes 1 when it was the host that opened it. */
extern "C" __global__ void gw_latch(const volatile uint32_t *gate, uint64_t timeout, uint32_t *held)
{
	uint64_t start = nanoseconds();

	while (!*gate && nanoseconds() - start < timeout)
		;
	*held = *gate != 0;
}

/* Each word from its own index by the finaliser of MurmurHash3: bits without a pattern. */
extern "C" __global__ void gw_randomise(uint32_t *words, uint64_t count, uint32_t seed)
{
	uint64_t stride = (uint64_t)gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
		uint64_t h = (i + 1) * 0x9e3779b97f4a7c15ull + seed;

		h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdull;
		h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ull;
		words[i] = (uint32_t)(h >> 16);
	}
}

/*
 * Keeps every SM busy for `ns`, so that clocks rise to their value under load; cycles[0] and
 * cycles[1] become clock cycles and ns that passed on SM 0.
 */
extern "C" __global__ void gw_busy(uint64_t ns, uint64_t *cycles, float *sink)
{
	uint64_t start = nanoseconds(), first = clock64(), now;
	float x = (float)threadIdx.x;

	do {
		for (int i = 0; i < 64; i++)
			x = x * 1.0001f + 0.5f;
		now = nanoseconds();
	} while (now - start < ns);
	if (x == -1.0f)
		*sink = x;
	if (!blockIdx.x && !threadIdx.x) {
		cycles[0] = (uint64_t)clock64() - first;
		cycles[1] = now - start;
	}
}
