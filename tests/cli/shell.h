/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a shell command in the test's own folder, with nothing of the caller's environment that
 * would show in the output.
 */
#ifndef GW_SHELL_H
#define GW_SHELL_H

#include <stddef.h>

/** What the last command printed, stdout and stderr together. */
extern char shell_output[1 << 20];

/** Make a fresh folder and go there. For a group's set-up. */
int shell_setup(void **state);
int shell_teardown(void **state);

/** Run it; returns the exit status, 128 + N after signal N. */
int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** Fail the test, showing the output, unless it holds @p text. */
void shell_says(const char *text);
/**
 * Fail the test unless the output is that of golden.txt below @p name; with GW_UPDATE_GOLDEN set,
 * write it. One called "packed/..." is in tests/golden.tar.xz.
 */
void shell_is_golden(const char *name);
/** Run it: it must succeed, and print what is expected as @p name. */
void shell_prints(const char *name, const char *command);

#endif
