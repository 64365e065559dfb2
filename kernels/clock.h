/* What clock.cu and its group share. */
#ifndef GW_KERNELS_CLOCK_H
#define GW_KERNELS_CLOCK_H

enum { GW_CLOCK_BATCH = 16 }; /**< pairs of reads in a row */

#endif
