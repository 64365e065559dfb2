/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics as OpenTelemetry's protocol has them (OTLP 1.x, protobuf): an
 * ExportMetricsServiceRequest. */
#ifndef GW_AGENT_OTLP_H
#define GW_AGENT_OTLP_H

#include "cli/agent/metrics.h"
#include "cli/export/proto.h"

/** All metrics: sums since @p start_ns, as of @p now_ns (CLOCK_REALTIME). free() data. */
struct proto agent_otlp(const struct agent_node *node, const struct agent_self *self,
                        uint64_t start_ns, uint64_t now_ns);

#endif
