/*
 * What a command of `gpuwatch` is. To add one: a row in commands.def and a file that
 * defines its gw_command_body.
 */
#ifndef GW_COMMAND_H
#define GW_COMMAND_H

#include "cli/options.h"

/** Exit status of every command but `run`, whose status is the program's own. */
enum gw_exit {
	GW_EXIT_OK = 0,       /**< done, nothing to complain of */
	GW_EXIT_FINDINGS = 1, /**< done, and something was found that should not be */
	GW_EXIT_USAGE = 2,    /**< bad options or input that can't be used; one message on stderr */
};

struct gw_command;

/** The part of a command that its own file gives. */
struct gw_command_body {
	/**
	 * Do it. @p argv holds the arguments after the command's name, @p argc of them; the
	 * strings live as long as the process. Returns the exit status.
	 */
	int (*run)(const struct gw_command *command, int argc, char **argv);
	const struct gw_option
		*options;        /**< ended by a row without a name; NULL when there are none */
	const char *description; /**< for help and manual: paragraphs separated by an empty line */
	const char
		*examples; /**< for help and manual: "command\n  what it does" pairs; NULL when none */
	const char *exit_status; /**< for help and manual where it differs from enum gw_exit; NULL
				    otherwise */
};

/** A row of commands.def. */
struct gw_command {
	const char *name, *operands, *summary, *synopsis;
	const struct gw_command_body *body;
};

/** Every command, in the order of commands.def; a row without a name ends it. */
extern const struct gw_command gw_commands[];

#define COMMAND(name, function, operands, summary, synopsis) \
	extern const struct gw_command_body function;
#include "cli/commands.def"
#undef COMMAND

/**
 * Parse the options of @p command (options.h). Answers --help itself. Returns -1 to go on,
 * with the operands moved to the front of @p argv and counted in @p argc; otherwise the exit
 * status to return at once.
 */
int gw_command_parse(const struct gw_command *command, int *argc, char **argv, void *values);

/** The manual, completion and other text made from the lists (`gpuwatch --generate WHAT`). */
int gw_generate(const char *what);

#endif
