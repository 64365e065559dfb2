/*
 * The formulas of interval analysis (Koppelman), free of devices and launches so that the
 * notes' own numbers can be checked against them. Cycles, bytes, and per-second rates.
 */
#ifndef GW_INTERVAL_H
#define GW_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

enum {
	GW_INTERVAL_SOURCES = 3,  /**< operands of an instruction */
	GW_INTERVAL_SLOTS = 1024, /**< values that a schedule can name */
	GW_INTERVAL_NO_VALUE = 0, /**< slot 0 names no value: always ready */
};

/** One instruction of an interval, in program order. */
struct gw_interval_insn {
	double latency;  /**< cycles from its issue to that of one that needs its result */
	double occupies; /**< cycles its scheduler is taken: warp size over units per scheduler */
	uint16_t result; /**< slot that it writes; GW_INTERVAL_NO_VALUE for none */
	uint16_t source[GW_INTERVAL_SOURCES]; /**< slots that it waits for */
};

/**
 * L_iota: cycles from the issue of the first of @p count instructions until the scheduler is
 * free of the last, one warp alone, in order, each waiting for its sources. A slot that no
 * earlier instruction wrote is ready. NaN when a slot is out of range.
 */
double gw_interval_latency(const struct gw_interval_insn *code, size_t count);

/** Theta of an instruction class for the chip: SMs x schedulers x units, instructions per cycle. */
double gw_interval_theta(double sm_count, double schedulers, double units);

/** What a thread uses of one resource in an interval. */
struct gw_interval_use {
	double amount; /**< bytes or instructions of one thread */
	double theta;  /**< bytes or instructions per cycle */
};

/** Cycles for which @p threads threads keep resources that share their time busy: P sum(n / Theta).
 */
double gw_interval_busy(double threads, const struct gw_interval_use *use, size_t count);

/** Threads that saturate the resource: L / sum(n / Theta); infinite when nothing is used. */
double gw_interval_threads(double latency, const struct gw_interval_use *use, size_t count);

/** Bytes per cycle of a bandwidth in bytes per second at clock @p phi in Hz. */
double gw_interval_bytes_per_cycle(double bandwidth, double phi);

/**
 * t(N, P): cycles to run an interval @p times on @p active threads, when @p saturating threads
 * exhaust the scarcest resource. N/P L below that, constant above.
 */
double gw_interval_time(double times, double active, double latency, double saturating);

/** One interval of several, separated by barriers. */
struct gw_barrier_interval {
	double times;      /**< N: how often it is executed, over all threads */
	double active;     /**< P: threads active in it */
	double latency;    /**< L_iota, cycles */
	double saturating; /**< threads that saturate its scarcest resource */
};

/** Cycles of intervals that follow each other: the sum of their t(N, P). */
double gw_interval_total(const struct gw_barrier_interval *intervals, size_t count);

#endif
