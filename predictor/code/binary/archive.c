/* Archives of objects (ar, as System V and GNU write them), as static libraries are. */
#include "predictor/code/binary/image_parts.h"

#include <ar.h>

bool gw_is_archive(struct gw_bytes part)
{
	return part.size >= SARMAG && memcmp(part.data, ARMAG, SARMAG) == 0;
}

/* Decimal digits padded with blanks; false when it is something else. */
static bool number(const char *field, size_t width, uint64_t *out)
{
	size_t i = 0;

	*out = 0;
	for (; i < width && field[i] >= '0' && field[i] <= '9'; i++)
		*out = *out * 10 + (uint64_t)(field[i] - '0');
	if (!i)
		return false;
	while (i < width && field[i] == ' ')
		i++;
	return i == width;
}

/* "name/", or "/123": the name stands at 123 of the member of long names. */
static const char *member_name(struct gw_arena *arena, const struct ar_hdr *h,
			       struct gw_bytes long_names)
{
	const char *from = h->ar_name;
	size_t room = sizeof(h->ar_name), length = 0;
	uint64_t at;

	if (*from == '/' && number(from + 1, room - 1, &at) && at < long_names.size) {
		from = (const char *)long_names.data + at;
		room = long_names.size - (size_t)at;
	}
	while (length < room && from[length] != '/' && from[length] != '\n')
		length++;
	return gw_arena_text(arena, from, length);
}

/* Tables of symbols and of names are no members: "/", "//", "/SYM64/". */
static bool is_table(const struct ar_hdr *h)
{
	return h->ar_name[0] == '/' && (h->ar_name[1] < '0' || h->ar_name[1] > '9');
}

static bool is_long_names(const struct ar_hdr *h)
{
	return h->ar_name[0] == '/' && h->ar_name[1] == '/';
}

static bool scan_member(struct gw_image_scan *scan, const struct ar_hdr *h, struct gw_bytes body,
			struct gw_bytes long_names)
{
	bool good;

	/* Members that hold no code are none of our business. */
	if (body.size < 4 || memcmp(body.data, "\177ELF", 4) != 0)
		return true;
	scan->member = member_name(scan->arena, h, long_names);
	good = gw_scan_host(scan, body);
	scan->member = NULL;
	return good;
}

bool gw_scan_archive(struct gw_image_scan *scan, struct gw_bytes part)
{
	struct gw_bytes long_names = {0}, body;
	struct ar_hdr h;
	uint64_t at = SARMAG, size;

	while (at < part.size) {
		if (!gw_bytes_get(part, at, &h, sizeof(h)) ||
		    memcmp(h.ar_fmag, ARFMAG, sizeof(h.ar_fmag)) != 0 ||
		    !number(h.ar_size, sizeof(h.ar_size), &size))
			return gw_scan_fault(
				scan, "the header of the archive's member is broken or cut off",
				part.data + at);
		if (!gw_bytes_slice(part, at + sizeof(h), size, &body))
			return gw_scan_fault(scan,
					     "the archive's member runs over the end of the file",
					     part.data + at);
		if (is_long_names(&h))
			long_names = body;
		else if (!is_table(&h) && !scan_member(scan, &h, body, long_names))
			return false;
		at += sizeof(h) + size + (size & 1);
	}
	return true;
}
