/* SPDX-License-Identifier: Apache-2.0
 *
 * Times empty launches from inside, so that start-up and exit do not count.
 *   launch_loop [LAUNCHES [PAUSE [CPU]]]
 * PAUSE 1 adds the run after a second of rest. CPU: the launching thread stays on it, threads
 * started by others before go where the process may run.
 * Prints one JSON object; times are in ns per launch, run_cpu and cpu_ms are of all threads: CPU
 * time during `run` per launch, and of the whole process in ms.
 * `run`: a whole run of LAUNCHES with its synchronisation, the median of RUNS of them, so that
 * one interruption does not decide; `after_pause`: one such run.
 * `median` … `p999`: host time of single launches, in a run of its own because reading the
 * clock costs too.
 *   launch_loop turns CPU [THREADS]
 * Takes turns with other processes (turns.py): says "ready", then for each line LAUNCHES of
 * standard input makes a quarter of them untimed and all of them timed, and prints the ns per
 * launch; at the end the last two fields of the JSON object. THREADS: each makes so many, all at
 * once, in a stream of its own and on any CPU; the time is that of all by the launches of one.
 *   launch_loop cpus
 * Prints what each CPU does alone, turns of a loop per ms: where another guest of the machine
 * uses the other half of its core, that is a fifth less, and so is launching.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sched.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
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

static std::vector<double> single_launches(int launches)
{
	std::vector<double> times((size_t)launches);

	for (double &time : times) {
		double begin = now();

		launch();
		time = now() - begin;
	}
	check(cudaDeviceSynchronize());
	std::sort(times.begin(), times.end());
	return times;
}

static double cpu_ms()
{
	rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
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

int main(int argc, char **argv)
{
	if ((argc == 3 || argc == 4) && !strcmp(argv[1], "turns"))
		return take_turns(atoi(argv[2]), argc == 4 ? atoi(argv[3]) : 1);
	if (argc == 2 && !strcmp(argv[1], "cpus"))
		return compare_cpus();

	int launches = argc > 1 ? atoi(argv[1]) : 20000, pause = argc > 2 ? atoi(argv[2]) : 0;

	if (launches < 1000) {
		fprintf(stderr,
			"usage: %s [LAUNCHES [PAUSE [CPU]]] | turns CPU [THREADS] | cpus; LAUNCHES "
			"is at least 1000\n",
			argv[0]);
		return 2;
	}
	launch(); /* loads the code, and attaches whoever attaches at a first launch */
	check(cudaDeviceSynchronize());
	if (argc > 3)
		stay_on(atoi(argv[3]));
	whole_run(launches / 4);

	enum { RUNS = 9 };
	double cpu = cpu_ms(), runs[RUNS];

	for (double &run : runs)
		run = whole_run(launches);
	std::sort(runs, runs + RUNS);

	double run = runs[RUNS / 2], cpu_run = (cpu_ms() - cpu) / RUNS;
	std::vector<double> t = single_launches(launches);

	printf("{\"run\": %.1f, \"run_cpu\": %.1f, \"median\": %.0f, \"p99\": %.0f, \"p999\": %.0f",
	       run, cpu_run * 1e6 / launches, t[t.size() / 2], t[t.size() * 99 / 100],
	       t[t.size() * 999 / 1000]);
	if (pause) {
		sleep(1);
		printf(", \"after_pause\": %.1f", whole_run(launches));
	}
	printf(", \"cpu_ms\": %.1f, \"launched\": %ld, \"last_error\": %d}\n", cpu_ms(), launched,
	       (int)cudaGetLastError());
	return 0;
}
