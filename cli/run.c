/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command.h"
#include "cli/paths.h"
#include "cli/say.h"
#include "cli/target.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum variable {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) VARIABLE_##name,
#include "predictor/config.def"
#undef OPTION
	VARIABLES
};

static const char *const variables[VARIABLES] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) variable,
#include "predictor/config.def"
#undef OPTION
};

struct options {
	const char *value[VARIABLES]; /* NULL: not given, the environment decides */
	bool inject;
};

/* What config.def calls a type, as an option of the command line. Its texts all name files. */
#define TYPE_CHOICE(choices) GW_OPTION_CHOICE, "WORD", choices
#define TYPE_FLAG(choices)   GW_OPTION_CHOICE, "0|1", "0|1"
#define TYPE_SIZE(choices)   GW_OPTION_SIZE, "BYTES", ""
#define TYPE_NUMBER(choices) GW_OPTION_COUNT, "N", ""
#define TYPE_TEXT(choices)   GW_OPTION_FILE, "TEXT", ""

static const struct gw_option options[] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning)                        \
	{#name,                                                                                    \
	 TYPE_##type(choices),                                                                     \
	 low,                                                                                      \
	 high,                                                                                     \
	 offsetof(struct options, value[VARIABLE_##name]),                                         \
	 true,                                                                                     \
	 sizeof(fallback) > 1 ? meaning " (default " fallback ")" : meaning},
#include "predictor/config.def"
#undef OPTION
        GW_OPT_FLAG(inject, "load by CUDA_INJECTION64_PATH instead of LD_PRELOAD: reaches "
                            "statically linked programs"),
        {0},
};

static bool new_enough(void)
{
	int major = 0, minor = 0;

	sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
	if (major > 2 || (major == 2 && minor >= 34))
		return true;
	gw_error("run: this system has glibc %s, libgpuwatch.so needs glibc 2.34 or newer; use a "
	         "newer system or container",
	         gnu_get_libc_version());
	return false;
}

/* Whether @p path can be watched; else one message. */
static bool watchable(const char *path, bool inject)
{
	char what[600];

	switch (gw_target(path, what, sizeof(what))) {
	case GW_TARGET_DYNAMIC:
	case GW_TARGET_UNREADABLE:
		return true;
	case GW_TARGET_STATIC:
		if (inject)
			return true;
		gw_error("run: %s %s; try --inject, which lets the CUDA driver load the library "
		         "(CUDA_INJECTION64_PATH)",
		         path, what);
		return false;
	case GW_TARGET_PRIVILEGED:
		gw_error("run: %s %s; run an unprivileged copy of it", path, what);
		return false;
	case GW_TARGET_FOREIGN:
	case GW_TARGET_MUSL:
		gw_error("run: %s %s; watch a program built for this system", path, what);
		return false;
	case GW_TARGET_BROKEN:
		break;
	}
	gw_error("run: %s %s; name a program, or the interpreter and what it runs", path, what);
	return false;
}

static bool set_variable(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return true;
	gw_error("run: %s can't be set: %s", name, strerror(errno));
	return false;
}

/* LD_PRELOAD=library:what-was-there */
static bool preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	size_t length = strlen(library), size;
	char *value;
	bool done;

	if (strpbrk(library, ": ")) {
		gw_error("run: LD_PRELOAD can't hold a path with a space or colon: %s; move the "
		         "installation, or use --inject",
		         library);
		return false;
	}
	if (!old || !*old)
		return set_variable("LD_PRELOAD", library);
	/* Watching twice is watching once: a nested run does not stack up. */
	if (!strncmp(old, library, length) && strchr(": ", old[length]))
		return true;
	size = length + strlen(old) + 2;
	value = malloc(size);
	if (!value)
		return gw_error("run: out of memory"), false;
	snprintf(value, size, "%s:%s", library, old);
	done = set_variable("LD_PRELOAD", value);
	free(value);
	return done;
}

static bool inject(const char *library)
{
	const char *old = getenv("CUDA_INJECTION64_PATH");

	if (old && *old && strcmp(old, library)) {
		gw_error("run: CUDA_INJECTION64_PATH already names %s and holds one library only; "
		         "unset it, or run without --inject",
		         old);
		return false;
	}
	return set_variable("CUDA_INJECTION64_PATH", library);
}

/* The environment under which the program is watched. */
static bool prepare(const struct options *o)
{
	char library[PATH_MAX];
	const char *looked = gw_library_path(library, sizeof(library));

	if (looked) {
		gw_error(
		        "run: libgpuwatch.so was not found (looked for it in %s); build or install "
		        "gpuwatch as a whole",
		        looked);
		return false;
	}
	for (unsigned i = 0; i < VARIABLES; i++)
		if (o->value[i] && !set_variable(variables[i], o->value[i]))
			return false;
	return o->inject ? inject(library) : preload(library);
}

static int run_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	char path[PATH_MAX];
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (!argc)
		return gw_error("run: name the program to watch: gpuwatch run -- ./app arguments");
	status = gw_target_find(argv[0], path, sizeof(path));
	if (status) {
		gw_error(status == 127 ? "run: %s: no such program; check its name and PATH"
		                       : "run: %s: not an executable file; chmod +x it or name its "
		                         "interpreter",
		         argv[0]);
		return status;
	}
	if (!new_enough() || !watchable(path, o.inject) || !prepare(&o))
		return GW_EXIT_USAGE;
	argv[argc] = NULL;
	execv(path, argv);
	gw_error("run: %s: %s", path, strerror(errno));
	return errno == ENOENT ? 127 : 126;
}

const struct gw_command_body gw_run_command = {
        .run = run_main,
        .options = options,
        .description = "Runs the command with libgpuwatch.so loaded into it and into its children. "
                       "The library\n"
                       "times every CUDA kernel, predicts each launch before it runs, and writes a "
                       "log for\n"
                       "`gpuwatch report`. The program itself is not changed; its output, signals "
                       "and exit\n"
                       "status are its own.\n"
                       "\n"
                       "Each option sets the environment variable that libgpuwatch(7) describes; "
                       "what is not\n"
                       "given is left to the environment. The library is put before what "
                       "LD_PRELOAD holds.",
        .examples = "gpuwatch run -- ./vector_add 1000000\n"
                    "Watch one program; the log is gpuwatch.HOST.PID.gwl.\n"
                    "gpuwatch run --out='train.%r.gwl' -- torchrun --nproc-per-node=4 train.py\n"
                    "One log per rank.\n"
                    "gpuwatch run --inject -- ./statically_linked\n"
                    "Where LD_PRELOAD can't reach.\n",
        .exit_status =
                "The program's own. 2: it can't be watched, or the options are bad, and it was not "
                "started. 126: it may not be executed. 127: it was not found.",
};
