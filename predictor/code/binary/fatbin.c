/*
 * Fatbin containers: a header, then entries, each with a header of its own. Several containers
 * may follow each other, as the linker puts those of all objects into one section.
 */
#include "predictor/code/binary/image_parts.h"

#include <stddef.h>

#define CONTAINER_MAGIC 0xba55ed50u

struct container {
	uint32_t magic;
	uint16_t version, header_size;
	uint64_t size; /* of the entries */
};

enum { ENTRY_PTX = 1, ENTRY_CUBIN = 2 };

/* Bits of an entry's flags. */
enum {
	FLAG_DEBUG = 1 << 1,
	FLAG_LZ4 = 1 << 13,
	FLAG_ZSTD = 1 << 15,
	FLAG_ARCH_SPECIFIC = 1 << 20,
	FLAG_FAMILY_SPECIFIC = 1 << 21,
};

/* What every version of the header begins with; older ones end sooner. */
struct entry {
	uint16_t kind, version;
	uint32_t header_size;
	uint64_t size; /* of what is stored, with what pads it to 8 bytes */
	uint32_t packed_size, options_at;
	uint16_t version_minor, version_major;
	uint32_t arch;
	uint32_t name_at, name_size;
	uint64_t flags, reserved, unpacked_size;
};
_Static_assert(sizeof(struct entry) == 64, "the layout of the file");
_Static_assert(sizeof(struct container) + sizeof(struct entry) == GW_FATBIN_HEAD, "both headers");

enum { ENTRY_LEAST = offsetof(struct entry, flags) + sizeof(uint64_t) };

bool gw_is_fatbin(struct gw_bytes part)
{
	uint32_t magic;

	return gw_bytes_get(part, 0, &magic, sizeof(magic)) && magic == CONTAINER_MAGIC;
}

uint64_t gw_fatbin_size(struct gw_bytes part)
{
	struct gw_bytes entries, first;
	struct container c;
	struct entry e;

	if (!gw_bytes_get(part, 0, &c, sizeof(c)) || c.version != 1 || c.header_size < sizeof(c) ||
	    !gw_bytes_slice(part, c.header_size, c.size, &entries) ||
	    !gw_bytes_get(entries, 0, &e, offsetof(struct entry, packed_size)) ||
	    e.header_size < ENTRY_LEAST || !gw_bytes_slice(entries, 0, e.header_size, &first) ||
	    !gw_bytes_slice(entries, e.header_size, e.size, &first))
		return 0;
	return c.header_size + c.size;
}

/* A text of the entry's header, copied; NULL when it isn't there or is no text. */
static const char *header_text(struct gw_arena *arena, struct gw_bytes header, uint64_t at,
			       uint64_t size)
{
	struct gw_bytes text;

	if (!at || !gw_bytes_slice(header, at, size, &text))
		return NULL;
	while (text.size && (!text.data[text.size - 1] || text.data[text.size - 1] == ' '))
		text.size--;
	for (size_t i = 0; i < text.size; i++)
		if (text.data[i] < ' ' || text.data[i] > '~')
			return NULL;
	return text.size ? gw_arena_text(arena, (const char *)text.data, text.size) : NULL;
}

/* Options stand behind the header: where they are, then how long. */
static const char *options_text(struct gw_arena *arena, struct gw_bytes header, uint32_t at)
{
	uint32_t where[2];

	if (!at || !gw_bytes_get(header, at, where, sizeof(where)))
		return NULL;
	return header_text(arena, header, where[0], where[1]);
}

static enum gw_image_kind kind_of(uint16_t entry_kind)
{
	if (entry_kind == ENTRY_PTX)
		return GW_IMAGE_PTX;
	return entry_kind == ENTRY_CUBIN ? GW_IMAGE_CUBIN : GW_IMAGE_OTHER;
}

static bool add_entry(struct gw_image_scan *scan, const struct entry *e, struct gw_bytes header,
		      struct gw_bytes stored)
{
	struct gw_image image = {
		.kind = kind_of(e->kind),
		.entry_kind = e->kind,
		.arch = {.number = e->arch <= UINT16_MAX ? (uint16_t)e->arch : 0},
		.debug = (e->flags & FLAG_DEBUG) != 0,
		.name = header_text(scan->arena, header, e->name_at, e->name_size),
		.options = options_text(scan->arena, header, e->options_at),
		.size = stored.size,
	};

