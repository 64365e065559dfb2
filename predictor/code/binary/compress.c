#include "predictor/code/binary/compress.h"

#include <stdlib.h>

#ifdef GW_HAVE_ZSTD
#define ZSTD_STATIC_LINKING_ONLY /* a workspace of a known size, ours */
#include <zstd.h>

/*
 * libzstd refers to these weakly, for whoever traces it. Defined here, so that in libgpuwatch.so
 * they are not bound to a libzstd of the program's; 0: this call is not traced.
 */
unsigned long long ZSTD_trace_decompress_begin(const void *context);
void ZSTD_trace_decompress_end(unsigned long long trace, const void *what);

unsigned long long ZSTD_trace_decompress_begin(const void *context)
{
	(void)context;
	return 0;
}

void ZSTD_trace_decompress_end(unsigned long long trace, const void *what)
{
	(void)trace;
	(void)what;
}
#endif

const char *gw_compression_name(enum gw_compression compression)
{
	static const char *const names[] = {"none", "lz4", "zstd"};

	return names[compression];
}

/* A length whose nibble was 15 goes on in bytes, until one is less than 255. */
static bool lz4_length(struct gw_bytes packed, size_t *at, size_t *length)
{
	uint8_t more;

	if (*length != 15)
		return true;
	do {
		if (*at >= packed.size)
			return false;
		more = packed.data[(*at)++];
		*length += more;
	} while (more == 255);
	return true;
}

/* A sequence is a token, literals, and (but for the last) a match: bytes that came before. */
const char *gw_lz4_unpack(struct gw_bytes packed, uint8_t *out, size_t size)
{
	size_t at = 0, made = 0;

	while (at < packed.size) {
		uint8_t token = packed.data[at++];
		size_t literals = token >> 4, match = token & 15, distance;

		if (!lz4_length(packed, &at, &literals) || literals > packed.size - at)
			return "the LZ4 data end inside their literals";
		if (literals > size - made)
			return "the LZ4 data are longer than their header says";
		if (literals)
			memcpy(out + made, packed.data + at, literals);
		made += literals;
		at += literals;
		if (at == packed.size)
			break;
		if (packed.size - at < 2)
			return "the LZ4 data end inside a match";
		distance = packed.data[at] | (size_t)packed.data[at + 1] << 8;
		at += 2;
		if (!distance || distance > made)
			return "the LZ4 data refer to what came before their begin";
		if (!lz4_length(packed, &at, &match))
			return "the LZ4 data end inside a match";
		match += 4;
		if (match > size - made)
			return "the LZ4 data are longer than their header says";
		/* A match may overlap what it makes: byte by byte. */
		for (; match; match--, made++)
			out[made] = out[made - distance];
	}
	return made == size ? NULL : "the LZ4 data are shorter than their header says";
}

#ifdef GW_HAVE_ZSTD
static const char *zstd_unpack(struct gw_bytes packed, uint8_t *out, size_t size)
{
	size_t room = ZSTD_estimateDCtxSize(), made;
	void *workspace = malloc(room);
	ZSTD_DCtx *context = workspace ? ZSTD_initStaticDCtx(workspace, room) : NULL;

	if (!context) {
		free(workspace);
		return "there is no memory to unpack it";
	}
	made = ZSTD_decompressDCtx(context, out, size, packed.data, packed.size);
	free(workspace);
	if (ZSTD_isError(made))
		return "the zstd data are broken";
	return made == size ? NULL : "the zstd data are shorter than their header says";
}
#else
static const char *zstd_unpack(struct gw_bytes packed, uint8_t *out, size_t size)
{
	(void)packed;
	(void)out;
	(void)size;
	return "it is packed by zstd, and this gpuwatch was built without libzstd";
}
#endif

const char *gw_unpack(enum gw_compression compression, struct gw_bytes packed, uint64_t size,
		      struct gw_arena *arena, struct gw_bytes *out)
{
	const char *wrong;
	uint8_t *to;

	*out = packed;
	if (compression == GW_COMPRESSION_NONE)
		return NULL;
	*out = (struct gw_bytes){0};
	to = size <= SIZE_MAX ? gw_arena_array(arena, (size_t)size, 1) : NULL;
	if (!to)
		return "unpacked it is larger than the memory allowed";
	wrong = compression == GW_COMPRESSION_LZ4 ? gw_lz4_unpack(packed, to, (size_t)size)
						  : zstd_unpack(packed, to, (size_t)size);
	if (!wrong)
		*out = (struct gw_bytes){size ? to : NULL, (size_t)size};
	return wrong;
}
