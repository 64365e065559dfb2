/* SPDX-License-Identifier: Apache-2.0 */
/* What the page shows, as one JSON document. */
#ifndef GW_HTML_DATA_H
#define GW_HTML_DATA_H

#include "cli/html/series.h"
#include "cli/report/report.h"

#include <jansson.h>

/** How much of each list the document has at most; what is left out is counted in it. */
struct html_limits {
	size_t rows;   /**< kernels, by the order of the report */
	size_t series; /**< of them with times over run time */
	size_t fine;   /**< of these with a value for each of the HTML_POINTS; others for fewer */
	size_t bins;   /**< of all GPUs */
	size_t items;  /**< of every other list: processes, slow episodes, reasons */
	size_t text;   /**< columns of a name */
};

/** The document; its `report` is what `report --json` prints but for the kernels. */
json_t *html_data(struct gw_report *report, struct html_series *series,
                  const struct html_limits *limits);

#endif
