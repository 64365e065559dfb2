/* Hash indices in the command, which ends when memory does (cli/common/memory.h). */
#ifndef GW_CLI_INDEX_H
#define GW_CLI_INDEX_H

#include "predictor/core/hash.h"
#include "predictor/core/index.h"

/** Add @p position under @p key. */
void gw_index_add(struct gw_index *index, uint64_t key, uint32_t position);

#endif
