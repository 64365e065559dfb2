/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's metrics in Prometheus' formats. */
#ifndef GW_AGENT_TEXT_H
#define GW_AGENT_TEXT_H

#include "cli/agent/metrics.h"

enum text_format {
	TEXT_PROMETHEUS,  /**< text/plain; version=0.0.4 */
	TEXT_OPENMETRICS, /**< application/openmetrics-text; version=1.0.0 */
};

/** The format that an Accept header asks for; NULL: none was sent. */
enum text_format agent_text_asked(const char *accept);
const char *agent_text_type(enum text_format format);

/** All metrics, ended by a NUL after *@p size bytes; free() it. */
char *agent_text(const struct agent_node *node, const struct agent_self *self,
                 enum text_format format, size_t *size);

#endif
