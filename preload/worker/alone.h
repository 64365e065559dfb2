/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process whose main thread has called pthread_exit() goes on with the other threads, and ends
 * with the last of them. Ours must not be the last, nor keep a signal from ending the process.
 */
#ifndef GW_ALONE_H
#define GW_ALONE_H

#include <stdbool.h>

/**
 * On the worker, now and then. True when the main thread has ended and no thread but ours is left.
 * Where threads of the driver's or libcupti's are left as well, no thread takes a signal: one that
 * would end the process, and waits, is taken here.
 */
bool gw_alone(void);

#endif
