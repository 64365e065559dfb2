/*
 * Times of activity records and counter samples as CLOCK_REALTIME. torch.profiler puts a clock of
 * its own into libcupti, the CPU's tick counter, and libcupti keeps it for whoever comes after. To
 * put in another is no way out: each change spoils the times of records that come next, its own
 * included. So times are brought from its clock to ours. Worker only, but for the start.
 */
#ifndef GW_RECORD_CLOCK_H
#define GW_RECORD_CLOCK_H

#include <stdint.h>

/** Records are collected from here on. */
void gw_record_clock_begin(void);

/** Before records are read: both clocks at one moment. */
void gw_record_clock_look(void);

/** @p time of a record or a sample as ns of CLOCK_REALTIME; 0 stays 0, and 0 where it is
 * unknown. */
uint64_t gw_record_time(uint64_t time);

#endif
