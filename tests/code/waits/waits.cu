// Kernels that may wait for something outside themselves, and kernels that can't. Compiled by
//   nvcc -cubin -arch=sm_90 -o sm_90.cubin waits.cu    (CUDA 13.0)
// tests/bench/cost.sh takes one with loops around atomic operations from here.
#include <cooperative_groups.h>
#include <cuda/atomic>
#define KERNEL extern "C" __global__ void
using device_flag = cuda::atomic<int, cuda::thread_scope_device>;

KERNEL waits_volatile(volatile int *flag, int *out) { while (!*flag); *out = 1; }
KERNEL waits_acquire(cuda::atomic<int> *flag, int *out) { while (!flag->load(cuda::memory_order_acquire)); *out = 1; }
KERNEL waits_relaxed(device_flag *flag, int *out) { while (!flag->load(cuda::memory_order_relaxed)); *out = 1; }
KERNEL waits_cas(int *lock, int *out) { while (atomicCAS(lock, 0, 1)); *out = 1; }
KERNEL waits_atomic_read(int *flag, int *out) { while (!atomicAdd(flag, 0)); *out = 1; }
KERNEL waits_sleeping(volatile int *flag, int *out) { while (!*flag) __nanosleep(100); *out = 1; }
__device__ __noinline__ int poll(volatile int *flag) { return *flag; }
KERNEL waits_in_function(volatile int *flag, int *out) { while (!poll(flag)); *out = 1; }
KERNEL waits_persistent(volatile int *queue, int *out)
{
	for (int at = 0; queue[at] != -1; at += queue[at] > 0)
		out[at] = queue[at];
}
KERNEL waits_for_grid(int *out)
{
	out[blockIdx.x] = 1;
	cooperative_groups::this_grid().sync();
	out[blockIdx.x] += out[0];
}
KERNEL runs_straight(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
KERNEL runs_loop(const int *in, int n, int *out) { int s = 0; for (int i = 0; i < n; i++) s += in[i * 37]; *out = s; }
KERNEL runs_constant(const int *__restrict__ in, int n, int *out) { int s = 0; for (int i = 0; i < n; i++) s += __ldg(in + i * 33); *out = s; }
KERNEL runs_histogram(const int *in, int n, int *out) { for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&out[in[i]], 1); }
// By its code it can't wait; by its name it is of a library whose kernels do.
KERNEL runs_ncclNamed(const int *in, int *out) { out[threadIdx.x] = in[threadIdx.x]; }
KERNEL runs_volatile_once(volatile int *in, int *out) { *out = *in; }
KERNEL runs_shared(const int *in, int n, int *out)
{
	__shared__ volatile int s[256];
	__shared__ int bins[256];
	s[threadIdx.x] = in[threadIdx.x];
	bins[threadIdx.x] = 0;
	__syncthreads();
	for (int d = blockDim.x / 2; d; d /= 2) {
		if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
		atomicAdd(&bins[s[threadIdx.x] & 255], 1);
		__syncthreads();
	}
	out[threadIdx.x] = s[0] + bins[threadIdx.x];
}
