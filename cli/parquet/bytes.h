/* Bytes in memory, and the compact protocol of Apache Thrift, which Parquet's metadata is in. */
#ifndef GW_PARQUET_BYTES_H
#define GW_PARQUET_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Zero-initialised is empty; free() data. */
struct pq_bytes {
	unsigned char *data;
	size_t length, room;
};

/** Room for @p size bytes more, which count as written. */
unsigned char *pq_extend(struct pq_bytes *b, size_t size);
void pq_put(struct pq_bytes *b, const void *data, size_t size);
/** The low @p size bytes of @p value, least significant first. */
void pq_little(struct pq_bytes *b, uint64_t value, unsigned size);
/** Seven bits a byte, least significant first (ULEB128). */
void pq_varint(struct pq_bytes *b, uint64_t value);
/** A signed number with its sign in the lowest bit. */
void pq_zigzag(struct pq_bytes *b, int64_t value);

/** A struct being written: its fields come in ascending order of their ids. */
struct thrift {
	struct pq_bytes *out;
	int last; /**< id of the field before */
};

void thrift_bool(struct thrift *t, int id, bool value);
void thrift_i32(struct thrift *t, int id, int32_t value);
void thrift_i64(struct thrift *t, int id, int64_t value);
void thrift_binary(struct thrift *t, int id, const void *data, size_t size);
void thrift_text(struct thrift *t, int id, const char *text);
/** A struct in field @p id; thrift_end() it before the next field of @p t. */
struct thrift thrift_struct(struct thrift *t, int id);
/** A list of @p count structs in field @p id; thrift_element() for each. */
void thrift_list(struct thrift *t, int id, size_t count);
struct thrift thrift_element(struct thrift *t);
/** A list of @p count numbers. */
void thrift_i32_list(struct thrift *t, int id, const int32_t *values, size_t count);
/** A list of one text. */
void thrift_text_list(struct thrift *t, int id, const char *text);
void thrift_end(struct thrift *t);

#endif
