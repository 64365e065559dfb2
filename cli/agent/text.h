/* The agent's metrics in Prometheus' formats. */
#ifndef GW_AGENT_TEXT_H
#define GW_AGENT_TEXT_H
#include "cli/agent/metrics.h"
#include "cli/export/proto.h"

#include <stdbool.h>
#include <stddef.h>

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

/* The agent's metrics as Prometheus' protobuf messages, with native histograms. */

#define AGENT_PROTOBUF_TYPE \
	"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; " \
	"encoding=delimited"

/** All metrics: MetricFamily messages, each behind its length. free() its data. */
struct proto agent_protobuf(const struct agent_node *node, const struct agent_self *self);

/* Metrics as OpenTelemetry's protocol has them (OTLP 1.x, protobuf): an
 * ExportMetricsServiceRequest. */

/** All metrics: sums since @p start_ns, as of @p now_ns (CLOCK_REALTIME). free() data. */
struct proto agent_otlp(const struct agent_node *node, const struct agent_self *self,
			uint64_t start_ns, uint64_t now_ns);

/* Metrics as a file that node-exporter's textfile collector reads. */

/** Name of the file in its folder. */
#define AGENT_TEXTFILE "gpuwatch.prom"

/**
 * Write @p size bytes as AGENT_TEXTFILE in @p folder: the file that was there stays until the new
 * one is on the disk. False, and @p why, where that fails; nothing is left behind then.
 */
bool agent_textfile(const char *folder, const char *text, size_t size, char *why, size_t room);

#endif
