/*
 * Times empty launches from inside, so that start-up and exit do not count.
 *   launch_loop run LAUNCHES CPU
 * Prints the ns per launch of a run of LAUNCHES with its synchronisation on that CPU, the median of
 * nine, so that one interruption does not decide.
 *   launch_loop turns CPU [THREADS]
 * Takes turns with other processes (turns.py): says "ready", then for each line LAUNCHES of
 * standard input makes a quarter of them untimed and all of them timed, and prints the ns per
 * launch; at the end a JSON object of how many were made and the last error. THREADS: each makes so
 * many, all at once, in a stream of its own and on any CPU; the time is that of all by the launches
 * of one. launch_loop cpus Prints what each CPU does alone, turns of a loop per ms: where another
 * guest of the machine uses the other half of its core, that is a fifth less, and so is launching.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sched.h>
#include <thread>
#include <vector>

static __global__ void empty()
{
}

static long launched;

static void launch()
{
	empty<<<1, 32>>>();
	launched++;
}

static double now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void check(cudaError_t error)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "launch_loop: %s\n", cudaGetErrorString(error));
	exit(1);
}

static double whole_run(int launches)
{
	double begin = now();

	for (int i = 0; i < launches; i++)
		launch();
	check(cudaDeviceSynchronize());
	return (now() - begin) / launches;
}

static void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		perror("launch_loop: sched_setaffinity");
}

/* All begin when the last thread has a stream, so that starting them does not count. */
static double run_beside(int threads, int launches)
{
	std::atomic<int> ready(0);
	std::atomic<bool> go(false);
	std::vector<std::thread> all;

	for (int i = 0; i < threads; i++)
		all.emplace_back([&] {
			cudaStream_t stream;

			check(cudaStreamCreate(&stream));
			ready++;
			while (!go)
				std::this_thread::yield();
			for (int k = 0; k < launches; k++)
				empty<<<1, 32, 0, stream>>>();
			check(cudaStreamSynchronize(stream));
			check(cudaStreamDestroy(stream));
		});
	while (ready < threads)
		std::this_thread::yield();

	double begin = now();

	go = true;
	for (std::thread &one : all)
		one.join();
	launched += (long)threads * launches;
	return (now() - begin) / launches;
}

static double run_turn(int threads, int launches)
{
	return threads > 1 ? run_beside(threads, launches) : whole_run(launches);
}

static int take_turns(int cpu, int threads)
{
	char line[32];

	launch();
	check(cudaDeviceSynchronize());
	if (threads == 1)
		stay_on(cpu);
	whole_run(10000);
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		run_turn(threads, atoi(line) / 4);
		printf("%.1f\n", run_turn(threads, atoi(line)));
		fflush(stdout);
	}
	printf("{\"launched\": %ld, \"last_error\": %d}\n", launched, (int)cudaGetLastError());
	return 0;
}

static double speed_of(int cpu)
{
	const double ms = 1e6;
	unsigned x = 1;
	long turns = 0;

	stay_on(cpu);
	for (double until = now() + ms; now() < until;) /* the core's clock rises */
		;
	double begin = now();
	for (; now() < begin + 3 * ms; turns++)
		for (int i = 0; i < 1000; i++)
			asm volatile("imul $1664525, %0, %0" : "+r"(x));
	return (double)turns * 1e6 / (now() - begin);
}

static int compare_cpus()
{
	cpu_set_t allowed;
	const char *between = "{";

	if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
		perror("launch_loop: sched_getaffinity");
		return 1;
	}
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed)) {
			printf("%s\"%d\": %.1f", between, cpu, speed_of(cpu));
			between = ", ";
		}
	printf("}\n");
	return 0;
}

static int run_alone(int launches, int cpu)
{
	double runs[9];

	launch(); /* loads the code */
	check(cudaDeviceSynchronize());
	stay_on(cpu);
	whole_run(launches / 4);
	for (double &run : runs)
		run = whole_run(launches);
	std::sort(runs, runs + 9);
	printf("%.1f\n", runs[4]);
	return 0;
}

int main(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "turns"))
		return take_turns(atoi(argv[2]), argc == 4 ? atoi(argv[3]) : 1);
	if (argc == 2 && !strcmp(argv[1], "cpus"))
		return compare_cpus();
	if (argc == 4 && !strcmp(argv[1], "run") && atoi(argv[2]) > 0)
		return run_alone(atoi(argv[2]), atoi(argv[3]));
	fprintf(stderr, "usage: %s run LAUNCHES CPU | turns CPU [THREADS] | cpus\n", argv[0]);
	return 2;
}
