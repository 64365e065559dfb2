/* What the agent exports (metrics.def), sample by sample, for whatever format. */
#ifndef GW_AGENT_METRICS_H
#define GW_AGENT_METRICS_H

#include "cli/agent/node.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metric_family {
	const char *name; /**< without _total */
	const char *unit; /**< "": none */
	const char *help;
	enum metric_kind kind;
};

struct metric_label {
	const char *name, *value; /**< any bytes but NUL */
};

/** A histogram's classic buckets: cumulative counts up to each end, in the metric's unit. */
struct metric_histogram {
	double end[AGENT_BUCKETS], count[AGENT_BUCKETS];
	double all, sum;
	const struct gw_sketch *time; /**< the same values, ns */
};

/** A receiver of samples. All samples of a family come one after the other. */
struct metric_sink {
	void *arg;
	void (*family)(void *arg, const struct metric_family *family);
	void (*sample)(void *arg, const struct metric_label *labels, size_t count, double value);
	void (*histogram)(void *arg, const struct metric_label *labels, size_t count,
			  const struct metric_histogram *value);
};

/** The agent itself, beside the node. */
struct agent_self {
	const char *version;
	const char *host_label; /**< name of the label that holds the host's name; "": none */
	char host[256];
	double snapshots, missed, unreadable, cpu_s;
	double failed_textfile, failed_push, failed_store, dropped_store;
	double failed_pods; /**< NaN: kubelet is not asked */
};

/** Hand every sample to @p sink. */
void agent_metrics(const struct agent_node *node, const struct agent_self *self,
		   const struct metric_sink *sink);

#endif
