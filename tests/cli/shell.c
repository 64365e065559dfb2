#include "tests/cli/shell.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

char shell_output[1 << 20];
static char folder[] = "/tmp/gw-cli-XXXXXX";

int shell_setup(void **state)
{
	(void)state;
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("COLUMNS", "120", 1);
	setenv("TZ", "UTC", 1);
	setenv("TOOLS", TOOLS, 1);
	setenv("PREFIX", PREFIX, 1);
	/* A nested run preloads before the sanitizer of the command itself. */
	setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 1);
	unsetenv("LD_PRELOAD");
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("GPUWATCH_OUT");
	unsetenv("GPUWATCH_LOG_MAX");
	return mkdtemp(folder) && !chdir(folder) ? 0 : -1;
}

int shell_teardown(void **state)
{
	(void)state;
	return chdir("/") || shell("chmod -R u+rwx %s; rm -rf %s", folder, folder);
}

static int run(const char *format, va_list args, char *command, size_t size)
{
	char wrapped[4200];
	FILE *pipe;
	size_t n;
	int status;

	vsnprintf(command, size, format, args);
	snprintf(wrapped, sizeof(wrapped), "exec 2>&1; %s", command);
	pipe = popen(wrapped, "r");
	assert_non_null(pipe);
	n = fread(shell_output, 1, sizeof(shell_output) - 1, pipe);
	shell_output[n] = '\0';
	status = pclose(pipe);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int shell(const char *format, ...)
{
	char command[4096];
	va_list args;
	int status;

	va_start(args, format);
	status = run(format, args, command, sizeof(command));
	va_end(args);
	return status;
}

void shell_ends(int status, const char *format, ...)
{
	char command[4096];
	va_list args;
	int ended;

	va_start(args, format);
	ended = run(format, args, command, sizeof(command));
	va_end(args);
	if (ended != status)
		fail_msg("exit status %d, not %d, of %s\n%s", ended, status, command, shell_output);
}

void shell_finds(bool found, const char *const *texts)
{
	for (; *texts; texts++)
		if (found != !!strstr(shell_output, *texts))
			fail_msg("\"%s\" is %s:\n%s", *texts, found ? "not in" : "in",
				 shell_output);
}

void shell_is_golden(const char *name)
{
	static char wanted[sizeof(shell_output)];
	bool packed = strncmp(name, "packed/", 7) == 0;
	const char *file = packed ? GOLDEN_OF ".tar.xz" : GOLDEN, *of = packed ? name + 7 : name;
	char command[1024];
	size_t n;
	FILE *f;

	if (getenv("GW_UPDATE_GOLDEN")) {
		snprintf(command, sizeof(command), GOLDEN_OF " '%s' '%s' update", file, of);
		f = popen(command, "w");
		assert_non_null(f);
		fputs(shell_output, f);
		assert_int_equal(pclose(f), 0);
		return;
	}
	snprintf(command, sizeof(command), GOLDEN_OF " '%s' '%s'", file, of);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(wanted, 1, sizeof(wanted) - 1, f);
	wanted[n] = '\0';
	if (pclose(f))
		fail_msg("%s has no %s that can be read; GW_UPDATE_GOLDEN=1 writes it", file, of);
	if (strcmp(wanted, shell_output))
		fail_msg("%s is:\n%s\nthe output is:\n%s", name, wanted, shell_output);
}

void shell_prints(const char *name, const char *command)
{
	assert_int_equal(shell("%s", command), 0);
	shell_is_golden(name);
}
