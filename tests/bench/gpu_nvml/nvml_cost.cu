// SPDX-License-Identifier: Apache-2.0
// What NVML's calls cost, whether they disturb launches, and how well the SM clock they tell
// agrees with the one a kernel sees (clock64 over globaltimer). Prints lines of text.
//   nvml_cost cost [calls] | disturb | series [seconds] | load seconds
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <mma.h>
#include <cuda_bf16.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <vector>

#define CK(call)                                                                                   \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, cudaGetErrorString(e_));  \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

typedef void *device_t;
struct utilisation { unsigned gpu, memory; };
struct process { unsigned pid; unsigned long long memory; unsigned gi, ci; };
struct process_use { unsigned pid; unsigned long long us; unsigned sm, mem, enc, dec; };
struct sample { unsigned long long us; union { double d; unsigned u; unsigned long long q; } v; };
struct violation { unsigned long long reference, violation; };
struct field { unsigned id, scope; long long us, latency; int type, result; unsigned long long value; };

static int (*init)(void);
static int (*by_bus)(const char *, device_t *);
static int (*clock_info)(device_t, int, unsigned *);
static int (*reasons)(device_t, unsigned long long *);
static int (*temperature)(device_t, int, unsigned *);
static int (*power)(device_t, unsigned *);
static int (*rates)(device_t, utilisation *);
static int (*running)(device_t, unsigned *, process *);
static int (*process_utilisation)(device_t, process_use *, unsigned *, unsigned long long);
static int (*samples)(device_t, int, unsigned long long, int *, unsigned *, sample *);
static int (*violations)(device_t, int, violation *);
static int (*fields)(device_t, int, field *);
static device_t device;

static double now()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void open_nvml()
{
	double t0 = now();
	void *l = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	char bus[32];
	if (!l) {
		puts("no libnvidia-ml.so.1");
		exit(0);
	}
#define GET(f, name) *(void **)&f = dlsym(l, name)
	GET(init, "nvmlInit_v2");
	GET(by_bus, "nvmlDeviceGetHandleByPciBusId_v2");
	GET(clock_info, "nvmlDeviceGetClockInfo");
	GET(reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
	GET(temperature, "nvmlDeviceGetTemperature");
	GET(power, "nvmlDeviceGetPowerUsage");
	GET(rates, "nvmlDeviceGetUtilizationRates");
	GET(running, "nvmlDeviceGetComputeRunningProcesses_v3");
	GET(process_utilisation, "nvmlDeviceGetProcessUtilization");
	GET(samples, "nvmlDeviceGetSamples");
	GET(violations, "nvmlDeviceGetViolationStatus");
	GET(fields, "nvmlDeviceGetFieldValues");
	double t1 = now();
	int r = init();
	double t2 = now();
	CK(cudaDeviceGetPCIBusId(bus, sizeof(bus), 0));
	int q = by_bus(bus, &device);
	printf("dlopen %.3f ms, nvmlInit %.3f ms (%d), handle of %s %.3f ms (%d)\n", (t1 - t0) * 1e3,
	       (t2 - t1) * 1e3, r, bus, (now() - t2) * 1e3, q);
}

__global__ void empty() {}

// Tensor and memory work, with the clock that block 0 saw: cycles and ns.
__global__ void busy(uint64_t *seen, int rounds, const float4 *in, size_t n, float4 *out)
{
	using namespace nvcuda::wmma;
	fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a;
	fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> b;
	fragment<accumulator, 16, 16, 16, float> c[4];
	uint64_t t0, t1;
	long long c0 = clock64();
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t0));
	for (int i = 0; i < a.num_elements; i++)
		a.x[i] = __float2bfloat16(0.37f * (float)((threadIdx.x * 7919 + i * 104729) % 1009) - 180);
	for (int i = 0; i < b.num_elements; i++)
		b.x[i] = __float2bfloat16(0.21f * (float)((threadIdx.x * 6007 + i * 1299709) % 997) - 100);
	for (int k = 0; k < 4; k++)
		fill_fragment(c[k], 0);
	float4 s = {0, 0, 0, 0};
	size_t at = blockIdx.x * (size_t)blockDim.x + threadIdx.x, step = gridDim.x * (size_t)blockDim.x;
	for (int r = 0; r < rounds; r++) {
		for (int k = 0; k < 4; k++)
			mma_sync(c[k], a, b, c[k]);
		if (n && r % 8 == 0) {
			float4 v = in[(at + r * step) % n];
			s.x += v.x, s.y += v.y, s.z += v.z, s.w += v.w;
		}
	}
	float sum = s.x + s.y + s.z + s.w;
	for (int k = 0; k < 4; k++)
		sum += c[k].x[0];
	if (sum == 1.234567f)
		out[at] = s;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t1));
	if (!blockIdx.x && !threadIdx.x) {
		seen[0] = clock64() - c0;
		seen[1] = t1 - t0;
	}
}

