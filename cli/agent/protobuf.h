/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's metrics as Prometheus' protobuf messages, with native histograms. */
#ifndef GW_AGENT_PROTOBUF_H
#define GW_AGENT_PROTOBUF_H

#include "cli/agent/metrics.h"
#include "cli/export/proto.h"

#define AGENT_PROTOBUF_TYPE                                                                        \
	"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "               \
	"encoding=delimited"

/** All metrics: MetricFamily messages, each behind its length. free() its data. */
struct proto agent_protobuf(const struct agent_node *node, const struct agent_self *self);

#endif
