/*
 * The launch path alone, both ways in one process: runs of LAUNCHES empty launches through the
 * cuLaunchKernel that a program is given, and through the driver's own, in turns (ABBA). One
 * process has one context, one core and one place in memory, whose differences between
 * processes are ten times what a hook costs.
 *   pairs [LAUNCHES [PAIRS [CPU [arguments]]]]
 * "arguments": of a kernel that has some, two of which decide how long it runs.
 * Prints one JSON object: ns per launch of each run, "given" and "driver".
 *   pairs turns CPU
 * Takes turns with other processes: says "ready", then for each line LAUNCHES of standard input
 * makes a pair of so many and prints the ns per launch, "given driver".
 */
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cstring>
#include <cuda.h>
#include <dlfcn.h>
#include <link.h>
#include <sched.h>
#include <unistd.h>
#include <vector>

static __global__ void empty()
{
}

/* Launched with n = 0 and m = 0, so that it does as little. */
static __global__ void counting(unsigned *out, unsigned n, long m)
{
	for (unsigned i = 0; i < n && i < m; i++)
		atomicAdd(out, i);
}

static unsigned *out;
static unsigned n;
static long m;
static void *arguments[] = {&out, &n, &m}, **passed;

using launch_kernel = CUresult (*)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
				   unsigned, unsigned, CUstream, void **, void **);

/* libcuda's own symbol, past whoever stands in for dlsym: its symbol table is read directly. */
static int find(dl_phdr_info *info, size_t, void *out)
{
	const ElfW(Sym) *symbols = nullptr;
	const char *strings = nullptr;

	if (!strstr(info->dlpi_name, "/libcuda.so"))
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (info->dlpi_phdr[i].p_type != PT_DYNAMIC)
			continue;
		auto *d = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);

		for (; d->d_tag != DT_NULL; d++) {
			if (d->d_tag == DT_SYMTAB)
				symbols = (const ElfW(Sym) *)d->d_un.d_ptr;
			else if (d->d_tag == DT_STRTAB)
				strings = (const char *)d->d_un.d_ptr;
		}
	}
	/* The string table follows the symbol table in every libcuda. */
	for (auto *s = symbols; s && (const char *)s < strings; s++)
		if (s->st_value && !strcmp(strings + s->st_name, "cuLaunchKernel"))
			*(void **)out = (void *)(info->dlpi_addr + s->st_value);
	return 1;
}

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double run(launch_kernel launch, CUfunction f, CUstream stream, int launches)
{
	double begin = now();

	for (int i = 0; i < launches; i++)
		if (launch(f, 1, 1, 1, 32, 1, 1, 0, stream, passed, nullptr))
			exit(1);
	cudaStreamSynchronize(stream);
	return (now() - begin) / launches;
}

static void print(const char *name, const std::vector<double> &times, const char *end)
{
	printf("\"%s\": [", name);
	for (size_t i = 0; i < times.size(); i++)
		printf("%s%.1f", i ? ", " : "", times[i]);
	printf("]%s", end);
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static int take_turns(launch_kernel given, launch_kernel driver, CUfunction f, CUstream stream)
{
	char line[32];

	run(given, f, stream, 1000);
	printf("ready\n");
	fflush(stdout);
	for (int i = 0; fgets(line, sizeof(line), stdin); i++) {
		int launches = atoi(line);
		double ns[2];

		run(i % 2 ? given : driver, f, stream, launches / 4);
		ns[i % 2] = run(i % 2 ? driver : given, f, stream, launches);
		ns[1 - i % 2] = run(i % 2 ? given : driver, f, stream, launches);
		printf("%.1f %.1f\n", ns[0], ns[1]);
		fflush(stdout);
	}
	return 0;
}

int main(int argc, char **argv)
{
	bool turns = argc == 3 && !strcmp(argv[1], "turns");
	int launches = argc > 1 ? atoi(argv[1]) : 20000, pairs = argc > 2 ? atoi(argv[2]) : 40;
	std::vector<double> given_times, driver_times;
	launch_kernel driver = nullptr, given = nullptr;
	cudaStream_t stream;
	cudaFunction_t f;

	empty<<<1, 32>>>();
	if (argc > 4)
		passed = arguments;
	if (cudaDeviceSynchronize() ||
	    cudaGetFuncBySymbol(&f, passed ? (const void *)counting : (const void *)empty) ||
	    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking)) {
		fprintf(stderr, "pairs: %s\n", cudaGetErrorString(cudaGetLastError()));
		return 1;
	}
	dl_iterate_phdr(find, &driver);
	given = (launch_kernel)dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
	if (!driver || !given) {
		fprintf(stderr, "pairs: no cuLaunchKernel\n");
		return 1;
	}
	if (turns || argc > 3)
		stay_on(atoi(argv[turns ? 2 : 3]));
	if (turns)
		return take_turns(given, driver, (CUfunction)f, stream);
	run(given, (CUfunction)f, stream, launches);
	usleep(300000); /* the kernel's code is read meanwhile */
	run(given, (CUfunction)f, stream, launches);
	run(driver, (CUfunction)f, stream, launches);
	for (int i = 0; i < pairs; i++) {
		bool first = i % 2;

		if (first)
			given_times.push_back(run(given, (CUfunction)f, stream, launches));
		driver_times.push_back(run(driver, (CUfunction)f, stream, launches));
		if (!first)
			given_times.push_back(run(given, (CUfunction)f, stream, launches));
	}
	printf("{\"hooked\": %s, ", given == driver ? "false" : "true");
	print("given", given_times, ", ");
	print("driver", driver_times, "}\n");
	return 0;
}
