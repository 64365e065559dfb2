/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that wait for something which only goes on while they run: a profiler that serialises,
 * replays or holds back a launch until another has ended hangs these programs. Each lasts for more
 * than a second, so that windows and samples fall into it.
 */
#include "cases.h"

#include <cuda/atomic>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/** What host and device say to each other, in memory that both see. */
struct post {
	volatile unsigned wanted, done;
};

static __global__ void wait_for_host(ull *sum, post *p)
{
	while (!p->wanted)
		__nanosleep(1000);
	atomicAdd(sum, 1ull);
}

/* Does one piece of work for each number that is posted, and ends with UINT_MAX. */
static __global__ void serve(ull *sum, post *p)
{
	for (unsigned last = 0; last != ~0u;) {
		unsigned wanted = p->wanted;

		if (wanted == last) {
			__nanosleep(1000);
			continue;
		}
		last = wanted;
		__threadfence_system();
		p->done = wanted;
	}
	atomicAdd(sum, 1ull);
}

static __global__ void meet(ull *sum, unsigned *mine, unsigned *other, unsigned round)
{
	cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*mine).store(round);
	while (cuda::atomic_ref<unsigned, cuda::thread_scope_device>(*other).load() < round)
		__nanosleep(200);
	atomicAdd(sum, 1ull);
}

static void make_streams(cudaStream_t *streams, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
}

/* The first kernel of a module is loaded by its first launch, which may wait for the GPU. */
static void load(const void *kernel)
{
	cudaFuncAttributes unused;

	CHECK(cudaFuncGetAttributes(&unused, kernel));
}

static post *make_post()
{
	post *p;

	CHECK(cudaHostAlloc((void **)&p, sizeof *p, cudaHostAllocMapped));
	memset((void *)p, 0, sizeof *p);
	return p;
}

void case_spin(struct tally *t)
{
	post *p = make_post();
	cudaStream_t streams[2];

	make_streams(streams, 2);
	load((const void *)wait_for_host);
	load((const void *)bump);
	for (int round = 0; round < 5; round++) {
		p->wanted = 0;
		wait_for_host<<<1, 1, 0, streams[0]>>>(t->sum, p);
		for (int i = 0; i < 20; i++) {
			bump<<<1, 32, 0, streams[1]>>>(t->sum);
			CHECK(cudaStreamSynchronize(streams[1])); /* while the other waits */
			usleep(15000);
		}
		p->wanted = 1;
		CHECK(cudaStreamSynchronize(streams[0]));
		t->ran += 21;
	}
	CHECK(cudaFreeHost(p));
}

void case_persistent(struct tally *t)
{
	post *p = make_post();
	cudaStream_t streams[2];

	make_streams(streams, 2);
	load((const void *)serve);
	load((const void *)bump);
	serve<<<1, 1, 0, streams[0]>>>(t->sum, p);
	for (unsigned i = 1; i <= 100; i++) {
		p->wanted = i;
		while (p->done != i)
			;
		bump<<<1, 32, 0, streams[1]>>>(t->sum);
		usleep(15000);
	}
	p->wanted = ~0u;
	CHECK(cudaDeviceSynchronize());
	t->ran += 101;
	CHECK(cudaFreeHost(p));
}

void case_mutual(struct tally *t)
{
	cudaStream_t streams[2];
	unsigned *flags;

	CHECK(cudaMalloc(&flags, 2 * sizeof *flags));
	CHECK(cudaMemset(flags, 0, 2 * sizeof *flags));
	CHECK(cudaDeviceSynchronize());
	make_streams(streams, 2);
	load((const void *)meet);
	for (unsigned round = 1; round <= 200; round++) {
		meet<<<1, 1, 0, streams[0]>>>(t->sum, &flags[0], &flags[1], round);
		usleep(3000);
		meet<<<1, 1, 0, streams[1]>>>(t->sum, &flags[1], &flags[0], round);
		usleep(3000);
		t->ran += 2;
	}
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(flags));
}

/* This program again, beside itself; what it ran is told by the line that it prints. */
void case_pair(struct tally *t)
{
	char name[] = "workload", other[] = "spin", line[256];
	char *argv[] = {name, other, NULL};
	ull ran = 0, counted = 0;
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	ssize_t n;
	pid_t child;

	if (pipe(ends) || posix_spawn_file_actions_init(&actions) ||
	    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
	    posix_spawn_file_actions_addclose(&actions, ends[0]) ||
	    posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ)) {
		perror("pair");
		exit(1);
	}
	close(ends[1]);
	case_spin(t);
	n = read(ends[0], line, sizeof line - 1);
	line[n > 0 ? n : 0] = '\0';
	if (waitpid(child, &status, 0) != child || status ||
	    sscanf(line, "%*s kernels %llu counted %llu", &ran, &counted) != 2) {
		fprintf(stderr, "pair: the other ended with %d, said %s\n", status, line);
		exit(1);
	}
	t->ran += ran;
	t->counted += counted;
}
