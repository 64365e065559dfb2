/* Runs a program and says, when it has ended, where its logs are. */
#ifndef GW_RUN_PROGRAM_H
#define GW_RUN_PROGRAM_H

/**
 * Run the program at @p path as a child, with the environment of this process. Signals sent to
 * this process are passed on. Then name its logs on stderr, or say that no kernel was seen.
 * Returns its exit status; a signal that ended it ends this process, too.
 */
int gw_run_program(const char *path, char *const argv[]);

/** The message and exit status, 126 or 127, for an execv() of @p path that failed (errno). */
int gw_run_failed(const char *path);

#endif
