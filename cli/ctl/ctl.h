/* The processes that gpuwatch ctl finds and asks. */
#ifndef GW_CTL_H
#define GW_CTL_H

#include "cli/live/file.h"
#include "cli/options.h"
#include "predictor/log/live.h"

#include <stdbool.h>
#include <sys/types.h>

/** A process under gpuwatch. */
struct ctl_process {
	char *path; /**< of its segment */
	uint32_t pid;
	uid_t owner;
	bool elsewhere; /**< pid is of another PID namespace, a container's: it names nobody here */
	char exe[256];
	struct gw_live_answer state;
	uint64_t launches; /**< 0 where nothing was counted yet */
};

/** The running processes whose segments can be read, by their number. */
struct ctl_list {
	struct ctl_process *process;
	size_t count, room;
};

/** Find them in @p folders, or in the usual ones where it has none. */
void ctl_find(struct ctl_list *list, const struct gw_words *folders);
void ctl_free(struct ctl_list *list);

/** What is asked of a process; fields as in struct gw_live_control. */
struct ctl_request {
	uint32_t mode, budget, seconds;
};

enum ctl_result {
	CTL_DONE,
	CTL_REFUSED, /**< state.text says why */
	CTL_FAILED,  /**< it can't be asked, or does not answer */
};

/**
 * Ask @p p, and wait @p wait_ms at most for the answer, which is in @p p->state then. CTL_FAILED:
 * @p why says it.
 */
enum ctl_result ctl_ask(struct ctl_process *p, const struct ctl_request *r, unsigned wait_ms,
			char *why, size_t size);

#endif
