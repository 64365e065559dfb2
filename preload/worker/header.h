/* SPDX-License-Identifier: Apache-2.0 */
#ifndef GW_HEADER_H
#define GW_HEADER_H

/** Take the clock pair that the header will carry. */
void gw_header_start(void);

/** Ask the driver what the header says of it: the log may begin in a destructor, without a driver.
 */
void gw_header_ask_driver(void);

/** Write the log's first record: the process, its host, its command. */
void gw_header_write(void);

#endif
