/*
 * Included before every source of ours. From glibc 2.38 on, _GNU_SOURCE turns strtol, sscanf
 * and their kin into __isoc23_* symbols of GLIBC_2.38, and the library would not start on an
 * older system. Their only gain is the prefix 0b, which nothing here reads.
 */
#ifndef GW_GLIBC_FLOOR_H
#define GW_GLIBC_FLOOR_H

#include <features.h>

#ifdef __GLIBC_USE_C2X_STRTOL /* glibc 2.38 and 2.39 */
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#endif
#ifdef __GLIBC_USE_C23_STRTOL /* from glibc 2.40 on */
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
#endif

#endif
