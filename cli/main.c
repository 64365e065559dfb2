/* gpuwatch: finds the command and hands over. */
#include "cli/command.h"
#include "cli/common/memory.h"
#include "cli/common/nearest.h"
#include "cli/message.h"
#include "cli/report/line.h"
#include "gw_commit.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct gw_command gw_commands[] = {
#define COMMAND(name, function, operands, summary, synopsis) \
	{#name, #operands, summary, synopsis, &function},
#include "cli/commands.def"
#undef COMMAND
	{0},
};

static const struct gw_command *find(const char *name)
{
	for (const struct gw_command *c = gw_commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

static void help(FILE *out)
{
	fputs("Usage: gpuwatch COMMAND [options] ...\n\n"
	      "Times every CUDA kernel of an unmodified program, predicts each launch, and reports\n"
	      "what bounds the kernels and what to fix first.\n\n"
	      "Commands:\n",
	      out);
	for (const struct gw_command *c = gw_commands; c->name; c++)
		fprintf(out, "  %s%-10s%s  %s\n", gw_ink(out, GW_INK_BOLD), c->name,
			gw_ink(out, GW_INK_OFF), c->summary);
	fputs("\nSee `gpuwatch COMMAND --help` and man gpuwatch-COMMAND.\n"
	      "Exit status: 0 done, 1 done with findings, 2 bad options or input; `run` gives the\n"
	      "program's own.\n",
	      out);
}

/* "command\n  what it does\n" pairs, as the manual has them. */
static void examples(const char *text)
{
	if (!text)
		return;
	printf("\nExamples:\n");
	while (*text) {
		size_t first = strcspn(text, "\n"), second;

		printf("  %.*s\n", (int)first, text);
		text += first + (text[first] == '\n');
		second = strcspn(text, "\n");
		printf("      %.*s\n", (int)second, text);
		text += second + (text[second] == '\n');
	}
}

/* Paragraphs as wide as the terminal; lines that begin with a blank stay as they are. */
static void described(const char *text)
{
	while (*text) {
		size_t length = strcspn(text, "\n");
		char *paragraph;

		while (length && *text != ' ' && text[length] && text[length + 1] &&
		       !strchr("\n ", text[length + 1]))
			length += 1 + strcspn(text + length + 1, "\n");
		paragraph = gw_copy(text);
		paragraph[length] = '\0';
		for (char *c = paragraph; (c = strchr(c, '\n'));)
			*c = ' ';
		if (*text == ' ')
			puts(paragraph);
		else
			report_wrapped(paragraph, gw_width(), 0);
		free(paragraph);
		text += length + (text[length] == '\n');
	}
}

static void command_help(const struct gw_command *command)
{
	printf("Usage: ");
	report_wrapped(command->synopsis, gw_width(), sizeof("Usage: ") - 1);
	putchar('\n');
	described(command->body->description);
	gw_options_help(command->body->options);
	examples(command->body->examples);
	printf("\nExit status:\n  ");
	report_wrapped(command->body->exit_status ? command->body->exit_status
						  : "0 done; 1 done, with findings; 2 bad options or "
						    "input.",
		       gw_width(), 2);
}

int gw_command_parse(const struct gw_command *command, int *argc, char **argv, void *values)
{
	bool stop = !strcmp(command->operands, "command");

	for (int i = 0; i < *argc && strcmp(argv[i], "--"); i++) {
		if (stop && argv[i][0] != '-')
			break;
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
			command_help(command);
			return GW_EXIT_OK;
		}
	}
	return gw_options_parse(command->body->options, command->name, stop, argc, argv, values)
		       ? -1
		       : GW_EXIT_USAGE;
}

/* A reader must not take half an answer for a whole one: a failed write is an error. */
static int finish(int status)
{
	if (fflush(stdout) || ferror(stdout))
		return errno == EPIPE
			       ? status
			       : gw_error("output could not be written: %s", strerror(errno));
	return status;
}

static int no_command(const char *name)
{
	static const char *const commands[] = {
#define COMMAND(name, function, operands, summary, synopsis) #name,
#include "cli/commands.def"
#undef COMMAND
	};
	static const char *const options[] = {"--help", "--version"};
	bool option = *name == '-';
	char near[200];

	gw_nearest(near, sizeof(near), name, option ? options : commands,
		   option ? sizeof(options) / sizeof(*options) : sizeof(commands) / sizeof(*commands),
		   0);
	return gw_error("unknown %s \"%s\"%s%s; see gpuwatch --help", option ? "option" : "command",
			name, *near ? "; did you mean " : "", *near ? near : "");
}

int main(int argc, char **argv)
{
	const struct gw_command *command;

	gw_message_init();
	if (argc < 2) {
		help(stderr);
		return GW_EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		command = argc > 2 ? find(argv[2]) : NULL;
		if (argc > 2 && !command)
			return no_command(argv[2]);
		if (command)
			command_help(command);
		else
			help(stdout);
		return finish(GW_EXIT_OK);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "version")) {
		printf("gpuwatch %s (%s)\n", GW_VERSION, GW_COMMIT);
		return finish(GW_EXIT_OK);
	}
	if (!strcmp(argv[1], "--generate") && argc == 3)
		return finish(gw_generate(argv[2]));
	command = find(argv[1]);
	if (!command)
		return no_command(argv[1]);
	return finish(command->body->run(command, argc - 2, argv + 2));
}
