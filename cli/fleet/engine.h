/* An engine at work: Python's package of it, as a child. */
#ifndef GW_FLEET_ENGINE_H
#define GW_FLEET_ENGINE_H

#include "cli/fleet/store.h"

/** How it is run. */
struct fleet_run {
	enum fleet_engine engine;
	const char *python;
	uint64_t threads; /**< 0: as many as there are processors */
};

extern const char *const fleet_engine_names[];

/** What came of it; json_decref() the answers and the version. */
struct fleet_answers {
	json_t *answers; /**< array: "name", "columns", "rows", "seconds" */
	char version[128];
	double seconds; /**< all of the engine's work */
	bool whole;     /**< the last of them came */
};

/**
 * Have the engine answer @p plan from the links of @p store, whose files that it can't read get
 * their reason. False after a message: 2 is the exit status.
 */
bool fleet_engine_run(const struct fleet_run *run, struct fleet_store *store, const json_t *plan,
		      struct fleet_answers *out);

/* What an engine answered, as text, as JSON and as a page. */

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