static double quantile(std::vector<double> v, double q)
{
	std::sort(v.begin(), v.end());
	return v.empty() ? 0 : v[std::min(v.size() - 1, (size_t)(q * v.size()))];
}

static std::atomic<int> stop;
static float4 *memory;
static const size_t ELEMENTS = 64 << 20;

static void *load(void *)
{
	uint64_t *seen;
	CK(cudaMallocHost(&seen, 16));
	while (!stop) {
		busy<<<132 * 4, 256>>>(seen, 2000, memory, ELEMENTS, memory);
		CK(cudaDeviceSynchronize());
	}
	return NULL;
}

template <class F> static void time_call(const char *name, int n, F f)
{
	std::vector<double> us;
	int r = 0;
	for (int i = 0; i < n; i++) {
		double t = now();
		r = f();
		us.push_back((now() - t) * 1e6);
	}
	printf("  %-28s result %3d  first %9.1f  median %8.1f  p99 %9.1f  max %9.1f us\n", name, r,
	       us[0], quantile(us, .5), quantile(us, .99), quantile(us, 1));
}

static void all_calls(int n)
{
	unsigned u, count;
	unsigned long long q;
	utilisation rate;
	process list[64];
	sample s[256];
	violation v;
	int type;
	time_call("clock SM", n, [&] { return clock_info(device, 1, &u); });
	time_call("clock memory", n, [&] { return clock_info(device, 2, &u); });
	time_call("throttle reasons", n, [&] { return reasons(device, &q); });
	time_call("temperature", n, [&] { return temperature(device, 0, &u); });
	time_call("power", n, [&] { return power(device, &u); });
	time_call("utilisation", n, [&] { return rates(device, &rate); });
	time_call("running processes", n, [&] { count = 64; return running(device, &count, list); });
	printf("    processes %u, first pid %u, own %d\n", count, count ? list[0].pid : 0, getpid());
	count = 0;
	int r = process_utilisation(device, NULL, &count, 0);
	printf("    process utilisation asks for room for %u (%d)\n", count, r);
	std::vector<process_use> use(count + 1);
	unsigned room = count;
	time_call("process utilisation", n, [&] { count = room; return process_utilisation(device, use.data(), &count, 0); });
	for (unsigned i = 0; i < count && i < room && i < 8; i++)
		printf("    pid %u sm %u%% mem %u%% at %llu\n", use[i].pid, use[i].sm, use[i].mem, use[i].us);
	time_call("samples of SM clock", n, [&] { count = 256; return samples(device, 5, 0, &type, &count, s); });
	if (count > 1 && count <= 256)
		printf("    %u samples over %.3f s, last %u MHz\n", count, (s[count - 1].us - s[0].us) * 1e-6, s[count - 1].v.u);
	time_call("violation, power", n, [&] { return violations(device, 0, &v); });
	printf("    %llu ns of violation at %llu\n", v.violation, v.reference);
	time_call("violation, thermal", n, [&] { return violations(device, 1, &v); });
	field f[2] = {};
	f[0].id = 74, f[1].id = 75; // perf policy power, thermal
	time_call("fields (2)", n, [&] { return fields(device, 2, f); });
	printf("    results %d %d, values %llu %llu\n", f[0].result, f[1].result, f[0].value, f[1].value);
}

// What one look at all of it costs, by wall clock and CPU, with pauses as gpuwatch makes them.
static void paused()
{
	static const int pauses[] = {20, 100, 500};
	for (int ms : pauses) {
		std::vector<double> wall, cpu;
		for (int i = 0; i < (ms > 100 ? 6 : 20); i++) {
			unsigned u, count = 64;
			unsigned long long q;
			process list[64];
			timespec c0, c1;
			usleep(ms * 1000);
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &c0);
			double t = now();
			clock_info(device, 1, &u);
			clock_info(device, 2, &u);
			reasons(device, &q);
			temperature(device, 0, &u);
			power(device, &u);
			running(device, &count, list);
			wall.push_back((now() - t) * 1e6);
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &c1);
			cpu.push_back((c1.tv_sec - c0.tv_sec) * 1e6 + (c1.tv_nsec - c0.tv_nsec) * 1e-3);
		}
		printf("a sample each %3d ms: wall median %.0f max %.0f us, CPU median %.0f max %.0f us\n", ms,
		       quantile(wall, .5), quantile(wall, 1), quantile(cpu, .5), quantile(cpu, 1));
	}
}

