#include "cli/export/proto.h"

#include "cli/common/memory.h"
#include "cli/common/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { VARINT, FIXED64, LENGTH }; /* wire types */

static unsigned char *room(struct proto *p, size_t more)
{
	if (p->length + more > p->room)
		p->data = gw_grow(p->data, &p->room, p->length + more, 1);
	return p->data + p->length;
}

static void varint(struct proto *p, uint64_t value)
{
	unsigned char *to = room(p, 10), *from = to;

	for (; value >= 0x80; value >>= 7)
		*to++ = (unsigned char)(value | 0x80);
	*to++ = (unsigned char)value;
	p->length += (size_t)(to - from);
}

void proto_uint(struct proto *p, unsigned field, uint64_t value)
{
	varint(p, field << 3 | VARINT);
	varint(p, value);
}

void proto_sint(struct proto *p, unsigned field, int64_t value)
{
	proto_uint(p, field, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

void proto_fixed(struct proto *p, unsigned field, uint64_t value)
{
	varint(p, field << 3 | FIXED64);
	memcpy(room(p, sizeof(value)), &value, sizeof(value)); /* little-endian, as all here */
	p->length += sizeof(value);
}

void proto_double(struct proto *p, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed(p, field, bits);
}

void proto_append(struct proto *p, const void *data, size_t length)
{
	if (length)
		memcpy(room(p, length), data, length);
	p->length += length;
}

void proto_bytes(struct proto *p, unsigned field, const void *data, size_t length)
{
	varint(p, field << 3 | LENGTH);
	varint(p, length);
	proto_append(p, data, length);
}

void proto_text(struct proto *p, unsigned field, const char *text)
{
	char *utf8 = gw_to_utf8(text);

	proto_bytes(p, field, utf8, strlen(utf8));
	free(utf8);
}

size_t proto_open(struct proto *p, unsigned field)
{
	varint(p, field << 3 | LENGTH);
	room(p, 1);
	return p->length++;
}

/* Most messages are short: their length has one byte's room, and others move. */
void proto_close(struct proto *p, size_t opened)
{
	size_t length = p->length - opened - 1, bytes = 1;

	for (size_t rest = length; rest >= 0x80; rest >>= 7)
		bytes++;
	if (bytes > 1) {
		room(p, bytes - 1);
		memmove(p->data + opened + bytes, p->data + opened + 1, length);
		p->length += bytes - 1;
	}
	for (size_t i = 0; i < bytes; i++, length >>= 7)
		p->data[opened + i] = (unsigned char)((length & 0x7f) | (i + 1 < bytes ? 0x80 : 0));
}

void proto_delimited(struct proto *p, const struct proto *message)
{
	varint(p, message->length);
	proto_append(p, message->data, message->length);
}
