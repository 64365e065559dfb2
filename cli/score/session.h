/* What `gpuwatch score` and `gpuwatch replay` share: logs in, a score out. */
#ifndef GW_SCORE_SESSION_H
#define GW_SCORE_SESSION_H

#include "cli/score/score.h"

/** Logs that were read, and what is to be said of them. */
struct session {
	struct trace *traces;
	size_t count;
	char **paths; /**< of the logs, those of folders among them */
	size_t path_count, path_room;
	bool failed; /**< some log could not be read at all; it was said */
	bool stand_in;
	char **missing; /**< sentences */
	size_t missing_count, missing_room;
};

/**
 * Read @p count logs, or folders of logs; those that can't be read are named in a message and left
 * out. False when none is left. @p spread: logs of mode watch have launches in the place
 * of sums (trace_spread()).
 */
bool session_open(struct session *session, char **paths, int count, bool spread);
void session_close(struct session *session);

/** Tables, or JSON with the members of @p more (taken over, may be NULL), and pictures in @p folder
 * (may be NULL). Exit status. */
int session_show(struct session *session, struct score *score, const char *how, bool json,
		 json_t *more, const char *folder);

#endif
