/* Parquet's encodings of numbers (github.com/apache/parquet-format, Encodings.md). */
#ifndef GW_PARQUET_ENCODE_H
#define GW_PARQUET_ENCODE_H

#include "cli/parquet/bytes.h"

/** Bits that @p value needs; 0 for 0. */
unsigned pq_width(uint64_t value);

/** RLE: runs of equal values and, between them, values of @p width bits (0 to 32). */
void pq_hybrid(struct pq_bytes *out, const uint32_t *values, size_t count, unsigned width);

/** PLAIN: 64 bits each. */
void pq_plain(struct pq_bytes *out, const uint64_t *values, size_t count);

#endif
