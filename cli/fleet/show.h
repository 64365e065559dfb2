/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine answered, as text, as JSON and as a page. */
#ifndef GW_FLEET_SHOW_H
#define GW_FLEET_SHOW_H

#include "cli/fleet/engine.h"

/** What was asked, and of what. */
struct fleet_asked {
	const char *path; /**< of the store */
	const struct fleet_run *run;
	const struct fleet_store *store;
	const struct fleet_answers *answers;
};

/** Tables on standard output. */
void fleet_text(const struct fleet_asked *asked);

/** A document as `--json` prints it and the page holds it; the caller releases it. */
json_t *fleet_json(const struct fleet_asked *asked);

/** The page; false after a message. */
bool fleet_html(const struct fleet_asked *asked, const char *path);

/** Name the files that were left out, on standard error. */
void fleet_complain(const struct fleet_store *store);

#endif
