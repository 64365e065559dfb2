// The probe's kernels on a real GPU: nvcc -arch=sm_90 -cubin -o kernels.cubin kernels.cu
extern "C" __global__ void empty() {}
extern "C" __global__ void one(int *p)
{
	if (p)
		p[0] = 1;
}
extern "C" __global__ void two(int *p)
{
	if (p)
		p[1] = 1;
}
// Runs for `ns` nanoseconds of the GPU's global timer.
extern "C" __global__ void spin(unsigned long long ns)
{
	unsigned long long begin, now;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
	do
		asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
	while (now - begin < ns);
}
