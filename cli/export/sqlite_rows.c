/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/export/sqlite_rows.h"

#include "cli/common/memory.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INTERIOR = 0x05, LEAF = 0x0d };          /* kinds of pages */
enum { LEAF_HEAD = 8, INTERIOR_HEAD = 12 };     /* bytes before the pointers to cells */
enum { IS_NULL = 0, IS_REAL = 7, IS_ZERO = 8 }; /* serial types; between: integers; then one */
enum { MOST_CELL = 2 + 8 + 1 + SQLITE_COLUMNS + SQLITE_COLUMNS * 8 };
enum { FAN = 256 };                /* children of a page: 15 bytes each at most */
enum { LOCKED_BYTE = 0x40000000 }; /* SQLite locks there, and has no page around it */

static const unsigned sizes[] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0}; /* by serial type */

static void put_be(unsigned char *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

/* Its length; @p value is below 2^56. */
static unsigned put_varint(unsigned char *to, uint64_t value)
{
	unsigned bytes = 1;

	while (value >> 7 * bytes)
		bytes++;
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (unsigned char)((value >> 7 * (bytes - 1 - i) & 0x7f) |
		                        (i + 1 < bytes ? 0x80 : 0));
	return bytes;
}

static unsigned integer_type(uint64_t value)
{
	uint64_t magnitude = value ^ ((int64_t)value < 0 ? UINT64_MAX : 0);

	if (value <= 1)
		return IS_ZERO + (unsigned)value;
	return magnitude < 1U << 7             ? 1
	       : magnitude < 1U << 15          ? 2
	       : magnitude < 1U << 23          ? 3
	       : magnitude < UINT64_C(1) << 31 ? 4
	       : magnitude < UINT64_C(1) << 47 ? 5
	                                       : 6;
}

/* A double that is whole stands as an integer, which takes less. */
static unsigned real_type(uint64_t *bits)
{
	double real;

	memcpy(&real, bits, sizeof(real));
	if (!(fabs(real) < 0x1p47) || real != (double)(int64_t)real)
		return IS_REAL;
	*bits = (uint64_t)(int64_t)real;
	return integer_type(*bits);
}

/* The row as a record; its length. */
static unsigned put_record(const struct sqlite_rows *r, unsigned char *to)
{
	unsigned char *value = to + 1 + r->columns;

	to[0] = (unsigned char)(1 + r->columns);
	for (unsigned i = 0; i < r->columns; i++) {
		uint64_t bits = r->values[i], big;
		unsigned type = IS_NULL, size;

		if (r->known[i])
			type = r->reals[i] ? real_type(&bits) : integer_type(bits);
		to[1 + i] = (unsigned char)type;
		size = sizes[type];
		if (!size)
			continue;
		big = htobe64(bits << (64 - 8 * size));
		memcpy(value, &big, sizeof(big));
		value += size;
	}
	return (unsigned)(value - to);
}

static uint32_t write_page(struct sqlite_pages *pages, const unsigned char *page)
{
	static const unsigned char none[SQLITE_PAGE];

	if (pages->next == LOCKED_BYTE / SQLITE_PAGE + 1) {
		export_write(pages->out, none, SQLITE_PAGE);
		pages->next++;
	}
	export_write(pages->out, page, SQLITE_PAGE);
	return pages->next++;
}

static void start_page(struct sqlite_rows *r)
{
	memset(r->page, 0, sizeof(r->page));
	r->cells = 0;
	r->free_end = SQLITE_PAGE;
}

static void put_cell(struct sqlite_rows *r, unsigned head, const unsigned char *cell,
                     unsigned length)
{
	r->free_end -= length;
	memcpy(r->page + r->free_end, cell, length);
	put_be(r->page + head + 2 * r->cells++, r->free_end, 2);
}

static void end_page(struct sqlite_rows *r, unsigned kind)
{
	r->page[0] = (unsigned char)kind;
	put_be(r->page + 3, r->cells, 2);
	put_be(r->page + 5, r->free_end, 2);
}

static void write_leaf(struct sqlite_rows *r)
{
	end_page(r, LEAF);
	r->children = gw_grow(r->children, &r->room, r->count + 1, sizeof(*r->children));
	r->children[r->count++] = (struct sqlite_child){write_page(r->pages, r->page), r->last};
}

void sqlite_rows_add(struct sqlite_rows *r, uint64_t rowid)
{
	unsigned char record[MOST_CELL + 8], cell[MOST_CELL + 8];
	unsigned length = put_record(r, record), head = put_varint(cell, length);

	head += put_varint(cell + head, rowid);
	memcpy(cell + head, record, length);
	length += head;
	if (r->free_end && r->free_end < length + LEAF_HEAD + 2 * (r->cells + 1)) {
		write_leaf(r);
		r->free_end = 0;
	}
	if (!r->free_end)
		start_page(r);
	put_cell(r, LEAF_HEAD, cell, length);
	r->last = rowid;
}

/* The parent of @p count children. */
static void make_parent(struct sqlite_rows *r, const struct sqlite_child *children, size_t count)
{
	unsigned char cell[4 + 9];

	start_page(r);
	for (size_t i = 0; i + 1 < count; i++) {
		put_be(cell, children[i].page, 4);
		put_cell(r, INTERIOR_HEAD, cell, 4 + put_varint(cell + 4, children[i].last));
	}
	put_be(r->page + 8, children[count - 1].page, 4);
	end_page(r, INTERIOR);
}

/* Parents of all pages that have none. One with a single child is not allowed. */
static void write_parents(struct sqlite_rows *r)
{
	size_t parents = 0, count;

	for (size_t from = 0; from < r->count; from += count) {
		count = r->count - from < FAN ? r->count - from : FAN;
		if (r->count - from - count == 1)
			count--;
		make_parent(r, &r->children[from], count);
		r->children[parents++] = (struct sqlite_child){write_page(r->pages, r->page),
		                                               r->children[from + count - 1].last};
	}
	r->count = parents;
}

void sqlite_rows_end(struct sqlite_rows *r)
{
	if (!r->free_end)
		start_page(r);
	if (!r->count) {
		end_page(r, LEAF); /* all there is */
		return;
	}
	write_leaf(r);
	while (r->count > FAN)
		write_parents(r);
	make_parent(r, r->children, r->count);
}

void sqlite_rows_free(struct sqlite_rows *r)
{
	free(r->children);
}
