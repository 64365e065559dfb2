/* Files of the corpus, in memory. */
#ifndef GW_CORPUS_H
#define GW_CORPUS_H

#include "predictor/code/binary/image.h"

enum { CORPUS_MEMORY = 8 << 20 }; /**< of the arena below */

/** Set-up and tear-down of a group of tests, and the arena they have between these. */
int corpus_begin(void **state);
int corpus_end(void **state);
struct gw_arena *corpus_arena(void);

/** The file @p name of the corpus; fails the test when it can't be read. The arena owns it. */
struct gw_bytes corpus_file(struct gw_arena *arena, const char *name);

/** Open the file @p name and require that it holds @p count images. */
struct gw_images corpus_images(struct gw_arena *arena, const char *name, size_t count);

/** The bytes of an image that must unpack. */
struct gw_bytes corpus_bytes(struct gw_arena *arena, const struct gw_image *image);

#endif
