/*
 * The GPUs' own clocks and what holds them down, by NVML: sampled while kernels run. (clock.h is
 * about time.) NVML may answer in microseconds or stand behind a lock of the driver for long, so a
 * thread of ours asks it; the worker says when, and takes the answers. Worker only.
 */
#ifndef GW_GPU_CLOCK_H
#define GW_GPU_CLOCK_H

#include "predictor/counters/clocks.h"

/** Start with nothing known and no thread. */
void gw_gpu_clock_start(void);

/** A kernel was launched on the device numbered @p ordinal by the driver. */
void gw_gpu_clock_used(int ordinal);

/** Once a cycle: take what came, log it, and ask about the devices in use when it is time. */
void gw_gpu_clock_tick(uint64_t now_ns);

/** What held on @p ordinal from @p start_ns to @p end_ns, as far as samples have come. */
void gw_gpu_clock_at(int ordinal, uint64_t start_ns, uint64_t end_ns, struct gw_clock_state *out);

/**
 * Sampled counters showed a clock of @p sm_hz (NaN: none) until @p ns. It is taken for GPUs whose
 * clock NVML does not report; the two differ by some percent, so they are not mixed.
 */
void gw_gpu_clock_counted(int ordinal, uint64_t ns, double sm_hz);

/** The program ends: NVML is not asked again. Waits for a question under way, but not for long. */
void gw_gpu_clock_stop(void);

#endif
