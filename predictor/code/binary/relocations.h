/* The relocations of a section of a cubin, one by one. */
#ifndef GW_CODE_RELOCATIONS_H
#define GW_CODE_RELOCATIONS_H

#include "predictor/code/binary/kernel.h"

/** Where in a section one is. */
struct gw_relocations {
	struct gw_bytes bytes; /**< of the section; size 0 where there is none */
	size_t each, at;       /**< bytes of a relocation, of those passed */
};

/** Before the first one of section @p index; 0: there is none. */
struct gw_relocations gw_relocations_in(const struct gw_cubin *cubin, uint32_t index);

/** The next one into @p out, the section of its symbol into @p section; false behind the last. */
bool gw_relocation_next(const struct gw_cubin *cubin, struct gw_relocations *in,
			struct gw_code_relocation *out, uint32_t *section);

#endif
