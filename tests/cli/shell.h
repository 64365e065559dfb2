/*
 * Runs a shell command in the test's own folder, with nothing of the caller's environment that
 * would show in the output.
 */
#ifndef GW_SHELL_H
#define GW_SHELL_H

#include <stdbool.h>
#include <stddef.h>

/** What the last command printed, stdout and stderr together. */
extern char shell_output[1 << 20];

/** Make a fresh folder and go there. For a group's set-up. */
int shell_setup(void **state);
int shell_teardown(void **state);

/** Run it; returns the exit status, 128 + N after signal N. */
int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
/** Run it: it must end with @p status. */
void shell_ends(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** Run it: it must succeed; and print nothing else than @p output. */
#define shell_runs(...) shell_ends(0, __VA_ARGS__)
#define shell_gives(output, ...) \
	(shell_runs(__VA_ARGS__), assert_string_equal(shell_output, output))

/** Fail the test, showing the output, unless it holds each of the texts, or none of them. */
#define shell_says(...)  shell_finds(true, (const char *const[]){__VA_ARGS__, NULL})
#define shell_lacks(...) shell_finds(false, (const char *const[]){__VA_ARGS__, NULL})
void shell_finds(bool found, const char *const *texts);
/**
 * Fail the test unless the output is that of golden.txt below @p name; with GW_UPDATE_GOLDEN set,
 * write it. One called "packed/..." is in tests/golden.tar.xz.
 */
void shell_is_golden(const char *name);
/** Run it: it must succeed, and print what is expected as @p name. */
void shell_prints(const char *name, const char *command);

#endif
