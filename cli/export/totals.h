/* Launches added up by kernel, bound and GPU, and by stack where a format wants that: what
 * openmetrics and pprof show. */
#ifndef GW_EXPORT_TOTALS_H
#define GW_EXPORT_TOTALS_H

#include "cli/export/export.h"

struct export_total {
	uint32_t name, gpu; /**< positions in the model; GW_INDEX_NONE: unknown */
	enum gw_bound bound;
	uint32_t log, stack; /**< as in struct export_config, where these are distinguished */
	uint64_t launches, measured, scored;
	uint64_t ns;      /**< of the measured ones */
	double predicted; /**< of those measured and predicted one by one, ns */
	uint64_t scored_ns;
};

struct export_totals {
	struct export_total *list;
	size_t count, room;
	struct gw_index index;
	bool by_stack; /**< stacks are distinguished */
};

/** `begin`, `launch` and `sum` of a format whose state is a struct export_totals. */
void export_totals_begin(struct export *e);
void export_totals_launch(struct export *e, const struct export_row *row);
void export_totals_sum(struct export *e, const struct export_config *config, uint32_t gpu,
		       const struct gw_record_aggregate *sum);
/** The demangled name of @p total's kernel. */
const char *export_total_name(const struct export *e, const struct export_total *total);
void export_totals_free(struct export_totals *t);

#endif