	if (e->flags & FLAG_ARCH_SPECIFIC)
		image.arch.suffix = 'a';
	else if (e->flags & FLAG_FAMILY_SPECIFIC)
		image.arch.suffix = 'f';
	if (image.kind == GW_IMAGE_PTX) {
		image.version_major = e->version_major;
		image.version_minor = e->version_minor;
	}
	if (e->flags & FLAG_LZ4)
		image.compression = GW_COMPRESSION_LZ4;
	else if (e->flags & FLAG_ZSTD)
		image.compression = GW_COMPRESSION_ZSTD;
	if (image.compression != GW_COMPRESSION_NONE) {
		if (e->packed_size > stored.size)
			return gw_scan_fault(scan, "a packed fatbin entry is longer than its place",
					     header.data);
		image.size = e->unpacked_size;
		stored.size = e->packed_size;
	}
	image.stored = stored;
	return gw_scan_add(scan, image);
}

/* The entry at the start of @p rest; moves @p rest behind it. */
static bool scan_entry(struct gw_image_scan *scan, struct gw_bytes *rest)
{
	struct entry e = {0};
	struct gw_bytes header, stored;
	size_t known;

	if (!gw_bytes_get(*rest, 0, &e, offsetof(struct entry, packed_size)) ||
	    e.header_size < ENTRY_LEAST || !gw_bytes_slice(*rest, 0, e.header_size, &header))
		return gw_scan_fault(scan, "a fatbin entry's header is broken or cut off",
				     rest->data);
	if (!gw_bytes_slice(*rest, e.header_size, e.size, &stored))
		return gw_scan_fault(scan, "a fatbin entry runs over the end of its container",
				     rest->data);
	known = header.size < sizeof(e) ? header.size : sizeof(e);
	memcpy(&e, header.data, known);
	if (!add_entry(scan, &e, header, stored))
		return false;
	return gw_bytes_slice(*rest, e.header_size + e.size, rest->size - e.header_size - e.size,
			      rest);
}

/* The container at the start of @p rest; moves @p rest behind it. */
static bool scan_container(struct gw_image_scan *scan, struct gw_bytes *rest)
{
	struct container c;
	struct gw_bytes entries;
	uint64_t length;

	if (!gw_bytes_get(*rest, 0, &c, sizeof(c)) || c.header_size < sizeof(c))
		return gw_scan_fault(scan, "a fatbin container's header is broken or cut off",
				     rest->data);
	if (c.version != 1)
		return gw_scan_fault(scan, "a fatbin container of a version other than 1",
				     rest->data);
	if (!gw_bytes_slice(*rest, c.header_size, c.size, &entries))
		return gw_scan_fault(scan, "a fatbin container runs over the end of its place",
				     rest->data);
	while (entries.size)
		if (!scan_entry(scan, &entries))
			return false;
	scan->out->containers++;
	length = c.header_size + c.size;
	return gw_bytes_slice(*rest, length, rest->size - length, rest);
}

void gw_fatbin_head(uint8_t *to, struct gw_code_arch arch, size_t packed, size_t size)
{
	const struct entry e = {
		.kind = ENTRY_CUBIN,
		.version = 0x101,
		.header_size = sizeof(e),
		.size = (packed + 7) & ~(uint64_t)7,
		.packed_size = (uint32_t)packed,
		.arch = arch.number,
		.flags = (uint64_t)FLAG_LZ4 | (arch.suffix == 'a'   ? FLAG_ARCH_SPECIFIC
					       : arch.suffix == 'f' ? FLAG_FAMILY_SPECIFIC
								    : 0),
		.unpacked_size = size,
	};
	const struct container c = {.magic = CONTAINER_MAGIC,
				    .version = 1,
				    .header_size = sizeof(c),
				    .size = sizeof(e) + e.size};

	memcpy(to, &c, sizeof(c));
	memcpy(to + sizeof(c), &e, sizeof(e));
}

bool gw_scan_fatbin(struct gw_image_scan *scan, struct gw_bytes part)
{
	return scan_container(scan, &part);
}

bool gw_scan_fatbins(struct gw_image_scan *scan, struct gw_bytes part)
{
	size_t zeros = 0;

	while (part.size - zeros > 0) {
		/* Containers are aligned: zeros lie between them and behind the last. */
		if (!part.data[zeros]) {
			zeros++;
			continue;
		}
		gw_bytes_slice(part, zeros, part.size - zeros, &part);
		zeros = 0;
		if (!gw_is_fatbin(part))
			return gw_scan_fault(scan,
					     "something other than a fatbin container follows one",
					     part.data);
		if (!scan_container(scan, &part))
			return false;
	}
	return true;
}
