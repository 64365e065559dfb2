/*
 * A libzstd that was built with the formats of before 0.8 names their decoders in its own, so that
 * the linker brings 90 KB of them. They never run here: code is unpacked with a context of fixed
 * size (predictor/code/binary/compress.c), which refuses such a frame once it has asked for its
 * size. These stand in for them: the answer to that question is an error. Weak, for a libzstd may
 * need more of them than these, and then brings its own.
 */
#include <stddef.h>

#define WEAK __attribute__((weak))

/* Reached: ZSTD_isError() holds for the size, and the content's is ZSTD_CONTENTSIZE_ERROR. */
#define SIZE(function) \
	WEAK void function(const void *frame, size_t size, size_t *packed, \
			   unsigned long long *content); \
	void function(const void *frame, size_t size, size_t *packed, unsigned long long *content) \
	{ \
		(void)frame; \
		(void)size; \
		*packed = (size_t)-1; \
		*content = (unsigned long long)-2; \
	}

/* Never reached, whatever their parameters are. */
#define NEVER(function) \
	WEAK size_t function(void); \
	size_t function(void) \
	{ \
		return (size_t)-1; \
	}

#define VERSION(v) \
	SIZE(ZSTD##v##_findFrameSizeInfoLegacy) \
	NEVER(ZSTD##v##_createDCtx) \
	NEVER(ZSTD##v##_decompress_usingDict) \
	NEVER(ZSTD##v##_freeDCtx) \
	NEVER(ZSTD##v##_getFrameParams) \
	NEVER(ZBUFF##v##_createDCtx) \
	NEVER(ZBUFF##v##_decompressContinue) \
	NEVER(ZBUFF##v##_decompressInitDictionary) \
	NEVER(ZBUFF##v##_freeDCtx)

/* The texts of libzstd's errors, 2 KB: nothing of ours prints them (gw_unpack() has words of its
 * own). */
WEAK const char *ERR_getErrorString(int code);
const char *ERR_getErrorString(int code)
{
	(void)code;
	return "";
}

VERSION(v05)
VERSION(v06)
VERSION(v07)
