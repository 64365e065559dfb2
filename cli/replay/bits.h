/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a replay said what the log says, to the bit: in words and in JSON. */
#ifndef GW_REPLAY_BITS_H
#define GW_REPLAY_BITS_H

#include "cli/replay/replay.h"

#include <jansson.h>

/** Print how many predictions of @p trace have the same bits, and where and how the first does not.
 */
void replay_tell_bits(const struct trace *trace, const struct replay_result *result);

/** The same as a new object. */
json_t *replay_bits_json(const struct trace *trace, const struct replay_result *result);

#endif
