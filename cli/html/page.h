/* SPDX-License-Identifier: Apache-2.0 */
/* gpuwatch report --html: one file that a browser shows without a network. */
#ifndef GW_HTML_PAGE_H
#define GW_HTML_PAGE_H

#include "cli/html/series.h"
#include "cli/report/report.h"

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

#endif
