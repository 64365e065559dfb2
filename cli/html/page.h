/* gpuwatch report --html: one file that a browser shows without a network. */
#ifndef GW_HTML_PAGE_H
#define GW_HTML_PAGE_H
#include "cli/html/series.h"
#include "cli/report/report.h"

#include <jansson.h>

/** The largest page, bytes: lists are cut until it fits. */
enum { HTML_MOST = 2000000 };

/**
 * Write the page to @p path ("-": standard output): a regular file is there once it is whole, or
 * stays as it was. False after a message.
 */
bool html_write(struct gw_report *report, struct html_series *series, const char *path);

/** The same of the page called @p name ("report", "profile", "fleet"), with @p json, in ASCII, as
 * its data. */
bool html_write_data(const char *name, const char *json, const char *path);

/* What the page shows, as one JSON document. */

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
