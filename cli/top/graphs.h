/* Of the live view: graphs that are timed whole, and what gpuwatch itself takes. */
#ifndef GW_TOP_GRAPHS_H
#define GW_TOP_GRAPHS_H

#include "cli/top/model.h"

#include <jansson.h>

/** Entry @p at of the process's graphs. */
void top_graph_is(struct top_process *process, size_t at, const struct gw_live_graph_time *graph);

/** GPU time of its launches since the snapshot before, ns, by the mean of those that were timed
 * since then, or ever; NaN: none was. */
double top_graph_time(const struct top_graph *graph);

/** The same of all, added to the model's; then their shares of that. */
void top_graphs_time(struct top_model *model);
void top_graphs_share(struct top_model *model);

/** A line for each of the @p most graphs with most GPU time that was timed; for top_lines_free().
 */
char **top_graph_lines(const struct top_model *model, size_t most, size_t *count);

/** What gpuwatch takes in all processes since they began, as a line in @p out; NULL: not known. */
const char *top_own(const struct top_model *model, char *out, size_t size);

json_t *top_graphs_json(const struct top_process *process);

#endif
