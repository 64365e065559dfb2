/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code as a disassembler lists it (listing.awk): the words and its text for each. */
#ifndef GW_LISTING_H
#define GW_LISTING_H

#include <stdint.h>

struct listing_line {
	uint8_t bytes[16];
	char text[120];
};

struct listing_kernel {
	char name[96];
	struct listing_line *lines;
	uint32_t count;
};

struct listing {
	struct listing_kernel *kernels;
	uint32_t count;
};

/** Read @p path; ends the program with status 2 and a message when it can't be read. */
void listing_read(struct listing *out, const char *path);
void listing_free(struct listing *listing);

/** The kernel called @p name, NULL when there is none. */
const struct listing_kernel *listing_named(const struct listing *listing, const char *name);

/** The kernel's code in one piece; the caller frees it. */
uint8_t *listing_code(const struct listing_kernel *kernel);

/* The loops that tests/gpu/schedule timed on an H200, as machine code: what several tests read. */

/** Set-up and tear-down of a group of tests; the listing between them. */
int schedule_begin(void **state);
int schedule_end(void **state);
const struct listing *schedule_code(void);

#endif
