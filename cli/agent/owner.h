/*
 * Whom a process works for: its container and pod by its control group, its job and rank by its
 * environment, as far as these can be read. Nothing is asked of the process.
 */
#ifndef GW_AGENT_OWNER_H
#define GW_AGENT_OWNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OWNER_TEXT = 72 };

/** Each is "" when not known. */
struct agent_owner {
#define OWNER(label, variables, meaning) char label[OWNER_TEXT];
#include "cli/agent/owner.def"
#undef OWNER
};

/** What of the process @p pid that runs @p exe can be read; @p proc: where /proc is. */
void agent_owner_of(const char *proc, uint32_t pid, const char *exe, struct agent_owner *out);

/** Whether @p pid is still the process that began at @p start, field 22 of its stat; 0: unknown,
 * and taken for it. */
bool agent_owner_runs(const char *proc, uint32_t pid, uint64_t start);

/** Take anew in which pod and container it is; @p out is unchanged where that can't be read. */
void agent_owner_look(const char *proc, uint32_t pid, struct agent_owner *out);

/** Take pod and container from @p text, what /proc/PID/cgroup holds. */
void agent_owner_cgroup(const char *text, struct agent_owner *out);

/** Take what variables say from @p text, @p size bytes, as /proc/PID/environ holds it. */
void agent_owner_environment(const char *text, size_t size, struct agent_owner *out);

#endif
