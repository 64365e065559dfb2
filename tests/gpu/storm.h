/* SPDX-License-Identifier: Apache-2.0 */
/* What the load of `storm` and the ways to detach from it tell each other. */
#ifndef GW_STORM_H
#define GW_STORM_H

#include <atomic>
#include <cstdint>
#include <ctime>

inline uint64_t now_ns()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What the launching threads do for the detacher. */
struct storm {
	std::atomic<uint64_t> kernels{0}; /* launched and taken by the driver, graph nodes too */
	std::atomic<uint64_t> calls{0};   /* launch calls; of them the time below */
	std::atomic<uint64_t> call_ns{0};
	std::atomic<uint64_t> longest_ns{0}; /* longest launch call since it was last zeroed */
	std::atomic<int> gate{0};            /* 1: launch no more, synchronise and wait */
	std::atomic<int> graph_gate{0};      /* 1: launch no graph, wait */
	std::atomic<int> launching{0};       /* threads inside a graph launch */
	std::atomic<int> attached{0};        /* from before attaching to after detaching */
	std::atomic<int> making{0};  /* threads that make a graph and must not be attached */
	std::atomic<int> waiting{0}; /* threads that do */
	std::atomic<void (*)()> after{nullptr}; /* called by whichever thread launches next, once */
	std::atomic<const char *> doing{"starting"}; /* for the watchdog */
	int threads = 16;
};

/* Attach, measure, detach @p cycles times; prints its part of the result. */
void detach_cycles(storm &s, const char *how, int cycles, int window_ms, int pause_ms);

/* What libcupti's numbers of streams and contexts are, and whether they last. */
void tell_ids();

#endif
