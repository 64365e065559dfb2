/* Protobuf's wire format, written into memory. */
#ifndef GW_EXPORT_PROTO_H
#define GW_EXPORT_PROTO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/** A message. Zero-initialised is empty; free() data. */
struct proto {
	unsigned char *data;
	size_t length, room;
};

void proto_uint(struct proto *p, unsigned field, uint64_t value);
/** @p value so that small negative numbers are short, too (sint64, zigzag). */
void proto_sint(struct proto *p, unsigned field, int64_t value);
/** @p value in 8 bytes. */
void proto_fixed(struct proto *p, unsigned field, uint64_t value);
void proto_double(struct proto *p, unsigned field, double value);
void proto_bytes(struct proto *p, unsigned field, const void *data, size_t length);
/** Fields that were written before. */
void proto_append(struct proto *p, const void *fields, size_t length);
/** @p text as UTF-8. */
void proto_text(struct proto *p, unsigned field, const char *text);
/** A message inside @p p: what is written from here to proto_close() with what this returns. */
size_t proto_open(struct proto *p, unsigned field);
void proto_close(struct proto *p, size_t opened);
/** @p message behind its length, as messages stand one after the other in a stream. */
void proto_delimited(struct proto *p, const struct proto *message);

#endif
