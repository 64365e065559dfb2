#include "cli/command.h"
#include "cli/common/paths.h"
#include "cli/message.h"
#include "cli/run_program.h"
#include "cli/common/target.h"

#include <errno.h>
#include <gnu/libc-version.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum variable {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) VARIABLE_##name,
#include "predictor/core/config.def"
#undef OPTION
	VARIABLES
};

static const char *const variables[VARIABLES] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) variable,
#include "predictor/core/config.def"
#undef OPTION
};

struct options {
	const char *value[VARIABLES]; /* NULL: not given, the environment decides */
	bool inject, quiet;
};

/* What config.def calls a type, as an option of the command line. Its texts all name files. */
#define TYPE_CHOICE(choices) GW_OPTION_CHOICE, "WORD", choices
#define TYPE_FLAG(choices)   GW_OPTION_CHOICE, "0|1", "0|1"
#define TYPE_SIZE(choices)   GW_OPTION_SIZE, "BYTES", ""
#define TYPE_NUMBER(choices) GW_OPTION_COUNT, "N", ""
#define TYPE_TEXT(choices)   GW_OPTION_FILE, "TEXT", ""

static const struct gw_option options[] = {
#define OPTION(name, variable, type, fallback, low, high, choices, meaning) \
	{#name, \
	 TYPE_##type(choices), \
	 low, \
	 high, \
	 offsetof(struct options, value[VARIABLE_##name]), \
	 true, \
	 false, \
	 sizeof(fallback) > 1 ? meaning " (default " fallback ")" : meaning},
#include "predictor/core/config.def"
#undef OPTION
	GW_OPT_FLAG(inject, "load by CUDA_INJECTION64_PATH instead of LD_PRELOAD: reaches "
			    "statically linked programs"),
	GW_OPT_FLAG(quiet, "print nothing when the program has ended; it then replaces this "
			   "command, with its process id"),
	{0},
};

enum way { WATCHED, UNWATCHED, REFUSED };

/* What is left alone runs as without us, which is said. */
static enum way leave(const char *path, const char *what)
{
	gw_error("run: %s %s; it runs without gpuwatch", path, what);
	return UNWATCHED;
}

/* Whether libgpuwatch.so can be loaded on this system. */
static bool new_enough(char *what, size_t size)
{
	int major = 0, minor = 0;

	sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor);
	snprintf(what, size, "runs on glibc %s, libgpuwatch.so needs glibc 2.34 or newer",
		 gnu_get_libc_version());
	return major > 2 || (major == 2 && minor >= 34);
}

/* How @p path is run, after a message where it runs without gpuwatch. */
static enum way way_of(const char *path, bool inject)
{
	char what[600];

	switch (gw_target(path, what, sizeof(what))) {
	case GW_TARGET_DYNAMIC:
	case GW_TARGET_UNREADABLE:
		return new_enough(what, sizeof(what)) ? WATCHED : leave(path, what);
	case GW_TARGET_STATIC:
		if (inject)
			return WATCHED;
		gw_error("run: %s %s; try --inject, which lets the CUDA driver load the library "
			 "(CUDA_INJECTION64_PATH)",
			 path, what);
		return REFUSED;
	case GW_TARGET_PRIVILEGED:
		gw_error("run: %s %s; run an unprivileged copy of it", path, what);
		return REFUSED;
	case GW_TARGET_FOREIGN:
		gw_error("run: %s %s; watch a program built for this system", path, what);
		return REFUSED;
	case GW_TARGET_MUSL:
	case GW_TARGET_OLD:
	case GW_TARGET_ASAN:
		return leave(path, what);
	case GW_TARGET_BROKEN:
		break;
	}
	gw_error("run: %s %s; give a program, or its interpreter and the script", path, what);
	return REFUSED;
}

static bool set_variable(const char *name, const char *value)
{
	if (!setenv(name, value, 1))
		return true;
	gw_error("run: %s can't be set: %s", name, strerror(errno));
	return false;
}

/* NAME=front, the separator, what was there; or the other way round. */
static bool add_to_variable(const char *name, const char *front, const char *separator,
			    const char *back)
{
	size_t size = strlen(front) + strlen(separator) + strlen(back) + 1;
	char *value = malloc(size);
	bool done;

	if (!value)
		return gw_error("run: out of memory"), false;
	snprintf(value, size, "%s%s%s", front, separator, back);
	done = set_variable(name, value);
	free(value);
	return done;
}

/*
 * A path that is the library's for glibc alone: its loader puts the program's folder in the place
 * of $ORIGIN, and enough ".." lead from any folder to the root. musl's loader does not know
 * $ORIGIN, finds nothing there and goes on without a word; given the library, it would end the
 * program.
 */
static bool name_for_glibc(const char *library, char *name, size_t size)
{
	enum { DEPTH = 64 };
	static const char origin[] = "/$ORIGIN", up[] = "/..";
	size_t at = strlen(origin);

	if (at + DEPTH * strlen(up) + strlen(library) >= size)
		return gw_error("run: the path of libgpuwatch.so is too long: %s", library), false;
	memcpy(name, origin, at);
	for (int i = 0; i < DEPTH; i++, at += strlen(up))
		memcpy(name + at, up, strlen(up));
	memcpy(name + at, library, strlen(library) + 1);
	return true;
}

/* AddressSanitizer's runtime ends a program before which it finds another library; unless it is
 * asked not to. */
static bool spare_asan(void)
{
	static const char option[] = "verify_asan_link_order=0";
	const char *old = getenv("ASAN_OPTIONS");

	if (old && strstr(old, "verify_asan_link_order"))
		return true;
	return add_to_variable("ASAN_OPTIONS", old ? old : "", old && *old ? ":" : "", option);
}

/* LD_PRELOAD=library:what-was-there */
static bool preload(const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char name[2 * PATH_MAX];

	if (strpbrk(library, ": $")) {
		gw_error(
			"run: LD_PRELOAD can't hold a path with a space, colon or dollar sign: %s; "
			"move the installation, or use --inject",
			library);
		return false;
	}
	if (!name_for_glibc(library, name, sizeof(name)) || !spare_asan())
		return false;
	if (!old || !*old)
		return set_variable("LD_PRELOAD", name);
	/* Watching twice is watching once: a nested run does not stack up. */
	if (!strncmp(old, name, strlen(name)) && strchr(": ", old[strlen(name)]))
		return true;
	return add_to_variable("LD_PRELOAD", name, ":", old);
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

static bool is(const char *variable, const char *value)
{
	const char *set = getenv(variable);

	return set && !strcmp(set, value);
}

/* NVTX in the program looks for a tool there; another tool's stays. */
static bool name_for_nvtx(const char *library)
{
	const char *old = getenv("NVTX_INJECTION64_PATH");

	return (old && *old) || set_variable("NVTX_INJECTION64_PATH", library);
}

/* So does NCCL; another profiler of it stays. */
static bool name_for_nccl(const char *library)
{
	const char *old = getenv("NCCL_PROFILER_PLUGIN");

	return (old && *old) || is("GPUWATCH_NCCL", "0") || is("GPUWATCH_MODE", "off") ||
	       set_variable("NCCL_PROFILER_PLUGIN", library);
}

/* The environment that loads libgpuwatch.so into the program. */
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
	return (o->inject ? inject(library) : preload(library)) && name_for_nvtx(library) &&
	       name_for_nccl(library);
}

/* Whether nothing is to be seen: then there is nothing to say of it. */
static bool switched_off(void)
{
	return is("GPUWATCH_MODE", "off") || is("GPUWATCH_DISABLE", "1") ||
	       is("GPUWATCH_OUT", "/dev/null");
}

static int run_main(const struct gw_command *command, int argc, char **argv)
{
	struct options o = {0};
	char path[PATH_MAX];
	enum way way;
	int status = gw_command_parse(command, &argc, argv, &o);

	if (status >= 0)
		return status;
	if (!argc)
		return gw_error("run: missing command argument: gpuwatch run -- ./app arguments");
	status = gw_target_find(argv[0], path, sizeof(path));
	if (status) {
		gw_error(status == 127 ? "run: %s: no such program; check its name and PATH"
				       : "run: %s: not an executable file; chmod +x it or name its "
					 "interpreter",
			 argv[0]);
		return status;
	}
	way = way_of(path, o.inject);
	if (way == REFUSED || (way == WATCHED && !prepare(&o)))
		return GW_EXIT_USAGE;
	argv[argc] = NULL;
	if (way == WATCHED && !o.quiet && !switched_off())
		return gw_run_program(path, argv);
	execv(path, argv);
	return gw_run_failed(path);
}

const struct gw_command_body gw_run_command = {
	.run = run_main,
	.options = options,
	.description =
		"Runs the command with libgpuwatch.so loaded into it and its children. The library "
		"times\n"
		"every CUDA kernel, predicts each launch before it runs, and writes a log for\n"
		"gpuwatch-report(1). The program is not changed; its output, signals and exit "
		"status are\n"
		"its own. When it has ended, a line on stderr names its logs, or says that no "
		"kernel was\n"
		"seen; with --quiet there is none, and the program replaces this command (exec).\n"
		"\n"
		"Each option sets the environment variable that libgpuwatch(7) describes; the "
		"environment\n"
		"decides the others. The library is put in front of LD_PRELOAD. Programs that "
		"cannot load\n"
		"it (musl, AddressSanitizer, an older glibc) run without it, after a message.\n"
		"\n"
		"A signal that a process sends to gpuwatch run is passed on. One sent to the whole "
		"process\n"
		"group therefore reaches the program twice; with --quiet it comes once.",
	.examples = "gpuwatch run -- ./vector_add 1000000\n"
		    "Time the kernels of one program; the log is gpuwatch.HOST.PID.gwl.\n"
		    "gpuwatch run -o base.gwl -- ./app\n"
		    "-o is --out.\n"
		    "gpuwatch run --out='train.%r.gwl' -- torchrun --nproc-per-node=4 train.py\n"
		    "One log per rank.\n"
		    "gpuwatch run --quiet --mode=watch -- ./server\n"
		    "In production: the program takes the place of this command.\n"
		    "gpuwatch run --inject -- ./statically_linked\n"
		    "Where LD_PRELOAD does not reach.\n",
	.exit_status = "The program's own; 128 and the signal's number where a signal ended it "
		       "that cannot be "
		       "repeated here. 2: bad options, or gpuwatch cannot be loaded into it, and "
		       "it was not "
		       "started. 126: it may not be executed. 127: it was not found.",
};
