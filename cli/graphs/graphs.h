/*
 * Graphs that were timed whole (GRAPH records): one row an executable graph of a process. What a
 * graph is predicted to take is the sum of its kernels' predictions: kernels that run side by side
 * make that longer than the graph, the time between kernels makes it shorter.
 */
#ifndef GW_GRAPHS_H
#define GW_GRAPHS_H

#include "cli/common/index.h"
#include "cli/log/reader.h"
#include "predictor/core/device.h"
#include "predictor/core/types.h"
#include "predictor/log/record.h"

#include <stdbool.h>
#include <stddef.h>

/** An executable graph; times in ns. */
struct log_graph {
	uint64_t process; /**< which one, a hash of what processes differ in */
	uint32_t pid;     /**< its id */
	uint32_t graph;   /**< its number there; 0: all graphs that had no row of their own */
	uint32_t gpu; /**< that its latest launch ran on, in the model; GW_INDEX_NONE: unknown */
	uint32_t kernels, known_kernels; /**< of its latest launch; of them predicted */
	bool unlisted;                   /**< it has kernels that can't be listed */
	uint64_t launches, timed, scored;
	double total, squares, min, max;   /**< of the timed ones; min and max NaN without any */
	double scored_ns, predicted;       /**< of the scored ones: measured, predicted */
	double expected;                   /**< predictions of the known kernels of all launches */
	double bound[GW_BOUND_LAUNCH + 1]; /**< `expected` by what bounds the kernel */
	struct gw_work
		*work; /**< of all its kernels together, by counters; NULL: not judged by it */
	enum gw_bound whole; /**< what bounds it by that */
};

/** Zero-initialised is none. */
struct log_graphs {
	struct log_graph *list;
	size_t count, room;
	struct gw_index index;
};

/** A record of the log with this header and host (NULL: not known), of GPU @p gpu of the model. */
void log_graphs_add(struct log_graphs *graphs, const struct gw_record_header *header,
		    const char *host, const struct gw_record_graph *r, uint32_t gpu);
/** A GRAPH_WORK record of the same. */
void log_graphs_work(struct log_graphs *graphs, const struct gw_record_header *header,
		     const char *host, const struct gw_log_record *record);
/** The log ends: judge its graphs on GPU @p gpu of the model by their work; @p device: NULL: not
 * known. */
void log_graphs_judge(struct log_graphs *graphs, uint32_t gpu, const struct gw_device *device);
void log_graphs_free(struct log_graphs *graphs);

/* What a graph's row says; NaN when unknown. */
double log_graph_mean(const struct log_graph *g);
/** Half the width of the mean's 95% interval over the mean. */
double log_graph_error(const struct log_graph *g);
/** Predicted time of a launch, where all its kernels are predicted. */
double log_graph_predicted(const struct log_graph *g);
/** Measured over predicted, of the launches that have both. */
double log_graph_ratio(const struct log_graph *g);
/** GPU time of all launches: their number times the mean of the timed ones. */
double log_graph_time(const struct log_graph *g);
/**
 * GPU time of all launches of graphs that were timed, ns, and of it by what bounds their kernels,
 * each graph's time shared out as its kernels' predictions are. Where a kernel has no verdict, or a
 * graph a kernel without a prediction, what bounds the graph as a whole, by counters.
 */
double log_graphs_by_bound(const struct log_graphs *graphs, double ns[GW_BOUND_LAUNCH + 1]);

/** What bounds most of it, where all its kernels are predicted and what bounds 95% of that is
 * known; else what bounds it as a whole. */
enum gw_bound log_graph_bound(const struct log_graph *g);

#endif