static void *poll_thread(void *arg)
{
	long us = (long)arg;
	while (!stop) {
		unsigned u;
		unsigned long long q;
		clock_info(device, 1, &u);
		clock_info(device, 2, &u);
		reasons(device, &q);
		temperature(device, 0, &u);
		usleep(us);
	}
	return NULL;
}

static void disturb()
{
	static const long pauses[] = {0, 5000, 50000};
	for (int round = 0; round < 5; round++)
		for (long pause : pauses) {
			pthread_t t;
			std::vector<double> us;
			stop = 0;
			if (pause)
				pthread_create(&t, NULL, poll_thread, (void *)pause);
			double begin = now();
			for (int i = 0; i < 40000; i++) {
				double t0 = now();
				empty<<<1, 1>>>();
				us.push_back((now() - t0) * 1e6);
			}
			CK(cudaDeviceSynchronize());
			double whole = (now() - begin) / 40000 * 1e6;
			stop = 1;
			if (pause)
				pthread_join(t, NULL);
			printf("poll every %5.1f ms: per launch %.3f us, call median %.3f p99 %.2f p99.9 %.2f max %.0f\n",
			       pause * 1e-3, whole, quantile(us, .5), quantile(us, .99), quantile(us, .999), quantile(us, 1));
		}
}

static std::atomic<double> base;
static void *poll_series(void *)
{
	while (!stop) {
		unsigned sm = 0, mem = 0, c = 0, w = 0;
		unsigned long long q = 0;
		double t = now();
		clock_info(device, 1, &sm);
		double t2 = now();
		clock_info(device, 2, &mem);
		reasons(device, &q);
		temperature(device, 0, &c);
		power(device, &w);
		printf("N %.4f %.1f %u %u 0x%llx %u %u\n", t - base, (t2 - t) * 1e6, sm, mem, q, c, w);
		usleep(10000);
	}
	return NULL;
}

static void series(double seconds)
{
	uint64_t *seen;
	pthread_t t;
	CK(cudaMallocHost(&seen, 16));
	stop = 0;
	base = now();
	pthread_create(&t, NULL, poll_series, NULL);
	for (double t0; (t0 = now() - base) < seconds;) {
		double phase = t0 / seconds;
		if (phase < 0.15 || (phase > 0.5 && phase < 0.65)) { // idle but for a kernel now and then
			usleep(30000);
			t0 = now() - base;
		}
		busy<<<132 * 4, 256>>>(seen, phase > 0.65 ? 4000 : 1000, memory, phase > 0.3 ? ELEMENTS : 0, memory);
		CK(cudaDeviceSynchronize());
		printf("K %.4f %.1f %.1f\n", t0, seen[1] * 1e-3, seen[0] * 1e3 / seen[1]);
	}
	stop = 1;
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "cost";
	int calls = argc > 2 ? atoi(argv[2]) : 100;
	CK(cudaMalloc(&memory, ELEMENTS * sizeof(*memory)));
	CK(cudaMemset(memory, 0x11, ELEMENTS * sizeof(*memory)));
	open_nvml();
	empty<<<1, 1>>>();
	CK(cudaDeviceSynchronize());
	if (!strcmp(what, "cost")) {
		pthread_t t;
		puts("idle");
		usleep(500000);
		all_calls(calls);
		stop = 0;
		pthread_create(&t, NULL, load, NULL);
		usleep(500000);
		puts("under load");
		all_calls(calls);
		paused();
		stop = 1;
		pthread_join(t, NULL);
	} else if (!strcmp(what, "load")) {
		pthread_t t;
		stop = 0;
		pthread_create(&t, NULL, load, NULL);
		sleep(calls);
		stop = 1;
		pthread_join(t, NULL);
	} else if (!strcmp(what, "disturb")) {
		disturb();
	} else {
		puts("# N: s, us of the SM clock's call, SM MHz, memory MHz, reasons, degrees, mW; K: s, us, true SM MHz");
		series(argc > 2 ? atof(argv[2]) : 6);
	}
}
