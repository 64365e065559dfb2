#include "cli/parquet/bytes.h"

#include "cli/common/memory.h"

#include <string.h>

unsigned char *pq_extend(struct pq_bytes *b, size_t size)
{
	b->data = gw_grow(b->data, &b->room, b->length + size, 1);
	b->length += size;
	return b->data + b->length - size;
}

void pq_put(struct pq_bytes *b, const void *data, size_t size)
{
	if (size)
		memcpy(pq_extend(b, size), data, size);
}

void pq_little(struct pq_bytes *b, uint64_t value, unsigned size)
{
	unsigned char *to = pq_extend(b, size);

	for (unsigned i = 0; i < size; i++, value >>= 8)
		to[i] = (unsigned char)value;
}

void pq_varint(struct pq_bytes *b, uint64_t value)
{
	unsigned char text[10];
	size_t length = 0;

	for (; value >= 0x80; value >>= 7)
		text[length++] = (unsigned char)(value | 0x80);
	text[length++] = (unsigned char)value;
	pq_put(b, text, length);
}

void pq_zigzag(struct pq_bytes *b, int64_t value)
{
	pq_varint(b, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

/* Types of the compact protocol. */
enum { TRUE_ = 1, FALSE_ = 2, I32 = 5, I64 = 6, BINARY = 8, LIST = 9, STRUCT = 12 };

static void field(struct thrift *t, int id, int type)
{
	int step = id - t->last;

	if (step > 0 && step < 16) {
		pq_little(t->out, (unsigned)(step << 4 | type), 1);
	} else {
		pq_little(t->out, (unsigned)type, 1);
		pq_zigzag(t->out, id);
	}
	t->last = id;
}

static void list(struct thrift *t, int id, size_t count, unsigned type)
{
	field(t, id, LIST);
	if (count < 15) {
		pq_little(t->out, count << 4 | type, 1);
	} else {
		pq_little(t->out, 0xf0 | type, 1);
		pq_varint(t->out, count);
	}
}

void thrift_bool(struct thrift *t, int id, bool value)
{
	field(t, id, value ? TRUE_ : FALSE_);
}

void thrift_i32(struct thrift *t, int id, int32_t value)
{
	field(t, id, I32);
	pq_zigzag(t->out, value);
}

void thrift_i64(struct thrift *t, int id, int64_t value)
{
	field(t, id, I64);
	pq_zigzag(t->out, value);
}

void thrift_binary(struct thrift *t, int id, const void *data, size_t size)
{
	field(t, id, BINARY);
	pq_varint(t->out, size);
	pq_put(t->out, data, size);
}

void thrift_text(struct thrift *t, int id, const char *text)
{
	thrift_binary(t, id, text, strlen(text));
}

struct thrift thrift_struct(struct thrift *t, int id)
{
	field(t, id, STRUCT);
	return thrift_element(t);
}

void thrift_list(struct thrift *t, int id, size_t count)
{
	list(t, id, count, STRUCT);
}

struct thrift thrift_element(struct thrift *t)
{
	return (struct thrift){.out = t->out};
}

void thrift_i32_list(struct thrift *t, int id, const int32_t *values, size_t count)
{
	list(t, id, count, I32);
	for (size_t i = 0; i < count; i++)
		pq_zigzag(t->out, values[i]);
}

void thrift_text_list(struct thrift *t, int id, const char *text)
{
	list(t, id, 1, BINARY);
	pq_varint(t->out, strlen(text));
	pq_put(t->out, text, strlen(text));
}

void thrift_end(struct thrift *t)
{
	pq_little(t->out, 0, 1);
}
