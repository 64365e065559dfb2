/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's metrics in Prometheus' formats. */
#ifndef GW_AGENT_TEXT_H
#define GW_AGENT_TEXT_H

#include "cli/agent/metrics.h"

enum text_format {
	TEXT_PROMETHEUS,  /**< text/plain; version=0.0.4 */
	TEXT_OPENMETRICS, /**< application/openmetrics-text; version=1.0.0 */
	TEXT_PROTOBUF,    /**< io.prometheus.client.MetricFamily, each behind its length */
};

/** The format that an Accept header asks for; NULL: none was sent. */
enum text_format agent_text_asked(const char *accept);
const char *agent_text_type(enum text_format format);

/** All metrics, *@p size bytes; text is ended by a NUL. free() it. */
char *agent_text(const struct agent_node *node, const struct agent_self *self,
                 enum text_format format, size_t *size);

#endif
