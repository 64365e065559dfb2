/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_THREADS_H
#define GW_THREADS_H

/** Prepare for threads to be told of their end. Idempotent. */
void gw_threads_init(void);

#endif
