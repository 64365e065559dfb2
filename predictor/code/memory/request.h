/*
 * A memory request: what the 32 lanes of a warp ask of memory with one instruction, and what the
 * hardware makes of it, counted exactly from the lanes' addresses.
 */
#ifndef GW_CODE_REQUEST_H
#define GW_CODE_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_REQUEST_LANES = 32, /**< threads of a warp */
	GW_SECTOR_BYTES = 32,  /**< what moves between L1, L2 and device memory */
	GW_LINE_BYTES = 128,   /**< what a tag of L1 and L2 stands for: four sectors */
	GW_BANKS = 32,         /**< banks of shared memory */
	GW_BANK_BYTES = 4,     /**< width of a bank */
	GW_ACCESS_BYTES = 32,  /**< most bytes a lane moves with one instruction (sm_100: v8.b32) */
	GW_REQUEST_PIECES = 64, /**< most distinct sectors or lines: two a lane, when unaligned */
};

/** One warp's request. */
struct gw_request {
	uint64_t address[GW_REQUEST_LANES]; /**< first byte of each lane; of inactive lanes,
					       anything */
	uint32_t active;                    /**< bit n: lane n takes part */
	uint32_t bytes; /**< that a lane moves, 1 to GW_ACCESS_BYTES, a vector whole */
};

/** Whether @p r can be counted: a width in range and no lane that runs past the address space. */
bool gw_request_valid(const struct gw_request *r);

/** Lanes that take part. */
unsigned gw_request_lanes(const struct gw_request *r);

/**
 * Distinct pieces of @p size bytes (a power of two, 32 or more) that the active lanes touch, as
 * piece numbers (address / size) in rising order. Returns how many; @p out may be NULL.
 */
unsigned gw_request_pieces(const struct gw_request *r, unsigned size,
			   uint64_t out[GW_REQUEST_PIECES]);

/** 32-byte sectors that the request needs: what a profiler counts as its sectors. */
unsigned gw_request_sectors(const struct gw_request *r);

/** What a request costs in shared memory. */
struct gw_shared_passes {
	unsigned wavefronts; /**< passes through the data stage; 0 without lanes */
	unsigned conflicts;  /**< of these, beyond what the distinct words would fill */
};

/**
 * Passes that a request to shared memory takes. In a pass each bank gives one 4-byte word, to any
 * number of lanes; lanes of up to 8 bytes share their passes, those of 16 do in each half of the
 * warp.
 */
void gw_request_shared(const struct gw_request *r, struct gw_shared_passes *out);

/** Passes that an atomic operation takes: lanes that meet on one word go one after the other, so
 *  it is the most words that the lanes ask of one bank. */
unsigned gw_request_atomic(const struct gw_request *r);

/** Distinct words of 4 bytes that the active lanes touch: a load of constants takes one after the
 *  other. */
unsigned gw_request_words(const struct gw_request *r);

#endif
