/* The objects that are loaded, by address. Worker only. */
#ifndef GW_LOADED_H
#define GW_LOADED_H

#include <stdbool.h>
#include <stdint.h>

enum {
	GW_LOADED_MAX = 2048, /**< objects; code of others counts as unknown */
	GW_BUILD_ID = 20,     /**< bytes of a build id that are kept */
};

struct gw_loaded {
	uint64_t begin, end; /**< of what is mapped of it */
	uint64_t bias;       /**< address less this: the address that its file has */
	uint64_t frames;     /**< its .eh_frame_hdr; 0: it has none */
	uint64_t notes, notes_size;
	const char *
		path; /**< kept for good; "" of the program itself, whose path /proc/self/exe has */
	uint32_t id;  /**< in the log, 0: not there yet */
	bool ours;    /**< libgpuwatch.so */
};

/** Forget all. */
void gw_loaded_start(void);

/** List them anew where some were loaded or unloaded since. True where that is so. */
bool gw_loaded_look(void);

/** The object that @p address lies in; NULL: none that is listed. */
struct gw_loaded *gw_loaded_find(uint64_t address);

/** Its id in the log, where an OBJECT record of it is written at the first call; 0: none is left.
 */
uint32_t gw_loaded_id(struct gw_loaded *object);

#endif
