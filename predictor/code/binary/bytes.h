/* Bytes of an image that nobody vouches for: every read is checked, none is assumed aligned. */
#ifndef GW_CODE_BYTES_H
#define GW_CODE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** A run of bytes that belongs to someone else; little-endian where it holds numbers. */
struct gw_bytes {
	const uint8_t *data; /**< NULL only when size is 0 */
	size_t size;         /**< bytes */
};

/** What was wrong with an image, and where. */
struct gw_fault {
	const char
		*what; /**< static string: what was found and what was expected; NULL = no fault */
	uint64_t offset; /**< byte of the image handed in, counted from its start */
};

/** Note a fault; false, for readers that return what this does. */
static inline bool gw_fault_note(struct gw_fault *fault, const char *what, uint64_t offset)
{
	*fault = (struct gw_fault){what, offset};
	return false;
}

/** Copy @p size bytes at @p offset to @p out; false, and @p out untouched, when they aren't all
 * there. */
static inline bool gw_bytes_get(struct gw_bytes b, uint64_t offset, void *out, size_t size)
{
	if (offset > b.size || b.size - offset < size)
		return false;
	if (size)
		memcpy(out, b.data + offset, size);
	return true;
}

/** The @p size bytes at @p offset; false, and @p out untouched, when they aren't all there. */
static inline bool gw_bytes_slice(struct gw_bytes b, uint64_t offset, uint64_t size,
				  struct gw_bytes *out)
{
	if (offset > b.size || b.size - offset < size)
		return false;
	*out = (struct gw_bytes){size ? b.data + offset : NULL, (size_t)size};
	return true;
}

/** The terminated text at @p offset; NULL when it does not end inside @p b. */
static inline const char *gw_bytes_text(struct gw_bytes b, uint64_t offset)
{
	if (offset >= b.size || !memchr(b.data + offset, 0, b.size - (size_t)offset))
		return NULL;
	return (const char *)b.data + offset;
}

#endif
