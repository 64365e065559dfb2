/*
 * libnvidia-ml, opened at run time: clocks, throttle reasons, other users of the GPU. All of it is
 * optional; what is unavailable is NaN, empty or unknown. Nothing is ever set.
 */
#ifndef GW_NVML_H
#define GW_NVML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvml_utilisation {
	unsigned gpu, memory; /* per cent of the last sampling period */
};
struct nvml_process {
	unsigned pid;
	unsigned long long memory;
	unsigned gpu_instance, compute_instance;
};

struct nvml_process_use {
	unsigned pid;
	unsigned long long us; /* when, CLOCK_REALTIME */
	unsigned sm, memory, encoder, decoder; /* per cent */
};

/** One GPU as NVML knows it. */
struct gw_nvml {
	void *device; /**< NULL: NVML knows nothing of it */
#define NVML(symbol, parameters) int(*symbol) parameters;
#include "calib/nvml/nvml.def"
#undef NVML
};

/** Open it for the GPU on PCI bus @p bus ("0000:1a:00.0"). */
void gw_nvml_open(struct gw_nvml *n, const char *bus);
void gw_nvml_close(struct gw_nvml *n);

/** Driver version into @p text, "" when unknown. */
void gw_nvml_driver(const struct gw_nvml *n, char *text, size_t size);

double gw_nvml_sm_clock(const struct gw_nvml *n);        /**< now, Hz */
double gw_nvml_sm_clock_max(const struct gw_nvml *n);    /**< Hz */
double gw_nvml_memory_clock(const struct gw_nvml *n);    /**< now, Hz */
double gw_nvml_temperature(const struct gw_nvml *n);     /**< degrees Celsius */
double gw_nvml_power(const struct gw_nvml *n);           /**< W */
double gw_nvml_utilisation(const struct gw_nvml *n);     /**< share of the last second or so, 0 to 1 */

/**
 * Share of the GPU's time that other processes had in the last second or so, 0 to 1. NaN when NVML
 * does not report it, or does not list this process by its id: in a container ids differ, so others
 * cannot be distinguished from us.
 */
double gw_nvml_others(const struct gw_nvml *n);

/** How many processes have a compute context on the GPU, -1 when unknown; the first is put
 * into @p pid, 0 when there is none. */
int gw_nvml_processes(const struct gw_nvml *n, unsigned *pid);

/** Throttle reasons, as bits; 0 when there are none or they are unknown. */
uint64_t gw_nvml_throttle(const struct gw_nvml *n);

/** "power cap, thermal slowdown" and so on into @p text, "none" for 0. */
void gw_throttle_text(uint64_t reasons, char *text, size_t size);

#endif
